"""What workloads add to the resources of the organisation and to clusters."""

from typing import Any

from django.db.models import Count, FloatField, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from gangline.clusters.models import Cluster
from gangline.clusters.resources import forgetting
from gangline.organization import usage as organization_usage
from gangline.organization.models import Project
from gangline.resources.registry import Uses, get, register_usage
from gangline.resources.tables import column
from workloads.models import Workload
from workloads.selectors import listing
from workloads.services import usage
from workloads.services.removal import forget_all
from workloads.statuses import ENDED

_RUNNING = column("running", "Running", "running", sort="running", right=True, width="s")

organization_usage.register(usage.Source())
for _key, _path in (("project", "project"), ("department", "project__department")):
    get(_key).extend(_RUNNING, gpus_used=usage.gpus_used(_path), running=usage.running(_path))
register_usage(
    Project,
    lambda project: Uses(
        "workload",
        project.workloads.filter(deleted_at=None),
        listing.visible,
        lambda workload: f"/workloads/{workload.pk}",
    ),
)

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
    column("running", "Running", sort="running", right=True, width="s"),
    column("waiting", "Waiting", sort="waiting", right=True, width="s"),
    running=_count(RUNNING),
    waiting=_count(WAITING),
    used_cpus=_sum("cpus"),
    used_memory=_sum("memory"),
    used_gpus=_sum("gpus"),
)


def _unfinished(cluster: Any) -> Uses:
    rows = Workload.objects.filter(cluster=cluster, deleted_at=None).exclude(status__in=ENDED)
    return Uses("workload", rows, listing.visible, lambda row: f"/workloads/{row.pk}")


register_usage(Cluster, _unfinished)


def _forget(sender: Any, cluster: Cluster, **more: Any) -> None:
    forget_all(cluster)


forgetting.connect(_forget, dispatch_uid="workloads")
