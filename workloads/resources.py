"""What workloads add to the pages of clusters: how busy each is, and what keeps it in use."""

from typing import Any

from django.db.models import Count, FloatField, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from gangline.access.grants import holds
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.clusters.models import Cluster
from gangline.clusters.resources import forgetting
from gangline.resources.registry import Uses, get, register_usage
from gangline.tables.columns import Column
from workloads.models import Workload
from workloads.services.removal import forget_all
from workloads.statuses import ENDED

RUNNING = ("Running",)
WAITING = ("Pending", "Creating")


def _sum(column: str) -> Coalesce:
    """Of the running workloads of a cluster."""
    rows = _of_cluster(RUNNING).annotate(total=Sum(column))
    found = Subquery(rows.values("total"), output_field=FloatField())
    return Coalesce(found, 0.0, output_field=FloatField())


def _count(statuses: tuple[str, ...]) -> Coalesce:
    return Coalesce(Subquery(_of_cluster(statuses).annotate(n=Count("pk")).values("n")), 0)


def _of_cluster(statuses: tuple[str, ...]) -> QuerySet[Any]:
    rows = Workload.objects.filter(cluster=OuterRef("pk"), deleted_at=None, status__in=statuses)
    return rows.order_by().values("cluster")


get("cluster").extend(
    Column("running", "Running", lambda row: str(row.running), sort="running", right=True),
    Column("waiting", "Waiting", lambda row: str(row.waiting), sort="waiting", right=True),
    running=_count(RUNNING),
    waiting=_count(WAITING),
    used_cpus=_sum("cpus"),
    used_memory=_sum("memory"),
    used_gpus=_sum("gpus"),
)


def _unfinished(cluster: Any) -> Uses:
    rows = Workload.objects.filter(cluster=cluster, deleted_at=None).exclude(status__in=ENDED)
    return Uses("workload", rows, _visible, lambda row: f"/workloads/{row.pk}")


def _visible(user: User) -> QuerySet[Any]:
    return Workload.objects.filter(holds(user, Permission.WORKLOAD_VIEW, "project__scope"))


register_usage(Cluster, _unfinished)


def _forget(sender: Any, cluster: Cluster, **more: Any) -> None:
    forget_all(cluster)


forgetting.connect(_forget, dispatch_uid="workloads")
