"""Taking a cluster away with all that Gangline knows of it; nothing on the cluster is touched."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import transaction

from gangline.access.actor import Actor
from gangline.access.grants import can
from gangline.access.permissions import Permission
from gangline.access.refusals import NotAllowed
from gangline.clusters import kubernetes
from gangline.clusters.kubernetes import CannotRemove
from gangline.clusters.models import Cluster
from gangline.db.locks import locked
from gangline.organization.models import Project
from gangline.scopes.models import Scope
from workloads.models import Workload
from workloads.statuses import ENDED


@dataclass(frozen=True, slots=True)
class Holdings:
    """What would be forgotten with a cluster."""

    projects: tuple[str, ...]
    workloads: int
    unfinished: int
    """Trainings that have not ended: their pods go on, and nobody watches them."""

    @property
    def reason_to_stay(self) -> str:
        """Why it is not removed unless a person says so; empty where nothing is lost."""
        if not self.projects:
            return ""
        shown = ", ".join(self.projects[:3])
        more = f" and {len(self.projects) - 3} more" if len(self.projects) > 3 else ""
        noun = "project" if len(self.projects) == 1 else "projects"
        return f"It still has the {noun} {shown}{more}."


def holdings(cluster: Cluster) -> Holdings:
    """What Gangline keeps about ``cluster``."""
    rows = Workload.objects.filter(cluster=cluster, deleted_at=None)
    names = Project.objects.filter(cluster=cluster).order_by("name").values_list("name", flat=True)
    return Holdings(tuple(names), rows.count(), rows.exclude(status__in=ENDED).count())


def remove(*, actor: Actor, cluster: Cluster, forget: bool = False, leave: bool = False) -> None:
    """Forget a cluster and erase its credential.

    ``forget``: with its projects and the history of its workloads; ``leave``: though some have not
    ended. Raises CannotRemove with the reason, or NotAllowed.
    """
    if not can(actor.user, Permission.CLUSTER_DELETE, cluster.scope):
        raise NotAllowed(Permission.CLUSTER_DELETE, cluster.scope)
    gone: list[str] = []
    with transaction.atomic():
        if locked(Cluster.objects.filter(pk=cluster.pk)).first() is None:
            raise CannotRemove(f"{cluster.name} is removed already.")
        held = holdings(cluster)
        if held.projects and not forget:
            raise CannotRemove(held.reason_to_stay)
        if held.unfinished and not leave:
            raise CannotRemove(f"{held.unfinished} of its workloads have not ended.")
        if held.projects and kubernetes.is_removable(cluster):
            gone = _forget_projects(cluster)
        kubernetes.remove(actor=actor, cluster=cluster)
    for workload_id in gone:
        shutil.rmtree(Path(settings.GANGLINE.data_dir) / "logs" / workload_id, ignore_errors=True)


def _forget_projects(cluster: Cluster) -> list[str]:
    """Delete rows of workloads and projects; returns the ids whose logs may go then."""
    rows = locked(Workload.objects.filter(cluster=cluster))
    ids = [str(key) for key in rows.values_list("pk", flat=True)]
    Workload.objects.filter(cluster=cluster).delete()
    projects = Project.objects.filter(cluster=cluster)
    scopes = list(projects.values_list("scope_id", flat=True))
    projects.delete()
    Scope.objects.filter(pk__in=scopes).delete()
    return ids
