"""What the pods of an attempt used over time, as it was recorded beside their logs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from django.conf import settings

from gangline.clusters.connections import acts_here
from gangline.drivers.logs.store import LogStore
from gangline.drivers.metrics.accounted import Accounted, kept
from gangline.drivers.metrics.declared import BY_NAME, RATE
from gangline.drivers.metrics.reader import NOTHING, Series, read, together
from gangline.spec.frameworks import framework_of
from gangline.spec.types import quantity_bytes
from gangline.spec.values import half_of
from workloads.models import Attempt, Workload
from workloads.selectors import details

_CORES = {"cpu": "compute.cpuCoreRequest", "cpu_limit": "compute.cpuCoreLimit"}
_MEMORY = {"memory": "compute.cpuMemoryRequest", "memory_limit": "compute.cpuMemoryLimit"}


@dataclass(frozen=True)
class Figures:
    """Of one attempt, by the names of its pods; those without any are left out."""

    by_pod: Mapping[str, Series]
    asked: Mapping[str, Mapping[str, float]]
    """What a pod of each role asks for: cores and bytes by metric."""
    accounted: Accounted | None = None
    """What the accounting of the cluster says once it is over."""

    @cached_property
    def whole(self) -> Series:
        """Of all pods together."""
        return together(self.by_pod.values())

    @property
    def names(self) -> tuple[str, ...]:
        """The metrics of which anything is known."""
        return self.whole.names

    def __bool__(self) -> bool:
        return bool(self.by_pod)

    def of(self, pod: str) -> Series:
        return self.by_pod.get(pod, NOTHING)

    def asked_by(self, pod: str) -> Mapping[str, float]:
        return self.asked.get(pod.rpartition("-")[0], {})

    @cached_property
    def asked_together(self) -> dict[str, float]:
        """By all pods that have figures."""
        sums: dict[str, float] = {}
        for pod in self.by_pod:
            for name, amount in self.asked_by(pod).items():
                sums[name] = sums.get(name, 0.0) + amount
        return sums


def figures_of(workload: Workload, attempt: Attempt, pods: Iterable[str] | None = None) -> Figures:
    """Of the named pods, or of all. Empty for another machine: its files lie there."""
    if not acts_here(workload.cluster):
        return Figures({}, asked(workload, attempt))
    if pods is None:
        pods = [replica.name for replica in details.expected_replicas(workload, attempt)]
    place = LogStore(Path(settings.GANGLINE.data_dir)).attempt_folder(str(workload.pk), attempt.no)
    found = {name: read(place / name) for name in pods} if place.is_dir() else {}
    by_pod = {name: one for name, one in found.items() if one}
    return Figures(by_pod, asked(workload, attempt), kept(place))


def shown(figures: Figures) -> tuple[str, ...]:
    """The metrics that are worth a chart: not a disk or network that nobody used."""
    whole = figures.whole
    return tuple(n for n in figures.names if BY_NAME[n].unit != RATE or whole.peak(n))


def asked(workload: Workload, attempt: Attempt) -> dict[str, dict[str, float]]:
    """Cores and bytes of memory that a pod of each role asks for, and its limits."""
    found: dict[str, dict[str, float]] = {}
    for role in framework_of(workload.framework).gang(workload.configuration):
        values = {**half_of(attempt.values, role.half), **role.fixed}
        amounts: dict[str, float] = {}
        for name, path in _CORES.items():
            if cores := values.get(path):
                amounts[name] = float(cores)
        for name, path in _MEMORY.items():
            if memory := values.get(path):
                amounts[name] = float(quantity_bytes(memory))
        found[role.name] = amounts
    return found
