"""Everything that decides whether a submission can be accepted, without changing anything."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from assets.models import Template
from gangline.access.grants import can, held_permissions, who_can
from gangline.access.permissions import Permission
from gangline.access.refusals import NotAllowed
from gangline.accounts.models import User
from gangline.clusters.connections import Unconnectable, driver_for, facts_of
from gangline.clusters.drivers.base import Driver
from gangline.clusters.models import Cluster
from gangline.organization.models import Project
from gangline.organization.selectors import with_scopes
from gangline.policies.effective import EffectivePolicy, effective_policy
from gangline.policies.engine import ItemOrigin, Request, Resolution, resolve
from gangline.policies.selectors import effective_for
from gangline.spec.catalogue import catalogue
from gangline.spec.frameworks import FRAMEWORKS, WORKERS_AND_MASTER, WORKERS_ONLY
from gangline.spec.frameworks import configuration_problem as mismatch
from gangline.spec.problems import Advice, Problem, Role
from gangline.spec.types import quantity_bytes
from gangline.spec.workload import SPEC
from workloads import refs
from workloads.services import slots
from workloads.services.asking import Preview, SubmissionRequest, Totals
from workloads.services.forecast import NO_FORECAST, forecast
from workloads.services.item_paths import as_sent, field_of
from workloads.services.naming import name_problems

FRAMEWORK = "distributedFramework"
COUNTED = frozenset(
    {
        "numWorkers",
        "compute.cpuCoreRequest",
        "compute.cpuMemoryRequest",
        "compute.gpuDevicesRequest",
    }
)
MASTER_MODES = ("none", "same", "differences", "own")


@dataclass(frozen=True, slots=True)
class Place:
    """Where it is to run, as far as that is known and visible."""

    project: Project | None
    cluster: Cluster | None
    problems: tuple[Problem, ...]
    may_create: bool = False


def find_place(user: User, request: SubmissionRequest) -> Place:
    """The project and its cluster. What one may not see is as unknown as what is not there."""
    project = _project(request.project_id)
    # As by `can`, for two permissions at once: the scopes came along with the project.
    held = held_permissions(user, project.scope) if project else frozenset()
    if project is None or Permission.PROJECT_VIEW not in held:
        return Place(None, None, (_unknown_project(request.project_id),))
    may_create = Permission.WORKLOAD_CREATE in held
    cluster_id = str(request.cluster_id or "")
    if cluster_id.lower() == str(project.cluster_id):
        return Place(project, project.cluster, (), may_create)
    message = "must be given" if not cluster_id else f"is not the cluster of project {project.name}"
    wrong = Problem(
        Role.WORKLOAD,
        "clusterId",
        "required" if not cluster_id else "options",
        message,
        cluster_id,
        accepted=f"{project.cluster_id} ({project.cluster.name})",
        label="Cluster",
    )
    return Place(project, project.cluster, (wrong,), may_create)


def not_allowed(project: Project) -> NotAllowed:
    """For one who sees ``project`` but may not create workloads in it: whom to ask."""
    who = [person.username for person in who_can(Permission.MEMBER_MANAGE, project.scope)]
    return NotAllowed(Permission.WORKLOAD_CREATE, project.scope, who)


def judge(
    user: User,
    request: SubmissionRequest,
    *,
    place: Place | None = None,
    policy: EffectivePolicy | None = None,
    with_forecast: bool = True,
    is_to_store: bool = False,
) -> Preview:
    """Resolve the values under today's policy and collect every problem, never only the first.

    ``place`` and its ``policy`` save looking them up again; the forecast walks over the queue, so
    whoever shows none leaves it out. ``is_to_store``: nor is it asked whether the name is taken,
    because the database will say.
    """
    place = place or find_place(user, request)
    if policy is None:
        policy = effective_for(place.project) if place.project else effective_policy([])
    framework, configuration = _choices(request, policy)
    resolution = resolve(
        Request(
            framework=framework,
            configuration=configuration,
            master=_master_mode(request, configuration),
            said=request.said,
            problems=request.extra_problems,
        ),
        policy,
    )
    chosen = resolution.effective.get(f"{Role.WORKER}.{FRAMEWORK}")
    framework = str(chosen.value) if chosen else framework
    told = {p.path for p in request.extra_problems if p.role == Role.WORKLOAD}
    among = None if is_to_store else place.project
    problems = [
        *(p for p in place.problems if p.path not in told),
        *(() if "name" in told else name_problems(request.name, among)),
        *_template_problems(user, request.template_id, place.project),
        *resolution.problems,
    ]
    advice: list[Advice] = []
    if place.cluster is not None:
        refused, advice = _of_cluster(
            place, request, framework, configuration, resolution, problems
        )
        problems += refused
    totals = totals_of(resolution, configuration)
    verdict = NO_FORECAST
    if with_forecast and not is_to_store:
        need = _need(framework, configuration, totals, resolution)
        verdict = forecast(place.cluster, totals, need)
    return Preview(
        framework=framework,
        configuration=configuration,
        resolution=resolution,
        problems=_once(problems),
        totals=totals,
        verdict=verdict,
        policy=policy,
        project=place.project,
        cluster=place.cluster,
        advice=advice,
    )


def stored(resolution: Resolution) -> dict[str, dict[str, Any]]:
    """The effective values as `Attempt.effective` keeps them."""
    return {
        path: {
            "value": entry.value,
            "source": entry.source,
            **({"items": [_as_dict(item) for item in entry.items]} if entry.items else {}),
        }
        for path, entry in resolution.effective.items()
    }


def _as_dict(item: ItemOrigin) -> dict[str, Any]:
    # Not `asdict`: it copies every value deeply, thousands of times for a long list.
    return {"key": item.key, "source": item.source, "locked": item.locked, "sent": item.sent}


def totals_of(resolution: Resolution, configuration: str) -> Totals:
    """Sums over all pods; a value that is wrong counts as nothing."""
    worker = resolution.values(Role.WORKER)
    workers = min(max(_whole(worker.get("numWorkers"), 1), 0), 9_999)
    masters = 1 if configuration == WORKERS_AND_MASTER else 0
    sizes = _pod_sizes(resolution, configuration)
    counts = [workers, *([masters] if masters else [])]
    return Totals(
        pods=workers + masters,
        workers=workers,
        masters=masters,
        gpus=sum(n * size[0] for n, size in zip(counts, sizes, strict=True)),
        cpus=round(sum(n * size[1] for n, size in zip(counts, sizes, strict=True)), 3),
        memory_bytes=sum(n * size[2] for n, size in zip(counts, sizes, strict=True)),
    )


def _project(text: str | int) -> Project | None:
    digits = str(text)
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 15):
        return None
    return with_scopes(Project.objects.filter(pk=int(digits))).first()


def _unknown_project(value: str | int) -> Problem:
    blank = value in ("", None)
    message = "must be given" if blank else "does not exist, or you may not see it"
    rule = "required" if blank else "options"
    return Problem(
        Role.WORKLOAD, "projectId", rule, message, value,
        accepted="the id of a project that you may see", label="Project",
    )  # fmt: skip


def _choices(request: SubmissionRequest, policy: EffectivePolicy) -> tuple[str, str]:
    """Framework and configuration; what was left open takes the default that can work."""
    said = request.said.get(f"{Role.WORKER}.{FRAMEWORK}", {}).get("value")
    framework = said if isinstance(said, str) else request.framework
    if not framework:
        rule = policy.rule(Role.WORKER, FRAMEWORK)
        chosen = rule.fixed or rule.default
        framework = str(chosen.value) if chosen else ""
    known = FRAMEWORKS.get(framework)
    configuration = request.configuration or WORKERS_AND_MASTER
    if not request.configuration and known and WORKERS_AND_MASTER not in known.configurations:
        configuration = WORKERS_ONLY
    return framework, configuration


def _master_mode(request: SubmissionRequest, configuration: str) -> Any:
    if configuration == WORKERS_ONLY:
        return "none"
    return request.master if request.master in MASTER_MODES[1:] else "same"


def _template_problems(
    user: User, template_id: str | UUID | None, project: Project | None
) -> Iterator[Problem]:
    if template_id in (None, "") or project is None:
        return
    if find_template(user, template_id, project) is None:
        yield Problem(
            Role.WORKLOAD, "templateId", "options", "does not exist, or you may not see it",
            str(template_id), accepted="the id of a template of this project", label="Template",
        )  # fmt: skip


def find_template(user: User, template_id: str | UUID | None, project: Project) -> Template | None:
    """The template, if it belongs to the project or to a scope above it."""
    try:
        key = UUID(str(template_id))
    except ValueError:
        return None
    if not can(user, Permission.TEMPLATE_USE, project.scope):
        return None
    line = []
    scope = project.scope
    while scope is not None:
        line.append(scope.pk)
        scope = scope.parent  # type: ignore[assignment]  # the loop ends at the tenant
    return Template.objects.filter(pk=key, scope_id__in=line).first()


def _of_cluster(
    place: Place,
    request: SubmissionRequest,
    framework: str,
    configuration: str,
    resolution: Resolution,
    known: list[Problem],
) -> tuple[list[Problem], list[Advice]]:
    """What this cluster cannot do, and what it lets pass and would rather not.

    Values that are wrong anyway are not shown to the driver.
    """
    if place.cluster is None or place.project is None:
        return [], []
    facts = facts_of(place.cluster)
    offer = next((o for o in facts.frameworks if o.framework == framework), None)
    found = []
    if offer is not None and not offer.available:
        label = FRAMEWORKS[framework].label if framework in FRAMEWORKS else framework
        found.append(
            Problem(
                Role.WORKER,
                FRAMEWORK,
                "cluster",
                f"cannot be {label} on {place.cluster.name}: {_as_clause(offer.reason)}",
                framework,
                accepted=", ".join(o.framework for o in facts.frameworks if o.available),
                source=f"cluster {place.cluster.name}",
                label="Framework",
            )
        )
    if framework not in FRAMEWORKS or mismatch(framework, configuration) is not None:
        return found, []
    wrong = {(p.role, field_of(p.path)) for p in known}
    worker = resolution.values(Role.WORKER)
    submission = refs.submission(
        name=request.name,
        uid="",
        project=place.project.name,
        framework=framework,
        configuration=configuration,
        num_workers=_whole(worker.get("numWorkers"), 1),
        effective=stored(resolution),
    )
    submission = replace(
        submission,
        worker=_without(submission.worker, Role.WORKER, wrong),
        master=None
        if submission.master is None
        else _without(submission.master, Role.MASTER, wrong),
    )
    try:
        driver = driver_for(place.cluster)
    except Unconnectable as why:
        return [*found, _unconnectable(place.cluster, str(why))], []
    checked = [p.at(path=as_sent(p, resolution)) for p in driver.check(submission, facts)]
    refused = [*_unsupported(driver, resolution), *checked]
    advice = [replace(a, path=as_sent(a, resolution)) for a in driver.advise(submission, facts)]
    if _master_mode(request, configuration) == "same":
        # A master that follows the workers is mended at their fields: it has none of its own.
        refused = [p.at(role=Role.WORKER) if p.role == Role.MASTER else p for p in refused]
        advice = [a for a in advice if a.role != Role.MASTER]
    found += [_labelled(p) for p in refused if (p.role, field_of(p.path)) not in wrong]
    return found, advice


def _unsupported(driver: Driver, resolution: Resolution) -> Iterator[Problem]:
    """Fields that this kind of cluster cannot do and that somebody gave a value all the same."""
    for qualified, effective in resolution.effective.items():
        role, _, path = qualified.partition(".")
        reason = driver.unsupported.get(path)
        # A policy may hold for clusters of several kinds.
        is_said = not effective.source.startswith(("default", "workers", "policy ", "fixed by "))
        # Who says no to it asks for nothing.
        if reason and is_said and effective.value not in (None, False, [], {}):
            message = f"cannot be used on this cluster: {_as_clause(reason)}"
            yield Problem(
                Role(role), path, "unsupported", message, effective.value, accepted="no value"
            )


def _unconnectable(cluster: Cluster, why: str) -> Problem:
    return Problem(
        Role.WORKLOAD, "clusterId", "cluster", f"cannot be used: {_as_clause(why)}",
        str(cluster.pk), accepted="a cluster that this installation can reach", label="Cluster",
    )  # fmt: skip


def _without(values: Mapping[str, Any], role: Role, wrong: set[tuple[Role, str]]) -> dict[str, Any]:
    return {path: value for path, value in values.items() if (role, field_of(path)) not in wrong}


def _labelled(problem: Problem) -> Problem:
    """Drivers name the field by its path alone; people know it by its label."""
    model = SPEC.master if problem.role == Role.MASTER else SPEC.worker
    field = catalogue(model).get(field_of(problem.path))
    return problem if problem.label or field is None else problem.at(label=field.ui.label)


def _as_clause(reason: str) -> str:
    text = reason.strip().rstrip(".")
    return text or "no runtime offers it"


def _need(
    framework: str, configuration: str, totals: Totals, resolution: Resolution
) -> slots.Need | None:
    """What admission is asked for; None while a value that counts is wrong."""
    wrong = any(field_of(p.path) in COUNTED for p in resolution.problems)
    if wrong or framework not in FRAMEWORKS:
        return None
    return slots.need_of(
        framework=framework,
        configuration=configuration,
        num_workers=totals.workers,
        values={path: entry.value for path, entry in resolution.effective.items()},
    )


def _pod_sizes(resolution: Resolution, configuration: str) -> list[tuple[int, float, int]]:
    """GPUs, CPU cores and bytes of one worker and, if there is one, of the master."""
    roles = [Role.WORKER, *([Role.MASTER] if configuration == WORKERS_AND_MASTER else [])]
    return [_pod_size(resolution.values(role)) for role in roles]


def _pod_size(values: Mapping[str, Any]) -> tuple[int, float, int]:
    cpus = values.get("compute.cpuCoreRequest")
    memory = values.get("compute.cpuMemoryRequest")
    try:
        size = quantity_bytes(memory) if isinstance(memory, str) else 0
    except ValueError:
        size = 0
    cores = 0.0 if isinstance(cpus, bool) or not isinstance(cpus, int | float) else float(cpus)
    return _whole(values.get("compute.gpuDevicesRequest"), 0), cores, size


def _whole(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


def _once(problems: Iterable[Problem]) -> list[Problem]:
    """Without what two judges found alike."""
    seen: dict[tuple[str, str, str, str], Problem] = {}
    for problem in problems:
        key = (problem.role, problem.path, problem.rule, problem.source)
        seen.setdefault(key, problem)
    return list(seen.values())
