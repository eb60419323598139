"""Gang scheduling of Kubernetes itself, alpha in 1.36: one PodGroup for each workload.

Feature gates ``GenericWorkload`` and ``GangScheduling``. Pods name their group in a field that
MPIJob's definition does not have yet: those are placed pod by pod. A group may be bound to nodes
that share the value of a label.
https://kubernetes.io/docs/concepts/scheduling-eviction/gang-scheduling/ and
https://kubernetes.io/docs/concepts/scheduling-eviction/topology-aware-workload-scheduling/
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gangline.drivers.base import Submission
from gangline.drivers.kubernetes import placement
from gangline.drivers.kubernetes.resources import Resource
from gangline.drivers.kubernetes.wording import sentence
from gangline.spec.affinity import REQUIRED
from gangline.spec.problems import Problem, Role

from .base import (
    Gang,
    Object,
    Suspending,
    Waiting,
    condition,
    keep_pods_together,
    of_the_whole_gang,
    templates,
)
from .plain import gang_reason, of_pods, unplaced

POD_GROUPS = Resource("scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup")


class Native(Suspending):
    """No pod of a gang is placed before all of them can be."""

    name = "native"
    title = "gang scheduling of Kubernetes (alpha)"
    api = POD_GROUPS.api_version
    is_proven = True
    places_alone = frozenset({"MPI"})
    reads: tuple[Resource, ...] = (POD_GROUPS,)
    unsupported: Mapping[str, str] = {
        **placement.whole_only("Kubernetes itself"),
        **placement.by_priority_only("Kubernetes itself"),
    }

    def check(self, submission: Submission) -> Iterator[Problem]:
        """A group knows one topology, for all of its pods, that must be."""
        if submission.framework in self.places_alone:
            return
        kind = submission.worker.pod_affinity.type
        if kind not in (None, REQUIRED):
            yield Problem.of(
                Role.WORKER, "podAffinity.type", "scheduler:type", value=kind, accepted=REQUIRED
            )
        yield from of_the_whole_gang(submission, "gang scheduling of Kubernetes")

    def decorate(self, job: Object, gang: Gang) -> None:
        if gang.framework in self.places_alone:
            keep_pods_together(job, gang)
            return
        for template in templates(job):
            template["spec"]["schedulingGroup"] = {"podGroupName": gang.name}

    def objects(self, gang: Gang) -> list[Object]:
        if gang.framework in self.places_alone:
            return []
        return [
            {
                "apiVersion": POD_GROUPS.api_version,
                "kind": POD_GROUPS.kind,
                "metadata": {"name": gang.name},
                "spec": {
                    "schedulingPolicy": {"gang": {"minCount": gang.pods}},
                    **_constraints(gang),
                },
            }
        ]

    def pending_reason(self, waiting: Waiting) -> str:
        group = _group(waiting)
        if condition(group, "PodGroupScheduled").get("status") != "False":
            return sentence(of_pods(waiting))
        if waiting.pods and not unplaced(waiting):
            return ""
        members = group.get("spec", {}).get("schedulingPolicy", {}).get("gang", {})
        count = int(members.get("minCount") or len(waiting.pods))
        return sentence(gang_reason(waiting, count, self.bound_to(waiting)))

    def bound_to(self, waiting: Waiting) -> str:
        constraints = _group(waiting).get("spec", {}).get("schedulingConstraints") or {}
        bonds: Sequence[Mapping[str, Any]] = constraints.get("topology") or ()
        return str(bonds[0].get("key") or "") if bonds else ""


def _group(waiting: Waiting) -> Mapping[str, Any]:
    return next(iter(waiting.objects.get(POD_GROUPS.plural, ())), {})


def _constraints(gang: Gang) -> dict[str, Any]:
    """Feature gate ``TopologyAwareWorkloadScheduling``; one label at most."""
    if gang.topology is None:
        return {}
    key, _ = gang.topology
    return {"schedulingConstraints": {"topology": [{"key": key}]}}
