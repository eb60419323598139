"""Arithmetic of slots: what a gang needs, what is free, and the walk over the waiting gangs (R7b).

Nothing here knows rows: `admission` feeds it and stores what it decides.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from gangline.drivers.base import ReplicaPlacement
from gangline.spec.frameworks import FRAMEWORKS, has_gpus
from gangline.spec.types import quantity_bytes
from workloads.wording import (
    CPUS,
    GPUS,
    MANY_AHEAD,
    MEMORY,
    NO_REASON,
    SLOTS_BEHIND,
    SLOTS_NEVER,
    SLOTS_WAIT,
    Reason,
)

RESOURCES = (GPUS, CPUS, MEMORY)
PORTS = (16000, 32000)
"""First, and one after the last, of a cluster that names none."""
_TINY = 1e-6


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
        return tuple(r for r in RESOURCES if need.total(r) > self.free[r] + _TINY)

    def never(self, need: Need) -> tuple[str, ...]:
        """Resources that ``need`` asks more of than the cluster has."""
        return tuple(r for r in RESOURCES if need.total(r) > self.totals[r] + _TINY)

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


@dataclass(frozen=True, slots=True)
class Verdict:
    """What admission decided about one waiting gang."""

    placement: tuple[ReplicaPlacement, ...] | None = None
    impossible: bool = False
    reason: Reason = NO_REASON
    """Why it was not placed."""
    ahead: int = 0
    lacking: tuple[str, ...] = ()
    behind: int | None = None
    """Index of the first waiting gang that holds this one up, though it lacks nothing itself."""


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


def walk(needs: Sequence[Need], room: Room, *, cluster: str) -> list[Verdict]:
    """Judge the waiting gangs in order: each takes all its slots or none.

    A later gang passes an earlier waiting one only if it asks nothing of any resource that the
    earlier one lacks. Gangs that can never start hold nobody up.
    """
    verdicts: list[Verdict] = []
    blocked: dict[str, int] = {}
    ahead = 0
    for place, need in enumerate(needs):
        never = room.never(need)
        if never:
            verdicts.append(Verdict(impossible=True, reason=_never(need, room, never, cluster)))
            continue
        lacking = room.lacks(need)
        behind = [blocked[r] for r in RESOURCES if r in blocked and need.total(r) > 0]
        if not lacking and not behind:
            verdicts.append(Verdict(placement=room.take(need)))
            continue
        first = min(behind) if behind and not lacking else None
        reason = (
            _waits(need, room, lacking, ahead if behind else 0)
            if first is None
            else _behind(needs[first], verdicts[first], ahead)
        )
        verdicts.append(Verdict(reason=reason, ahead=ahead, lacking=lacking, behind=first))
        for resource in lacking:
            blocked.setdefault(resource, place)
        ahead += 1
    return verdicts


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


def _never(need: Need, room: Room, never: Sequence[str], cluster: str) -> Reason:
    lacking = [[r, need.total(r), room.totals[r]] for r in never]
    return Reason(SLOTS_NEVER, {"cluster": cluster, "lacking": lacking})


def _waits(need: Need, room: Room, lacking: Sequence[str], ahead: int) -> Reason:
    told = [[r, need.total(r), room.free[r], room.totals[r]] for r in lacking]
    if ahead > MANY_AHEAD:
        return Reason(SLOTS_BEHIND, {"ahead": MANY_AHEAD + 1, "needs": []})
    return Reason(SLOTS_WAIT, {"lacking": told, "ahead": ahead})


def _behind(other: Need, its: Verdict, ahead: int) -> Reason:
    needs = [[resource, other.total(resource)] for resource in its.lacking]
    # An exact number far back would change every row with each step of the queue.
    return Reason(SLOTS_BEHIND, {"ahead": min(ahead, MANY_AHEAD + 1), "needs": needs})
