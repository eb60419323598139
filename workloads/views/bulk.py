"""An action on everything that a list shows: the question, the result, once more what failed."""

from datetime import datetime
from uuid import UUID, uuid4

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Count
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from gangline.access.actor import Actor, actor_of
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.lib.texts import moment
from gangline.organization.selectors import visible_projects
from gangline.tables.query import read
from gangline.web.confirm import Question, ask
from gangline.web.formats import grouped
from workloads.models import BulkAction, ItemState, Workload
from workloads.selectors import listing
from workloads.services import bulk
from workloads.tables import WORKLOADS
from workloads.views.verbs import VERBS, Verb

MOST_SHOWN = 200


def act_on_all(request: HttpRequest, actor: Actor, action: str, back: str) -> HttpResponse:
    """POST of a list with ``all``: every workload that its address showed by ``since``."""
    verb, address = VERBS[action], request.POST.get("address", "")
    try:
        since = moment(request.POST.get("since", ""), zoned=True)
        key = UUID(request.POST["key"]) if "key" in request.POST else uuid4()
    except ValueError:
        return HttpResponseBadRequest("since and key must be those of the page.")
    rows = _matching(actor.user, address, since)
    if "sure" not in request.POST:
        return ask(request, _question(verb, action, rows.count(), request, back, key))
    try:
        made = bulk.begin(actor=actor, key=key, action=action, rows=rows, query=address)
    except bulk.TooMany:
        messages.error(request, _too_many())
        return redirect(back)
    return redirect("workload-bulk-result", made.pk)


@login_required
@require_safe
def result(request: HttpRequest, action_id: UUID) -> HttpResponse:
    """How far it is, and what could not be done. Only for who asked for it."""
    made = get_object_or_404(BulkAction, pk=action_id, actor=actor_of(request, "form").user)
    counted = dict(
        made.items.order_by().values_list("state").annotate(count=Count("pk")).values_list()
        if False
        else made.items.order_by().values("state").annotate(n=Count("pk")).values_list("state", "n")
    )
    others = made.items.filter(state__in=[ItemState.REFUSED, ItemState.SKIPPED])
    context = {
        "made": made,
        "verb": VERBS[made.action],
        "counts": {state.value: counted.get(state, 0) for state in ItemState},
        "done": made.total - counted.get(ItemState.WAITING, 0),
        "others": others.select_related("workload").order_by("state", "id")[:MOST_SHOWN],
        "retry_key": uuid4(),
        "back": f"{reverse('workload-list')}?{made.query}" if made.query else "/workloads",
    }
    return render(request, "workloads/bulk_result.html", context)


@login_required
@require_POST
def retry(request: HttpRequest, action_id: UUID) -> HttpResponse:
    """The same again for those that were refused."""
    actor = actor_of(request, "form")
    made = get_object_or_404(BulkAction, pk=action_id, actor=actor.user)
    refused = made.items.filter(state=ItemState.REFUSED).values("workload")
    try:
        key = UUID(request.POST.get("key", ""))
    except ValueError:
        return HttpResponseBadRequest("key must be that of the page.")
    again = bulk.begin(
        actor=actor,
        key=key,
        action=made.action,
        rows=Workload.objects.filter(pk__in=refused),
        query=made.query,
    )
    return redirect("workload-bulk-result", again.pk)


def _matching(user: User, address: str, since: datetime) -> "listing.QuerySet[Workload]":
    query = read(WORKLOADS, QueryDict(address[:4000]), user)
    projects = visible_projects(user, Permission.WORKLOAD_VIEW).order_by()
    listed = listing.listed(projects.values_list("pk", flat=True), query)
    return listed.fitting.filter(created_at__lte=since)


def _question(
    verb: Verb, action: str, count: int, request: HttpRequest, back: str, key: UUID
) -> Question:
    what = f"{grouped(count)} workload{'' if count == 1 else 's'}"
    fits = count <= bulk.MOST
    hidden = {
        "all": "1",
        "action": action,
        "address": request.POST.get("address", ""),
        "since": request.POST.get("since", ""),
        "key": str(key),
        "next": back,
    }
    name = verb.verb or verb.label
    return Question(
        title=f"{name} all {what}?" if fits else f"{what} are too many",
        text=f"{verb.text_for_several} They are taken one after another in the background.".strip()
        if fits
        else _too_many(),
        verb=f"{name} {what}" if fits else "Back to the list",
        action=reverse("workload-bulk"),
        cancel_url=back,
        is_harmful=verb.is_harmful and fits,
        hidden=hidden | ({"sure": "1"} if fits else {}),
        crumbs=[("Workloads", reverse("workload-list")), (name, "")],
    )


def _too_many() -> str:
    return f"One action takes up to {grouped(bulk.MOST)} workloads. Narrow the list."
