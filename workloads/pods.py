"""How the pods of a gang look, one by one or as a grid."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.safestring import SafeString

from gangline.web import components
from workloads.models import Replica, Workload
from workloads.selectors.details import rank_of


@dataclass(frozen=True, slots=True)
class PodStatus:
    """How the state of one pod looks."""

    word: str
    tone: str
    shape: str


_STATES = {
    "Pending": PodStatus("Pending", "warn", "pending"),
    "Starting": PodStatus("Starting", "info", "initializing"),
    "Running": PodStatus("Running", "good", "running"),
    "Succeeded": PodStatus("Completed", "neutral", "completed"),
    "Failed": PodStatus("Failed", "bad", "failed"),
    "Stopped": PodStatus("Stopped", "neutral", "suspended"),
}
_UNKNOWN = PodStatus("Unknown", "neutral", "unknown")


def status_of(replica: Replica) -> PodStatus:
    return _STATES.get(replica.state, _UNKNOWN)


def pod_grid(workload: Workload, replicas: Sequence[Replica]) -> SafeString:
    """A square per pod in rank order, each leading to its log."""
    log = reverse("workload-tab", args=[workload.pk, "logs"])
    return components.pod_grid(
        [
            (_named(pod, workload.framework), f"{log}?pod={pod.name}", status_of(pod))
            for pod in replicas
        ]
    )


def _named(pod: Replica, framework: str) -> str:
    rank = rank_of(pod, framework)
    return pod.name if rank is None else f"rank {rank}, {pod.name}"
