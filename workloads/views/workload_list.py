"""`/workloads`: the table, and the polling fallback of its live cells."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from django.contrib.auth.decorators import login_required
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseNotModified,
    JsonResponse,
    StreamingHttpResponse,
)
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.db.clock import db_now
from gangline.live.feeds import Refused
from gangline.organization.models import Project
from gangline.organization.selectors import (
    late_clusters,
    may_create_somewhere,
    visible_projects,
    with_news,
)
from gangline.settings.catalogue import DELETED_DAYS
from gangline.settings.values import value_of
from gangline.tables.counts import CAP, capped, in_words
from gangline.tables.export import csv_response
from gangline.tables.filters import Choices
from gangline.tables.pages import TablePage, with_address
from gangline.tables.paging import BadCursor, page
from gangline.tables.query import TableQuery, read
from workloads.live import WorkloadListFeed, heads_of
from workloads.models import Draft
from workloads.selectors import workload_list as selector
from workloads.selectors.first_steps import sample_template
from workloads.selectors.workload_list import ListRow
from workloads.statuses import PILLS
from workloads.tables import WORKLOADS, table_row

PILL_TONES = {
    "running": "good",
    "waiting": "warn",
    "attention": "bad",
    "completed": "neutral",
    "stopped": "neutral",
}


_DELETED = f"{selector.DELETED}=1&cols=status,project,deleted,owner,duration"
"""Address of the deleted ones."""


@dataclass(frozen=True, slots=True)
class PillLink:
    name: str
    label: str
    tone: str
    url: str
    count: str
    is_current: bool


@login_required
@require_GET
def workload_list(request: HttpRequest) -> HttpResponse:
    """The table. Everything it shows follows from the address."""
    user = _user(request)
    query = read(WORKLOADS, request.GET, user)
    since = db_now()
    visible = visible_projects(user, Permission.WORKLOAD_VIEW).order_by("name")
    projects = list(with_news(visible))
    scopes = frozenset(project.pk for project in projects)
    heads = heads_of(scopes)
    listed = selector.listed(scopes, query)
    try:
        found = page(
            listed.fitting,
            query.order,
            size=query.size,
            after=query.after,
            before=query.before,
            values=query.fetch,
        )
    except BadCursor:
        return redirect(query.url(request.path))
    shown = selector.without_logs(found.rows, user)
    of_deleted = selector.of_deleted(query)
    there = selector.in_projects(scopes) if of_deleted else listed.of_every_status
    counts = selector.pill_counts(there)
    table = TablePage(
        query=query,
        path=request.path,
        found=found,
        rows=[table_row(row, query) for row in shown],
        total=_total(query, {} if of_deleted else counts, listed),
        choices=_choices(query, projects, found.rows),
        export_path=reverse("workload-export"),
        views_path=reverse("table-views", args=[WORKLOADS.name]),
    )
    context = {
        "page": table,
        "pills": list(_pills(table, counts, of_deleted=of_deleted)),
        "of_deleted": of_deleted,
        "deleted_url": f"{request.path}?{_DELETED}",
        "kept_days": value_of(DELETED_DAYS) if of_deleted else 0,
        "live_query": request.GET.urlencode(),
        # What was deleted does not change any more.
        "live_since": "" if of_deleted else since.isoformat(),
        "live_after": {} if of_deleted else {str(scope): n for scope, n in heads.items()},
        "state": "empty" if table.is_empty else "ready",
        "may_create": may_create_somewhere(user),
        "drafts": Draft.objects.filter(owner=user, workload=None).count(),
        "late": late_clusters(projects),
    }
    if table.is_new:
        context |= {"sample": sample_template(user), "sample_key": uuid4()}
    return with_address(request, table, render(request, "workloads/list.html", context))


@login_required
@require_GET
def workload_export(request: HttpRequest) -> StreamingHttpResponse:
    """Every row of the list at this address, as CSV."""
    user = _user(request)
    query = read(WORKLOADS, request.GET, user)
    projects = visible_projects(user, Permission.WORKLOAD_VIEW).order_by()
    listed = selector.listed(projects.values_list("pk", flat=True), query)
    return csv_response(request, query, listed.fitting)


@login_required
@require_GET
def workload_changes(request: HttpRequest) -> HttpResponse:
    """The same frame that the WebSocket sends, for pages that have to ask (R13)."""
    user, feed = _user(request), WorkloadListFeed()
    hello: dict[str, Any] = {
        "query": request.GET.get("query", ""),
        "since": request.GET.get("since", ""),
        "ids": [part for part in request.GET.get("ids", "").split(",") if part][:200],
    }
    try:
        view = feed.open(user, hello)
        after = _after(request.GET.get("after", ""), view.scopes)
    except (Refused, ValueError) as refusal:
        return JsonResponse({"code": 400, "message": str(refusal), "problems": []}, status=400)
    heads = feed.heads(view.scopes)
    tag = '"' + "-".join(f"{scope}.{head}" for scope, head in sorted(heads.items())) + '"'
    if request.headers.get("If-None-Match") == tag:
        return HttpResponseNotModified()
    return JsonResponse(feed.delta(view, after).frame(after), headers={"ETag": tag})


def _pills(
    table: TablePage[ListRow], counts: dict[str, int], *, of_deleted: bool
) -> Iterator[PillLink]:
    query, chosen = table.query, table.query.values.get("status", ())
    leaving = {selector.DELETED: None, "cols": None} if of_deleted else {}
    everything = query.url(table.path, status=None, **leaving)
    is_all = not chosen and not of_deleted
    yield PillLink("all", "All", "", everything, in_words(counts["all"]), is_all)
    current = () if of_deleted else selector.pills_of(chosen)
    for name, label in PILLS.items():
        url = query.url(table.path, status=name, **leaving)
        yield PillLink(
            name, label, PILL_TONES[name], url, in_words(counts[name]), current == (name,)
        )
    count = table.total_in_words if of_deleted else ""
    yield PillLink("deleted", "Deleted", "neutral", f"{table.path}?{_DELETED}", count, of_deleted)


def _total(query: TableQuery[ListRow], counts: dict[str, int], listed: selector.Listed) -> int:
    """Rows that fit: of whole pills, where those are counted, their sum, else counted."""
    chosen = query.values.get("status")
    if not counts:
        return capped({"fitting": listed.fitting})["fitting"]
    if not chosen:
        return counts["all"]
    if pills := selector.pills_of(chosen):
        return min(sum(counts[pill] for pill in pills), CAP + 1)
    return capped({"fitting": listed.fitting})["fitting"]


def _choices(
    query: TableQuery[ListRow], projects: Sequence[Project], rows: Sequence[ListRow]
) -> dict[str, Choices]:
    """What depends on who looks: projects and clusters one sees, owners that are met here."""
    clusters = {one.cluster_id: one.cluster.name for one in projects}
    me = query.user.get_username()
    owners = {*query.values.get("owner", ()), *(row.owner_name for row in rows)} - {"me", me}
    return {
        selector.PROJECT: [(str(one.pk), one.name) for one in projects],
        "owner": [("me", "Me"), *((name, name) for name in sorted(owners))],
        "cluster": [
            (str(pk), name) for pk, name in sorted(clusters.items(), key=lambda pair: pair[1])
        ],
    }


def _after(text: str, scopes: frozenset[int]) -> dict[int, int]:
    """``12.340-13.7``: where the page stands, scope by scope."""
    pairs = (part.split(".") for part in text.split("-") if part)
    given = {int(scope): int(seq) for scope, seq in pairs}
    return {scope: given.get(scope, 0) for scope in scopes}


def _user(request: HttpRequest) -> User:
    if not isinstance(request.user, User):
        raise TypeError("a signed-in person is needed here")
    return request.user
