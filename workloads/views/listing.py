"""`/workloads`: the table, and the polling fallback of its live cells."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseNotModified, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET

from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.db.clock import db_now
from gangline.live.feeds import Refused
from gangline.organization.selectors import (
    late_clusters,
    may_create_somewhere,
    visible_projects,
    with_news,
)
from gangline.spec.frameworks import FRAMEWORKS
from gangline.tables.columns import Header
from gangline.tables.counts import in_words
from gangline.tables.paging import BadCursor, page
from workloads.live import WorkloadListFeed, heads_of
from workloads.selectors import listing
from workloads.selectors.first_steps import sample_template
from workloads.statuses import PILLS
from workloads.tables import ORDERS, SORTS, WORKLOADS, table_row

PILL_TONES = {
    "running": "good",
    "waiting": "warn",
    "attention": "bad",
    "completed": "neutral",
    "stopped": "neutral",
}


@dataclass(frozen=True, slots=True)
class PillLink:
    name: str
    label: str
    tone: str
    url: str
    count: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class ActiveFilter:
    """One filter in force, and the address without it."""

    label: str
    values: str
    url: str


@login_required
@require_GET
def workload_list(request: HttpRequest) -> HttpResponse:
    """The table. Everything it shows follows from the address."""
    user = _user(request)
    filters = listing.filters_from(request.GET, SORTS)
    since = db_now()
    visible = visible_projects(user, Permission.WORKLOAD_VIEW).order_by("name")
    projects = list(with_news(visible))
    scopes = frozenset(project.pk for project in projects)
    heads = heads_of(scopes)
    listed = listing.listed(scopes, filters, user)
    try:
        found = page(
            listed.fitting,
            listing.order(filters, SORTS),
            size=filters.size,
            after=filters.after,
            before=filters.before,
            values=listing.rows,
        )
    except BadCursor:
        return redirect(_url(request, after=None, before=None))
    counts = listing.pill_counts(listed.of_every_status)
    shown = sum(counts[name] for name in PILLS if name in filters.statuses)
    context = {
        "rows": [table_row(row) for row in found.rows],
        "headers": list(_headers(request, filters)),
        "pills": list(_pills(request, filters, counts)),
        "active_filters": list(_active(request, filters)),
        "filters": filters,
        "orders": ORDERS.items(),
        "projects": [project.name for project in projects],
        "frameworks": [(f.name, f.label) for f in FRAMEWORKS.values()],
        "total": in_words(shown if filters.statuses and shown else counts["all"]),
        "previous_url": _url(request, before=found.previous, after=None) if found.previous else "",
        "next_url": _url(request, after=found.next, before=None) if found.next else "",
        "live_query": request.GET.urlencode(),
        "live_since": since.isoformat(),
        "live_after": {str(scope): head for scope, head in heads.items()},
        "state": "ready" if found.rows else "empty",
        "may_create": may_create_somewhere(user),
        "clear_url": request.path,
        "first_url": _url(request, after=None, before=None),
        "late": late_clusters(projects),
    }
    if not found.rows and not filters.is_filtered:
        context |= {"sample": sample_template(user), "sample_key": uuid4()}
    return render(request, "workloads/list.html", context)


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


def _headers(request: HttpRequest, filters: listing.Filters) -> Iterator[Header]:
    name, descending = filters.sort.removeprefix("-"), filters.sort.startswith("-")
    for column in WORKLOADS.columns:
        is_current = column.name == name
        down = not descending if is_current else column.descends_first
        url = (
            _url(request, sort=("-" if down else "") + column.name, after=None, before=None)
            if column.sort
            else ""
        )
        order = ("descending" if descending else "ascending") if is_current else ""
        yield Header(column, url, order)


def _pills(
    request: HttpRequest, filters: listing.Filters, counts: dict[str, int]
) -> Iterator[PillLink]:
    everything = _url(request, status=None, after=None, before=None)
    yield PillLink("all", "All", "", everything, in_words(counts["all"]), not filters.statuses)
    for name, label in PILLS.items():
        url = _url(request, status=name, after=None, before=None)
        is_current = filters.statuses == (name,)
        yield PillLink(name, label, PILL_TONES[name], url, in_words(counts[name]), is_current)


def _active(request: HttpRequest, filters: listing.Filters) -> Iterator[ActiveFilter]:
    labels = {f.name.lower(): f.label for f in FRAMEWORKS.values()}
    named = {
        "q": ("Search", (filters.search,) if filters.search else ()),
        "project": ("Project", filters.projects),
        "framework": (
            "Framework",
            tuple(labels.get(name.lower(), name) for name in filters.frameworks),
        ),
        "owner": ("Owner", filters.owners),
    }
    for parameter, (label, values) in named.items():
        if values:
            url = _url(request, after=None, before=None, **{parameter: None})
            yield ActiveFilter(label, ", ".join(values), url)


def _url(request: HttpRequest, **changes: str | None) -> str:
    """This address with some parameters changed; unknown ones are kept."""
    query = request.GET.copy()
    for name, value in changes.items():
        query.pop(name, None)
        if value:
            query[name] = value
    return f"{request.path}?{query.urlencode(safe=',')}" if query else request.path


def _after(text: str, scopes: frozenset[int]) -> dict[int, int]:
    """``12.340-13.7``: where the page stands, scope by scope."""
    pairs = (part.split(".") for part in text.split("-") if part)
    given = {int(scope): int(seq) for scope, seq in pairs}
    return {scope: given.get(scope, 0) for scope in scopes}


def _user(request: HttpRequest) -> User:
    if not isinstance(request.user, User):
        raise TypeError("a signed-in person is needed here")
    return request.user
