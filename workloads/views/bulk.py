"""An action on everything that a list shows: the question, the result, once more what failed."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID, uuid4

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Count, QuerySet
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
from workloads.selectors import workload_list
from workloads.services import bulk
from workloads.statuses import statuses_with
from workloads.tables import WORKLOADS
from workloads.views.actions import (
    VERBS,
    act_on_checked,
    back_from,
    consequence,
    crumbs,
    left_out,
)

MOST_SHOWN = 200


@login_required
@require_POST
def act_on_several(request: HttpRequest) -> HttpResponse:
    """The form around a list: the checked rows at once, or all that match in the background."""
    action = request.POST.get("action", "")
    if "all" in request.POST and action in VERBS:
        return _act_on_all(request, actor_of(request, "form"), action)
    return act_on_checked(request)


def _act_on_all(request: HttpRequest, actor: Actor, action: str) -> HttpResponse:
    address, back = request.POST.get("address", ""), back_from(request, reverse("workload-list"))
    try:
        since = moment(request.POST.get("since", ""), zoned=True)
        key = UUID(request.POST["key"]) if "key" in request.POST else uuid4()
    except ValueError:
        return HttpResponseBadRequest("since and key must be those of the page.")
    rows = _matching(actor.user, address, since)
    chosen, rows = rows, rows.filter(status__in=statuses_with(action))
    if "sure" not in request.POST:
        counted = rows.order_by().values("status").annotate(count=Count("pk"))
        statuses = dict(counted.values_list("status", "count"))
        return ask(request, _question(request, action, (chosen.count(), statuses), back, key))
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
    states = made.items.order_by().values("state").annotate(count=Count("pk"))
    counted = dict(states.values_list("state", "count"))
    others = made.items.filter(state__in=[ItemState.REFUSED, ItemState.SKIPPED])
    context = {
        "made": made,
        "verb": VERBS[made.action],
        "counts": {state.value: counted.get(state, 0) for state in ItemState},
        "done": made.total - counted.get(ItemState.WAITING, 0),
        "others": others.select_related("workload").order_by("state", "id")[:MOST_SHOWN],
        "retry_key": uuid4(),
        "back": f"{reverse('workload-list')}?{made.query}",
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


def _matching(user: User, address: str, since: datetime) -> QuerySet[Workload]:
    query = read(WORKLOADS, QueryDict(address[:4000]), user)
    projects = visible_projects(user, Permission.WORKLOAD_VIEW).order_by()
    listed = workload_list.listed(projects.values_list("pk", flat=True), query)
    return listed.fitting.filter(created_at__lte=since)


def _question(
    request: HttpRequest, action: str, counts: tuple[int, Mapping[str, int]], back: str, key: UUID
) -> Question:
    """``counts``: how many match, and by status those for which there is something to do."""
    verb, (chosen, statuses) = VERBS[action], counts
    count = sum(statuses.values())
    what = f"{grouped(count)} workload{'' if count == 1 else 's'}"
    fits = 0 < count <= bulk.MOST
    kept = {name: request.POST.get(name, "") for name in ("all", "action", "address", "since")}
    text = f"{consequence(verb, action, statuses)} They are processed one by one in the background."
    if count < chosen:
        text = f"{text} {left_out(chosen, count)} {verb.only}"
    return Question(
        title=f"{verb.verb} all {what}?" if fits else f"{verb.verb} is not possible for {what}",
        text=text.strip() if fits or not count else _too_many(),
        verb=f"{verb.verb} {what}" if fits else "Back",
        action=reverse("workload-bulk") if fits else back,
        cancel_url=back,
        is_harmful=verb.is_harmful and fits,
        hidden=kept | {"key": str(key), "next": back, "sure": "1"},
        crumbs=crumbs((verb.verb, "")),
    )


def _too_many() -> str:
    return f"One action is limited to {grouped(bulk.MOST)} workloads. Narrow the list."
