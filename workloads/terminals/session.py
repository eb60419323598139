"""One open terminal of this process: it outlives a lost connection for a while, and loses nothing.

Two threads wait for the command, one for each direction; everything else runs in the event loop.
Output is kept until the page says that it was drawn, so that a page that lags holds up the command
and not our memory, and one that comes back goes on where it was.
"""

import asyncio
import contextlib
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

from gangline.drivers.shells import Ended, Output, Shell, Size

WINDOW = 1 << 18
"""Bytes that may wait to be drawn; the command writes no more until some are."""
KEPT = 1 << 16
"""Bytes of what was drawn that a page which was loaded again gets to see again."""
MOST_INPUT = 64
"""Frames that wait to be typed."""
AWAY_SECONDS = 30.0
"""For so long a terminal waits for its page to come back."""


class Piece(NamedTuple):
    """``offset``: number of bytes of output before it."""

    offset: int
    stream: int
    data: bytes


@dataclass(frozen=True, slots=True)
class End:
    """What is told of the end. ``code`` None: not by the command itself."""

    code: int | None
    reason: str


class Session:
    """``told`` is called in the loop whenever there is something to send; ``None``: nobody is."""

    def __init__(self, shell: Shell, *, tty: bool) -> None:
        self.loop = asyncio.get_running_loop()
        self.key = secrets.token_urlsafe(24)
        """Of the page that has it, to come back with."""
        self.tty, self._shell = tty, shell
        self.end: End | None = None
        self.over = asyncio.Event()
        self.used_at = self.attached_at = time.monotonic()
        self.received = self.sent_in = 0
        """Bytes of output and of input."""
        self._told: Callable[[], None] | None = None
        self._pieces: deque[Piece] = deque()
        self._drawn = 0
        self._room = threading.Event()
        self._room.set()
        self._gone = False
        self._input: asyncio.Queue[Callable[[], None]] = asyncio.Queue(MOST_INPUT)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="terminal")
        self._tasks = [self.loop.create_task(self._type())]
        threading.Thread(target=self._listen, name="terminal", daemon=True).start()

    def attach(self, told: Callable[[], None]) -> None:
        """A page has come, or come back: the one before it hears nothing more."""
        before, self._told = self._told, told
        self.key = secrets.token_urlsafe(24)
        if before:
            before()
        told()

    def detach(self, told: Callable[[], None]) -> None:
        """It is gone, unless another one has come."""
        if self._told == told:
            self._told, self.attached_at = None, time.monotonic()

    @property
    def is_attached(self) -> bool:
        return self._told is not None

    @property
    def first(self) -> int:
        """Offset of the oldest byte that is still there."""
        return self._pieces[0].offset if self._pieces else self.received

    def after(self, offset: int) -> Piece | None:
        """The next output behind ``offset``, which is at least `first`."""
        for piece in self._pieces if offset < self.received else ():
            skipped = offset - piece.offset
            if skipped < len(piece.data):
                return Piece(max(offset, piece.offset), piece.stream, piece.data[max(skipped, 0) :])
        return None

    def drawn(self, offset: int) -> None:
        """Everything before ``offset`` was shown."""
        self._drawn = max(self._drawn, min(offset, self.received))
        keep_from = self._drawn - (KEPT if self.tty else 0)
        while self._pieces and self._pieces[0].offset + len(self._pieces[0].data) <= keep_from:
            self._pieces.popleft()
        if self.received - self._drawn < WINDOW:
            self._room.set()

    async def write(self, data: bytes) -> None:
        """Waits while much is to be typed already."""
        self.used_at, self.sent_in = time.monotonic(), self.sent_in + len(data)
        await self._input.put(lambda: self._shell.write(data))

    async def end_input(self) -> None:
        await self._input.put(self._shell.end_input)

    def resize(self, size: Size) -> None:
        self._shell.resize(size)

    def close(self, reason: str) -> None:
        """End the command; ``reason`` is told unless it has ended by itself."""
        self._finish(End(None, reason))

    def _listen(self) -> None:
        """In a thread of its own, until the end of the command."""
        while True:
            found = self._shell.read()
            while not self._room.wait(1.0) and not self._gone:
                pass
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is left to tell
                self.loop.call_soon_threadsafe(self._heard, found)
            if isinstance(found, Ended):
                return

    def _heard(self, output: Output | Ended) -> None:
        if isinstance(output, Ended):
            self._ended(output)
            return
        stream, data = output
        self._pieces.append(Piece(self.received, stream, data))
        self.received += len(data)
        self.used_at = time.monotonic()
        if self.received - self._drawn >= WINDOW:
            self._room.clear()
        if self._told:
            self._told()

    def _ended(self, ended: Ended) -> None:
        reason = ended.reason
        if ended.code is not None:
            what = "The shell" if self.tty else "The command"
            reason = f"{what} ended ({ended.code}). {reason}".strip()
        self._finish(End(ended.code, reason or "It ended."))

    def _finish(self, end: End) -> None:
        if self.end is not None:
            return
        self.end, self._gone = end, True
        self._room.set()
        self._shell.close()
        for task in self._tasks:
            task.cancel()
        self._writer.shutdown(wait=False, cancel_futures=True)
        self.over.set()
        if self._told:
            self._told()

    async def _type(self) -> None:
        while True:
            act = await self._input.get()
            await self.loop.run_in_executor(self._writer, act)
