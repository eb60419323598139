"""A TCP proxy that can be made to fail: refuse, go silent, be slow, reset.

It listens on one loopback port for its whole life and forwards to another. What it does is changed
while it runs; existing connections obey too.
"""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Coroutine, Iterator
from enum import StrEnum
from typing import Any, TypeVar

T = TypeVar("T")
CHUNK = 65_536
CONTROL_SECONDS = 5


class Mode(StrEnum):
    """What happens to bytes."""

    PASS = "pass"
    SILENT = "silent"
    """A black hole: connections are accepted and held, and nothing is ever forwarded."""
    REFUSE = "refuse"
    """Connections are ended, and new ones refused."""


class Proxy:
    """Made by `proxy`. Methods may be called from any thread and hold when they return."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.port = 0
        self.accepted = 0
        """Connections so far."""
        self._mode = Mode.PASS
        self._delay = 0.0
        self._left: int | None = None
        self._loop = asyncio.new_event_loop()
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._changed = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tcpx", daemon=True)

    def pass_on(self) -> None:
        """Forward everything, at once."""
        self._do(self._set(Mode.PASS, 0.0, None))

    def go_silent(self) -> None:
        """Accept and hold, forward nothing; what was under way is swallowed too."""
        self._do(self._set(Mode.SILENT, 0.0, None))

    def refuse(self) -> None:
        """End all connections and take no new ones."""
        self._do(self._set(Mode.REFUSE, 0.0, None))

    def delay(self, seconds: float) -> None:
        """Forward every piece that much later."""
        self._do(self._set(Mode.PASS, seconds, None))

    def reset_after(self, count: int) -> None:
        """Forward so many more bytes of answers, then reset every connection that has more."""
        self._do(self._set(Mode.PASS, 0.0, count))

    def start(self) -> None:
        self._thread.start()
        self._do(self._listen())

    def close(self) -> None:
        self._do(self._set(Mode.REFUSE, 0.0, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CONTROL_SECONDS)
        self._loop.close()

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(CONTROL_SECONDS)

    async def _set(self, mode: Mode, delay: float, left: int | None) -> None:
        self._mode, self._delay, self._left = mode, delay, left
        self._changed.set()
        self._changed = asyncio.Event()
        if mode is Mode.REFUSE:
            if self._server is not None:
                self._server.close()
                self._server = None
            for writer in [*self._open]:
                _reset(writer)
            while self._open:
                await asyncio.sleep(0.005)
        elif self._server is None:
            await self._listen()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", self.port, reuse_address=True
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        self._open.add(writer)
        there: asyncio.StreamWriter | None = None
        try:
            await self._until_not_silent()
            from_there, there = await asyncio.open_connection("127.0.0.1", self.target)
            self._open.add(there)
            ways = (
                asyncio.ensure_future(self._forward(reader, there, answers=False)),
                asyncio.ensure_future(self._forward(from_there, writer, answers=True)),
            )
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
        except OSError:
            pass  # the target is away: the client sees its connection end
        finally:
            for one in (writer, there):
                if one is not None:
                    self._open.discard(one)
                    _reset(one)

    async def _forward(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, answers: bool
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(CHUNK):
                await self._until_not_silent()
                if self._delay:
                    await asyncio.sleep(self._delay)
                if answers and self._left is not None:
                    data = data[: self._left]
                    self._left -= len(data)
                    writer.write(data)
                    if not self._left:
                        return
                else:
                    writer.write(data)
                await writer.drain()

    async def _until_not_silent(self) -> None:
        """Hold what is under way; a change of mode ends such a connection, as a real hole would."""
        if self._mode is Mode.SILENT:
            await self._changed.wait()
            raise ConnectionResetError


def _reset(writer: asyncio.StreamWriter) -> None:
    transport = writer.transport
    handle = transport.get_extra_info("socket")
    if handle is not None and handle.fileno() >= 0:
        with contextlib.suppress(OSError):
            handle.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    transport.abort()


@contextlib.contextmanager
def proxy(target: int) -> Iterator[Proxy]:
    """Forward a free loopback port to ``target``."""
    made = Proxy(target)
    made.start()
    try:
        yield made
    finally:
        made.close()
