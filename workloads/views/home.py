"""`/`: numbers, what needs attention, what runs, what is used, and the first steps."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from assets.selectors.templates import usable_templates
from gangline.access.actor import actor_of
from gangline.access.permissions import Permission
from gangline.accounts.services import prefer
from gangline.db.clock import db_now
from gangline.organization.selectors import may_create_somewhere, visible_projects
from gangline.tables.counts import in_words
from workloads.live import heads_of
from workloads.models import Draft, Workload
from workloads.selectors import listing
from workloads.selectors.first_steps import (
    HIDDEN,
    SET_UP_HIDDEN,
    first_steps,
    is_administrator,
    set_up,
)
from workloads.selectors.overview import (
    administrator_tiles,
    cluster_lines,
    cluster_rows,
    latest_changes,
    project_lines,
    tiles,
)
from workloads.statuses import statuses_of
from workloads.tables import WORKLOADS, pods_cell, status_cell

RECENT, MOST_TEMPLATES = 5, 3

Drawn = tuple[listing.ListRow, str, str]


@login_required
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    user = actor_of(request, "form").user
    visible = listing.visible(user)
    may_create = may_create_somewhere(user)
    scopes = frozenset(
        visible_projects(user, Permission.WORKLOAD_VIEW).values_list("pk", flat=True)
    )
    heads, since = heads_of(scopes), db_now()
    runs_it = is_administrator(user)
    clusters = cluster_rows(user)
    context: dict[str, Any] = {
        "live_after": {str(scope): head for scope, head in heads.items()},
        "live_since": since.isoformat(),
        "runs_it": runs_it,
        "tiles": (
            administrator_tiles(visible, clusters, since) if runs_it else tiles(visible, since)
        ),
        "attention": _recent(visible, "attention"),
        "running": _recent(visible, "running", "waiting"),
        "ended": _recent(visible, "completed", "stopped"),
        "counts": {name: in_words(n) for name, n in listing.pill_counts(visible).items()},
        "drafts": Draft.objects.filter(owner=user, workload=None).order_by("-updated_at")[:RECENT],
        "templates": usable_templates(user).order_by("name")[:MOST_TEMPLATES],
        "projects": project_lines(user),
        "clusters": cluster_lines(clusters),
        "changes": latest_changes(user) if runs_it else (),
        "may_create": may_create,
        "steps": first_steps(user) if may_create else None,
        "set_up": set_up(user),
    }
    context["is_quiet"] = not any(context[name] for name in ("attention", "running", "ended"))
    return render(request, "workloads/home.html", context)


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


def _recent(visible: QuerySet[Workload], *pills: str) -> list[Drawn]:
    words = [word for pill in pills for word in statuses_of(pill)]
    newest = visible.filter(status__in=words).order_by("-created_at")[:RECENT]
    rows = WORKLOADS.fetch(newest, WORKLOADS.chosen(()))
    return [(row, str(status_cell(row)), str(pods_cell(row))) for row in rows]
