"""What a waiting gang lacks, in words with numbers: now, or for ever. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from gangline.drivers.kubernetes import labels, quantities
from gangline.drivers.kubernetes.kinds import ROLES, parts_of
from gangline.lib.texts import listed

from .room import Amounts, Room, requests

_LAST = ("cpu", "memory", "pods")


@dataclass(frozen=True, slots=True)
class Demand:
    """Pods of one role that are alike."""

    role: str
    """``worker``, ``master`` or ``launcher``."""
    count: int
    spec: Mapping[str, Any]
    requests: Amounts
    """What each of them takes from its node."""


def whole(job: Mapping[str, Any]) -> list[Demand]:
    """Every pod of a job."""
    return [Demand(role.lower(), count, spec, requests(spec)) for role, count, spec in _roles(job)]


def unplaced(job: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]) -> list[Demand]:
    """The pods of a job that have no node: those that are there, and those still to be made."""
    placed: dict[str, int] = {}
    for pod in pods:
        if (pod.get("spec") or {}).get("nodeName"):
            role = _label(pod)
            placed[role] = placed.get(role, 0) + 1
    return [
        Demand(role.lower(), left, spec, requests(spec))
        for role, count, spec in _roles(job)
        if (left := count - placed.get(ROLES.get(role.lower(), ""), 0)) > 0
    ]


def shortage(room: Room, demands: Sequence[Demand]) -> str:
    """What there is too little of now: "waiting for 8 GPUs, 3 free on 4 nodes".

    Empty: enough is free, or no node is of the kind that is asked for.
    """
    usable = _usable(room, demands)
    if not any(node.is_open for node in usable.nodes):
        return ""
    for resource, asked in _totals(demands):
        free = usable.free(resource)
        if asked > free:
            words, there = quantities.in_words(resource, asked), quantities.bare(resource, free)
            return f"waiting for {words}, {there} free on {_on(usable, resource)}"
    for demand in demands:
        fitting = room.for_pod(demand.spec)
        held = sum(node.holds(demand.requests) for node in fitting.nodes)
        if held < demand.count:
            return _scattered(fitting, demand, held)
    return ""


def never(room: Room, demands: Sequence[Demand]) -> str:
    """Why the cluster could not hold it if it were empty; what closed nodes have counts.

    Empty: it could, or there is no node of the kind that is asked for: one may still come.
    """
    usable = _usable(room, demands)
    fitting = {id(demand): room.for_pod(demand.spec) for demand in demands}
    if any(not nodes.nodes for nodes in fitting.values()):
        return ""
    has = "the cluster has" if usable == room else "its allowed nodes have"
    beyond = [(r, asked) for r, asked in _totals(demands) if asked > usable.total(r)]
    if beyond:
        needs = listed([quantities.in_words(r, asked) for r, asked in beyond])
        there = listed([_all_of(usable, r) for r, _ in beyond])
        return f"the workload needs {needs}, and {has} {there} in all"
    for demand in demands:
        nodes = fitting[id(demand)].nodes
        for resource, asked in _sorted(demand.requests):
            most = max(node.allocatable.get(resource, Decimal(0)) for node in nodes)
            if asked > most:
                words, there = quantities.in_words(resource, asked), quantities.bare(resource, most)
                return f"each {demand.role} needs {words}, and no node has more than {there}"
        held = sum(node.holds(demand.requests, when_empty=True) for node in nodes)
        if held < demand.count:
            names = _binding(fitting[id(demand)], demand, when_empty=True)
            return (
                f"{_pods(demand.count, demand.role)} need {_each(demand, names)}, and"
                f" {_nodes(len(nodes))} hold {held or 'none'} of them even when empty"
            )
    return ""


def _all_of(room: Room, resource: str) -> str:
    total = room.total(resource)
    return quantities.bare(resource, total) if total else "none"


def within(room: Room, demands: Sequence[Demand], key: str) -> tuple[str, str]:
    """`shortage` and `never` of a gang whose pods must share the value of a node's label."""
    domains = room.by_label(key)
    if not domains:
        return "", ""
    kind = key.rpartition("/")[2]
    late = {value: shortage(part, demands) for value, part in domains.items()}
    last = {value: never(part, demands) for value, part in domains.items()}
    resource, asked = next(iter(_totals(demands)))
    words = f"{quantities.in_words(resource, asked)} in one {kind}"
    short = final = ""
    if all(late.values()):
        best = max(domains, key=lambda value: domains[value].free(resource))
        free = quantities.bare(resource, domains[best].free(resource))
        short = f"waiting for {words}; {best} has the most, {free} free"
        if domains[best].free(resource) >= asked:
            short = f"{late[best]}, all in {kind} {best}"
    if all(last.values()):
        best = max(domains, key=lambda value: domains[value].total(resource))
        most = quantities.bare(resource, domains[best].total(resource))
        final = f"the workload needs {words}, and {best} has the most, {most} in all"
        if domains[best].total(resource) >= asked:
            final = f"{last[best]}, in {kind} {best}"
    return short, final


