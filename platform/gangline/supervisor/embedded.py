"""The whole product in one process: web in the main thread, the rest in threads (R10)."""

import asyncio
import socket
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from gangline.config import urls
from gangline.live import hub
from gangline.supervisor.background import Background, leave_at_once
from gangline.supervisor.signals import handled_by_server
from workloads.terminals import open as terminals

STOP_SECONDS = 0.7
"""For the threads, after the web server has ended: with its 2 s that is less than 3 (R10)."""

HEADERS_SECONDS = 30.0
"""For the headers of a request; its body has `gangline.web.handlers.BODY_SECONDS`."""


class HttpProtocol(HttpToolsProtocol):
    """HTTP as a proxy in front would let it through: it has none here."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_headers()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._expect_headers()

    def on_headers_complete(self) -> None:
        self._forget_deadline()
        if not self.url.startswith(b"/"):
            raise ValueError("only paths are served")  # the parser answers 400
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_deadline()
        super().connection_lost(exc)

    def _expect_headers(self) -> None:
        self._forget_deadline()
        self._deadline = self.loop.call_later(HEADERS_SECONDS, self.transport.close)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()


class WebServer(uvicorn.Server):
    """Uvicorn that tells when it serves."""

    def __init__(self, on_ready: Callable[[], None], door: socket.socket | None) -> None:
        super().__init__(
            uvicorn.Config(
                "gangline.config.asgi:application",
                lifespan="off",
                log_level="warning",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                http=HttpProtocol,
                timeout_graceful_shutdown=2,
                ws_max_size=64 * 1024,
                ws_ping_interval=20,
                ws_ping_timeout=20,
            )
        )
        self._on_ready, self._door = on_ready, door
        self._gate: Any = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        hub.start()
        # In a thread: it asks the database, which an event loop must not.
        await asyncio.to_thread(self._on_ready)
        if self._door is not None:
            # Nobody opens a tool before the first page is ready.
            gate = await asyncio.to_thread(import_module, "gangline.supervisor.tool_gate")
            self._gate = gate.Gate(self._door)
            await self._gate.start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await terminals.close_all()
        await hub.stop()
        if self._gate is not None:
            await self._gate.stop()
        await super().shutdown(sockets=sockets)


def serve(
    listener: socket.socket, on_ready: Callable[[], None], door: socket.socket | None = None
) -> None:
    """Serve until SIGINT or SIGTERM. Running workloads go on.

    ``door``: where tools of this machine are opened.
    """
    background = Background()

    def served() -> None:
        # After the first page is ready: until then these would only compete for the processor.
        background.start()
        on_ready()
        threading.Thread(target=import_module, args=(urls.API,), name="load-api").start()

    with handled_by_server():
        try:
            WebServer(served, door).run(sockets=[listener])
        finally:
            has_ended = background.join(STOP_SECONDS)
    if not has_ended:
        leave_at_once()
