"""A limit on GPUs holds for every resource that is a GPU, however a device plugin names it.

https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-sharing.html and
https://github.com/ROCm/k8s-device-plugin
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gangline.spec.catalogue import SpecField
from gangline.spec.frameworks import GangRole
from gangline.spec.problems import Problem, Role, shown
from gangline.spec.shares import DEVICES, added, of_pod
from gangline.spec.sources import ItemSource
from gangline.spec.values import item_label
from gangline.spec.words import plain_number

from .rules import FieldRule, Sourced

EXTENDED = "compute.extendedResources"
_GPU = re.compile(r".*gpu.*|.*/(?:mig-|vcuda|[sdtqc]px_|i915|xe\b).*", re.IGNORECASE)
_COUNT = re.compile(r"[0-9]{1,9}")


def is_gpu(resource: str) -> bool:
    """``nvidia.com/mig-1g.5gb``, ``nvidia.com/gpu.shared``, ``volcano.sh/vgpu-number``."""
    return _GPU.fullmatch(resource) is not None


def breaches(
    role: Role,
    field: SpecField,
    rule: FieldRule,
    devices: Any,
    items: Sequence[tuple[Any, ItemSource]],
) -> Iterator[Problem]:
    """GPUs among the extended resources with which a pod has more than the rule for GPU devices.

    ``devices``: what is asked for there. What a policy itself puts into the list is its own affair.
    """
    found = [(item, source) for item, source in items if _counts(item)]
    most = _most(rule)
    own = devices if isinstance(devices, int) and not isinstance(devices, bool) else 0
    if most is None or own + sum(int(item["quantity"]) for item, _ in found) <= most.value:
        return
    for item, source in found:
        if source.sent is not None:
            yield Problem.of(
                role,
                f"{field.path}.{source.sent}",
                "max:gpus",
                most=most.value,
                value=item["quantity"],
                accepted=f"at most {most.value}, with the GPU devices per pod",
                source=most.source,
                key=shown(source.key),
                label=item_label(field, source.sent, shown(source.key)),
                hint=rule.messages.get(most.source, ""),
            )


def in_all(
    gang: Sequence[GangRole],
    halves: Mapping[Role, Mapping[str, Any]],
    field: SpecField,
    rules: Sequence[FieldRule],
) -> Iterator[Problem]:
    """What all pods of a workload have beyond the most that it may have together.

    ``halves``: their values by path; ``rules``: of GPU devices, said for whichever half. An elastic
    workload counts as large as it may grow.
    """
    ruled = [rule for rule in rules if rule.total is not None]
    rule = min(ruled, key=lambda one: one.total.value if one.total else 0, default=FieldRule())
    workers = halves[Role.WORKER]
    grown = {"numWorkers": workers.get("maxReplicas") or workers.get("numWorkers")}
    found = added(
        role.count({**workers, **grown}) * _of_pod(role.values(halves.get(role.half, {})))
        for role in gang
    )
    if rule.total is not None and found > rule.total.value:
        yield Problem.of(
            Role.WORKER,
            DEVICES,
            "maxTotal",
            total=plain_number(found),
            most=rule.total.value,
            value=workers.get(DEVICES),
            accepted=f"at most {rule.total.value} in all pods together",
            source=rule.total.source,
            label=field.label,
            hint=rule.messages.get(rule.total.source, ""),
        )


def _of_pod(values: Mapping[str, Any]) -> float:
    devices, extended = values.get(DEVICES), values.get(EXTENDED)
    own = of_pod(values) if isinstance(devices, int) else 0
    listed = extended if isinstance(extended, list) else ()
    return own + sum(int(item["quantity"]) for item in listed if _counts(item))


def _counts(item: Any) -> bool:
    if not isinstance(item, Mapping):
        return False
    name, quantity = item.get("resource"), item.get("quantity")
    is_count = isinstance(quantity, str) and _COUNT.fullmatch(quantity) is not None
    return is_count and isinstance(name, str) and is_gpu(name)


def _most(rule: FieldRule) -> Sourced | None:
    """The maximum number of devices, and the scope that sets it."""
    caps = [rule.maximum] if rule.maximum is not None else []
    if rule.fixed is not None:
        caps.append(Sourced(rule.fixed.value or 0, rule.fixed.source))
    if rule.options is not None:
        most = max((option.value for option in rule.options.value), default=0)
        caps.append(Sourced(most, rule.options.source))
    return min(caps, key=lambda cap: cap.value, default=None)
