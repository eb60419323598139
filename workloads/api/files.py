"""Files that an attempt left, for clients: what a folder holds, and one file."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gangline.access.actor import acting
from gangline.api.errors import Answer, answers
from gangline.api.paging import BadQuery, known_only
from gangline.api.schema import between, component
from gangline.drivers.results import Entry, Kind, Path
from gangline.lib.answers import error_body
from gangline.web.streams import downloaded
from workloads.api import shapes
from workloads.api.views import user_of
from workloads.services import files

_NAMES = frozenset({"attempt", "place", "path"})
_PARAMETERS = [
    OpenApiParameter(
        "attempt",
        between(1, 999_999_999),
        description=("Number of the attempt; the newest by default."),
    ),
    OpenApiParameter(
        "place",
        OpenApiTypes.STR,
        description="The folder of the run without it; work-0 is the first working folder.",
    ),
    OpenApiParameter(
        "path",
        OpenApiTypes.STR,
        description=(
            "Names below the place with slashes between them; bytes that are not text are "
            "percent-encoded."
        ),
    ),
]
_PLACE: dict[str, Any] = {
    "type": "object",
    "required": ["key", "path"],
    "properties": {
        "key": shapes.TEXT,
        "path": shapes.TEXT | {"description": "Of a working folder; else empty."},
    },
}
_ENTRY = component(
    "WorkloadFile",
    {
        "type": "object",
        "required": ["name", "kind", "size", "modifiedAt", "url"],
        "properties": {
            "name": shapes.TEXT
            | {"description": ("For display: bytes that are not text are escaped.")},
            "kind": shapes.TEXT | {"enum": [kind.value for kind in Kind]},
            "size": {"type": ["integer", "null"], "description": "Bytes of a file; else null."},
            "modifiedAt": shapes.TIME,
            "url": {
                "type": ["string", "null"],
                "description": "Of a file its bytes, of a folder or link what it holds.",
            },
        },
    },
)
_LISTING = component(
    "WorkloadFiles",
    {
        "type": "object",
        "required": ["attempt", "place", "places", "entries", "isCut"],
        "properties": {
            "attempt": shapes.WHOLE,
            "place": shapes.TEXT,
            "places": {"type": "array", "items": _PLACE},
            "entries": {"type": "array", "items": _ENTRY},
            "isCut": shapes.YES_NO | {"description": "The folder contains more."},
        },
    },
)


class WorkloadFiles(APIView):
    """Files of one workload."""

    @extend_schema(
        operation_id="getWorkloadFiles",
        parameters=_PARAMETERS,
        responses={200: _LISTING, **shapes.errors(400, 403, 404, 409)},
    )
    def get(self, request: Request, workload_id: UUID) -> Response:
        """What a folder holds, folders first; of a file, the file itself."""
        asked = _asked(request)
        opened = files.opened(user_of(request), workload_id, asked)
        found = opened.look()
        is_file = isinstance(found, Entry)
        entries = [found] if isinstance(found, Entry) else found.entries
        around = asked.path[:-1] if is_file else asked.path
        body = {
            "attempt": opened.attempt.no,
            "place": asked.place,
            "places": [
                {"key": one.key, "path": one.path if one.is_chosen else ""} for one in opened.places
            ],
            "entries": [_entry(workload_id, asked, one, (*around, one.name)) for one in entries],
            "isCut": not isinstance(found, Entry) and found.is_cut,
        }
        return Response(body)


class WorkloadFileContent(APIView):
    """One file of one workload."""

    @extend_schema(
        operation_id="getWorkloadFileContent",
        parameters=_PARAMETERS,
        responses={
            (200, "application/octet-stream"): OpenApiTypes.BINARY,
            **{
                (code, "application/json"): body
                for code, body in shapes.errors(400, 403, 404, 409).items()
            },
        },
    )
    def get(self, request: Request, workload_id: UUID) -> StreamingHttpResponse:
        """The bytes of a file. The audit log knows who has taken it."""
        asked = _asked(request)
        if not asked.path:
            raise BadQuery("path is missing: it names the file.")
        actor = acting(request)
        opened = files.opened(user_of(request), workload_id, asked)
        content = opened.download(actor)
        name = files.shown(asked.path[-1])
        return downloaded(request._request, content.pieces, name=name, size=content.size)


def _asked(request: Request) -> files.Asked:
    known_only(request, _NAMES)
    try:
        return files.asked(request.META.get("QUERY_STRING", ""))
    except files.BadPlace as problem:
        raise BadQuery(str(problem)) from problem


def _entry(workload_id: UUID, asked: files.Asked, one: Entry, path: Path) -> dict[str, Any]:
    url = f"/api/v1/workloads/{workload_id}/files{'/content' if one.kind is Kind.FILE else ''}"
    at = replace(asked, path=path)
    return {
        "name": files.shown(one.name),
        "kind": one.kind,
        "size": one.size if one.kind is Kind.FILE else None,
        "modifiedAt": one.modified,
        "url": None if one.kind is Kind.OTHER else f"{url}?{files.query_of(at)}",
    }


@answers(files.NoFiles)
def _no_files(error: files.NoFiles) -> Answer:
    return 409, error_body(409, str(error))
