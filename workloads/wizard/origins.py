"""What a new draft starts with: nothing, a template, or an earlier workload."""

import re
import uuid
from collections.abc import Mapping, Sequence

from assets.kinds import AssetKind
from assets.layers import linked
from assets.models import Template
from assets.selectors.fitness import reason_against, reason_in
from assets.selectors.places import projects_with
from assets.selectors.templates import usable_templates
from gangline.access.permissions import Permission
from gangline.access.refusals import NotVisible
from gangline.accounts.models import User
from gangline.lib.texts import as_uuid
from gangline.organization.models import Project
from gangline.organization.selectors import visible_projects
from gangline.resources.registry import get
from gangline.spec.problems import Role
from workloads.models import Workload
from workloads.services.names import free_name
from workloads.wizard.choices import Choices
from workloads.wizard.galleries import PARTS
from workloads.wizard.prefill import copy_of, with_template
from workloads.wizard.state import CLUSTER, FRAMEWORK, NAME, PROJECT, DraftState

_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")


def start(user: User, query: Mapping[str, str]) -> DraftState:
    """What ``?template=…``, ``?environment=…``, ``?compute=…`` or ``?from=…`` asks for.

    Raises NotVisible for what may not be used.

    ``&project=…`` is the project that a template begins in, where it holds and can run.
    """
    if wanted := query.get("template", ""):
        project = query.get("project", "")
        return from_template(user, template_of(user, as_uuid(wanted)), project_id=project)
    for kind in PARTS:
        if wanted := query.get(kind.key, ""):
            return from_asset(user, kind, as_uuid(wanted))
    if wanted := query.get("from", ""):
        return from_workload(user, as_uuid(wanted))
    return DraftState()


def template_of(user: User, template_id: uuid.UUID | None) -> Template:
    """The template, if this person may use it somewhere; raises NotVisible otherwise."""
    found = usable_templates(user).filter(pk=template_id).first() if template_id else None
    if found is None:
        raise NotVisible
    return found


def from_template(
    user: User, template: Template, *, named: bool = False, project_id: str = ""
) -> DraftState:
    """A draft that starts from ``template``, in a project where it holds and, if one can, runs."""
    state = with_template(DraftState(), template)
    choices = Choices(user, state)
    project = choices.project
    fitting = _fitting(template, choices.projects)
    wanted = next((p for p in fitting if str(p.pk) == project_id), None)
    if wanted or (fitting and project not in fitting):
        project = wanted or fitting[0]
        state = _placed(state, project)
    if named and project is not None:
        state = state.with_setup(NAME, _name_for(template, project))
    return state


def from_asset(user: User, kind: AssetKind, asset_id: uuid.UUID | None) -> DraftState:
    """A draft with an environment or a compute resource chosen for the workers."""
    rows = get(kind.resource_key).visible(user).filter(pk=asset_id)
    asset = rows.select_related("scope").first() if asset_id else None
    if asset is None:
        raise NotVisible
    state, project = DraftState(), Choices(user, DraftState()).project
    fitting = projects_with(user, asset).order_by("name")
    if project not in fitting:
        if (project := fitting.first()) is None:
            raise NotVisible
        state = _placed(state, project)
    if asset.framework:
        state = state.with_setup(FRAMEWORK, asset.framework)
    return state.with_asset(f"{Role.WORKER}.{kind.key}", str(asset.pk))


def _placed(state: DraftState, project: Project) -> DraftState:
    state = state.with_setup(CLUSTER, str(project.cluster_id))
    return state.with_setup(PROJECT, str(project.pk))


def from_workload(user: User, workload_id: uuid.UUID | None) -> DraftState:
    """A draft that asks for what a visible workload asked for. Raises NotVisible."""
    visible = visible_projects(user, Permission.WORKLOAD_VIEW)
    workload = (
        Workload.objects.filter(pk=workload_id, project__in=visible)
        .select_related("project")
        .first()
        if workload_id
        else None
    )
    if workload is None:
        raise NotVisible
    return copy_of(workload, name=free_name(workload.name, workload.project))


def _fitting(template: Template, projects: Sequence[Project]) -> list[Project]:
    """Where it holds; of those, where cluster and policy let it run as it is, if any do."""
    holds = [p for p in projects if template.scope_id in _line(p)]
    assets = linked(template)
    run = [p for p in holds if not reason_against(template, [p.cluster], assets)]
    return [p for p in run if not reason_in(template, p, assets)] or run or holds


def _line(project: Project) -> set[int]:
    """Ids of the project's scope and of all above it."""
    scopes = (project.scope, project.department.scope, project.cluster.scope)
    tenant = project.cluster.scope.parent_id
    return {scope.pk for scope in scopes} | ({tenant} if tenant else set())


def _name_for(template: Template, project: Project) -> str:
    """A free workload name made from the template's."""
    slug = _NOT_IN_NAMES.sub("-", template.name.lower()).strip("-")
    name = slug[:45].strip("-") if slug[:1].isalpha() else f"run-{slug}"[:45].strip("-")
    taken = Workload.objects.filter(project=project, name=name, deleted_at__isnull=True)
    return free_name(name, project) if taken.exists() else name
