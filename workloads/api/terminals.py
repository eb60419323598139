"""A ticket for a command or a terminal in a pod."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gangline.access.actor import acting
from gangline.accounts.models import ApiToken, TokenSession
from gangline.api.paging import known_only
from gangline.api.parsing import StrictJSONParser
from gangline.api.schema import component
from workloads.api import shapes
from workloads.terminals import tickets
from workloads.terminals.routing import API, PAGE

_EXEC = {
    "application/json": component(
        "ExecRequest",
        {
            "type": "object",
            "properties": {
                "command": {
                    "type": "array",
                    "items": shapes.TEXT,
                    "maxItems": tickets.MOST_WORDS,
                    "description": "Words, of which the first is the program. Empty: a shell.",
                },
                "tty": shapes.YES_NO | {"default": True, "description": "With a terminal."},
            },
            "additionalProperties": False,
        },
    )
}
_TICKET = component(
    "ExecTicket",
    {
        "type": "object",
        "required": ["url", "ticket", "expiresAt"],
        "properties": {
            "url": shapes.TEXT | {"description": "Of the WebSocket; the ticket is not in it."},
            "ticket": shapes.TEXT | {"description": "Good once, in the first frame."},
            "expiresAt": shapes.TIME,
        },
    },
)


class PodExec(APIView):
    """Run a command in a pod."""

    parser_classes = (StrictJSONParser,)

    @extend_schema(
        operation_id="execInPod",
        request=_EXEC,
        responses={201: _TICKET, **shapes.errors(400, 403, 404, 409, 429)},
    )
    def post(self, request: Request, workload_id: UUID, pod: str) -> Response:
        """A ticket, good once and for 30 seconds, and the WebSocket that takes it.

        ``pod`` is its name, or the part behind the name of the workload: worker-0. The frames of
        the socket are described under *Enter a workload* in the documentation.
        """
        known_only(request, frozenset())
        command, tty = _asked(request.data)
        return _ticket(request, workload_id, pod, command=command, tty=tty)


_FORWARD = {
    "application/json": component(
        "PortForwardRequest",
        {
            "type": "object",
            "required": ["port"],
            "properties": {"port": {"type": "integer", "minimum": 1, "maximum": 65535}},
            "additionalProperties": False,
        },
    )
}


class PodPortForward(APIView):
    """Reach a port of a pod."""

    parser_classes = (StrictJSONParser,)

    @extend_schema(
        operation_id="portForwardToPod",
        request=_FORWARD,
        responses={201: _TICKET, **shapes.errors(400, 403, 404, 409, 429)},
    )
    def post(self, request: Request, workload_id: UUID, pod: str) -> Response:
        """A ticket for connections to a port on which a program of the pod listens.

        It needs the same right as a command in the pod, and is in the audit log as one is. All
        connections go over the one WebSocket; *Enter a workload* describes its frames.
        """
        known_only(request, frozenset())
        body = request.data
        if not isinstance(body, dict) or body.keys() != {"port"}:
            raise tickets.BadCommand("The body must have port, and nothing else.")
        port = tickets.checked_port(body["port"])
        return _ticket(request, workload_id, pod, tty=False, port=port)


def _ticket(request: Request, workload_id: UUID, pod: str, **wanted: Any) -> Response:
    token: ApiToken | TokenSession | None = request.auth  # type: ignore[assignment]
    is_page = token is None
    login = (
        tickets.Login.of_session(str(request.session.session_key))
        if token is None
        else tickets.Login.of_token(token)
    )
    terminal, ticket = tickets.ask(
        actor=acting(request), workload_id=workload_id, pod=pod, login=login, **wanted
    )
    url = request.build_absolute_uri(f"/{PAGE if is_page else API}")
    body = {
        "url": f"ws{url.removeprefix('http')}",
        "ticket": ticket,
        "expiresAt": terminal.expires_at,
    }
    return Response(body, 201)


def _asked(body: Any) -> tuple[list[str], bool]:
    body = body or {}
    if not isinstance(body, dict) or not body.keys() <= {"command", "tty"}:
        raise tickets.BadCommand("The body may have command and tty, and nothing else.")
    command, tty = body.get("command") or [], body.get("tty", True)
    if not isinstance(command, list) or not all(isinstance(word, str) for word in command):
        raise tickets.BadCommand("command must be a list of words, such as [ls, -l].")
    if not isinstance(tty, bool):
        raise tickets.BadCommand("tty must be true or false.")
    return command, tty
