"""The moving parts of a workload's pages, drawn the same for the page and for live updates."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate, groupby
from typing import Any, cast
from uuid import UUID

from django.db.models import QuerySet
from django.template.loader import render_to_string
from django.utils import timezone

from gangline.access.grants import held_permissions
from gangline.access.permissions import Permission
from gangline.access.refusals import NotVisible
from gangline.accounts.models import User
from gangline.clusters.connections import facts_of
from gangline.drivers.metrics.declared import METRICS
from gangline.live.feeds import Delta, Heads, Refused, View
from gangline.settings.catalogue import DELETED_DAYS
from gangline.settings.values import value_of
from gangline.web import formats
from workloads.live import heads_of
from workloads.models import Attempt, Event, Workload
from workloads.pods import pod_grid
from workloads.report.ends import memory_at_the_end
from workloads.report.summary import report_of
from workloads.report.tiles import columns, tiles
from workloads.selectors import details, tools
from workloads.selectors.figures import figures_of
from workloads.selectors.workload_list import ListRow
from workloads.services import sessions
from workloads.statuses import ENDED, OF_DELETED, STATUSES
from workloads.tables import ROW_ACTIONS, duration_cell, pods_cell, status_cell
from workloads.terminals import tickets
from workloads.wording import Reason

HEAD = ("title", "actions", "facts")
TABS: Mapping[str, tuple[str, ...]] = {
    "overview": (*HEAD, "note", "timeline", "usage", "tools", "pods"),
    "pods": (*HEAD, "podtable"),
    "logs": HEAD,
    "terminal": HEAD,
    "files": HEAD,
    "events": (*HEAD, "events"),
    "report": (*HEAD, "report"),
    "spec": HEAD,
}
"""Parts of each page that move."""

MEASURED = {"overview": ("usage",), "pods": ("podtable",), "report": ("report",)}
"""Those that show figures, which grow without a change of the workload."""
OPEN = ("Running", "Degraded")
"""Statuses in which a tool may answer."""
DOWNLOADS = {"html": "HTML", "pdf": "PDF", "csv": "CSV"}
"""Kinds of files that a report comes as."""
MAX_STRIPS = 10
GRID_FROM = 17
"""Gangs of so many pods are drawn as a grid."""
PODS_PER_PAGE = 100
_TRACK = 1000
_SLIVER = 8
"""What took no time still happened."""
_LEGEND = (
    ("warn", "Waiting"),
    ("info", "Starting"),
    ("good", "Running"),
    ("bad", "Failed"),
    ("neutral", "Stopped"),
)
_NEEDED = {
    "stop": Permission.WORKLOAD_STOP,
    "resume": Permission.WORKLOAD_STOP,
    "rerun": Permission.WORKLOAD_STOP,
    "copy": Permission.WORKLOAD_CREATE,
    "template": Permission.TEMPLATE_CREATE,
    "delete": Permission.WORKLOAD_DELETE,
}
_LAST = ("copy", "template", "delete")


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch as a rectangle of the strip, and in words. ``ends`` None: it goes on."""

    x: int
    width: int
    tone: str
    word: str
    span: str
    begins: datetime
    ends: datetime | None


@dataclass(frozen=True, slots=True)
class Axis:
    """From its beginning to its end."""

    begins: datetime
    ends: datetime | None
    """None: until now."""


@dataclass(frozen=True, slots=True)
class Strip:
    """One attempt. All begin at the left, on one scale: they are compared by their lengths."""

    title: str
    segments: list[Segment]
    outcome: str
    axis: Axis


def permissions(user: User, workload: Workload) -> frozenset[Permission]:
    """What the person may do with this workload."""
    return held_permissions(user, workload.project.scope, owner_id=workload.owner_id)


