"""How HTTP reaches Django: one thread per request, kept connections, files without either."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, connections
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.test import override_settings
from django.urls import path

from gangline.web import handlers
from gangline.web.handlers import HttpHandler

left = threading.Event()


def where(request: HttpRequest) -> HttpResponse:
    """The thread that serves this request, and Django's connection in it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return HttpResponse(f"{threading.current_thread().name} {id(connections['default'])}")


def broken(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("broken on purpose")


def endless(request: HttpRequest) -> StreamingHttpResponse:
    async def lines() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"line\n"
                await asyncio.sleep(0)
        finally:
            left.set()

    return StreamingHttpResponse(lines())


def size(request: HttpRequest) -> HttpResponse:
    """How much came, by the header that the REST framework goes by."""
    return HttpResponse(request.META.get("CONTENT_LENGTH", "none"))


urlpatterns = [
    path("size", size),
    path("where", where),
    path("broken", broken),
    path("endless", endless),
]


pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def http(monkeypatch: pytest.MonkeyPatch) -> Iterator[HttpHandler]:
    monkeypatch.setattr(handlers, "THREADS", 1)
    with override_settings(ROOT_URLCONF=__name__):
        handler = HttpHandler()
        yield handler
    handler.pages.threads.submit(connections.close_all).result()
    handler.pages.threads.shutdown()


async def ask(
    http: HttpHandler,
    address: str,
    *,
    leave_after: int | None = None,
    headers: Sequence[tuple[bytes, bytes]] = (),
    body: list[bytes] | None = None,
    is_half: bool = False,
) -> tuple[int, dict[str, str], bytes]:
    """One request; the client leaves after so many messages, or stays until the end.

    Parts of ``body`` leave the list when they are read; of half a request the end never comes.
    """
    gone, sent = asyncio.Event(), []
    given = body if body is not None else [b""]

    async def receive() -> dict[str, Any]:
        if given:
            part = given.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(given) or is_half}
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)
        if leave_after is not None and len(sent) >= leave_after:
            gone.set()

    scope = {
        "type": "http", "method": "GET", "path": address, "query_string": b"",
        "headers": [(b"host", b"127.0.0.1"), *headers], "client": ("127.0.0.1", 1),
    }  # fmt: skip
    await asyncio.wait_for(http(scope, receive, send), 30)
    answered = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], answered, b"".join(m.get("body", b"") for m in sent[1:])


async def test_requests_after_each_other_share_a_thread_and_what_it_keeps(
    http: HttpHandler,
) -> None:
    first, second = [(await ask(http, "/where"))[2] for _ in range(2)]
    assert first == second
    assert first.startswith(b"page_")


async def test_no_connection_is_held_between_requests_where_a_pool_keeps_them(
    http: HttpHandler,
) -> None:
    seen: list[Any] = []
    await ask(http, "/where")
    http.pages.threads.submit(lambda: seen.append(connection.connection)).result()
    held = seen[0] is not None
    assert held == bool(settings.DATABASES["default"]["CONN_MAX_AGE"])


async def test_an_answer_carries_the_headers_of_every_middleware(http: HttpHandler) -> None:
    status, headers, _ = await ask(http, "/nowhere")
    assert status == 404
    assert "content-security-policy" in headers
    assert "x-request-id" in headers


async def test_a_view_that_breaks_gives_an_error_and_the_next_one_is_served(
    http: HttpHandler, caplog: pytest.LogCaptureFixture
) -> None:
    assert (await ask(http, "/broken"))[0] == 500
    assert "broken on purpose" in caplog.text
    assert (await ask(http, "/nowhere"))[0] == 404


async def test_a_stream_ends_when_its_reader_leaves(http: HttpHandler) -> None:
    left.clear()
    status, _, body = await ask(http, "/endless", leave_after=5)
    assert status == 200
    assert body.startswith(b"line\n")
    assert left.is_set()


async def test_files_are_served_with_limits_and_headers(http: HttpHandler) -> None:
    status, headers, body = await ask(http, "/static/css/app.css")
    assert status == 200
    assert headers["content-type"].startswith("text/css")
    assert "content-security-policy" in headers
    assert b"@layer" in body


async def test_a_file_that_is_not_there_gets_the_page_that_says_so(http: HttpHandler) -> None:
    status, headers, body = await ask(http, "/static/css/none.css")
    assert status == 404
    assert headers["content-type"].startswith("text/html")
    assert "page" in body.decode().lower()


MIB = 1 << 20
CHUNKED = (b"transfer-encoding", b"chunked")


@pytest.mark.parametrize(
    ("header", "read"),
    [((b"content-length", b"%d" % (300 * MIB)), 0), (CHUNKED, 3)],
    ids=["by its length", "chunked"],
)
async def test_of_too_large_a_body_no_more_is_read_than_may_be_sent(
    http: HttpHandler, header: tuple[bytes, bytes], read: int
) -> None:
    body = [b"x" * (MIB // 2)] * 600
    status, headers, _ = await ask(http, "/size", headers=[header], body=body)
    assert status == 413
    assert "content-security-policy" in headers
    assert len(body) == 600 - read
    status, _, _ = await ask(http, "/static/css/app.css", headers=[header], body=body)
    assert status == 413


async def test_a_chunked_body_has_a_length(http: HttpHandler) -> None:
    status, _, body = await ask(http, "/size", headers=[CHUNKED], body=[b"ab", b"cde"])
    assert (status, body) == (200, b"5")


async def test_a_request_that_stays_half_is_refused(
    http: HttpHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handlers, "BODY_SECONDS", 0.05)
    half = [(b"content-length", b"9")]
    status, headers, _ = await ask(http, "/size", headers=half, body=[b"ab"], is_half=True)
    assert (status, headers["connection"]) == (408, "close")
