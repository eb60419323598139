"""Gang scheduling of Kubernetes itself, alpha in 1.36: one PodGroup for each workload.

Feature gates ``GenericWorkload`` and ``GangScheduling``. Pods name their group in a field that
MPIJob's definition does not have yet: those are placed pod by pod. A group may be bound to nodes
that share the value of a label.
https://kubernetes.io/docs/concepts/scheduling-eviction/gang-scheduling/ and
https://kubernetes.io/docs/concepts/scheduling-eviction/topology-aware-workload-scheduling/
"""

from collections.abc import Mapping, Sequence
from typing import Any

from gangline.clusters.drivers.kubernetes.resources import Resource

from .base import (
    REQUIRED,
    Gang,
    Object,
    Suspending,
    Waiting,
    condition,
    keep_together,
    sentence,
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

    def decorate(self, job: Object, gang: Gang) -> None:
        if gang.framework in self.places_alone or not _is_bound(gang):
            keep_together(job, gang)
        if gang.framework in self.places_alone:
            return
        for template in templates(job):
            template["spec"]["schedulingGroup"] = {"podGroupName": gang.name}

    def objects(self, gang: Gang) -> list[Object]:
        if gang.framework in self.places_alone:
            return []
        spec: Object = {"schedulingPolicy": {"gang": {"minCount": gang.pods}}}
        if gang.topology is not None and _is_bound(gang):
            spec["schedulingConstraints"] = {"topology": [{"key": gang.topology[0]}]}
        return [
            {
                "apiVersion": POD_GROUPS.api_version,
                "kind": POD_GROUPS.kind,
                "metadata": {"name": gang.name},
                "spec": spec,
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


def _is_bound(gang: Gang) -> bool:
    """The group can only be bound; a mere preference is each pod's own."""
    return gang.topology is not None and gang.topology[1] == REQUIRED


def _group(waiting: Waiting) -> Mapping[str, Any]:
    return next(iter(waiting.objects.get(POD_GROUPS.plural, ())), {})