def draw_parts(
    workload: Workload,
    *,
    may_act: frozenset[Permission],
    tab: str,
    first_pod: int = 0,
    only: Sequence[str] = (),
) -> dict[str, str]:
    """HTML by name of every part that the page ``tab`` shows, or only of some of them.

    ``first_pod`` is a rank.
    """
    parts = only or TABS[tab]
    row = cast(ListRow, workload)
    status = STATUSES[workload.status]
    names = status.actions if workload.deleted_at is None else OF_DELETED
    allowed = [a for a in ROW_ACTIONS if a.name in names and _NEEDED[a.name] in may_act]
    may_read = Permission.WORKLOAD_LOGS in may_act
    if not may_read:
        workload.error_line = ""  # of this object, which nobody stores
    context: dict[str, Any] = {
        "workload": workload,
        "may_read": may_read,
        "may_enter": Permission.WORKLOAD_EXEC in may_act and workload.status in tickets.OPEN,
        "allowed": [action.name for action in allowed],
        "status_html": status_cell(row),
        "pods_html": pods_cell(row),
        "duration_html": duration_cell(row, coarse=False),
        "tries": details.tries_in_words(workload),
        "title": Reason(workload.reason_code, workload.reason_params).title,
        "is_over": workload.status in ENDED,
        "main_actions": [a for a in allowed if a.name not in _LAST],
        "more_actions": [a for a in allowed if a.name in _LAST],
    }
    if workload.deleted_at is not None:
        context["kept_until"] = workload.deleted_at + timedelta(days=value_of(DELETED_DAYS))
    context["tab"] = tab
    if workload.is_interactive and workload.status in tickets.OPEN:
        attempt = details.attempt_of(workload, workload.attempt_no)
        context["session"] = attempt and sessions.limits_of(workload, attempt)
    if tab in ("overview", "pods"):
        attempts = details.attempts(workload)
        context["attempt"] = attempts[0]
        context |= _pods(workload, attempts[0], first_pod, of_all=tab == "overview")
        if tab == "overview":
            context["tiles"] = tiles(context["figures"], is_over=workload.status in ENDED)
            if workload.status == "Failed":
                context["memory"] = memory_at_the_end(workload, attempts[0])
            context["links"] = tools.links_of(workload, attempts[0])
            context["is_running"] = workload.status in OPEN
            context |= _timeline(attempts[:MAX_STRIPS])
            context["earlier"] = len(attempts) - MAX_STRIPS
    if tab == "report":
        context |= report_context(workload, details.attempts(workload)[0])
    if tab == "events":
        context["days"] = list(_by_day(details.events(workload)))
    return {
        name: render_to_string(f"workloads/parts/{name}.html", context).strip() for name in parts
    }


def report_context(
    workload: Workload, attempt: Attempt, *, is_file: bool = False
) -> dict[str, Any]:
    """What `workloads/parts/report.html` shows of an attempt."""
    report = report_of(workload, attempt)
    return {
        "report": report,
        "note": report.note,
        "attempts": details.attempts(workload),
        "downloads": {} if is_file else DOWNLOADS,
        "measured": [metric for metric in METRICS if metric.name in report.names],
        "unmeasured": "" if report.figures else _why_unmeasured(workload, attempt),
    }


def _why_unmeasured(workload: Workload, attempt: Attempt) -> str:
    if why := workload.cluster.engine.unmeasured(facts_of(workload.cluster)):
        return why
    if attempt.started_at is None:
        return "Figures appear once its pods run."
    return "Its pods ended before anything was measured, or their figures are gone."


def _pods(workload: Workload, attempt: Attempt, first: int, *, of_all: bool) -> dict[str, Any]:
    pods = details.expected_replicas(workload, attempt)
    end = first + PODS_PER_PAGE
    is_large = len(pods) >= GRID_FROM
    figures = figures_of(workload, attempt, [p.name for p in (pods if of_all else pods[first:end])])
    return {
        "figures": figures,
        "measured": () if of_all else columns(figures),
        "replicas": pods[first:end],
        "pods_total": len(pods),
        "has_nodes": any(pod.node for pod in pods),
        "has_gpus": bool(workload.gpus),
        "has_restarts": any(pod.restarts for pod in pods),
        "is_large": is_large,
        "grid": pod_grid(workload, pods) if is_large else "",
        "first_pod": first + 1,
        "last_pod": min(end, len(pods)),
        "previous_first": max(first - PODS_PER_PAGE, 0) if first else None,
        "next_first": end if end < len(pods) else None,
    }


def _by_day(events: Sequence[Event]) -> Iterator[tuple[str, list[Event]]]:
    """Events under the day on which they happened, newest first."""
    today = timezone.localdate()
    words = {today: "Today", today - timedelta(days=1): "Yesterday"}
    for day, members in groupby(events, key=lambda event: timezone.localdate(event.at)):
        yield words.get(day, f"{day.day} {day:%b %Y}"), list(members)


