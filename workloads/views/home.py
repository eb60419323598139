"""`/`: numbers, what needs attention, what runs, what is used, and the first steps."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Case, F, OuterRef, Q, QuerySet, Subquery, When
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.text import get_text_list
from django.views.decorators.http import require_POST, require_safe

from assets.models import Template
from assets.selectors.templates import usable_templates
from gangline.access.actor import actor_of
from gangline.access.grants import held_anywhere, who_can
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.accounts.services import prefer
from gangline.db.clock import db_now
from gangline.organization.selectors import may_create_somewhere, visible_projects
from gangline.scopes.selectors import tenant_scope
from gangline.tables.counts import capped, in_words
from workloads.live import heads_of
from workloads.models import Draft, Workload
from workloads.selectors import workload_list
from workloads.selectors.first_steps import (
    HIDDEN,
    SAMPLE,
    SET_UP_HIDDEN,
    first_steps,
    is_administrator,
    set_up,
)
from workloads.selectors.overview import (
    administrator_tile_counts,
    administrator_tiles,
    cluster_lines,
    cluster_rows,
    latest_changes,
    project_lines,
    tile_counts,
    tiles,
)
from workloads.statuses import statuses_of
from workloads.tables import WORKLOADS, pods_cell, status_cell

RECENT, MOST_TEMPLATES, MOST_NAMES = 5, 3, 3
_RECENT = {
    "attention": ("attention",),
    "running": ("running", "waiting"),
    "ended": ("completed", "stopped"),
}

Drawn = tuple[workload_list.ListRow, str, str]


@login_required
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    user = actor_of(request, "form").user
    if not held_anywhere(user):
        return render(request, "workloads/home.html", {"no_access": True, "givers": _givers()})
    may_create = may_create_somewhere(user)
    scopes = frozenset(
        visible_projects(user, Permission.WORKLOAD_VIEW).values_list("pk", flat=True)
    )
    visible = workload_list.in_projects(scopes)
    heads, since = heads_of(scopes), db_now()
    runs_it = is_administrator(user)
    clusters = cluster_rows(user)
    shown = administrator_tile_counts(visible, since) if runs_it else tile_counts(visible, since)
    found = capped({**workload_list.by_pill(visible), **shown})
    context: dict[str, Any] = {
        "live_after": {str(scope): head for scope, head in heads.items()},
        "live_since": since.isoformat(),
        "runs_it": runs_it,
        "tiles": administrator_tiles(found, clusters, since) if runs_it else tiles(found, since),
        "counts": {name: in_words(n) for name, n in found.items()},
        **_recent(visible, user),
        "drafts": Draft.objects.filter(owner=user, workload=None).order_by("-updated_at")[:RECENT],
        "templates": _templates(user),
        "projects": project_lines(user),
        "clusters": cluster_lines(clusters),
        "changes": latest_changes(user) if runs_it else (),
        "may_create": may_create,
        "steps": first_steps(user) if may_create else None,
        "set_up": set_up(user) if runs_it else [],
    }
    context["is_quiet"] = not any(context[name] for name in _RECENT)
    return render(request, "workloads/home.html", context)


def _templates(user: User) -> QuerySet[Template]:
    """Those that the person used last, then the sample, which runs anywhere."""
    uses = Workload.objects.filter(owner=user, template=OuterRef("pk")).order_by("-created_at")
    last = F("used_at").desc(nulls_last=True)
    sample = Case(When(name=SAMPLE, then=0), default=1)
    found = usable_templates(user).annotate(used_at=Subquery(uses.values("created_at")[:1]))
    return found.order_by(last, sample, "name")[:MOST_TEMPLATES]


def _givers() -> str:
    """People who can give somebody their first role."""
    people = who_can(Permission.ACCESS_RULE_CREATE, tenant_scope())[:MOST_NAMES]
    return get_text_list([person.username for person in people], "or")


@login_required
@require_POST
def hide_first_steps(request: HttpRequest) -> HttpResponse:
    """Dismiss the first steps, or with ``set_up`` those of an administrator.

    ``show`` brings all of them back.
    """
    hides = "show" not in request.POST
    name = SET_UP_HIDDEN if "set_up" in request.POST else HIDDEN
    user = actor_of(request, "form").user
    prefer(user, **({name: True} if hides else {HIDDEN: False, SET_UP_HIDDEN: False}))
    if hides:
        messages.info(request, "First steps dismissed. Show them again under API tokens.")
    return redirect("home")


def _recent(visible: QuerySet[Workload], user: User) -> dict[str, list[Drawn]]:
    """The newest of each kind, in one query."""
    words = {
        name: [w for pill in pills for w in statuses_of(pill)] for name, pills in _RECENT.items()
    }
    chosen = Q()
    for statuses in words.values():
        newest = visible.filter(status__in=statuses).order_by("-created_at")[:RECENT]
        chosen |= Q(pk__in=newest.values("pk"))
    newest = Workload.objects.filter(chosen).order_by("-created_at")
    rows = workload_list.without_logs(WORKLOADS.fetch(newest, WORKLOADS.chosen(())), user)
    return {
        name: [
            (row, str(status_cell(row)), str(pods_cell(row)))
            for row in rows
            if row.status in statuses
        ]
        for name, statuses in words.items()
    }
