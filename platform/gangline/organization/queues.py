"""Who enforces a quota: Gangline where slots are its own, the queues of Volcano, or nobody."""

from dataclasses import dataclass

from gangline.clusters.connections import scheduler_of
from gangline.clusters.models import Cluster
from gangline.clusters.services import OURS

from .models import Department, Project

QUEUES = "volcano"


@dataclass(frozen=True, slots=True)
class Enforcement:
    """Whether the quota binds, and what says so."""

    is_enforced: bool
    sentence: str


def enforcement(cluster: Cluster) -> Enforcement:
    if cluster.capacity.get("admission") == OURS:
        return Enforcement(True, "Enforced by Gangline: it gives out the slots of this cluster.")
    if has_managed_queues(cluster):
        return Enforcement(True, "Enforced by Volcano, with a queue for each project.")
    return Enforcement(False, "Not enforced by this cluster's scheduler.")


def has_managed_queues(cluster: Cluster) -> bool:
    """Whether quotas are handed to the cluster's scheduler as queues."""
    return scheduler_of(cluster) == QUEUES


def keep(node: Department | Project) -> None:
    pass


def let_go(node: Department | Project) -> None:
    pass


def state_of(project: Project) -> str:
    return f"{project.own_queue} (managed by others)" if project.own_queue else ""
