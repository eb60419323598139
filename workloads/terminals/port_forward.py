"""Connections to one port of a pod, all over one socket as if they were a command's in- and output.

A frame is the number of the connection (4 bytes), what it says (1), how many bytes follow (2), and
these. The client opens connections and gives them their numbers.
"""

import queue
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from gangline.drivers.base import Busy, Refused, Unknown
from gangline.drivers.ports import Connection
from gangline.drivers.shells import REPLICA_ENDED, STDOUT, Ended, Output, Size

HEAD = struct.Struct("!IBH")
OPEN, DATA, END, CLOSE = 1, 2, 3, 4
"""``END``: the client sends nothing more. ``CLOSE``: it is over; its bytes may say why."""
MOST = 64
"""Connections at the same time."""
MOST_WAITING = 8
"""Frames that wait, in each direction of each connection; the rest waits where it comes from."""
LOOK_SECONDS = 0.5
MOST_WORDS = 1000
"""Bytes of a reason."""
CLOSED, NONSENSE = "It was closed.", "The WebSocket frame is not valid."
TOO_MANY = f"There are {MOST} connections open already."
T = TypeVar("T")
Opened = Connection | Refused | Unknown | Busy


class Forwarding:
    """A `gangline.drivers.shells.Shell` whose in- and output are frames."""

    def __init__(self, connect: Callable[[], Opened]) -> None:
        self._connect = connect
        self._out: queue.Queue[Output] = queue.Queue(MOST_WAITING)
        self._open: dict[int, queue.Queue[tuple[int, bytes]]] = {}
        self._lines: dict[int, Connection] = {}
        self._guard = threading.Lock()
        """Around the two above."""
        self._rest = bytearray()
        self._end: Ended | None = None

    def read(self) -> Output | Ended:
        while self._end is None:
            with suppress(queue.Empty):
                return self._out.get(timeout=LOOK_SECONDS)
        return self._end

    def write(self, data: bytes) -> None:
        self._rest += data
        while self._end is None and len(self._rest) >= HEAD.size:
            number, kind, size = HEAD.unpack_from(self._rest)
            if len(self._rest) < HEAD.size + size:
                return
            body = bytes(self._rest[HEAD.size : HEAD.size + size])
            del self._rest[: HEAD.size + size]
            self._take(number, kind, body)

    def end_input(self) -> None:
        """Connections have ends of their own."""

    def resize(self, size: Size) -> None:
        """Nothing here has a size."""

    def close(self) -> None:
        self._finish(Ended(None, CLOSED))

    def _take(self, number: int, kind: int, body: bytes) -> None:
        waiting = self._open.get(number)
        if kind == OPEN and waiting is None:
            if len(self._open) >= MOST:
                self._say(number, CLOSE, TOO_MANY.encode())
                return
            self._open[number] = queue.Queue(MOST_WAITING)
            threading.Thread(target=self._serve, args=(number,), daemon=True).start()
        elif kind in (DATA, END, CLOSE) and waiting is not None:
            if kind == CLOSE and (line := self._lines.get(number)) is not None:
                line.close()  # whoever waits for it waits no longer
            self._put(waiting, (kind, body))
        elif kind not in (DATA, END, CLOSE):
            self._finish(Ended(None, NONSENSE))

    def _serve(self, number: int) -> None:
        """From the wish for a connection to its end."""
        reason = ""
        try:
            line = self._connect()
            if isinstance(line, Refused | Unknown | Busy):
                reason = line.reason or "The cluster is busy. Try again in a moment."
                if reason == REPLICA_ENDED:
                    self._finish(Ended(None, reason))
                return
            with self._guard:
                self._lines[number] = line
            threading.Thread(target=self._pass_on, args=(number, line), daemon=True).start()
            while isinstance(found := line.read(), Output):
                self._say(number, DATA, found.data)
            reason = found.reason
            line.close()
        finally:
            with self._guard:
                self._lines.pop(number, None)
                waiting = self._open.pop(number, None)
            if waiting is not None:
                with suppress(queue.Full):
                    waiting.put_nowait((CLOSE, b""))
            self._say(number, CLOSE, reason.encode()[:MOST_WORDS])

    def _pass_on(self, number: int, line: Connection) -> None:
        waiting = self._open.get(number)
        while waiting is not None and self._end is None and self._lines.get(number) is line:
            try:
                kind, body = waiting.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                continue
            if kind == DATA:
                line.write(body)
            elif kind == END:
                line.end_input()
            else:
                line.close()
                return

    def _say(self, number: int, kind: int, body: bytes) -> None:
        self._put(self._out, Output(STDOUT, HEAD.pack(number, kind, len(body)) + body))

    def _put(self, waiting: "queue.Queue[T]", thing: T) -> None:
        """Wait for room, but no longer than all of it lasts."""
        while self._end is None:
            with suppress(queue.Full):
                waiting.put(thing, timeout=LOOK_SECONDS)
                return

    def _finish(self, end: Ended) -> None:
        with self._guard:
            self._end = self._end or end
            lines = [*self._lines.values()]
        for line in lines:
            line.close()
