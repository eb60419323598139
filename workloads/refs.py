"""From rows to the values that drivers see."""

from collections.abc import Mapping
from typing import Any

from gangline.drivers.base import AttemptRef, ReplicaPlacement, Submission
from gangline.organization import queues
from gangline.organization.models import Project
from gangline.scopes.models import Installation
from gangline.spec.frameworks import framework_of
from gangline.spec.problems import Role
from gangline.spec.typed import typed
from gangline.spec.values import half_of
from gangline.spec.workload import ReplicaSpec, WorkerSpec
from workloads.models import Attempt, Desired, Workload

GRACE = "worker.terminationGracePeriodSeconds"
DEFAULT_GRACE = 30


def submission_of(
    workload: Workload, values: Mapping[str, Any], elsewhere: Mapping[str, str] | None = None
) -> Submission:
    """What ``render`` and ``create`` see of a workload, saved or not."""
    return submission(
        name=workload.name,
        uid=str(workload.pk),
        project=workload.project,
        framework=workload.framework,
        configuration=workload.configuration,
        values=values,
        elsewhere=elsewhere,
    )


def submission(
    *,
    name: str,
    uid: str,
    project: Project,
    framework: str,
    configuration: str,
    values: Mapping[str, Any],
    elsewhere: Mapping[str, str] | None = None,
) -> Submission:
    """The same of what is not a workload yet: ``uid`` is empty when ``check`` sees it.

    ``values`` that the spec does not accept are left out: drivers compute with all they see.
    """
    worker = typed(WorkerSpec, half_of(values, Role.WORKER))
    gang = framework_of(framework).gang(configuration)
    has_master = any(role.half is Role.MASTER for role in gang)
    return Submission(
        name=name,
        project=project.name,
        framework=framework,
        configuration=configuration,
        num_workers=worker.num_workers or 1,
        worker=worker,
        master=typed(ReplicaSpec, half_of(values, Role.MASTER)) if has_master else None,
        identifiers={
            "GANGLINE_WORKLOAD": name,
            "GANGLINE_WORKLOAD_ID": uid,
            "GANGLINE_PROJECT": project.name,
            "RUNAI_JOB_NAME": name,
            "RUNAI_JOB_UUID": uid,
            "RUNAI_PROJECT": project.name,
        },
        queue=queues.queue_of(project),
        node_pools=_node_pools(project) if any(map(_names_pools, values)) else {},
        namespace=project.own_namespace if project.namespace else project.claims_namespace,
        volumes_elsewhere=elsewhere or {},
    )


def attempt_ref(workload: Workload, attempt: Attempt) -> AttemptRef:
    """The identity of an attempt, with everything that creating or ending it needs."""
    return AttemptRef(
        install=installation_id(),
        workload=str(workload.pk),
        attempt=attempt.no,
        name=workload.name,
        submission=submission_of(workload, attempt.values),
        rendered=attempt.rendered,
        placement=tuple(placement_from(item) for item in attempt.placement or ()),
        ext_uid=attempt.ext_uid,
        grace_seconds=_grace(attempt),
        goes_on=workload.desired != Desired.DELETED,
    )


def installation_id() -> str:
    """The id that labels everything this installation makes on a cluster."""
    return str(Installation.objects.values_list("pk", flat=True).get())


def placement_from(item: Mapping[str, Any]) -> ReplicaPlacement:
    """A stored placement as the driver's value."""
    return ReplicaPlacement(
        role=item["role"],
        index=item["index"],
        rank=item["rank"],
        cpus=item["cpus"],
        memory=item["memory"],
        gpus=tuple(item["gpus"]),
        ports=tuple(item["ports"]),
        gpu_share=item.get("gpu_share", 1.0),
    )


def _names_pools(path: str) -> bool:
    return path.endswith(".nodePools")


def _node_pools(project: Project) -> dict[str, tuple[str, str]]:
    return {p.name: (p.label_key, p.label_value) for p in project.cluster.pools.all()}


def _grace(attempt: Attempt) -> int:
    given = attempt.value(GRACE)
    return DEFAULT_GRACE if given is None else int(given)
