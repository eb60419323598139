"""`/`: what needs attention, what runs, what ended, and the first steps until they are done."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from gangline.access.actor import actor_of
from gangline.access.permissions import Permission
from gangline.accounts.services import prefer
from gangline.db.clock import db_now
from gangline.organization.selectors import may_create_somewhere, visible_projects
from gangline.tables.counts import in_words
from workloads.live import heads_of
from workloads.models import Draft, Workload
from workloads.selectors import listing
from workloads.selectors.first_steps import HIDDEN, first_steps
from workloads.statuses import statuses_of
from workloads.tables import WORKLOADS, pods_cell, status_cell

RECENT = 5

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
    context: dict[str, Any] = {
        "live_after": {str(scope): head for scope, head in heads.items()},
        "live_since": since.isoformat(),
        "attention": _recent(visible, "attention"),
        "running": _recent(visible, "running", "waiting"),
        "ended": _recent(visible, "completed", "stopped"),
        "counts": {name: in_words(n) for name, n in listing.pill_counts(visible).items()},
        "drafts": Draft.objects.filter(owner=user, workload=None).order_by("-updated_at")[:RECENT],
        "may_create": may_create,
        "steps": first_steps(user) if may_create else None,
    }
    blocks = ("attention", "running", "ended", "drafts", "steps")
    context["is_quiet"] = not any(context[name] for name in blocks)
    return render(request, "workloads/home.html", context)


@login_required
@require_POST
def hide_first_steps(request: HttpRequest) -> HttpResponse:
    """Put the first steps away; ``show`` brings them back."""
    hides = "show" not in request.POST
    prefer(actor_of(request, "form").user, **{HIDDEN: hides})
    if hides:
        messages.info(request, "First steps dismissed. Show them again under API tokens.")
    return redirect("home")


def _recent(visible: QuerySet[Workload], *pills: str) -> list[Drawn]:
    words = [word for pill in pills for word in statuses_of(pill)]
    newest = visible.filter(status__in=words).order_by("-created_at")[:RECENT]
    rows = WORKLOADS.fetch(newest, WORKLOADS.chosen(()))
    return [(row, str(status_cell(row)), str(pods_cell(row))) for row in rows]
