"""What one request has read, kept until its answer and never for the next.

Outside of requests (commands, the watcher, open sockets) every question is a query.
"""

from collections.abc import Callable, Hashable
from contextvars import ContextVar
from typing import Any, TypeVar

from django.http import HttpRequest, HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

T = TypeVar("T")

_kept: ContextVar[dict[Hashable, Any] | None] = ContextVar("read by this request", default=None)


def once(key: Hashable, read: Callable[[], T]) -> T:
    """What ``read`` returns, called at most once per request for each key."""
    kept = _kept.get()
    if kept is None:
        return read()
    if key not in kept:
        kept[key] = read()
    found: T = kept[key]
    return found


def forget() -> None:
    """Read anew in this request: something of it was changed."""
    if (kept := _kept.get()) is not None:
        kept.clear()


class OncePerRequest(MiddlewareMixin):
    """Opens and ends what `once` keeps."""

    def process_request(self, request: HttpRequest) -> None:
        _kept.set({})

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        _kept.set(None)
        return response
