"""What a cluster cannot do of a submission, told at the fields before anybody asks it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gangline.clusters.connections import Unconnectable, driver_for, facts_of
from gangline.clusters.drivers.base import Driver
from gangline.clusters.models import Cluster
from gangline.organization.models import Project
from gangline.policies.engine import Resolution
from gangline.spec.catalogue import catalogue
from gangline.spec.frameworks import FRAMEWORKS
from gangline.spec.frameworks import configuration_problem as mismatch
from gangline.spec.problems import Problem, Role
from gangline.spec.workload import SPEC
from workloads import refs
from workloads.services.freezing import stored

FRAMEWORK = "distributedFramework"
_FIXED = "fixed by "


def with_cluster(
    known: list[Problem],
    *,
    cluster: Cluster,
    project: Project,
    name: str,
    framework: str,
    configuration: str,
    follows: bool,
    resolution: Resolution,
) -> list[Problem]:
    """``known`` problems and what this cluster cannot do.

    Values that are wrong anyway are not shown to the driver. ``follows``: the master has nothing
    of its own.
    """
    facts = facts_of(cluster)
    offer = next((o for o in facts.frameworks if o.framework == framework), None)
    found = []
    if offer is not None and not offer.available:
        label = FRAMEWORKS[framework].label if framework in FRAMEWORKS else framework
        found.append(
            Problem(
                Role.WORKER,
                FRAMEWORK,
                "cluster",
                f"cannot be {label} on {cluster.name}: {_as_clause(offer.reason)}",
                framework,
                accepted=", ".join(o.framework for o in facts.frameworks if o.available),
                source=f"cluster {cluster.name}",
                label="Framework",
            )
        )
    try:
        driver = driver_for(cluster)
    except Unconnectable as why:
        return [*known, *found, _unconnectable(cluster, str(why))]
    known = [_out_of_reach(problem, driver) for problem in known]
    if framework not in FRAMEWORKS or mismatch(framework, configuration) is not None:
        return known + found
    wrong = {(p.role, field_of(p.path)) for p in known}
    worker = resolution.values(Role.WORKER)
    submission = refs.submission(
        name=name,
        uid="",
        project=project.name,
        framework=framework,
        configuration=configuration,
        num_workers=whole_or(worker.get("numWorkers"), 1),
        effective=stored(resolution),
        queue=project.queue,
    )
    submission = replace(
        submission,
        worker=_without(submission.worker, Role.WORKER, wrong),
        master=None
        if submission.master is None
        else _without(submission.master, Role.MASTER, wrong),
    )
    refused = [*_unsupported(driver, resolution), *driver.check(submission, facts)]
    if follows:
        # A master that follows the workers is mended at their fields: it has none of its own.
        refused = [p.at(role=Role.WORKER) if p.role == Role.MASTER else p for p in refused]
    found += [labelled(p) for p in refused if (p.role, field_of(p.path)) not in wrong]
    return known + found


def _unsupported(driver: Driver, resolution: Resolution) -> Iterator[Problem]:
    """Fields that this kind of cluster cannot do and that somebody gave a value all the same.

    A default is no more than an offer, and may be meant for clusters of several kinds. What a
    policy fixes or requires is a rule: a cluster that cannot keep it must not run the workload.
    """
    for qualified, effective in resolution.effective.items():
        role, _, path = qualified.partition(".")
        reason = driver.unsupported.get(path)
        # Who says no to it asks for nothing.
        if not reason or effective.value in (None, False, [], {}):
            continue
        rule = effective.source.removeprefix(_FIXED) if effective.source.startswith(_FIXED) else ""
        if rule or not effective.source.startswith(("default", "workers", "policy ")):
            message = f"cannot be used on this cluster: {_as_clause(reason)}"
            accepted = "a cluster that can do it, or another policy" if rule else "no value"
            yield Problem(
                Role(role), path, "unsupported", message, effective.value, accepted, source=rule
            )


def _out_of_reach(problem: Problem, driver: Driver) -> Problem:
    """What a policy requires and this kind of cluster cannot do: no value could ever mend it."""
    reason = driver.unsupported.get(problem.path)
    if problem.rule != "required" or not reason:
        return problem
    return problem.at(
        message=f"{problem.message} and cannot be used on this cluster: {_as_clause(reason)}",
        accepted="a cluster that can do it, or another policy",
    )


def _unconnectable(cluster: Cluster, why: str) -> Problem:
    return Problem(
        Role.WORKLOAD, "clusterId", "cluster", f"cannot be used: {_as_clause(why)}",
        str(cluster.pk), accepted="a cluster that this installation can reach", label="Cluster",
    )  # fmt: skip


def _without(values: Mapping[str, Any], role: Role, wrong: set[tuple[Role, str]]) -> dict[str, Any]:
    return {path: value for path, value in values.items() if (role, field_of(path)) not in wrong}


def labelled(problem: Problem) -> Problem:
    """Drivers name the field by its path alone; people know it by its label."""
    model = SPEC.master if problem.role == Role.MASTER else SPEC.worker
    field = catalogue(model).get(field_of(problem.path))
    return problem if problem.label or field is None else problem.at(label=field.ui.label)


def field_of(path: str) -> str:
    """The list of an item's path: ``labels.0.name`` is about ``labels``."""
    return re.split(r"\.[0-9]+(?:\.|\Z)", path, maxsplit=1)[0]


def _as_clause(reason: str) -> str:
    text = reason.strip().rstrip(".")
    return text or "no runtime offers it"


def whole_or(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise
