"""Kueue: a quota for whole jobs, which it keeps suspended until they are admitted.

Not proven live: written from its documentation and golden manifests, and used only where an admin
asks for it. Kueue, not Gangline, lets a job go: it takes back every change of ``suspend``. A job is
held by keeping it out of every queue, and stopped at the Workload that Kueue keeps of it.
https://kueue.sigs.k8s.io/docs/tasks/run/kubeflow/ and
https://kueue.sigs.k8s.io/docs/concepts/workload/#active
"""

from collections.abc import Mapping

from gangline.drivers.kubernetes import placement
from gangline.drivers.kubernetes.resources import Resource
from gangline.drivers.kubernetes.wording import sentence

from .base import Change, Gang, Object, Suspending, Waiting, by_role, condition, mark
from .plain import of_pods

WORKLOADS = Resource("kueue.x-k8s.io", "v1beta1", "workloads", "Workload")
LOCAL_QUEUES = Resource("kueue.x-k8s.io", "v1beta1", "localqueues", "LocalQueue")
QUEUE = "kueue.x-k8s.io/queue-name"


class Kueue(Suspending):
    """All of a job's quota or none; its pods are then placed by the scheduler that is there."""

    name = "kueue"
    title = "Kueue"
    api = WORKLOADS.api_version
    is_proven = False
    reads: tuple[Resource, ...] = (WORKLOADS,)
    queues: Resource | None = LOCAL_QUEUES
    default_queue = "default"
    """A LocalQueue of the project's namespace."""
    unsupported: Mapping[str, str] = {
        **placement.whole_only(title),
        **placement.by_priority_only(title),
    }

    def decorate(self, job: Object, gang: Gang) -> None:
        """Without its queue, for as long as the job is held."""
        for role, template in by_role(job):
            if topology := gang.topologies.get(role):
                key, kind = topology
                word = f"kueue.x-k8s.io/podset-{kind.lower()}-topology"
                mark(template, "annotations", **{word: key})

    def let_go(self, queue: str) -> Change:
        label = {"metadata": {"labels": {QUEUE: queue or self.default_queue}}}
        return Change(label, theirs={WORKLOADS: {"spec": {"active": True}}})

    def hold_back(self) -> Change:
        """A job that Kueue has not seen yet leaves its queue again."""
        gone = {"metadata": {"labels": {QUEUE: None}}}
        return Change({}, theirs={WORKLOADS: {"spec": {"active": False}}}, without_theirs=gone)

    def never(self, waiting: Waiting) -> str:
        """Kueue has no reason of its own for that: its message compares request and capacity."""
        workload = next(iter(waiting.objects.get(WORKLOADS.plural, ())), {})
        found = condition(workload, "QuotaReserved")
        message = str(found.get("message") or "") if found.get("status") == "False" else ""
        return message if "maximum capacity" in message else ""

    def pending_reason(self, waiting: Waiting) -> str:
        workload = next(iter(waiting.objects.get(WORKLOADS.plural, ())), {})
        if condition(workload, "Admitted").get("status") == "True":
            return sentence(of_pods(waiting))
        for kind in ("QuotaReserved", "Admitted"):
            found = condition(workload, kind)
            if found.get("status") == "False" and found.get("message"):
                return sentence(f"waiting for quota: {found['message']}")
        if workload:
            return sentence("waiting for Kueue to admit it")
        return sentence(of_pods(waiting) or "Kueue has not picked it up yet")
