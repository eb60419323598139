"""What workloads add to the resources of the organisation and to clusters."""

from typing import Any

from django.db.models import FloatField, Sum
from django.db.models.functions import Coalesce

from assets.kinds import DATA_KINDS, KINDS
from assets.models import Asset, Credential, PersonalCredential, Template
from assets.templates import starts
from gangline.clusters.models import Cluster
from gangline.clusters.resources import forgetting
from gangline.db.expressions import total
from gangline.organization import usage as organization_usage
from gangline.organization.models import Project
from gangline.resources.registry import Uses, get, register_panel, register_usage
from gangline.resources.resource import Panel
from gangline.resources.tables import column
from workloads.models import Workload
from workloads.selectors import workload_list
from workloads.services import others_jobs as services_of_jobs
from workloads.services import usage
from workloads.services.removal import forget_all
from workloads.statuses import ENDED
from workloads.views import others_jobs

_RUNNING = column("running", "Running", "running", sort="running", right=True, width="s")

organization_usage.register(usage.Source())
for _key, _path in (("project", "project"), ("department", "project__department")):
    get(_key).extend(_RUNNING, gpus_used=usage.gpus_used(_path), running=usage.running(_path))
register_usage(
    Project,
    lambda project: Uses(
        "workload",
        project.workloads.filter(deleted_at=None),
        workload_list.visible,
        lambda workload: f"/workloads/{workload.pk}",
    ),
)


register_panel(
    "cluster",
    Panel(
        title="",
        template="clusters/parts/jobs.html",
        context=others_jobs.panel,
        tab="Jobs",
        allowed=services_of_jobs.sees,
    ),
)


def _using(asset: Any) -> Uses:
    rows = Workload.objects.filter(assets=asset.pk, deleted_at=None)
    return Uses("workload", rows, workload_list.visible, lambda row: f"/workloads/{row.pk}")


for _kind in DATA_KINDS:
    register_usage(_kind.model, _using)


def _made_with(asset: Any) -> Uses:
    """Workloads keep the values that they were made with: nobody waits for them."""
    uses = _using(asset)
    return Uses(uses.noun, uses.rows, uses.visible, uses.url, blocks=False)


def _started_from(template: Any) -> Uses:
    rows = Workload.objects.filter(template=template.pk, deleted_at=None)
    return Uses(
        "workload", rows, workload_list.visible, lambda row: f"/workloads/{row.pk}", blocks=False
    )


for _kind in KINDS:
    if _kind.key in (Asset.Kind.ENVIRONMENT, Asset.Kind.COMPUTE):
        register_usage(_kind.model, _made_with)
register_usage(Template, _started_from)
starts |= {
    "workload": "workloads.wizard.starts.of_workload",
    "draft": "workloads.wizard.starts.of_draft",
}

RUNNING = ("Running",)
WAITING = ("Pending", "Creating")


def _of_cluster(statuses: tuple[str, ...], column: str = "") -> Coalesce:
    """How many workloads a cluster has in these statuses, or the sum of a column over them."""
    rows = Workload.objects.filter(deleted_at=None, status__in=statuses)
    if column:
        return total(rows, "cluster", Sum(column), FloatField)
    return total(rows, "cluster")


get("cluster").extend(
    column("running", "Running", sort="running", right=True, width="s", drops=2),
    column("waiting", "Waiting", sort="waiting", right=True, width="s", drops=2),
    running=_of_cluster(RUNNING),
    waiting=_of_cluster(WAITING),
    used_cpus=_of_cluster(RUNNING, "cpus"),
    used_memory=_of_cluster(RUNNING, "memory"),
    used_gpus=_of_cluster(RUNNING, "gpus"),
)


def _unfinished(cluster: Any) -> Uses:
    rows = Workload.objects.filter(cluster=cluster, deleted_at=None).exclude(status__in=ENDED)
    return Uses("workload", rows, workload_list.visible, lambda row: f"/workloads/{row.pk}")


register_usage(Cluster, _unfinished)


def _users_of(credential: Credential) -> Uses:
    rows = Workload.objects.filter(credential_uses__credential=credential.pk, deleted_at=None)
    return Uses("workload", rows, workload_list.visible, lambda one: f"/workloads/{one.pk}")


for model in (Credential, PersonalCredential):
    register_usage(model, _users_of)


def _forget(sender: Any, cluster: Cluster, **more: Any) -> None:
    forget_all(cluster)


forgetting.connect(_forget, dispatch_uid="workloads")
