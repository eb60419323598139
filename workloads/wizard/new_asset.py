"""An asset made within the form: it asks only for what is needed and comes back selected."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from assets.credentials import within
from assets.credentials.references import naming
from assets.forms import AssetForm
from assets.kinds import KINDS, SOURCE_KINDS, AssetKind
from assets.models import DataVolume
from gangline.access.grants import can, who_can
from gangline.access.refusals import NotAllowed
from gangline.forms.fields import dom_id
from gangline.lib.problems import Refused
from gangline.organization.models import Project
from gangline.policies.effective import effective_policy
from gangline.resources import services
from gangline.resources.forms import ResourceForm
from gangline.resources.registry import get
from gangline.resources.resource import Resource
from gangline.spec.problems import Role
from gangline.web.errors import Refusal
from workloads.wizard import drafts
from workloads.wizard.answers import SeeOther
from workloads.wizard.context import WizardContext
from workloads.wizard.galleries import DATA, NEW, asset_field, with_picks
from workloads.wizard.pages import step_url
from workloads.wizard.state import DraftState
from workloads.wizard.steps import Step


def page(request: HttpRequest, wizard: WizardContext, step: Step, key: str) -> HttpResponse:
    """The form of a new asset for ``key``, ``<role>.<kind>``; scripts show it as a dialog."""
    role, _, name = key.partition(".")
    # A data volume is made of a claim that is there: on its own pages.
    made_here = (one for one in KINDS if one.model is not DataVolume)
    kind = next((one for one in made_here if one.key == name), None)
    project = wizard.choices.project
    if project is None or role not in (Role.WORKER, Role.MASTER):
        raise Http404
    name, _, path = name.partition(".")
    if name == within.CREDENTIAL and path in naming():
        return _credential(request, wizard, step, Role(role), path, project)
    if name == DATA and wizard.galleries.may_create(SOURCE_KINDS[0]):
        return _types(request, wizard, step, Role(role))
    if kind is None:
        raise Http404
    resource = get(kind.resource_key)
    if not wizard.galleries.may_create(kind):
        raise _denied(resource, project)
    form = _form(request, wizard, Role(role), kind, project)
    back = _back(wizard, step, Role(role), kind)
    if request.method == "POST" and form.pressed(request.POST.get("_go", "")):
        return _page(request, resource, form, project, back, status=form.redrawn.status)
    if request.method == "POST" and form.is_valid():
        made = _made(
            wizard,
            resource,
            form,
            project,
            lambda one: _choose(wizard, step, Role(role), kind, one),
        )
        if made is not None:
            messages.success(request, f"{made} was created.")
            return _done(request, back)
    return _page(request, resource, form, project, back)


def _done(request: HttpRequest, back: str) -> HttpResponse:
    """Back to the draft. A script that sent the form from a dialog goes there itself: what it
    would fetch on the way tells that the asset was created, which is told once."""
    in_dialog = "X-Gangline-Dialog" in request.headers
    return JsonResponse({"to": back}) if in_dialog else SeeOther(back)


def _credential(
    request: HttpRequest, wizard: WizardContext, step: Step, role: Role, path: str, project: Project
) -> HttpResponse:
    """A credential for a row of ``path``, of a type that fits there."""
    resource = get(within.CREDENTIAL)
    if not can(wizard.actor.user, resource.permission("create"), project.scope):
        raise _denied(resource, project)
    data = request.POST if request.method == "POST" else None
    form = within.form_for(path, project.scope, wizard.actor, data)
    back = f"{step_url(wizard, step)}#{dom_id(f'{role}.{path}')}"
    if request.method == "POST" and form.pressed(request.POST.get("_go", "")):
        return _page(request, resource, form, project, back, status=200)
    if request.method == "POST" and form.is_valid():
        made = _made(
            wizard, resource, form, project,
            lambda one: _save(wizard, step, lambda stored: _with_row(stored, role, path, one)),
        )  # fmt: skip
        if made is not None:
            messages.success(request, f"{made} was created.")
            return _done(request, back)
    return _page(request, resource, form, project, back)


def _with_row(stored: DraftState, role: Role, path: str, made: Any) -> DraftState:
    if role is Role.MASTER:
        return replace(stored, master=within.chosen(stored.master, path, made))
    return replace(stored, worker=within.chosen(stored.worker, path, made))


def _denied(resource: Resource[Any], project: Project) -> PermissionDenied:
    permission = resource.permission("create")
    who = [user.username for user in who_can(permission, project.scope)]
    return PermissionDenied(Refusal(NotAllowed(permission, project.scope, who).sentence))


def _made(
    wizard: WizardContext,
    resource: Resource[Any],
    form: ResourceForm,
    project: Project,
    choose: Callable[[Any], None],
) -> Any:
    """What was stored and chosen, both or neither; None where the form now says why nothing was."""
    try:
        values = {"scope": project.scope, **form.values()}
        with transaction.atomic():
            made = services.create(resource, actor=wizard.actor, values=values).obj
            choose(made)
        return made
    except drafts.AlreadySubmitted:
        form.add_error(None, "The workload has already been created.")
    except Refused as refused:
        form.refuse(refused.problems)
    except NotAllowed as refusal:
        form.add_error(None, refusal.sentence)
    return None


def _page(
    request: HttpRequest,
    resource: Resource[Any],
    form: ResourceForm,
    project: Project,
    back: str,
    *,
    status: int = 0,
) -> HttpResponse:
    context = {
        "resource": resource,
        "form": form,
        "sections": form.views(),
        "problems": form.problems(),
        "project": project,
        "back": back,
    }
    status = status or (422 if request.method == "POST" else 200)
    if form.redrawn.told:
        messages.success(request, form.redrawn.told)
    template = form.redrawn.template or "wizard/new_asset.html"
    return render(request, template, context, status=status)


def _form(
    request: HttpRequest, wizard: WizardContext, role: Role, kind: AssetKind, project: Project
) -> AssetForm:
    """Name and values; a scope only where more than the project can be chosen."""
    resource = get(kind.resource_key)
    whole = wizard.form(role)
    part = replace(
        whole,
        role=Role.WORKER,
        policy=effective_policy([]),
        standing={},
        galleries={},
        has_switches=False,
        only=frozenset([kind.item] if kind.item else kind.asked),
        # What can be named hangs on where the asset will hold, which its own form knows.
        notes={path: note for path, note in whole.notes.items() if path not in naming()},
    )
    form: AssetForm = resource.form_class(
        request.POST if request.method == "POST" else None,
        resource=resource,
        actor=wizard.actor,
        part=part,
        initial={"scope": project.scope_id},
    )
    within.narrow(form, project.scope)
    return form


def _types(request: HttpRequest, wizard: WizardContext, step: Step, role: Role) -> HttpResponse:
    """Which type of data source; what cannot be used here says why."""
    types = [
        (
            kind,
            step_url(wizard, step, **{NEW: f"{role}.{kind.key}"}),
            wizard.galleries.closed(role, kind),
        )
        for kind in SOURCE_KINDS
    ]
    context = {"types": types, "back": _back(wizard, step, role, SOURCE_KINDS[0])}
    return render(request, "wizard/new_data_source.html", context)


def _back(wizard: WizardContext, step: Step, role: Role, kind: AssetKind) -> str:
    """To the gallery that the asset is for."""
    field = asset_field(f"{role}.{DATA if kind.item else kind.key}")
    return f"{step_url(wizard, step)}#{dom_id(field)}"


def _choose(wizard: WizardContext, step: Step, role: Role, kind: AssetKind, made: Any) -> None:
    """The new asset stands in the draft; the rest of the draft is as it was saved."""
    picked, pk = [str(one.pk) for one in wizard.galleries.picked(role)], str(made.pk)

    def change(stored: DraftState) -> DraftState:
        if kind.item:
            return with_picks(stored, role, [*picked, pk])
        return stored.with_asset(f"{role}.{kind.key}", pk)

    _save(wizard, step, change)


def _save(wizard: WizardContext, step: Step, change: Callable[[DraftState], DraftState]) -> None:
    drafts.save(
        owner=wizard.actor.user,
        draft_id=wizard.draft_id,
        step=step,
        page=drafts.Page(tab="", seen=drafts.version_of(wizard.draft, step), wins=True),
        change=change,
        start=wizard.state,
    )
