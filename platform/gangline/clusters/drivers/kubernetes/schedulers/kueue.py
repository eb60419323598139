"""Kueue: a quota for whole jobs, which it keeps suspended until they are admitted.

Not proven live: written from its documentation and golden manifests, and used only where an admin
asks for it. Kueue, not Gangline, lets a job go; stopping one is done at its Workload.
https://kueue.sigs.k8s.io/docs/tasks/run/kubeflow/
"""

from collections.abc import Iterator, Mapping

from gangline.clusters.drivers.base import Submission
from gangline.clusters.drivers.kubernetes import sharing
from gangline.clusters.drivers.kubernetes.resources import Resource
from gangline.spec.problems import Problem

from .base import Gang, Object, Waiting, by_role, condition, mark, sentence
from .plain import of_pods

WORKLOADS = Resource("kueue.x-k8s.io", "v1beta1", "workloads", "Workload")
DEFAULT_QUEUE = "default"
"""LocalQueue of the project's namespace."""


class Kueue:
    """All of a job's quota or none; its pods are then placed by the scheduler that is there."""

    name = "kueue"
    title = "Kueue"
    api = WORKLOADS.api_version
    is_proven = False
    reads: tuple[Resource, ...] = (WORKLOADS,)
    unsupported: Mapping[str, str] = sharing.whole_only(title)

    def check(self, submission: Submission) -> Iterator[Problem]:
        return iter(())

    def decorate(self, job: Object, gang: Gang) -> None:
        mark(job, "labels", **{"kueue.x-k8s.io/queue-name": gang.queue or DEFAULT_QUEUE})
        for role, template in by_role(job):
            if topology := gang.topologies.get(role):
                key, kind = topology
                word = f"kueue.x-k8s.io/podset-{kind.lower()}-topology"
                mark(template, "annotations", **{word: key})

    def objects(self, gang: Gang) -> list[Object]:
        return []

    def pending_reason(self, waiting: Waiting) -> str:
        workload = next(iter(waiting.objects.get(WORKLOADS.plural, ())), {})
        if condition(workload, "Admitted").get("status") == "True":
            return sentence(of_pods(waiting))
        for kind in ("QuotaReserved", "Admitted"):
            found = condition(workload, kind)
            if found.get("status") == "False" and found.get("message"):
                return sentence(f"waiting for quota: {found['message']}")
        return sentence("waiting for Kueue to admit it" if workload else of_pods(waiting))