def _roles(job: Mapping[str, Any]) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    for role, count, template in parts_of(job):
        yield role, count, template["spec"]


def _label(pod: Mapping[str, Any]) -> str:
    return str(((pod.get("metadata") or {}).get("labels") or {}).get(labels.ROLE, ""))


def _usable(room: Room, demands: Sequence[Demand]) -> Room:
    """Nodes on which at least one of the pods may be."""
    names = {node.name for demand in demands for node in room.for_pod(demand.spec).nodes}
    return Room(tuple(node for node in room.nodes if node.name in names))


def _totals(demands: Sequence[Demand]) -> list[tuple[str, Decimal]]:
    sums: dict[str, Decimal] = {}
    for demand in demands:
        for name, much in demand.requests.items():
            sums[name] = sums.get(name, Decimal(0)) + demand.count * much
    return _sorted(sums)


def _sorted(amounts: Amounts) -> list[tuple[str, Decimal]]:
    """GPUs first: they are what people think in."""

    def order(item: tuple[str, Decimal]) -> tuple[bool, int, str]:
        name = item[0]
        return not quantities.is_gpu(name), _LAST.index(name) if name in _LAST else -1, name

    return sorted(((name, much) for name, much in amounts.items() if much), key=order)


def _scattered(fitting: Room, demand: Demand, held: int) -> str:
    """Enough is free in all, and not where one pod after the other could take it."""
    names = _binding(fitting, demand, when_empty=False)
    pods = f"a {demand.role}" if demand.count == 1 else _pods(demand.count, demand.role)
    free = quantities.in_words(names[0], fitting.free(names[0]))
    return (
        f"waiting for room for {pods} with {_each(demand, names)}; {free} free on"
        f" {_on(fitting, names[0])}, enough for {held or 'none'}"
    )


def _binding(fitting: Room, demand: Demand, *, when_empty: bool) -> list[str]:
    """The resources that keep the pods out, each for itself; all of them where only together."""
    asked = [name for name, _ in _sorted(demand.requests)]

    def held(name: str) -> int:
        alone = {name: demand.requests[name]}
        return sum(node.holds(alone, when_empty=when_empty) for node in fitting.nodes)

    return [name for name in asked if held(name) < demand.count] or asked


def _each(demand: Demand, names: Sequence[str]) -> str:
    """What one pod asks for of these."""
    words = " and ".join(quantities.in_words(name, demand.requests[name]) for name in names)
    return words if demand.count == 1 else f"{words} each"


def _on(room: Room, resource: str) -> str:
    return _nodes(room.count(resource) or sum(node.is_open for node in room.nodes))


def _nodes(count: int) -> str:
    return f"{count} node" if count == 1 else f"{count} nodes"


def _pods(count: int, role: str) -> str:
    return f"{count} {role}" if count == 1 else f"{count} {role}s"
