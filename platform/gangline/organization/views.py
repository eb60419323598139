"""Beside the pages of the resources: sums while a quota is typed, and members."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from gangline.access.actor import actor_of
from gangline.access.models import AccessRule, Group
from gangline.access.roles import ROLES
from gangline.access.services import LastAdministrator, give, take
from gangline.accounts.models import User
from gangline.resources.registry import get


@require_GET
@login_required
def quota_sums(request: HttpRequest) -> HttpResponse:
    """How the department's quota stands with what is typed in the form of a project."""
    resource = get("project")
    actor = actor_of(request, "form")
    pk = request.GET.get("project", "")
    instance = None
    if pk:
        instance = resource.rows(actor.user).filter(pk=pk if pk.isdigit() else 0).first()
        if instance is None:
            raise Http404
    form = resource.form_class(request.GET, resource=resource, actor=actor, instance=instance)
    return render(request, "organization/sums.html", {"sums": form.sums()})


@require_POST
@login_required
def member_add(request: HttpRequest, key: str, pk: str) -> HttpResponse:
    """Give a person or a group a role in a project or department."""
    node = _node(request, key, pk)
    name, role = request.POST.get("subject", "").strip()[:150], request.POST.get("role", "")
    user = User.objects.filter(username__iexact=name, is_active=True).first()
    group = None if user else Group.objects.filter(name__iexact=name).first()
    if role not in ROLES:
        messages.error(request, "Choose a role.")
    elif user is None and group is None:
        messages.error(request, f"There is no person and no group called {name or '–'}.")
    else:
        give(actor=actor_of(request, "form"), role=role, scope=node.scope, user=user, group=group)
        messages.success(request, f"{name} is {ROLES[role].label.lower()} in {node.name} now.")
    return redirect(get(key).url(node))


@require_POST
@login_required
def member_remove(request: HttpRequest, key: str, pk: str, rule: int) -> HttpResponse:
    """Take a role back."""
    node = _node(request, key, pk)
    found = get_object_or_404(
        AccessRule.objects.select_related("user", "group", "scope"), pk=rule, scope=node.scope
    )
    try:
        take(actor=actor_of(request, "form"), rule=found)
    except LastAdministrator:
        messages.error(request, "The last system administrator stays.")
    else:
        messages.success(request, f"{found.subject} has this role in {node.name} no longer.")
    return redirect(get(key).url(node))


def _node(request: HttpRequest, key: str, pk: str) -> Any:
    user = request.user
    if not isinstance(user, User):
        raise Http404
    found = get(key).rows(user).filter(pk=pk if pk.isdigit() and len(pk) < 16 else 0).first()
    if found is None:
        raise Http404
    return found
