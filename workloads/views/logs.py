"""The log of a workload for the scripts of its page, and as a file."""

import re
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.views.decorators.http import require_GET

from gangline.access.actor import actor_of
from gangline.audit import actions
from gangline.audit import services as audit
from gangline.web.streams import streamed
from workloads.logs import search
from workloads.logs.cursors import BadCursor
from workloads.logs.rendered_lines import growth, row
from workloads.logs.sanitizer import plain
from workloads.selectors.logs import Log, Page, Unreadable, open_log

LINES = 500
MOST_LINES = 2000
TEXT = "text/plain; charset=utf-8"
_HARMLESS = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
}
_WHOLE = re.compile(r"[0-9]{1,9}", re.ASCII)
_POD = re.compile(r"[a-z]{1,20}(?:-[0-9]{1,5})?", re.ASCII)
_PLACE = re.compile(r"([a-z]{1,20}-[0-9]{1,5}):([0-9]{1,15})", re.ASCII)


class BadQuestion(ValueError):
    """A parameter that cannot be what it should be, in words."""


@login_required
@require_GET
def chunk(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """Lines around a place, a whole line, or the lines that have a text.

    Nothing new behind ``after`` is answered 204, which costs neither side anything.
    """
    try:
        log = opened(request, workload_id)
        if "q" in request.GET:
            return JsonResponse(hits(log, request))
        if "line" in request.GET:
            return _whole_line(log, request)
        page = asked_page(log, request)
    except (BadQuestion, BadCursor, Unreadable) as problem:
        status = 409 if isinstance(problem, Unreadable) else 400
        words = "There is no such place in the log." if isinstance(problem, BadCursor) else problem
        return JsonResponse({"message": str(words)}, status=status)
    except search.Busy:
        message = "Other searches are running. Try again in a moment."
        return JsonResponse({"message": message}, status=429, headers={"Retry-After": "2"})
    if "after" in request.GET and _is_quiet(log, page, request.GET["after"]):
        return HttpResponse(status=204)
    return JsonResponse(presented(log, page))


@login_required
@require_GET
def download(request: HttpRequest, workload_id: UUID) -> HttpResponse | StreamingHttpResponse:
    """The whole log as it was printed; ``prefix=1`` puts time and pod before each line."""
    try:
        log = opened(request, workload_id)
    except BadQuestion:
        raise Http404 from None
    except Unreadable as problem:
        return HttpResponse(f"{problem}\n", status=409, content_type=TEXT)
    workload, attempt = log.workload, log.attempt
    chosen = request.GET.get("pod", "")
    with_prefix = request.GET.get("prefix") == "1"
    audit.record(
        actor=actor_of(request, "form"),
        action=actions.WORKLOAD_LOG_DOWNLOAD,
        object_type="workload",
        object_id=str(workload.pk),
        object_name=workload.name,
        scope=workload.project.scope,
        detail={"attempt": attempt.no, "pods": chosen or "all"},
    )
    pieces = log.export(with_prefix=with_prefix)
    # Names of workloads and pods are letters, digits and hyphens: nothing ends the header early.
    name = f"{workload.name}-attempt{attempt.no}"
    name += (f"-{chosen}" if chosen else "") + ("-times" if with_prefix else "") + ".log"
    return streamed(
        request,
        pieces,
        content_type=TEXT,
        headers=_HARMLESS | {"Content-Disposition": f'attachment; filename="{name}"'},
    )


def opened(request: HttpRequest, workload_id: UUID) -> Log:
    """The log that the parameters ``attempt`` and ``pod`` choose."""
    return open_log(
        user=actor_of(request, "form").user,
        workload_id=workload_id,
        attempt_no=number(request, "attempt", 0, 999_999_999) or None,
        pods=pods(request),
    )


def pods(request: HttpRequest) -> str:
    """The pod or role that was chosen; one that can be none does not exist."""
    chosen = request.GET.get("pod", "")
    if chosen and not _POD.fullmatch(chosen):
        raise Http404
    return chosen


def number(request: HttpRequest, name: str, least: int, most: int) -> int:
    """A whole number between two bounds; ``least`` when it is missing or empty."""
    text = request.GET.get(name, "")
    if not text:
        return least
    if not _WHOLE.fullmatch(text) or not least <= int(text) <= most:
        raise BadQuestion(f"{name} must be a whole number from {least} to {most}.")
    return int(text)


def place(text: str) -> tuple[str, int]:
    """``worker-0:1234`` as pod and offset."""
    found = _PLACE.fullmatch(text)
    if found is None:
        raise BadQuestion("A place in the log looks like worker-0:1234.")
    return found[1], int(found[2])


def asked_page(log: Log, request: HttpRequest) -> Page:
    """The window that one of ``before``, ``after``, ``at`` or ``start`` asks for; else the end."""
    limit = number(request, "limit", 1, MOST_LINES) if "limit" in request.GET else LINES
    given = request.GET
    if "before" in given:
        return log.older(given["before"], limit)
    if "after" in given:
        return log.newer(given["after"], limit)
    if "at" in given:
        return log.around(place(given["at"]), limit)
    return log.head(limit) if "start" in given else log.tail(limit)


def presented(log: Log, page: Page) -> dict[str, Any]:
    """A window as JSON."""
    window = page.window
    return {
        "lines": [row(line) for line in window.lines],
        "grown": [growth(line) for line in window.grown],
        "before": page.before,
        "after": page.after,
        "older": window.has_older,
        "newer": window.has_newer,
        "ended": log.has_ended(window),
        "newest": log.workload.attempt_no,
        "at": page.at,
    }


def searched_text(request: HttpRequest) -> str:
    """The text to search for; BadQuestion when there can be none."""
    text = request.GET.get("q", "")
    if not 1 <= len(text) <= search.TEXT or any(c in text for c in "\n\r\0"):
        raise BadQuestion(f"Search for 1 to {search.TEXT} characters in one line.")
    return text


def hits(log: Log, request: HttpRequest) -> dict[str, Any]:
    """Places that have the text, in the order of the log."""
    found, further = log.search(searched_text(request), request.GET.get("reached", ""))
    return {
        "hits": [
            {"id": hit.id, "pod": hit.source, "time": hit.stamp[11:23], "text": plain(hit.snippet)}
            for hit in found.hits
        ],
        "searched": found.searched,
        "further": further,
    }


def _whole_line(log: Log, request: HttpRequest) -> HttpResponse:
    """One line without its cut: as JSON for a row, or as text for a browser without scripts."""
    line = log.whole_line(place(request.GET["line"]))
    if "text" not in request.GET:
        return JsonResponse(row(line))
    return HttpResponse(f"{plain(line.words)}\n", content_type=TEXT, headers=_HARMLESS)


def _is_quiet(log: Log, page: Page, given: str) -> bool:
    window = page.window
    nothing = not window.lines and not window.grown and page.after == given
    return nothing and not log.has_ended(window) and log.attempt.no == log.workload.attempt_no
