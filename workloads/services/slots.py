"""Arithmetic of slots: what a gang needs, and what is free (R7b).

Nothing here knows rows: `admission` feeds it and stores what it decides.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import chain, islice
from typing import Any

from gangline.drivers.base import ReplicaPlacement
from gangline.spec import shares
from gangline.spec.frameworks import GangRole, framework_of, numbered
from gangline.spec.problems import Role
from gangline.spec.types import quantity_bytes
from gangline.spec.values import half_of
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
    gpu_share: float = 1.0
    """Of each device, by request."""
    tool_ports: int = 0
    """Of each, beside the port at which its peers find it."""


@dataclass(frozen=True, slots=True)
class Need:
    """What a whole gang takes."""

    roles: tuple[RoleNeed, ...]

    def total(self, resource: str) -> float:
        return float(sum(role.count * _of_one(role, resource) for role in self.roles))

    def as_json(self) -> list[list[Any]]:
        return [list(astuple(role)) for role in self.roles]


@dataclass(slots=True)
class Room:
    """Free slots of a cluster out of its total. ``take`` makes it smaller."""

    totals: Mapping[str, float]
    free: dict[str, float]
    devices: dict[str, float]
    """Free part of each GPU."""
    ports: Iterator[int]
    """Free ports, in order; endless as far as a gang is concerned."""

    def lacks(self, need: Need) -> tuple[str, ...]:
        """Resources of which less is free than ``need`` requires."""
        return tuple(r for r in RESOURCES if not self._fits(need, r, self.free, self.devices))

    def never(self, need: Need) -> tuple[str, ...]:
        """Resources of which the cluster has less than ``need`` requires."""
        whole = dict.fromkeys(self.devices, 1.0)
        return tuple(r for r in RESOURCES if not self._fits(need, r, self.totals, whole))

    def _fits(
        self, need: Need, resource: str, of: Mapping[str, float], devices: Mapping[str, float]
    ) -> bool:
        if need.total(resource) > of[resource] + TINY:
            return False
        return resource != GPUS or spread(need, dict(devices)) is not None

    def take(self, need: Need) -> tuple[ReplicaPlacement, ...]:
        """The whole gang's slots; the caller knows that it lacks nothing."""
        placed = []
        given = spread(need, self.devices) or {}
        for role in need.roles:
            for index in range(role.count):
                gpus = given.get((role.role, index), ())
                placed.append(
                    ReplicaPlacement(
                        role=role.role,
                        index=index,
                        rank=role.first_rank + index,
                        cpus=role.cpus,
                        memory=role.memory,
                        gpus=gpus,
                        gpu_share=role.gpu_share,
                        ports=tuple(islice(self.ports, 1 + role.tool_ports)),
                    )
                )
        for resource in RESOURCES:
            self.free[resource] -= need.total(resource)
        return tuple(placed)


def spread(need: Need, devices: dict[str, float]) -> dict[tuple[str, int], tuple[str, ...]] | None:
    """Devices for each replica by role and index, taken from the free parts; None: no room.

    The largest parts first, each where it leaves the least over.
    """
    given = {}
    for role in sorted(need.roles, key=lambda role: -role.gpu_share):
        for index in range(role.count):
            fit = [one for one, free in devices.items() if free + TINY >= role.gpu_share]
            if len(fit) < role.gpus:
                return None
            given[role.role, index] = tuple(sorted(fit, key=devices.__getitem__)[: role.gpus])
            for one in given[role.role, index]:
                devices[one] -= role.gpu_share
    return given


def need_of(
    *,
    framework: str,
    configuration: str,
    num_workers: int,
    values: Mapping[str, Any],
    gpu_memory: int = 0,
) -> Need:
    """The slots of a gang by its effective values; requests count, not limits.

    ``gpu_memory``: bytes of one GPU of the cluster, 0 where it is unknown.
    """
    halves = {half: half_of(values, half) for half in (Role.WORKER, Role.MASTER)}
    counted = halves[Role.WORKER] | {"numWorkers": num_workers}
    gang = framework_of(framework).gang(configuration)
    return Need(
        tuple(
            _role_need(role, count, first, role.values(halves[role.half]), gpu_memory)
            for role, count, first in numbered((role, role.count(counted)) for role in gang)
        )
    )


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
    devices = dict.fromkeys(capacity["gpus"], 1.0)
    for replica in replicas:
        for gpu in replica["gpus"]:
            devices[gpu] = devices.get(gpu, 1.0) - replica.get("gpu_share", 1.0)
    # Of a device that is gone since nothing is left.
    devices = {gpu: max(0.0, devices[gpu]) for gpu in capacity["gpus"]}
    used_ports = {port for replica in replicas for port in replica["ports"]}
    free = {
        CPUS: totals[CPUS] - sum(replica["cpus"] for replica in replicas),
        MEMORY: totals[MEMORY] - sum(replica["memory"] for replica in replicas),
        GPUS: sum(devices.values()),
    }
    first, last = capacity.get("ports", PORTS)
    begin = first if first_port is None else min(max(first_port, first), last)
    ring = chain(range(begin, last), range(first, begin))
    ports = (p for p in ring if p not in used_ports and is_port_free(p))
    return Room(totals=totals, free=free, devices=devices, ports=ports)


def _role_need(
    role: GangRole, count: int, first_rank: int, values: Mapping[str, Any], gpu_memory: int
) -> RoleNeed:
    memory = values.get("compute.cpuMemoryRequest")
    said = values.get("exposedUrls")
    return RoleNeed(
        role=role.name,
        count=count,
        cpus=float(values.get("compute.cpuCoreRequest") or 0),
        memory=quantity_bytes(memory) if memory else 0,
        gpus=int(values.get("compute.gpuDevicesRequest") or 0) if role.has_gpus else 0,
        first_rank=first_rank,
        tool_ports=len(said) if isinstance(said, list) else 0,
        gpu_share=shares.portion(values, gpu_memory),
    )


def _of_one(role: RoleNeed, resource: str) -> float:
    amount: float = getattr(role, resource)
    return amount * role.gpu_share if resource == GPUS else amount