def _timeline(attempts: Sequence[Attempt]) -> dict[str, Any]:
    """The strips of the attempts, the tones that they use, and how long the whole track is."""
    now = timezone.now()
    found = [details.timeline(attempt) for attempt in attempts]
    longest = max(sum(_seconds(one, now) for one in each.stretches) for each in found)
    strips = [_strip(each, now, max(longest, 0.001)) for each in found]
    tones = {segment.tone for strip in strips for segment in strip.segments}
    failed = any(strip.outcome == "Failed" for strip in strips)
    legend = [(tone, word) for tone, word in _LEGEND if tone in tones or (failed and tone == "bad")]
    return {"strips": strips, "legend": legend, "longest": formats.span(longest)}


def _seconds(stretch: details.Stretch, now: datetime) -> float:
    return max(((stretch.ends or now) - stretch.begins).total_seconds(), 0.0)


def _strip(timeline: details.Timeline, now: datetime, longest: float) -> Strip:
    """As `static/js/live/timeline.js` goes on drawing it."""
    axis = Axis(timeline.stretches[0].begins, timeline.stretches[-1].ends)
    lengths = [_seconds(one, now) for one in timeline.stretches]
    widths = [max(round(seconds / longest * _TRACK), _SLIVER) for seconds in lengths]
    # The longest one makes room for the slivers beside it.
    widths[widths.index(max(widths))] -= max(sum(widths) - _TRACK, 0)
    segments = [
        Segment(x, width, one.tone, one.word, formats.span(seconds), one.begins, one.ends)
        for one, seconds, width, x in zip(
            timeline.stretches, lengths, widths, accumulate(widths, initial=0), strict=False
        )
    ]
    return Strip(timeline.title, segments, timeline.attempt.outcome, axis)


def first_pod(text: str) -> int:
    """Rank with which a page of pods begins; what makes no sense is the first page."""
    rank = int(text) if text.isascii() and text.isdigit() and len(text) < 7 else 0
    return rank - rank % PODS_PER_PAGE


@dataclass(frozen=True, slots=True)
class _Page:
    """One page of one workload as one person sees it."""

    may_act: frozenset[Permission]
    tab: str
    first_pod: int


def fresh_figures(user: User, query: str) -> dict[str, str] | None:
    """The parts of a page that show figures; None where they do not move any more."""
    feed = WorkloadFeed()
    view = feed.open(user, {"query": query})
    shown: _Page = view.data
    parts = MEASURED.get(shown.tab)
    workload = rows_of_pages().filter(pk__in=view.ids).first()
    if parts is None or workload is None or workload.status in ENDED:
        return None
    return draw_parts(
        workload, may_act=shown.may_act, tab=shown.tab, first_pod=shown.first_pod, only=parts
    )


def rows_of_pages() -> QuerySet[Workload]:
    """Workloads with what their pages show of others."""
    return Workload.objects.select_related("project__scope", "cluster", "owner", "template")


class WorkloadFeed:
    """One workload's page; any change of it redraws its parts, and the page keeps what is equal."""

    def open(self, user: User, hello: Mapping[str, Any]) -> View:
        """``query`` is `<id>/<tab>/<first pod>`: what the page shows, as its address says it."""
        wanted, _, page = str(hello.get("query")).partition("/")
        tab, _, first = page.partition("/")
        try:
            workload = details.visible_workload(user, UUID(wanted), even_deleted=True)
        except (NotVisible, ValueError):
            raise Refused("There is no such workload, or you do not have access to it.") from None
        if tab not in TABS:
            raise Refused(f"There is no page {tab!r} of a workload.")
        shown = _Page(permissions(user, workload), tab, first_pod(first))
        return View(
            feed="workload",
            key=f"{workload.pk}:{sorted(shown.may_act)}:{tab}:{shown.first_pod}",
            scopes=frozenset([workload.project_id]),
            ids=frozenset([str(workload.pk)]),
            data=shown,
        )

    def heads(self, scopes: frozenset[int]) -> dict[int, int]:
        return heads_of(scopes)

    def delta(self, view: View, after: Heads) -> Delta:
        heads = heads_of(view.scopes)
        workload = rows_of_pages().filter(pk__in=view.ids).first()
        if workload is None:
            return Delta(to=heads, gone=list(view.ids))
        if workload.seq <= after.get(workload.project_id, 0):
            return Delta(to=heads)
        shown: _Page = view.data
        cells = draw_parts(
            workload, may_act=shown.may_act, tab=shown.tab, first_pod=shown.first_pod
        )
        item = {
            "id": str(workload.pk),
            "seq": workload.seq,
            "status": workload.status,
            "cells": cells,
        }
        return Delta(to=heads, items=[item])
