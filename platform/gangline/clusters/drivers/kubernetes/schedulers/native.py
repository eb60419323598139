"""Gang scheduling of Kubernetes itself, alpha in 1.36: one PodGroup for each workload.

Feature gates ``GenericWorkload`` and ``GangScheduling``. Pods name their group in a field that
MPIJob's definition does not have yet: those are placed pod by pod.
https://kubernetes.io/docs/concepts/scheduling-eviction/gang-scheduling/
"""

from gangline.clusters.drivers.kubernetes.resources import Resource

from .base import Gang, Object, Waiting, condition, sentence, templates
from .plain import gang_reason, gpus_of, of_pods, unplaced

POD_GROUPS = Resource("scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup")
WITHOUT = frozenset({"MPI"})


class Native:
    """No pod of a gang is placed before all of them can be."""

    name = "native"
    title = "gang scheduling of Kubernetes (alpha)"
    api = POD_GROUPS.api_version
    is_proven = True
    reads: tuple[Resource, ...] = (POD_GROUPS,)

    def decorate(self, job: Object, gang: Gang) -> None:
        if gang.framework in WITHOUT:
            return
        for template in templates(job):
            template["spec"]["schedulingGroup"] = {"podGroupName": gang.name}

    def objects(self, gang: Gang) -> list[Object]:
        if gang.framework in WITHOUT:
            return []
        return [
            {
                "apiVersion": POD_GROUPS.api_version,
                "kind": POD_GROUPS.kind,
                "metadata": {"name": gang.name},
                "spec": {"schedulingPolicy": {"gang": {"minCount": gang.pods}}},
            }
        ]

    def pending_reason(self, waiting: Waiting) -> str:
        group = next(iter(waiting.objects.get(POD_GROUPS.plural, ())), {})
        if condition(group, "PodGroupScheduled").get("status") != "False":
            return sentence(of_pods(waiting))
        if waiting.pods and not unplaced(waiting):
            return ""
        members = group.get("spec", {}).get("schedulingPolicy", {}).get("gang", {})
        count = int(members.get("minCount") or len(waiting.pods))
        return sentence(gang_reason(waiting, count, gpus_of(unplaced(waiting))))
