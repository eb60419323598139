"""Volcano: gangs by PodGroup, queues in a tree with a limit and a guaranteed part each.

The operators make the PodGroup when they were started for gangs, and then use the one that is
there; where they were not, ours is the only one. Both bear the workload's name.
https://volcano.sh/en/docs/podgroup/ and https://volcano.sh/en/docs/queue/
"""

from collections.abc import Mapping, Sequence
from typing import Any

from gangline.clusters.drivers.kubernetes import quantities
from gangline.clusters.drivers.kubernetes.resources import Resource

from .base import Gang, Object, Waiting, condition, mark, schedule_with, sentence, templates
from .plain import of_pods

POD_GROUPS = Resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup")
QUEUES = Resource("scheduling.volcano.sh", "v1beta1", "queues", "Queue", namespaced=False)
DEFAULT_QUEUE = "default"
DEEPEST = 16


class Volcano:
    """No pod of a gang is placed before all of them can be."""

    name = "volcano"
    title = "Volcano"
    api = POD_GROUPS.api_version
    is_proven = True
    reads: tuple[Resource, ...] = (POD_GROUPS, QUEUES)

    def decorate(self, job: Object, gang: Gang) -> None:
        schedule_with(job, "volcano")
        for template in templates(job):
            mark(template, "annotations", **{"scheduling.k8s.io/group-name": gang.name})
        policy = {"minAvailable": gang.pods, **_wanted(gang)}
        if gang.priority:
            policy["priorityClass"] = gang.priority
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

    def pending_reason(self, waiting: Waiting) -> str:
        group = next(iter(waiting.objects.get(POD_GROUPS.plural, ())), None)
        if group is None:
            return sentence(of_pods(waiting))
        queued = _queue_reason(group, waiting.objects.get(QUEUES.plural, ()))
        return sentence(queued or of_pods(waiting) or _gang_reason(group))


def _wanted(gang: Gang) -> dict[str, Any]:
    return {"queue": gang.queue or DEFAULT_QUEUE, "minResources": dict(gang.resources)}


def _queue_reason(group: Mapping[str, Any], queues: Sequence[Mapping[str, Any]]) -> str:
    """Which queue of the chain has no room: Volcano itself says nothing of it."""
    spec = group.get("spec", {})
    if group.get("status", {}).get("phase", "Pending") != "Pending":
        return ""
    by_name = {queue["metadata"]["name"]: queue for queue in queues}
    name = spec.get("queue") or DEFAULT_QUEUE
    if by_name and name not in by_name:
        return f"queue {name} does not exist"
    for _ in range(DEEPEST):
        queue = by_name.get(name)
        if queue is None:
            return ""
        state = queue.get("status", {}).get("state")
        if state not in (None, "Open", "Unknown"):
            return f"queue {name} is {str(state).lower()} and takes nothing"
        if reason := _limit_reason(name, queue, spec.get("minResources") or {}):
            return reason
        name = queue.get("spec", {}).get("parent") or ""
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
        if asked > limit:
            more = quantities.in_words(resource, asked)
            return f"queue {name} is limited to {words}, and this needs {more}"
        if used >= limit:
            return f"queue {name} is at its limit of {words}"
        free = quantities.in_words(resource, limit - used)
        needed = quantities.in_words(resource, asked)
        return f"queue {name} has {free} left of {words}, and this needs {needed}"
    return ""


def _gang_reason(group: Mapping[str, Any]) -> str:
    members = group.get("spec", {}).get("minMember", 0)
    if condition(group, "Unschedulable").get("status") == "True":
        return f"there is no room for all {members} pods together"
    return f"waiting in the queue for room for {members} {'pod' if members == 1 else 'pods'}"
