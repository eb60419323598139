"""The merged log for clients: the same lines as the page shows, as plain text in JSON."""

import re
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gangline.api.errors import Answer, answers
from gangline.api.paging import BadQuery, known_only, whole_number
from gangline.api.rendering import JSONRenderer
from gangline.lib.answers import error_body
from workloads.api import shapes
from workloads.api.views import user_of
from workloads.logs.cursors import BadCursor
from workloads.logs.lines import Line
from workloads.logs.sanitizer import plain
from workloads.selectors.logs import Log, Page, Unreadable, open_log

DEFAULT_LINES = 500
MOST_LINES = 2000
_POD = re.compile(r"[a-z]{1,20}(?:-[0-9]{1,5})?", re.ASCII)
_PLACES = ("after", "before", "start")


class TextRenderer(BaseRenderer):
    """Time, pod and text of each line for ``format=text``; errors as their sentence."""

    media_type = "text/plain"
    format = "text"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> str:
        if "lines" not in data:
            return f"{data.get('details') or data.get('message', '')}\n"
        lines = (f"{line['time']} {line['pod']} {line['text']}\n" for line in data["lines"])
        return "".join(lines)


class WorkloadLogs(APIView):
    """Log of one workload."""

    renderer_classes = [JSONRenderer, TextRenderer]

    @extend_schema(
        operation_id="getWorkloadLogs",
        parameters=shapes.LOG_PARAMETERS,
        responses={
            (200, "application/json"): shapes.LOG,
            (200, "text/plain"): shapes.TEXT,
            **{
                (code, kind): shapes.TEXT if kind == "text/plain" else body
                for code, body in shapes.errors(400, 403, 404, 409).items()
                for kind in ("application/json", "text/plain")
            },
        },
    )
    def get(self, request: Request, workload_id: UUID) -> Response:
        """Lines of all pods in the order of their times: the newest, or from a place on.

        As text the places are in the headers ``Gangline-Before`` and ``Gangline-After``.
        """
        known_only(request, frozenset({"pod", "attempt", "limit", "format", *_PLACES}))
        query = request.query_params
        pod = query.get("pod", "")
        if pod and not _POD.fullmatch(pod):
            raise BadQuery("pod must be a role or a pod, such as worker or worker-0.")
        if sum(place in query for place in _PLACES) > 1:
            raise BadQuery("Only one of after, before and start can be given.")
        limit = whole_number(query.get("limit"), "limit", DEFAULT_LINES, 1, MOST_LINES)
        attempt = whole_number(query.get("attempt"), "attempt", 0, 1, 999_999_999)
        log = open_log(
            user=user_of(request), workload_id=workload_id, attempt_no=attempt or None, pods=pod
        )
        page = _asked(log, query, limit)
        places = {"Gangline-Before": page.before, "Gangline-After": page.after}
        return Response(_presented(log, page), headers=places)


def _asked(log: Log, query: Any, limit: int) -> Page:
    try:
        if "after" in query:
            return log.newer(query["after"], limit)
        if "before" in query:
            return log.older(query["before"], limit)
    except BadCursor as error:
        raise BadQuery("after and before take a place from an earlier answer.") from error
    return log.head(limit) if "start" in query else log.tail(limit)


def _presented(log: Log, page: Page) -> dict[str, Any]:
    window = page.window
    return {
        "attempt": log.attempt.no,
        "pods": list(log.pods),
        "lines": [_line(line) for line in window.lines],
        "grown": [_line(line) | {"replaces": line.is_replaced} for line in window.grown],
        "before": page.before,
        "after": page.after,
        "hasOlder": window.has_older,
        "hasNewer": window.has_newer,
        "ended": log.has_ended(window),
        "isPartial": log.is_partial,
    }


def _line(line: Line) -> dict[str, Any]:
    return {
        "id": line.id,
        "pod": line.source,
        "time": line.stamp.decode("ascii", "replace"),
        "stream": line.stream.decode("ascii", "replace"),
        "text": plain(line.words),
        "isCut": line.is_cut,
    }


@answers(Unreadable)
def _unreadable(error: Unreadable) -> Answer:
    return 409, error_body(409, str(error))
