"""Arithmetic of slots: what a gang needs, and what is free (R7b).

Nothing here knows rows: `admission` feeds it and stores what it decides.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from gangline.drivers.base import ReplicaPlacement
from gangline.spec.frameworks import FRAMEWORKS, has_gpus
from gangline.spec.types import quantity_bytes
from workloads.wording import CPUS, GPUS, MEMORY

RESOURCES = (GPUS, CPUS, MEMORY)
PORTS = (16000, 32000)
"""First, and one after the last, of a cluster that names none."""
TINY = 1e-6


@dataclass(frozen=True, slots=True)
class RoleNeed:
    """Replicas of one role and the request of each: CPUs in cores, memory in bytes."""

    role: str
    count: int
    cpus: float
    memory: int
    gpus: int
    first_rank: int


@dataclass(frozen=True, slots=True)
class Need:
    """What a whole gang takes."""

    roles: tuple[RoleNeed, ...]

    def total(self, resource: str) -> float:
        return float(sum(role.count * getattr(role, resource) for role in self.roles))

    def as_json(self) -> list[list[Any]]:
        return [[r.role, r.count, r.cpus, r.memory, r.gpus, r.first_rank] for r in self.roles]


@dataclass(slots=True)
class Room:
    """Free slots of a cluster out of its total. ``take`` makes it smaller."""

    totals: Mapping[str, float]
    free: dict[str, float]
    gpu_ids: list[str]
    ports: Iterator[int]
    """Free ports, in order; endless as far as a gang is concerned."""

    def lacks(self, need: Need) -> tuple[str, ...]:
        """Resources that ``need`` asks more of than is free."""
        return tuple(r for r in RESOURCES if need.total(r) > self.free[r] + TINY)

    def never(self, need: Need) -> tuple[str, ...]:
        """Resources that ``need`` asks more of than the cluster has."""
        return tuple(r for r in RESOURCES if need.total(r) > self.totals[r] + TINY)

    def take(self, need: Need) -> tuple[ReplicaPlacement, ...]:
        """The whole gang's slots; the caller knows that it lacks nothing."""
        placed = []
        for role in need.roles:
            for index in range(role.count):
                gpus = tuple(self.gpu_ids[: role.gpus])
                del self.gpu_ids[: role.gpus]
                placed.append(
                    ReplicaPlacement(
                        role=role.role,
                        index=index,
                        rank=role.first_rank + index,
                        cpus=role.cpus,
                        memory=role.memory,
                        gpus=gpus,
                        ports=(next(self.ports),),
                    )
                )
        for resource in RESOURCES:
            self.free[resource] -= need.total(resource)
        return tuple(placed)


def need_of(
    *, framework: str, configuration: str, num_workers: int, values: Mapping[str, Any]
) -> Need:
    """The slots of a gang by its effective values; requests count, not limits."""
    has_master = configuration == "workersAndMaster"
    trains = FRAMEWORKS[framework].master_trains if framework in FRAMEWORKS else True
    roles = [_role_need(framework, "master", 1, 0, values)] if has_master else []
    first = 1 if has_master and trains else 0
    return Need((*roles, _role_need(framework, "worker", num_workers, first, values)))


def need_from(stored: Iterable[Sequence[Any]]) -> Need:
    """The need as ``Need.as_json`` wrote it."""
    return Need(tuple(RoleNeed(*row) for row in stored))


def room_of(
    capacity: Mapping[str, Any],
    taken: Iterable[Mapping[str, Any]],
    is_port_free: Callable[[int], bool],
    first_port: int | None = None,
) -> Room:
    """What is left of ``capacity`` when the replicas ``taken`` hold their slots.

    Ports are offered in order, round the range, from ``first_port`` or its beginning.
    """
    replicas = list(taken)
    totals = {
        CPUS: float(capacity["cpus"]),
        MEMORY: float(capacity["memory"]),
        GPUS: float(len(capacity["gpus"])),
    }
    held = {gpu for replica in replicas for gpu in replica["gpus"]}
    used_ports = {port for replica in replicas for port in replica["ports"]}
    gpu_ids = [gpu for gpu in capacity["gpus"] if gpu not in held]
    free = {
        CPUS: totals[CPUS] - sum(replica["cpus"] for replica in replicas),
        MEMORY: totals[MEMORY] - sum(replica["memory"] for replica in replicas),
        GPUS: float(len(gpu_ids)),
    }
    first, last = capacity.get("ports", PORTS)
    begin = first if first_port is None else min(max(first_port, first), last)
    ring = chain(range(begin, last), range(first, begin))
    ports = (p for p in ring if p not in used_ports and is_port_free(p))
    return Room(totals=totals, free=free, gpu_ids=gpu_ids, ports=ports)


def _role_need(
    framework: str, role: str, count: int, first_rank: int, values: Mapping[str, Any]
) -> RoleNeed:
    def value(path: str) -> Any:
        return values.get(f"{role}.compute.{path}")

    memory = value("cpuMemoryRequest")
    return RoleNeed(
        role=role,
        count=count,
        cpus=float(value("cpuCoreRequest") or 0),
        memory=quantity_bytes(memory) if memory else 0,
        gpus=int(value("gpuDevicesRequest") or 0) if has_gpus(framework, role) else 0,
        first_rank=first_rank,
    )
