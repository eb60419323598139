"""The tab with the log: the newest lines without scripts, with links to what is around them."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse

from gangline.access.actor import actor_of
from gangline.access.grants import who_can
from gangline.access.permissions import Permission
from gangline.access.refusals import NotAllowed, NotVisible
from workloads.logs import search
from workloads.logs.cursors import BadCursor
from workloads.logs.rendered_lines import rows_html
from workloads.models import Workload
from workloads.selectors import details
from workloads.selectors.logs import Log, Page, Unreadable, log_of, may_read
from workloads.views import logs

LAST_LINES = 12


@dataclass(frozen=True, slots=True)
class Choice:
    value: str
    label: str
    is_chosen: bool


def context(request: HttpRequest, workload: Workload) -> dict[str, Any]:
    """What the tab shows. What cannot be shown is said in words."""
    user = actor_of(request, "form").user
    if not may_read(user, workload):
        scope = workload.project.scope
        people = [person.username for person in who_can(Permission.WORKLOAD_LOGS, scope)]
        return {"log_refusal": NotAllowed(Permission.WORKLOAD_LOGS, scope, people).sentence}
    try:
        attempt_no = logs.number(request, "attempt", 0, 999_999_999) or None
    except logs.BadQuestion:
        raise NotVisible from None
    try:
        log = log_of(workload, attempt_no=attempt_no, pods=logs.pods(request))
    except Unreadable as problem:
        return {"log_refusal": str(problem)}
    page, warning = _page(log, request)
    return _shown(log, page, request) | _found(log, request) | {"log_warning": warning}


def last_lines(workload: Workload) -> dict[str, Any]:
    """The newest few lines for those who may read them; nothing when they cannot be read."""
    try:
        log = log_of(workload)
        page = log.tail(LAST_LINES)
    except Unreadable:
        return {}
    return {
        "last_log": log,
        "last_page": page,
        "last_rows": rows_html(page.window.lines),
        "last_has_ended": log.has_ended(page.window),
    }


def _page(log: Log, request: HttpRequest) -> tuple[Page, str]:
    try:
        return logs.asked_page(log, request), ""
    except (BadCursor, logs.BadQuestion, NotVisible):
        warning = "The linked line is not in this log. Its end is shown instead."
        return log.tail(logs.LINES), warning


def _shown(log: Log, page: Page, request: HttpRequest) -> dict[str, Any]:
    workload, window = log.workload, page.window
    chosen = request.GET.get("pod", "")
    text = request.GET.get("q", "")
    base = {"pod": chosen, "attempt": str(log.attempt.no), "q": text}
    address = reverse("workload-log", args=[workload.pk])
    here = {key: value for key, value in base.items() if value and key != "q"}
    return {
        "log": log,
        "log_page": page,
        "log_rows": rows_html(
            window.lines, at=page.at, mark=text, whole=f"{address}?{urlencode(here)}&"
        ),
        "log_url": address,
        "log_download": reverse("workload-log-download", args=[workload.pk]),
        "log_query": urlencode(here),
        "log_pods": _pods(log, chosen),
        "log_attempts": details.attempts(workload),
        "log_text": text,
        "log_has_ended": log.has_ended(window),
        "older_query": urlencode(here | {"before": page.before}) if window.has_older else "",
        "newer_query": urlencode(here | {"after": page.after}) if window.has_newer else "",
    }


def _pods(log: Log, chosen: str) -> list[Choice]:
    roles = {name.rpartition("-")[0] for name in log.all_pods}
    options = [("", f"All {len(log.all_pods)} pods" if len(log.all_pods) > 1 else "All pods")]
    if len(roles) > 1:
        options += [("worker", "Workers")]
    options += [(name, name) for name in log.all_pods]
    return [Choice(value, label, value == chosen) for value, label in options]


def _found(log: Log, request: HttpRequest) -> dict[str, Any]:
    if not request.GET.get("q"):
        return {}
    try:
        return {"log_found": logs.hits(log, request)}
    except (logs.BadQuestion, BadCursor) as problem:
        return {"log_problem": str(problem)}
    except search.Busy:
        return {"log_problem": "Other searches are running. Try again in a moment."}
