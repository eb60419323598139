"""Pages that say why there is no page; each carries the id that is in the server log too."""

import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template import loader
from django.urls import is_valid_path
from django.utils.encoding import iri_to_uri
from django.utils.html import format_html
from django.utils.http import url_has_allowed_host_and_scheme

from gangline.access.actor import actor_of
from gangline.access.refusals import NotAllowed, NotVisible
from gangline.audit import actions
from gangline.audit.services import record_denied
from gangline.db.outages import outage
from gangline.lib.answers import API_PREFIXES
from gangline.web.middleware import plain_answer

log = logging.getLogger(__name__)

_PLAIN = {
    400: "The request could not be read.",
    403: "You do not have permission to do this.",
    404: "Not found, or not visible to you.",
    500: "Something went wrong on our side.",
}
_BARE = (
    '<!doctype html><html lang="en"><title>Something went wrong – Gangline</title>'
    "<main><h1>Something went wrong</h1><p>It was logged as <b>{}</b>. "
    '<a href="/">Go to the start page</a></p></main></html>'
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a 403 page says: what is missing and who can grant it."""

    missing: str = ""
    who_can_grant: str = ""


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """400: the request could not be read."""
    return error_page(request, 400)


def permission_denied(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """403: the person may not do this. What `PermissionDenied` was raised with is shown."""
    said = exception.args[0] if exception and exception.args else ""
    refusal = said if isinstance(said, Refusal) else Refusal(missing=str(said))
    return error_page(request, 403, refusal=refusal)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403: the form came from elsewhere or from an ended session."""
    return error_page(request, 403, csrf_reason=reason)


def page_not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """404: nothing here, or not visible to this person. ``/clusters/`` leads to ``/clusters``."""
    if there := _without_slash(request):
        return HttpResponseRedirect(there)
    return error_page(request, 404)


def _without_slash(request: HttpRequest) -> str:
    """The page of ours that lacks but the slash at the end of this address, or nothing."""
    path = request.path_info.removesuffix("/")
    if request.method not in ("GET", "HEAD") or path == request.path_info:
        return ""
    if not path or path.startswith(API_PREFIXES) or not is_valid_path(path):
        return ""
    query = request.META.get("QUERY_STRING", "")
    there = quote(request.path.removesuffix("/")) + (f"?{iri_to_uri(query)}" if query else "")
    # Two slashes at its beginning would be another host's address.
    return there if url_has_allowed_host_and_scheme(there, allowed_hosts=None) else ""


def server_error(request: HttpRequest) -> HttpResponse:
    """500: our fault; 503: the database's. The page needs neither database nor session."""
    error_id, error = id_of(request), sys.exc_info()[1]
    why = outage(error) if isinstance(error, OperationalError) else ""
    status = 503 if why else 500
    log.error("error %s: %s at %s", error_id, status, request.path, exc_info=error)
    if request.path.startswith(API_PREFIXES):
        said = f"{why}." if why else _PLAIN[500]
        return plain_answer(request, status, f"{said} Error ID {error_id}.")
    try:
        # No request: context processors would ask the database, which may be what failed.
        page = loader.get_template("500.html").render({"error_id": error_id, "outage": why})
    except Exception:
        log.exception("error %s: the error page failed too", error_id)
        page = format_html(_BARE, error_id)
    return HttpResponse(page, status=status)


def error_page(request: HttpRequest, status: int, **context: object) -> HttpResponse:
    """The page of this status inside the shell; JSON for the API."""
    error_id = id_of(request)
    # The page names the id, so the log has it; only our own faults are news for the operator.
    level = logging.WARNING if status >= 500 else logging.INFO
    log.log(level, "error %s: %s at %s", error_id, status, request.path)
    if request.path.startswith(API_PREFIXES):
        return plain_answer(request, status, _PLAIN[status])
    template = loader.get_template(f"{status}.html")
    page = template.render({"error_id": error_id, **context}, request)
    return HttpResponse(page, status=status)


def id_of(request: HttpRequest) -> str:
    """The id of this request, as in the header X-Request-Id and the log."""
    return str(request.META.get("gangline.request_id", ""))


class AccessErrors:
    """404 for what is not visible, 403 with who can do it for what is not allowed."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if isinstance(error, NotVisible):
            return error_page(request, 404)
        if isinstance(error, NotAllowed):
            if not error.is_audited:
                record_denied(
                    actor=actor_of(request, "form"),
                    action=actions.DENIED,
                    object_type="page",
                    object_id=request.method or "",
                    object_name=request.path,
                    scope=error.scope,
                    reason=error.sentence,
                )
            refusal = Refusal(missing=error.sentence, who_can_grant=", ".join(error.who))
            return error_page(request, 403, refusal=refusal)
        return None
