"""Every error of the API in one shape (R32)."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from django.core.exceptions import BadRequest, PermissionDenied, RequestDataTooBig
from django.db import OperationalError
from django.http import Http404
from rest_framework import exceptions, status
from rest_framework.response import Response
from rest_framework.views import set_rollback

from gangline.access.refusals import NotAllowed, NotVisible
from gangline.db.outages import outage
from gangline.lib.answers import error_body
from gangline.spec.problems import InvalidSpec, Problem, Role

from .parsing import BadBody

log = logging.getLogger(__name__)

NOT_FOUND = "Not found, or you do not have access to it."

Answer = tuple[int, dict[str, Any]]


class TooMany(exceptions.Throttled):
    """429 for another reason than the number of requests, which ``sentence`` tells."""

    def __init__(self, wait: float, sentence: str) -> None:
        super().__init__(wait)
        self.sentence = sentence


_translators: dict[type[Exception], Callable[[Any], Answer]] = {}


def answers(kind: type[Exception]) -> Callable[[Callable[[Any], Answer]], Callable[[Any], Answer]]:
    """Register how an exception of a higher layer is answered: ``@answers(NameTaken)``."""

    def register(translate: Callable[[Any], Answer]) -> Callable[[Any], Answer]:
        _translators[kind] = translate
        return translate

    return register


def refusal(error: Exception) -> Answer | None:
    """Code and body of a refusal of ours; None: it is another error."""
    for kind in type(error).__mro__:
        if kind in _translators:
            return _translators[kind](error)
    return None


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's handler. Unknown exceptions are logged and answered without a word of their text."""
    code, body, headers = _answer(error, context)
    set_rollback()
    return Response(body, status=code, headers=headers)


def _answer(
    error: Exception, context: dict[str, Any]
) -> tuple[int, dict[str, Any], dict[str, str]]:
    if (known := refusal(error)) is not None:
        return *known, {}
    if isinstance(error, Http404 | exceptions.NotFound):
        return 404, error_body(404, NOT_FOUND), {}
    if isinstance(error, exceptions.APIException):
        return _of_drf(error, context)
    if isinstance(error, PermissionDenied):
        return 403, error_body(403, "You do not have permission to do this."), {}
    if isinstance(error, RequestDataTooBig):
        return 413, error_body(413, "The request is larger than 1 MiB."), {}
    if isinstance(error, BadRequest):
        return 400, error_body(400, str(error)), {}
    request = context.get("request")
    incident = request.META.get("gangline.request_id", "") if request is not None else ""
    log.exception("API request %s failed", incident, exc_info=error)
    if isinstance(error, OperationalError):
        busy = error_body(503, f"{outage(error)}.", f"Try again. Incident {incident}.")
        return 503, busy, {"Retry-After": "2"}
    return 500, error_body(500, "Something went wrong on our side.", f"Incident {incident}."), {}


def _of_drf(
    error: exceptions.APIException, context: Mapping[str, Any]
) -> tuple[int, dict[str, Any], dict[str, str]]:
    headers = {}
    if isinstance(error, exceptions.NotAuthenticated | exceptions.AuthenticationFailed):
        headers["WWW-Authenticate"] = getattr(error, "auth_header", 'Bearer realm="gangline"')
        code: int = status.HTTP_401_UNAUTHORIZED
    else:
        code = error.status_code
    details = ""
    if wait := getattr(error, "wait", None):
        headers["Retry-After"] = str(int(wait) + 1)
        details = f"Try again in {int(wait) + 1} seconds."
    message = {
        401: "Sign in, or send a token: Authorization: Bearer gangline_…",
        405: "This method is not allowed here.",
        415: f"Send the body as {_accepted(context)}.",
        429: "Too many requests.",
    }.get(code, str(error.detail))
    if isinstance(error, TooMany):
        message = error.sentence
    problems = error.problems if isinstance(error, BadBody) else ()
    if isinstance(error, exceptions.AuthenticationFailed):
        message, why = str(error.detail), str(error.get_codes())
        problems = (Problem.of(Role.WORKLOAD, "authorization", f"{why}:authorization"),)
    return code, error_body(code, message, details, problems), headers


def _accepted(context: Mapping[str, Any]) -> str:
    """The media types that the address reads, for a sentence."""
    parsers = getattr(context.get("view"), "parser_classes", ())
    return " or ".join(dict.fromkeys(one.media_type for one in parsers)) or "application/json"


@answers(InvalidSpec)
def _invalid(error: InvalidSpec) -> Answer:
    count = len(error.problems)
    fields = "1 value" if count == 1 else f"{count} values"
    return 400, error_body(400, f"{fields} cannot be accepted.", problems=error.problems)


@answers(NotVisible)
def _hidden(error: NotVisible) -> Answer:
    return 404, error_body(404, NOT_FOUND)


@answers(NotAllowed)
def _forbidden(error: NotAllowed) -> Answer:
    return 403, error_body(403, error.sentence)
