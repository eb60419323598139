"""Volcano: gangs by PodGroup, queues in a tree with a limit and a guaranteed part each.

The operators make the PodGroup when they were started for gangs, and then use the one that is
there; where they were not, ours is the only one. Both bear the workload's name.
https://volcano.sh/en/docs/podgroup/ and https://volcano.sh/en/docs/queue/
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gangline.drivers.kubernetes import placement, quantities
from gangline.drivers.kubernetes.resources import Resource
from gangline.drivers.kubernetes.wording import sentence
from gangline.lib.texts import listed

from .base import (
    TOPOLOGY,
    Gang,
    Object,
    Objects,
    Suspending,
    Waiting,
    condition,
    mark,
    schedule_with,
    templates,
    without_children,
)
from .plain import gang_reason, of_pods, shortage

POD_GROUPS = Resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup")
QUEUES = Resource("scheduling.volcano.sh", "v1beta1", "queues", "Queue", namespaced=False)
ROOT = "root"
DEEPEST = 16


class Volcano(Suspending):
    """No pod of a gang is placed before all of them can be."""

    name = "volcano"
    title = "Volcano"
    api = POD_GROUPS.api_version
    is_proven = True
    reads: tuple[Resource, ...] = (POD_GROUPS, QUEUES)
    unsupported: Mapping[str, str] = {
        **placement.whole_only(title),
        **dict.fromkeys(
            TOPOLOGY, "Volcano knows topologies by HyperNodes, not by labels of nodes."
        ),
    }

    queues: Resource | None = QUEUES
    default_queue = "default"

    def leaves(self, queues: Objects) -> Objects:
        """The root holds every queue that names no parent, so none of its own."""
        found = without_children(queues, "parent")
        return [queue for queue in found if queue["metadata"]["name"] != ROOT]

    def decorate(self, job: Object, gang: Gang) -> None:
        schedule_with(job, "volcano")
        for template in templates(job):
            mark(template, "annotations", **{"scheduling.k8s.io/group-name": gang.name})
            if gang.preemptibility:
                may = "true" if gang.preemptibility == "preemptible" else "false"
                mark(template, "annotations", **{"volcano.sh/preemptable": may})
        policy = {"minAvailable": gang.pods, **_wanted(gang)}
        if gang.priority:
            policy["priorityClass"] = gang.priority
        if "runPolicy" in job["spec"]:
            job["spec"]["runPolicy"]["schedulingPolicy"] = policy

    def objects(self, gang: Gang) -> list[Object]:
        spec = {"minMember": gang.pods, **_wanted(gang)}
        if gang.priority:
            spec["priorityClassName"] = gang.priority
        return [
            {
                "apiVersion": POD_GROUPS.api_version,
                "kind": POD_GROUPS.kind,
                # MPI's operator takes over no group that a job does not control.
                "metadata": {"name": gang.name, "ownerReferences": [{"controller": True}]},
                "spec": spec,
            }
        ]

    def never(self, waiting: Waiting) -> str:
        group = next(iter(waiting.objects.get(POD_GROUPS.plural, ())), None)
        return _beyond(group, waiting.objects.get(QUEUES.plural, ())) if group else ""

    def pending_reason(self, waiting: Waiting) -> str:
        group = next(iter(waiting.objects.get(POD_GROUPS.plural, ())), None)
        phase = (group or {}).get("status", {}).get("phase") or "Pending"
        if group is None or phase not in ("Pending", "Inqueue"):
            return sentence(of_pods(waiting))
        queues = waiting.objects.get(QUEUES.plural, ()) if phase == "Pending" else ()
        return sentence(_queue_reason(group, queues) or _gang_reason(group, waiting))


def _wanted(gang: Gang) -> dict[str, Any]:
    return {"queue": gang.queue or Volcano.default_queue, "minResources": dict(gang.resources)}


def _queue_reason(group: Mapping[str, Any], queues: Sequence[Mapping[str, Any]]) -> str:
    """Which queue of the chain has no room: Volcano itself says nothing of it."""
    spec = group.get("spec", {})
    by_name = _by_name(queues)
    name = spec.get("queue") or Volcano.default_queue
    if by_name and name not in by_name:
        return f"queue {name} does not exist"
    if by_name and name not in {queue["metadata"]["name"] for queue in Volcano().leaves(queues)}:
        return f"queue {name} has queues below it and takes no workloads itself"
    for above, queue in _chain(name, by_name):
        state = queue.get("status", {}).get("state")
        if state not in (None, "Open", "Unknown"):
            return f"queue {above} is {str(state).lower()} and takes nothing"
        if reason := _limit_reason(above, queue, spec.get("minResources") or {}):
            return reason
    return ""


def _by_name(queues: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {queue["metadata"]["name"]: queue for queue in queues}


def _chain(
    name: str, by_name: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A queue and those above it."""
    for _ in range(DEEPEST):
        queue = by_name.get(name)
        if queue is None:
            return
        yield name, queue
        name = queue.get("spec", {}).get("parent") or ""


def _beyond(group: Mapping[str, Any], queues: Sequence[Mapping[str, Any]]) -> str:
    """The queue of the chain whose limit is below what the gang needs, with every such limit."""
    spec = group.get("spec", {})
    wanted = spec.get("minResources") or {}
    for name, queue in _chain(spec.get("queue") or Volcano.default_queue, _by_name(queues)):
        limits = queue.get("spec", {}).get("capability") or {}
        beyond = [
            resource
            for resource in sorted(limits, key=lambda word: (not quantities.is_gpu(word), word))
            if quantities.amount(wanted.get(resource, 0)) > quantities.amount(limits[resource])
        ]
        if beyond:
            has, needs = (
                listed([quantities.in_words(r, quantities.amount(of[r])) for r in beyond])
                for of in (limits, wanted)
            )
            return f"queue {name} is limited to {has}, and the workload needs {needs}"
    return ""


def _limit_reason(name: str, queue: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    allocated = queue.get("status", {}).get("allocated") or {}
    limits = queue.get("spec", {}).get("capability") or {}
    # GPUs first: they are what people think in.
    for resource in sorted(limits, key=lambda word: (not quantities.is_gpu(word), word)):
        limit = quantities.amount(limits[resource])
        asked = quantities.amount(wanted.get(resource, 0))
        used = quantities.amount(allocated.get(resource, 0))
        if not asked or used + asked <= limit:
            continue
        words = quantities.in_words(resource, limit)
        if used >= limit:
            return f"queue {name} is at its limit of {words}"
        free = quantities.in_words(resource, limit - used)
        needed = quantities.in_words(resource, asked)
        return f"queue {name} has {free} left of {words}, and this needs {needed}"
    return ""


def _gang_reason(group: Mapping[str, Any], waiting: Waiting) -> str:
    spec = group.get("spec", {})
    members = int(spec.get("minMember") or 1)
    if condition(group, "Unschedulable").get("status") == "True" or shortage(waiting):
        return gang_reason(waiting, members)
    # The operator makes the pods once the queue has let the group in.
    if waiting.pods:
        return of_pods(waiting)
    wanted = spec.get("minResources") or {}
    gpus = int(sum(quantities.amount(wanted[name]) for name in wanted if quantities.is_gpu(name)))
    if gpus:
        return f"waiting in the queue for {gpus} {'GPU' if gpus == 1 else 'GPUs'}"
    return f"waiting in the queue for room for {members} {'pod' if members == 1 else 'pods'}"
