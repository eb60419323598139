"""Answers that are made piece by piece, under both kinds of server."""

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import TypeVar

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db import connections
from django.http import HttpRequest, StreamingHttpResponse
from django.utils.http import content_disposition_header

Piece = TypeVar("Piece", str, bytes)


def streamed(
    request: HttpRequest, pieces: Iterator[Piece], *, content_type: str, headers: Mapping[str, str]
) -> StreamingHttpResponse:
    """``pieces`` as they come."""
    return StreamingHttpResponse(
        _in_thread(pieces) if isinstance(request, ASGIRequest) else pieces,
        content_type=content_type,
        headers=dict(headers),
    )


def downloaded(
    request: HttpRequest, pieces: Iterator[bytes], *, name: str, size: int
) -> StreamingHttpResponse:
    """A file of ``size`` bytes, which no browser shows in the page's own origin."""
    headers = {
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
        "Content-Length": str(size),
        "Content-Disposition": content_disposition_header(True, name) or "attachment",
    }
    return streamed(request, pieces, content_type="application/octet-stream", headers=headers)


async def _in_thread(pieces: Iterator[Piece]) -> AsyncIterator[Piece]:
    """Each piece is read in a thread: a slow disk or a slow reader stops nobody else."""

    def following() -> Piece | None:
        try:
            return next(pieces, None)
        finally:
            connections.close_all()  # the next piece may be read in another thread

    while (piece := await sync_to_async(following, thread_sensitive=False)()) is not None:
        yield piece
