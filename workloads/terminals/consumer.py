"""The WebSocket of one terminal. What goes over it: ``docs/how-to/enter-a-workload.md``."""

import asyncio
import contextlib
import json
import time
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer

from gangline.accounts.models import User
from gangline.drivers.base import Busy, Refused, Unknown
from gangline.drivers.kind import Unconnectable
from gangline.drivers.shells import STDIN, Shell, Size
from workloads.models import Terminal
from workloads.terminals import open as terminals
from workloads.terminals import tickets
from workloads.terminals.session import Session

LONGEST = 1 << 16
"""Bytes of a frame that comes in."""
PER_SECOND = 400
"""Frames; a person types ten."""
FIRST_SECONDS = 10.0
ENDED, NONSENSE, FORBIDDEN, ELSEWHERE, FLOOD = 1000, 4000, 4003, 4010, 4029
UNKNOWN = "This terminal is no longer open. Gangline may have been restarted."
TAKEN = "The terminal was opened in another window."


class TerminalConsumer(AsyncWebsocketConsumer):
    """``is_of_page``: opened by a page, with the session of a browser; else by a ticket alone."""

    channel_layer_alias = None  # type: ignore[assignment]
    is_of_page: bool = True

    async def connect(self) -> None:
        self.session: Session | None = None
        self.terminal: Terminal | None = None
        self.is_busy = False
        self.offset = 0
        self.acks = False
        self.received: list[float] = []
        self.wake = asyncio.Event()
        user: Any = self.scope.get("user")
        if self.is_of_page and not (isinstance(user, User) and user.is_active):
            await self.close(FORBIDDEN)
            return
        self.user = user if isinstance(user, User) else None
        await self.accept()
        self.tasks = [asyncio.create_task(self._be_quick())]

    async def disconnect(self, code: int) -> None:
        for task in getattr(self, "tasks", ()):
            task.cancel()
        session = getattr(self, "session", None)
        if session is None:
            return
        session.detach(self.wake.set)
        if not session.tty and not session.is_attached:
            session.close("The connection was closed.")

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        now = time.monotonic()
        self.received = [at for at in self.received if at > now - 1] + [now]
        if len(self.received) > PER_SECOND:
            await self.close(FLOOD)
            return
        size = len(bytes_data if bytes_data is not None else (text_data or ""))
        if size > LONGEST:
            await self.close(NONSENSE)
            return
        if bytes_data is not None:
            if self.session is None or bytes_data[:1] != bytes([STDIN]):
                await self.close(NONSENSE)
            elif self.session.end is None:
                await self.session.write(bytes_data[1:])
            return
        try:
            message = json.loads(text_data or "")
            kind = message["type"]
            act = {"open": self._open, "resume": self._resume}[kind] if self.session is None else {
                "resize": self._resize, "ack": self._ack, "eof": self._eof, "close": self._close
            }[kind]  # fmt: skip
        except (ValueError, RecursionError, TypeError, KeyError):
            await self.close(NONSENSE)
            return
        if self.is_busy:
            await self.close(NONSENSE)
            return
        self.is_busy = True
        try:
            await act(message)
        finally:
            self.is_busy = False

    async def _open(self, message: dict[str, Any]) -> None:
        try:
            ticket, size = str(message["ticket"]), _size(message)
        except (KeyError, ValueError):
            await self.close(NONSENSE)
            return
        login = tickets.Login.of_session(str(self._session_key())).key if self.is_of_page else ""
        try:
            place = await terminals.in_database(
                tickets.redeem, ticket[:200], user=self.user, login=login
            )
        except (tickets.Unredeemed, tickets.NotNow, Unconnectable) as problem:
            await self._refuse(str(problem))
            return
        terminal = place.terminal
        started: Shell | Refused | Unknown | Busy = Unknown("It could not be started.")
        try:
            started = await terminals.opened(place, size)
        finally:
            if isinstance(started, Refused | Unknown | Busy):
                await terminals.in_database(terminal.delete)
        if isinstance(started, Refused | Unknown | Busy):
            await self._refuse(started.reason or "The cluster is busy. Try again in a moment.")
            return
        await self._serve(terminal, await terminals.start(terminal, started), message)

    def _session_key(self) -> str:
        return self.scope["session"].session_key or ""

    async def _resume(self, message: dict[str, Any]) -> None:
        """A page that lost its connection, or was loaded again, goes on with its terminal."""
        found = terminals.find(str(message.get("id")))
        key, received = message.get("key"), message.get("received", 0)
        if not isinstance(received, int) or isinstance(received, bool) or received < 0:
            await self.close(NONSENSE)
            return
        if (
            found is None
            or not self.is_of_page
            or found[0].user != self.user
            or found[0].login != tickets.Login.of_session(str(self._session_key())).key
            or key != found[1].key
        ):
            await self._refuse(UNKNOWN, ELSEWHERE)
            return
        self.offset = min(max(received, found[1].first), found[1].received)
        await self._serve(*found, message)

    async def _serve(self, terminal: Terminal, session: Session, message: dict[str, Any]) -> None:
        self.terminal, self.session = terminal, session
        self.acks = message.get("acks") is True
        session.attach(self.wake.set)
        self.key = session.key
        opened = {
            "type": "opened",
            "id": str(terminal.pk),
            "key": session.key,
            "pod": terminal.pod,
            "tty": terminal.tty,
            "offset": self.offset,
        }
        await self.send(json.dumps(opened))
        self.tasks.append(asyncio.create_task(self._send_output(session)))

    async def _send_output(self, session: Session) -> None:
        """Until the end, or until another page has the terminal."""
        while True:
            await self.wake.wait()
            self.wake.clear()
            if session.key != self.key:
                await self._refuse(TAKEN, ELSEWHERE)
                return
            while (piece := session.after(self.offset)) is not None:
                self.offset = piece.offset + len(piece.data)
                await self.send(bytes_data=bytes([piece.stream]) + piece.data)
                if not self.acks:
                    session.drawn(self.offset)
            if session.end is not None and self.offset == session.received:
                end = {"type": "exit", "code": session.end.code, "reason": session.end.reason}
                await self.send(json.dumps(end))
                await self.close(ENDED)
                return

    async def _resize(self, message: dict[str, Any]) -> None:
        try:
            size = _size(message)
        except ValueError:
            await self.close(NONSENSE)
            return
        if self.session:
            self.session.resize(size)

    async def _ack(self, message: dict[str, Any]) -> None:
        upto = message.get("offset")
        if not isinstance(upto, int) or isinstance(upto, bool) or not 0 <= upto <= self.offset:
            await self.close(NONSENSE)
        elif self.session:
            self.session.drawn(upto)

    async def _eof(self, message: dict[str, Any]) -> None:
        if self.session:
            await self.session.end_input()

    async def _close(self, message: dict[str, Any]) -> None:
        """The person is done with it."""
        if self.session:
            self.session.close("You closed it.")

    async def _refuse(self, reason: str, code: int = FORBIDDEN) -> None:
        with contextlib.suppress(RuntimeError):  # the other side is gone
            await self.send(json.dumps({"type": "refused", "message": reason}))
            await self.close(code)

    async def _be_quick(self) -> None:
        await asyncio.sleep(FIRST_SECONDS)
        if self.session is None and not self.is_busy:
            await self.close(NONSENSE)


class ApiTerminalConsumer(TerminalConsumer):
    """For programs. Cookies are not looked at."""

    is_of_page = False


def _size(message: dict[str, Any]) -> Size:
    """Raises ValueError for one that no terminal has."""
    columns, rows = message.get("columns", 80), message.get("rows", 24)
    if any(not isinstance(n, int) or isinstance(n, bool) for n in (columns, rows)):
        raise ValueError("columns and rows are whole numbers")
    size = Size(columns, rows)
    if not size.is_possible:
        raise ValueError("no terminal has this size")
    return size
