"""How HTTP reaches Django under ASGI: one hop into a thread that keeps its database connection.

Django's own handler gives each request a new thread, so also a new connection, and changes between
thread and event loop at every middleware: that costs more than most pages here.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.conf import settings
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.core.handlers.exception import convert_exception_to_response
from django.core.signals import request_started
from django.db import close_old_connections
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import set_script_prefix
from servestatic.middleware import ServeStaticMiddleware

from gangline.web.middleware import LATE, RequestLimits, SecurityHeaders

THREADS = 12
BODY_SECONDS = 30.0
"""A request that is not whole by then is answered with 408."""


class PageHandler(ASGIHandler):
    """Pages and API: each request from its first middleware to its last in one thread."""

    def __init__(self) -> None:
        super().__init__()
        self.threads = ThreadPoolExecutor(THREADS, thread_name_prefix="page")
        self._answer_in_thread = sync_to_async(
            self.answer, thread_sensitive=False, executor=self.threads
        )

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        response = await self._answer_in_thread(scope, body)
        if not response.streaming:
            await self.send_response(response, send)
            return
        # What is read while it is sent needs a thread of its own, and ends when nobody reads on.
        async with ThreadSensitiveContext():
            await self._stream(response, receive, send)

    def answer(self, scope: Any, body: IO[bytes]) -> HttpResponseBase:
        """The finished answer; its database connection is back before anything is sent."""
        set_script_prefix(get_script_prefix(scope))
        request_started.send(sender=type(self), scope=scope)
        request, refusal = self.create_request(scope, body)
        response = self.get_response(request) if request is not None else refusal
        assert response is not None  # noqa: S101  one of the two is always there
        if response.streaming:
            close_old_connections()
        else:
            response.close()
        return response

    async def _stream(self, response: HttpResponseBase, receive: Any, send: Any) -> None:
        sending = asyncio.create_task(self.send_response(response, send))
        leaving = asyncio.create_task(receive())
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            sending.cancel()
            results = await asyncio.gather(sending, leaving, return_exceptions=True)
            await sync_to_async(response.close)()
        if isinstance(results[0], Exception):
            raise results[0]


class FileHandler(ASGIHandler):
    """Static files: limits and headers as on every answer, and nothing else."""

    def __init__(self, pages: PageHandler) -> None:
        self._pages = pages
        self.prefix = settings.STATIC_URL or "/static/"
        super().__init__()

    def load_middleware(self, is_async: bool = False) -> None:
        files = ServeStaticMiddleware(self._not_a_file)
        self._middleware_chain = convert_exception_to_response(
            SecurityHeaders(RequestLimits(files))
        )

    async def _not_a_file(self, request: HttpRequest) -> HttpResponseBase:
        """The page that says so, as for any other address."""
        response: HttpResponseBase = await sync_to_async(self._pages.get_response)(request)
        return response


class HttpHandler:
    """Chooses between files and pages by the path."""

    def __init__(self) -> None:
        self.pages = PageHandler()
        self._files = FileHandler(self.pages)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            scope, receive = await _within_limits(scope, receive)
        except RequestAborted:
            return
        is_file = scope["path"].startswith(self._files.prefix)
        await (self._files if is_file else self.pages)(scope, receive, send)


async def _within_limits(scope: Any, receive: Any) -> tuple[Any, Any]:
    """The request with its body in memory; of a body that is too large or late, nothing.

    `RequestLimits` refuses those by the length, which a chunked request gets here, or by `LATE`.
    """
    most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0
    given = dict(scope["headers"]).get(b"content-length")
    body, is_whole = bytearray(), bool(given and given.isdigit() and int(given) > most)
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while not is_whole:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise RequestAborted
                body += message.get("body", b"")
                is_whole = len(body) > most or not message.get("more_body", False)
    except TimeoutError:
        scope = scope | {LATE: True}
    if given is None and body:
        length = (b"content-length", str(len(body)).encode())
        scope = scope | {"headers": [*scope["headers"], length]}
    whole = bytes(body) if is_whole and len(body) <= most else b""
    waiting = [{"type": "http.request", "body": whole, "more_body": False}]

    async def rest() -> Any:
        if waiting:
            return waiting.pop()
        while (message := await receive())["type"] != "http.disconnect":
            pass  # of a body that was refused
        return message

    return scope, rest
