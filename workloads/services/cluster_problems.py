"""What a cluster cannot do of a submission, told at the fields before anybody asks it."""

from dataclasses import replace
from typing import Any

from gangline.clusters.connections import driver_for, facts_of
from gangline.clusters.models import Cluster
from gangline.drivers.kind import Unconnectable
from gangline.organization.models import Project
from gangline.policies.engine import Resolution
from gangline.spec.catalogue import catalogue
from gangline.spec.frameworks import FRAMEWORKS, framework_of
from gangline.spec.frameworks import configuration_problem as mismatch
from gangline.spec.problems import Advice, Problem, Role
from gangline.spec.workload import SPEC
from workloads import refs
from workloads.services import data_volumes
from workloads.services.item_paths import as_sent, field_of
from workloads.services.unsupported import by_policy, reserved_keys, unsupported

FRAMEWORK = "distributedFramework"


def with_cluster(
    known: list[Problem],
    *,
    cluster: Cluster,
    project: Project,
    name: str,
    resolution: Resolution,
) -> tuple[list[Problem], list[Advice]]:
    """``known`` problems and what this cluster cannot do, and what it would rather not.

    Values that are wrong anyway are not shown to the driver.
    """
    framework, configuration = resolution.framework, resolution.configuration
    facts = facts_of(cluster)
    offer = facts.offer(framework)
    found = []
    if offer is not None and not offer.available:
        label = FRAMEWORKS[framework].label if framework in FRAMEWORKS else framework
        found.append(
            Problem.of(
                Role.WORKER,
                FRAMEWORK,
                "cluster:framework",
                framework=label,
                cluster=cluster.name,
                why=offer.why_not or "no runtime offers it",
                value=framework,
                accepted=", ".join(o.framework for o in facts.frameworks if o.available),
                source=f"cluster {cluster.name}",
                label="Framework",
            )
        )
    try:
        driver = driver_for(cluster)
    except Unconnectable as why:
        return [*known, *found, _unconnectable(cluster, str(why))], []
    if found and framework_of(framework).runs_script:
        return known + found, []
    if framework not in FRAMEWORKS or mismatch(framework, configuration) is not None:
        return known + found, []
    wrong = {(p.role, field_of(p.path)) for p in known}
    wrong_paths = {f"{role}.{path}" for role, path in wrong}
    given = {path: v for path, v in resolution.plain.items() if path not in wrong_paths}
    mounted = data_volumes.mounted(given, project)
    submission = refs.submission(
        name=name,
        uid="",
        project=project,
        framework=framework,
        configuration=configuration,
        values=mounted.values,
        elsewhere=mounted.elsewhere,
    )
    effective = resolution.effective
    checked = [mounted.back(p) for p in driver.check(submission, facts)]
    checked = [p.at(path=as_sent(p, effective)) for p in checked]
    refused = [*unsupported(driver, resolution), *reserved_keys(resolution), *checked]
    advice = [replace(a, path=as_sent(a, effective)) for a in driver.advise(submission, facts)]
    blocked = list(by_policy(driver, resolution, known, cluster.name))
    said = {(problem.role, problem.path) for problem in blocked}
    known = [problem for problem in known if (problem.role, problem.path) not in said]
    found += blocked
    if resolution.master == "same":
        # A master that follows the workers is mended at their fields: it has none of its own.
        refused = [p.at(role=Role.WORKER) if p.role == Role.MASTER else p for p in refused]
        advice = [a for a in advice if a.role != Role.MASTER]
    found += [labelled(p) for p in refused if (p.role, field_of(p.path)) not in wrong]
    return known + found, advice


def _unconnectable(cluster: Cluster, why: str) -> Problem:
    return Problem.of(
        Role.WORKLOAD, "clusterId", "cluster:unreachable", why=why,
        value=str(cluster.pk),
        accepted="a cluster that this installation can reach", label="Cluster",
    )  # fmt: skip


def labelled(problem: Problem) -> Problem:
    """Drivers name the field by its path alone; people know it by its label."""
    model = SPEC.master if problem.role == Role.MASTER else SPEC.worker
    field = catalogue(model).get(field_of(problem.path))
    return problem if problem.label or field is None else problem.at(label=field.ui.label)


def whole_or(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise
