"""An asset made within the form: it asks only for what is needed and comes back selected."""

from dataclasses import replace

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from assets.forms import AssetForm
from assets.kinds import KINDS, AssetKind
from gangline.access.grants import who_can
from gangline.access.refusals import NotAllowed
from gangline.forms.fields import dom_id
from gangline.lib.problems import Refused
from gangline.organization.models import Project
from gangline.policies.effective import effective_policy
from gangline.resources import services
from gangline.resources.registry import get
from gangline.scopes.selectors import scopes_to
from gangline.spec.problems import Role
from gangline.web.errors import Refusal
from workloads.wizard import drafts
from workloads.wizard.answers import SeeOther
from workloads.wizard.desk import Desk
from workloads.wizard.galleries import asset_field
from workloads.wizard.pages import step_url
from workloads.wizard.steps import Step


def page(request: HttpRequest, desk: Desk, step: Step, key: str) -> HttpResponse:
    """The form of a new asset for ``key``, ``<role>.<kind>``; scripts show it as a dialog."""
    role, _, name = key.partition(".")
    kind = next((one for one in KINDS if one.key == name), None)
    project = desk.choices.project
    if kind is None or project is None or role not in (Role.WORKER, Role.MASTER):
        raise Http404
    resource = get(kind.key)
    if not desk.galleries.may_create(kind):
        permission = resource.permission("create")
        who = [user.username for user in who_can(permission, project.scope)]
        refusal = NotAllowed(permission, project.scope, who)
        raise PermissionDenied(Refusal(refusal.sentence)) from refusal
    form = _form(request, desk, Role(role), kind, project)
    if request.method == "POST" and form.is_valid():
        try:
            values = {"scope": project.scope, **form.values()}
            made = services.create(resource, actor=desk.actor, values=values).obj
        except Refused as refused:
            form.refuse(refused.problems)
        except NotAllowed as refusal:
            form.add_error(None, refusal.sentence)
        else:
            _choose(desk, step, key, str(made.pk))
            messages.success(request, f"{made} was created.")
            return SeeOther(f"{step_url(desk, step)}#{dom_id(asset_field(key))}")
    context = {
        "resource": resource,
        "form": form,
        "sections": form.views(),
        "problems": form.problems(),
        "project": project,
        "back": f"{step_url(desk, step)}#{dom_id(asset_field(key))}",
    }
    return render(
        request,
        "wizard/new_asset.html",
        context,
        status=422 if request.method == "POST" else 200,
    )


def _form(
    request: HttpRequest, desk: Desk, role: Role, kind: AssetKind, project: Project
) -> AssetForm:
    """Name and values; a scope only where more than the project can be chosen."""
    resource = get(kind.key)
    part = replace(
        desk.form(role),
        role=Role.WORKER,
        policy=effective_policy([]),
        standing={},
        galleries={},
        only=frozenset(kind.asked),
    )
    form: AssetForm = resource.form_class(
        request.POST if request.method == "POST" else None,
        resource=resource,
        actor=desk.actor,
        part=part,
        initial={"scope": project.scope_id},
    )
    del form.fields["description"]
    places = form.fields["scope"]
    line = [scope.pk for scope in scopes_to(project.scope)]
    places.queryset = places.queryset.filter(pk__in=line)  # type: ignore[attr-defined]
    if places.queryset.count() < 2:  # type: ignore[attr-defined]
        del form.fields["scope"]
    return form


def _choose(desk: Desk, step: Step, key: str, chosen: str) -> None:
    """The new asset stands in the draft; the rest of the draft is as it was saved."""
    drafts.save(
        owner=desk.actor.user,
        draft_id=desk.draft_id,
        step=step,
        page=drafts.Page(tab="", seen=drafts.version_of(desk.draft, step), wins=True),
        change=lambda stored: stored.with_asset(key, chosen),
        start=desk.state,
    )
