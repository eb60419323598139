"""What workloads add to the resources of the organisation."""

from gangline.organization import usage as organization_usage
from gangline.organization.models import Project
from gangline.resources.registry import Uses, get, register_usage
from gangline.resources.tables import column
from workloads.selectors import listing
from workloads.services import usage

_RUNNING = column("running", "Running", "running", sort="running", right=True)

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
