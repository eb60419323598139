"""Dry runs of submissions on a cluster, with its errors at the form's fields."""

import uuid
from collections.abc import Iterable

from gangline.clusters.connections import acts_here, driver_for
from gangline.drivers.base import AttemptRef, Driver, DryRunResult
from gangline.drivers.kind import Unconnectable
from gangline.organization.models import Project
from gangline.spec.problems import Problem, Role
from gangline.spec.sources import WORKERS, Values
from workloads import refs
from workloads.services import data_volumes
from workloads.services.cluster_problems import labelled
from workloads.services.credentials import bound
from workloads.services.item_paths import as_sent, field_of
from workloads.services.submission_types import Preview, SubmissionRequest


def dry_run(preview: Preview, request: SubmissionRequest) -> DryRunResult:
    """Ask the cluster of ``preview``. No transaction may be open: it takes up to half a minute.

    What our own checks refuse is not passed on: the cluster would only say it in other words.
    """
    cluster, project = preview.cluster, preview.project
    if preview.problems or cluster is None or project is None:
        return DryRunResult(doubts=("The cluster is checked once Gangline’s own checks pass.",))
    if not acts_here(cluster):
        return DryRunResult(doubts=(f"Only the machine of {cluster.name} itself can run it.",))
    try:
        driver = driver_for(cluster)
    except Unconnectable as why:
        return DryRunResult(doubts=(str(why),))
    told = driver.dry_run(_attempt(preview, request, project, driver, uuid.uuid4()))
    problems = at_fields(told.problems, preview.resolution.effective, preview.resolution.master)
    return DryRunResult(problems, told.asked, told.doubts)


def native_text(preview: Preview, request: SubmissionRequest, uid: uuid.UUID) -> str:
    """What the cluster of ``preview`` would get, under ``uid``. Raises Unconnectable."""
    cluster, project = preview.cluster, preview.project
    if cluster is None or project is None:
        return ""
    driver = driver_for(cluster)
    return cluster.engine.native_text(_attempt(preview, request, project, driver, uid))


def _attempt(
    preview: Preview,
    request: SubmissionRequest,
    project: Project,
    driver: Driver,
    uid: uuid.UUID,
) -> AttemptRef:
    """The first attempt that a submission would begin with."""
    mounted = data_volumes.mounted(preview.resolution.plain, project)
    submission = refs.submission(
        name=request.name,
        uid=str(uid),
        project=project,
        framework=preview.framework,
        configuration=preview.configuration,
        values=bound(mounted.values, project, preview.owner).values,
        elsewhere=mounted.elsewhere,
    )
    return AttemptRef(
        install=refs.installation_id(),
        workload=str(uid),
        attempt=1,
        name=request.name,
        submission=submission,
        rendered=driver.render(submission),
    )


def at_fields(problems: Iterable[Problem], effective: Values, master: str) -> tuple[Problem, ...]:
    """Problems of a driver, which sees effective values, as the person sees the fields."""
    found: dict[tuple[str, str], Problem] = {}
    for problem in problems:
        # What a master has from the workers is mended at their fields, and told once.
        told = effective.get(f"{Role.MASTER}.{field_of(problem.path)}")
        follows = master == "same" or (told is not None and told.source == WORKERS)
        if follows and problem.role is Role.MASTER:
            problem = problem.at(role=Role.WORKER)
        own = _as_sent(problem, effective)
        found.setdefault((own.field_id, own.message), labelled(own))
    return tuple(found.values())


def _as_sent(problem: Problem, effective: Values) -> Problem:
    """Items counted as they were sent; a value that was not entered is not called entered."""
    value = effective.get(f"{problem.role}.{field_of(problem.path)}")
    if value is not None and not value.source.is_given:
        problem = problem.at(value=None)
    return problem.at(path=as_sent(problem, effective))
