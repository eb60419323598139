"""KAI Scheduler: queues of departments and projects, gangs without a PodGroup of ours.

Not proven live: written from its documentation and golden manifests, and used only where an admin
asks for it. Its pod grouper makes the PodGroup from the job, whose labels it copies.
https://github.com/NVIDIA/KAI-Scheduler/tree/main/docs
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gangline.drivers.base import Submission
from gangline.drivers.kubernetes.resources import Resource
from gangline.drivers.kubernetes.wording import sentence
from gangline.spec.problems import Problem

from .base import (
    Gang,
    Object,
    Objects,
    Suspending,
    Waiting,
    by_role,
    mark,
    of_the_whole_gang,
    schedule_with,
    without_children,
)
from .plain import of_pods

POD_GROUPS = Resource("scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup")
QUEUES = Resource("scheduling.run.ai", "v2", "queues", "Queue", namespaced=False)
TOPOLOGY, DEFAULT_TOPOLOGY = "kai.scheduler/topology", "default"
"""Name of the Topology object whose levels people may ask for."""
POOL = "kai.scheduler/node-pool"


class Kai(Suspending):
    """No pod of a gang is placed before all of them can be."""

    name = "kai"
    title = "KAI Scheduler"
    api = POD_GROUPS.api_version
    is_proven = False
    reads: tuple[Resource, ...] = (POD_GROUPS,)
    queues: Resource | None = QUEUES
    default_queue = "default-queue"

    def leaves(self, queues: Objects) -> Objects:
        return without_children(queues, "parentQueue")

    def check(self, submission: Submission) -> Iterator[Problem]:
        return of_the_whole_gang(submission, self.title)

    def decorate(self, job: Object, gang: Gang) -> None:
        schedule_with(job, "kai-scheduler")
        mark(job, "labels", **{"kai.scheduler/queue": gang.queue or self.default_queue})
        if gang.preemptibility:
            mark(job, "labels", **{"kai.scheduler/preemptibility": gang.preemptibility})
        for role, template in by_role(job):
            if share := gang.shares.get(role):
                mark(template, "annotations", **share)
        if gang.topology is not None:
            key, kind = gang.topology
            placement = f"kai.scheduler/topology-{kind.lower()}-placement"
            mark(job, "annotations", **{TOPOLOGY: DEFAULT_TOPOLOGY, placement: key})

    def pending_reason(self, waiting: Waiting) -> str:
        # A condition stays when the gang starts in another pool later: it counts for its own only,
        # and only while a pod has no node.
        unplaced = [pod for pod in waiting.pods if not pod.get("spec", {}).get("nodeName")]
        if waiting.pods and not unplaced:
            return ""
        group = next(iter(waiting.objects.get(POD_GROUPS.plural, ())), {})
        return sentence(_of_pool(group) or of_pods(waiting))


def _of_pool(group: Mapping[str, Any]) -> str:
    pool = group.get("metadata", {}).get("labels", {}).get(POOL, "default")
    for found in group.get("status", {}).get("schedulingConditions") or ():
        if found.get("nodePool", "default") != pool:
            continue
        reasons = [str(r.get("message") or r.get("reason") or "") for r in found.get("reasons", ())]
        return next(filter(None, [*reasons, str(found.get("message") or "")]), "")
    return ""
