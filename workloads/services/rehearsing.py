"""What a cluster says to a submission that nobody sends, and its refusals at the form's fields."""

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from gangline.clusters.connections import acts_here, driver_for
from gangline.drivers.base import AttemptRef, Rehearsal
from gangline.drivers.kind import Unconnectable
from gangline.spec.problems import Problem, Role
from workloads import refs
from workloads.services.asking import Preview, SubmissionRequest
from workloads.services.cluster_problems import labelled
from workloads.services.freezing import stored
from workloads.services.item_paths import field_of

_SAID = ("you", "template", "copy")


def rehearse(preview: Preview, request: SubmissionRequest) -> Rehearsal:
    """Ask the cluster of ``preview``. No transaction may be open: it takes up to half a minute.

    What our own checks refuse is not passed on: the cluster would only say it in other words.
    """
    cluster, project = preview.cluster, preview.project
    if preview.problems or cluster is None or project is None:
        return Rehearsal(doubts=("The cluster is asked once our own checks find nothing.",))
    if not acts_here(cluster):
        return Rehearsal(doubts=(f"Only the machine of {cluster.name} itself could look.",))
    uid, effective = str(uuid.uuid4()), stored(preview.resolution)
    submission = refs.submission(
        name=request.name,
        uid=uid,
        project=project,
        framework=preview.framework,
        configuration=preview.configuration,
        num_workers=preview.totals.workers,
        effective=effective,
    )
    try:
        driver = driver_for(cluster)
    except Unconnectable as why:
        return Rehearsal(doubts=(str(why),))
    told = driver.rehearse(
        AttemptRef(
            install=refs.installation_id(),
            workload=uid,
            attempt=1,
            name=request.name,
            submission=submission,
            rendered=driver.render(submission),
        )
    )
    problems = at_fields(told.problems, effective, master=request.master)
    return Rehearsal(problems, told.asked, told.doubts)


def at_fields(
    problems: Iterable[Problem], effective: refs.Effective, *, master: str
) -> tuple[Problem, ...]:
    """Problems of a driver, which sees effective values, as the person sees the fields."""
    found: dict[tuple[str, str], Problem] = {}
    for problem in problems:
        own = _as_sent(problem, effective)
        if master == "same" and own.role is Role.MASTER:
            # A master that follows the workers is mended at their fields: it has none of its own.
            own = own.at(role=Role.WORKER)
        found.setdefault((own.field_id, own.message), labelled(own))
    return tuple(found.values())


def value_of(problem: Problem, effective: refs.Effective) -> Any:
    """The effective value of the field that ``problem`` is about; None where it has no field."""
    return _entry(problem, effective).get("value")


def _entry(problem: Problem, effective: refs.Effective) -> Mapping[str, Any]:
    return effective.get(f"{problem.role}.{field_of(problem.path)}") or {}


def _as_sent(problem: Problem, effective: refs.Effective) -> Problem:
    """Items counted as they were sent; a value that nobody entered is not called entered."""
    entry, path = _entry(problem, effective), field_of(problem.path)
    if not str(entry.get("source", "you")).startswith(_SAID):
        problem = problem.at(value=None)
    rest = problem.path.removeprefix(path).strip(".").split(".")
    items = entry.get("items") or ()
    if not rest[0].isdigit() or int(rest[0]) >= len(items):
        return problem
    sent = items[int(rest[0])].get("sent")
    return problem.at(path=path if sent is None else ".".join([path, str(sent), *rest[1:]]))
