"""How much of a cluster is free, node by node, and which nodes a pod may be on. Pure.

Only what keeps most pods away is judged: labels that a pod asks for, and taints. The scheduler
knows more, and decides.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from gangline.drivers.kubernetes import quantities

Raw = Mapping[str, Any]
Amounts = Mapping[str, Decimal]
_KEEPS_AWAY = ("NoSchedule", "NoExecute")
_PASSING = "node.kubernetes.io/"


@dataclass(frozen=True, slots=True)
class Node:
    """What one node has. ``free`` may be less than nothing where more was promised."""

    name: str
    allocatable: Amounts
    free: Amounts
    labels: Mapping[str, str]
    taints: tuple[Raw, ...] = ()
    is_open: bool = True
    """It takes pods now: it is ready, and nobody has cordoned it."""

    def holds(self, requests: Amounts, *, when_empty: bool = False) -> int:
        """How many pods that ask for so much there is place for; 0 for a node that is closed."""
        if not self.is_open and not when_empty:
            return 0
        have = self.allocatable if when_empty else self.free
        return max(0, min(int(have.get(name, 0) / much) for name, much in requests.items() if much))


@dataclass(frozen=True, slots=True)
class Room:
    """The nodes of a cluster, or some of them."""

    nodes: tuple[Node, ...]

    def for_pod(self, spec: Raw) -> "Room":
        """The nodes that a pod of this ``spec`` may be on."""
        return Room(tuple(node for node in self.nodes if _admits(node, spec)))

    def by_label(self, key: str) -> dict[str, "Room"]:
        """The nodes with a label, by its value."""
        values = sorted({node.labels[key] for node in self.nodes if key in node.labels})
        return {
            value: Room(tuple(node for node in self.nodes if node.labels.get(key) == value))
            for value in values
        }

    def free(self, resource: str) -> Decimal:
        """What is free on all nodes together that take pods."""
        return sum((max(node.free.get(resource, Decimal(0)), Decimal(0)) for node in self.nodes
                    if node.is_open), Decimal(0))  # fmt: skip

    def total(self, resource: str) -> Decimal:
        """What all nodes have for pods, also those that are closed now."""
        return sum((n.allocatable.get(resource, Decimal(0)) for n in self.nodes), Decimal(0))

    def count(self, resource: str) -> int:
        """How many nodes that take pods have this resource."""
        return sum(node.is_open and bool(node.allocatable.get(resource)) for node in self.nodes)


def counted(nodes: Iterable[Raw], pods: Iterable[Raw]) -> Room:
    """The room on ``nodes`` beside ``pods``, those that have not ended."""
    found = {node.name: node for node in map(_node, nodes)}
    used: dict[str, dict[str, Decimal]] = {name: {} for name in found}
    for pod in pods:
        spec = pod.get("spec") or {}
        there = used.get(str(spec.get("nodeName") or ""))
        if there is not None:
            for name, much in requests(spec).items():
                there[name] = there.get(name, Decimal(0)) + much
    return Room(
        tuple(
            replace(node, free={r: n - used[name].get(r, 0) for r, n in node.allocatable.items()})
            for name, node in found.items()
        )
    )


def requests(spec: Raw) -> dict[str, Decimal]:
    """What a pod of this ``spec`` takes from its node, itself counted as one of ``pods``."""
    asked: dict[str, Decimal] = {"pods": Decimal(1)}
    for container in spec.get("containers") or ():
        for name, quantity in quantities.requested(container).items():
            asked[name] = asked.get(name, Decimal(0)) + quantities.amount(quantity)
    for container in spec.get("initContainers") or ():
        for name, quantity in quantities.requested(container).items():
            asked[name] = max(asked.get(name, Decimal(0)), quantities.amount(quantity))
    return asked


def is_open(node: Raw) -> bool:
    """Whether the node takes pods now: it is ready, and nobody has cordoned it."""
    conditions = (node.get("status") or {}).get("conditions") or ()
    is_ready = any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)
    return is_ready and not (node.get("spec") or {}).get("unschedulable")


def _node(raw: Raw) -> Node:
    meta, spec, status = (raw.get(key) or {} for key in ("metadata", "spec", "status"))
    has = {str(r): quantities.amount(q) for r, q in (status.get("allocatable") or {}).items()}
    return Node(
        name=str(meta.get("name", "")),
        allocatable=has,
        free=has,
        labels=meta.get("labels") or {},
        taints=tuple(t for t in spec.get("taints") or () if t.get("effect") in _KEEPS_AWAY),
        is_open=is_open(raw),
    )


def _admits(node: Node, spec: Raw) -> bool:
    wanted = spec.get("nodeSelector") or {}
    if any(node.labels.get(key) != value for key, value in wanted.items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}).get(
        "nodeSelectorTerms"
    )
    if terms and not any(_matches(node, term) for term in terms):
        return False
    held = spec.get("tolerations") or ()
    # A node that is closed, or not ready, has taints of its own for as long as that lasts.
    lasting = (t for t in node.taints if not str(t.get("key", "")).startswith(_PASSING))
    return all(any(_tolerates(one, taint) for one in held) for taint in lasting)


def _matches(node: Node, term: Raw) -> bool:
    """https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#operators"""
    for wanted in term.get("matchExpressions") or ():
        value, values = node.labels.get(wanted["key"]), wanted.get("values") or ()
        match wanted["operator"]:
            case "In" if value not in values:
                return False
            case "NotIn" if value in values:
                return False
            case "Exists" if value is None:
                return False
            case "DoesNotExist" if value is not None:
                return False
    return True


def _tolerates(toleration: Raw, taint: Raw) -> bool:
    """https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/"""
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if not toleration.get("key"):
        return toleration.get("operator") == "Exists"
    if toleration["key"] != taint.get("key"):
        return False
    is_any = toleration.get("operator") == "Exists"
    return is_any or (toleration.get("value") or "") == (taint.get("value") or "")
