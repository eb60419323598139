"""Everything that decides whether a submission can be accepted, without changing anything."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from assets.layers import ruled
from assets.models import Template
from gangline.access.grants import can, held_permissions, who_can
from gangline.access.permissions import Permission
from gangline.access.refusals import NotAllowed
from gangline.accounts.models import User
from gangline.clusters.connections import priority_of
from gangline.clusters.models import Cluster
from gangline.organization.models import Project
from gangline.organization.selectors import with_scopes
from gangline.policies.effective import EffectivePolicy, effective_policy
from gangline.policies.engine import Resolution, resolve
from gangline.policies.selectors import effective_for
from gangline.spec import shares
from gangline.spec.frameworks import FRAMEWORKS, framework_of
from gangline.spec.launcher_commands import unread_by_shell
from gangline.spec.placement import DEFAULT_PRIORITY, is_preemptible
from gangline.spec.problems import Advice, Problem, Role
from gangline.spec.types import quantity_bytes
from workloads.services import (
    credentials,
    data_volumes,
    slots,
    tool_access,
    tool_addresses,
    usage,
)
from workloads.services.admission import Standing, hands_out_slots
from workloads.services.cluster_problems import whole_or, with_cluster
from workloads.services.forecast import NO_FORECAST, forecast
from workloads.services.item_paths import field_of
from workloads.services.names import name_problems, prefix_problems
from workloads.services.submission_types import Preview, SubmissionRequest, Totals

COUNTED = frozenset(
    {
        "numWorkers",
        "compute.cpuCoreRequest",
        "compute.cpuMemoryRequest",
        "compute.gpuDevicesRequest",
    }
)


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
    wrong = Problem.of(
        Role.WORKLOAD,
        "clusterId",
        "options:other_cluster" if cluster_id else "required",
        project=project.name,
        value=cluster_id,
        accepted=f"{project.cluster_id} ({project.cluster.name})",
        label="Cluster",
    )
    return Place(project, project.cluster, (wrong,), may_create)


def not_allowed(project: Project) -> NotAllowed:
    """For one who sees ``project`` but may not create workloads in it: whom to ask."""
    who = [person.username for person in who_can(Permission.MEMBER_MANAGE, project.scope)]
    return NotAllowed(Permission.WORKLOAD_CREATE, project.scope, who)


def validate_submission(
    user: User,
    request: SubmissionRequest,
    *,
    place: Place | None = None,
    policy: EffectivePolicy | None = None,
    standing: Standing | None = None,
    resolution: Resolution | None = None,
    with_forecast: bool = True,
    is_to_store: bool = False,
    owner: User | None = None,
) -> Preview:
    """Resolve the values under today's policy and collect every problem, never only the first.

    ``place``, its ``policy``, ``standing`` and ``resolution`` save finding them again; the forecast
    walks over the queue, so whoever shows none leaves it out. ``is_to_store``: nor is it asked
    whether the name is taken, because the database will say.
    ``owner``: of the workload, where that is not ``user``.
    """
    place = place or find_place(user, request)
    template = _template(user, request.template_id, place.project)
    if policy is None:
        policy = effective_for(place.project) if place.project else effective_policy([])
        policy = ruled(policy, template) if template else policy
    resolution = resolution or resolve(request, policy)
    known = {p.path for p in request.problems if p.role == Role.WORKLOAD}
    among = None if is_to_store else place.project
    problems = [
        *(p for p in place.problems if p.path not in known),
        *(() if "name" in known else _name_problems(request, among)),
        *_template_problems(request.template_id, place.project, template),
        *resolution.problems,
    ]
    advice: list[Advice] = []
    if place.cluster is not None and place.project is not None:
        problems, advice = with_cluster(
            problems,
            cluster=place.cluster,
            project=place.project,
            name=request.name,
            resolution=resolution,
        )
        problems += data_volumes.problems(resolution, project=place.project, known=problems)
        problems += credentials.problems(
            resolution,
            project=place.project,
            cluster=place.cluster,
            owner=owner or user,
            known=problems,
        )
        problems += tool_addresses.problems(resolution, place.cluster)
    if not is_to_store:
        advice = [*advice, *tool_access.advice(user, resolution)]
        for role in (Role.WORKER,) if resolution.master == "same" else (Role.WORKER, Role.MASTER):
            advice += unread_by_shell(role, resolution.values(role))
    totals = totals_of(resolution)
    verdict = NO_FORECAST
    if with_forecast and not is_to_store:
        need = _need(totals, resolution, place.cluster)
        standing = standing or (Standing(place.cluster) if place.cluster else None)
        worker = resolution.values(Role.WORKER)
        gives_way = _is_preemptible(worker, place.cluster)
        verdict = forecast(standing, place.project, totals, need, is_preemptible=gives_way)
        if place.project is not None and need is not None and standing is not None:
            waits = not gives_way and hands_out_slots(standing.cluster)
            never = verdict.kind == "cannot"
            told = usage.sentence(place.project, totals, standing, waits=waits, never=never)
            quota, over = told
            verdict = replace(verdict, quota=quota, over_quota=over)
            if over and waits:
                advice = [*advice, _beyond_quota(worker, never=never)]
    return Preview(
        resolution=resolution,
        problems=_once(problems),
        totals=totals,
        verdict=verdict,
        policy=policy,
        project=place.project,
        cluster=place.cluster,
        owner=owner or user,
        advice=advice,
    )


def totals_of(resolution: Resolution) -> Totals:
    """Sums over all pods; a value that is wrong counts as nothing."""
    halves = {half: resolution.values(half) for half in (Role.WORKER, Role.MASTER)}
    workers = halves[Role.WORKER]
    gang = framework_of(resolution.framework).gang(resolution.configuration)
    parts = tuple((role, role.count(workers)) for role in gang)
    sizes = [(n, *_pod_size(role.values(halves[role.half]), role.has_gpus)) for role, n in parts]
    gpus = shares.added(n * each for n, each, _, _ in sizes)
    return Totals(
        parts=parts,
        gpus=shares.whole(gpus),
        gpu_devices=gpus,
        gpu_parts=shares.in_words(gpus, halves.values()),
        cpus=round(sum(n * cores for n, _, cores, _ in sizes), 3),
        memory_bytes=sum(n * memory for n, _, _, memory in sizes),
    )


def _project(text: str | int) -> Project | None:
    digits = str(text)
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 15):
        return None
    return with_scopes(Project.objects.filter(pk=int(digits))).first()


def _unknown_project(value: str | int) -> Problem:
    blank = value in ("", None)
    return Problem.of(
        Role.WORKLOAD, "projectId", "required" if blank else "options:unseen", value=value,
        accepted="the id of a project that you may see", label="Project",
    )  # fmt: skip


def _name_problems(request: SubmissionRequest, among: Project | None) -> Iterator[Problem]:
    if request.is_prefix:
        return prefix_problems(request.name)
    return name_problems(request.name, among)


def _template(
    user: User, template_id: str | UUID | None, project: Project | None
) -> Template | None:
    if template_id in (None, "") or project is None:
        return None
    return find_template(user, template_id, project)


def _template_problems(
    template_id: str | UUID | None, project: Project | None, found: Template | None
) -> Iterator[Problem]:
    if template_id not in (None, "") and project is not None and found is None:
        yield Problem.of(
            Role.WORKLOAD, "templateId", "options:unseen",
            value=str(template_id),
            accepted="the id of a template of this project", label="Template",
        )  # fmt: skip


def find_template(user: User, template_id: str | UUID | None, project: Project) -> Template | None:
    """The template, if it belongs to the project or to a scope above it."""
    try:
        key = UUID(str(template_id))
    except ValueError:
        return None
    if not can(user, Permission.TEMPLATE_VIEW, project.scope):
        return None
    line = []
    scope = project.scope
    while scope is not None:
        line.append(scope.pk)
        scope = scope.parent  # type: ignore[assignment]  # the loop ends at the tenant
    return Template.objects.filter(pk=key, scope_id__in=line).first()


def _beyond_quota(worker: Mapping[str, Any], *, never: bool) -> Advice:
    """At the field that makes it one that takes nothing above the quota (V28)."""
    path = "preemptibility" if worker.get("preemptibility") else "priorityClass"
    why = "A workload that is not preemptible stays pending unless the project has free quota."
    if never:
        why = "A workload that is not preemptible starts within the quota, and this is larger."
    return Advice(Role.WORKER, path, why)


def _is_preemptible(worker: Mapping[str, Any], cluster: Cluster | None) -> bool:
    name = str(worker.get("priorityClass") or "")
    priority = priority_of(cluster, name) if cluster else DEFAULT_PRIORITY
    return is_preemptible(worker.get("preemptibility"), priority)


def _need(totals: Totals, resolution: Resolution, cluster: Cluster | None) -> slots.Need | None:
    """What admission is asked for; None while a value that counts is wrong."""
    wrong = any(field_of(p.path) in COUNTED for p in resolution.problems)
    if wrong or resolution.framework not in FRAMEWORKS:
        return None
    return slots.need_of(
        framework=resolution.framework,
        configuration=resolution.configuration,
        num_workers=totals.workers,
        values=resolution.plain,
        gpu_memory=(cluster.capacity.get("gpu_memory") or 0) if cluster else 0,
    )


def _pod_size(values: Mapping[str, Any], with_gpus: bool) -> tuple[float, float, int]:
    """GPUs, CPU cores and bytes of one pod."""
    cpus = values.get("compute.cpuCoreRequest")
    memory = values.get("compute.cpuMemoryRequest")
    try:
        size = quantity_bytes(memory) if isinstance(memory, str) else 0
    except ValueError:
        size = 0
    cores = 0.0 if isinstance(cpus, bool) or not isinstance(cpus, int | float) else float(cpus)
    gpus = whole_or(values.get("compute.gpuDevicesRequest"), 0) if with_gpus else 0
    return gpus * shares.portion(values), cores, size


def _once(problems: Iterable[Problem]) -> list[Problem]:
    """Without what two judges found alike."""
    seen: dict[tuple[str, str, str, str], Problem] = {}
    for problem in problems:
        key = (problem.role, problem.path, problem.rule, problem.source)
        seen.setdefault(key, problem)
    return list(seen.values())
