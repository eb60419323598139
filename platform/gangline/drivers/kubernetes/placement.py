"""Where pods may be placed: requirements of nodes, and what pods shall share.

https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#NodeAffinity
"""

import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from types import MappingProxyType
from typing import Any

from gangline.spec.affinity import REQUIRED, NodeRequirement, label_values
from gangline.spec.gpus import MEMORY, PORTION
from gangline.spec.types import quantity_bytes

NODE_TYPE = "node.kubernetes.io/instance-type"
"""https://kubernetes.io/docs/reference/labels-annotations-taints/"""
MOST_WEIGHT = 100


Requirements = list[dict[str, Any]]
"""What the labels of a node must fulfil, all of it."""


def node_type(name: str, label: str) -> Requirements:
    """The requirement of a node type, which nodes have as this label."""
    return [{"key": label, "operator": "In", "values": [name]}]


def alternatives(items: Sequence[NodeRequirement]) -> list[Requirements]:
    """Requirements of nodes as a pod has them: those of each term, one of which is enough."""
    terms: dict[int, Requirements] = {}
    for item in items:
        values = label_values(item.values or "")
        wanted = {"key": item.key, "operator": item.operator}
        terms.setdefault(item.term or 1, []).append(
            {**wanted, **({"values": values} if values else {})}
        )
    return [terms[number] for number in sorted(terms)]


def affinity(
    of_type: Requirements,
    nodes: Sequence[Requirements] = (),
    pools: Sequence[str] = (),
    known: Mapping[str, tuple[str, str]] = MappingProxyType({}),
) -> dict[str, Any]:
    """Affinity of a pod: a term for each node pool and each of ``nodes``; empty for none.

    ``known``: label and value of each pool. Of several pools the first is preferred.
    """
    of_pools = [_of_pool(name, known) for name in pools] or [[]]
    terms = [[*of_type, *wanted, *one] for one in of_pools for wanted in nodes or [[]]]
    if not all(terms):  # one of them asks for nothing
        return {}
    required = {"nodeSelectorTerms": [{"matchExpressions": deepcopy(term)} for term in terms]}
    made: dict[str, Any] = {"requiredDuringSchedulingIgnoredDuringExecution": required}
    if len(of_pools) > 1:
        made["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": MOST_WEIGHT - number, "preference": {"matchExpressions": one}}
            for number, one in enumerate(of_pools[:-1])
        ]
    return {"nodeAffinity": made}


def _of_pool(name: str, known: Mapping[str, tuple[str, str]]) -> list[dict[str, Any]]:
    """What its nodes have. The default pool has every node that no other one takes."""
    key, value = known.get(name, ("", ""))
    if key:
        return [{"key": key, "operator": "In", "values": [value]}]
    taken: dict[str, list[str]] = {}
    for other, its in known.values():
        if other:
            taken.setdefault(other, []).append(its)
    return [{"key": k, "operator": "NotIn", "values": sorted(v)} for k, v in sorted(taken.items())]


def topology_of(native: Mapping[str, Any]) -> tuple[str, str] | None:
    """Label and ``Required`` or ``Preferred``; None where pods may stand anywhere."""
    said = native.get("topology") or {}
    return (said["key"], said["type"]) if said.keys() >= {"key", "type"} else None


def keep_together(template: dict[str, Any], topology: tuple[str, str]) -> None:
    """Pods of a template beside those of its workload, whom `among` names later."""
    key, kind = topology
    term: dict[str, Any] = {"topologyKey": key}
    if kind == REQUIRED:
        made = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    else:
        weighed = {"weight": MOST_WEIGHT, "podAffinityTerm": term}
        made = {"preferredDuringSchedulingIgnoredDuringExecution": [weighed]}
    template["spec"].setdefault("affinity", {})["podAffinity"] = made


def among(template: Mapping[str, Any], marks: Mapping[str, str]) -> None:
    """Say by labels which pods are meant: every term is about those of one workload."""
    terms = template["spec"].get("affinity", {}).get("podAffinity", {})
    for each in (term for listed in terms.values() for term in listed):
        each.get("podAffinityTerm", each)["labelSelector"] = {"matchLabels": dict(marks)}


SHARE_FIELDS = frozenset(
    f"compute.{name}"
    for name in (
        "gpuRequestType",
        "gpuPortionRequest",
        "gpuPortionLimit",
        "gpuMemoryRequest",
        "gpuMemoryLimit",
    )
)


def whole_only(title: str) -> dict[str, str]:
    """The reason for each of the fields under a scheduler that gives out whole GPUs."""
    return dict.fromkeys(SHARE_FIELDS, f"{title} assigns whole GPUs; KAI Scheduler can share them.")


def by_priority_only(title: str) -> dict[str, str]:
    """The reason of a scheduler that knows no preemptibility."""
    return {"preemptibility": f"{title} preempts by priority alone."}


def share_annotations(native: Mapping[str, Any]) -> dict[str, str]:
    """What KAI reads of a pod; empty for whole devices. The pod then has no GPU as a resource."""
    share, devices = native.get("share") or {}, int(native.get("gpus") or 0)
    match share.get("type"):
        case kind if kind == PORTION and devices:
            more = {"gpu-fraction-num-devices": str(devices)} if devices > 1 else {}
            return {"gpu-fraction": f"{share['portion']:g}", **more}
        case kind if kind == MEMORY and devices:
            return {"gpu-memory": str(math.ceil(quantity_bytes(share["memory"]) / 2**20))}
        case _:
            return {}
