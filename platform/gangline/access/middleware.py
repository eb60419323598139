"""Turns refusals of access into the pages that say so."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from gangline.audit import actions
from gangline.audit.services import record_denied
from gangline.web.errors import Refusal, error_page

from .actor import actor_of
from .refusals import NotAllowed, NotVisible


class Refusals:
    """404 for what is not visible, 403 with who can do it for what is not allowed."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if isinstance(error, NotVisible):
            return error_page(request, 404)
        if isinstance(error, NotAllowed):
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
