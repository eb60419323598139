"""What a command in a pod and a connection to a port of it share: one line, and several threads.

One of them reads, one writes, any may close; none waits in the line itself.
"""

import os
import select
from collections import deque
from collections.abc import Iterable
from typing import Any

from gangline.drivers.closable import Closable
from gangline.drivers.shells import CLOSED, PIECE, REPLICA_ENDED, STDIN, Ended, Output

from .exec_line import Line

MOST_WAITING = 1 << 18
"""Bytes that may wait for the network."""
ALIVE_EVERY, ALIVE_COUNT = 20.0, 2
"""Seconds of silence after which the other side is asked whether it is there, and how often."""
LAST_WORDS = 2.0
"""Seconds that an end which was told may take to close the line."""


class Talk(Closable):
    """Hands over what comes on a line until its end. A kind of talk says what the channels hold."""

    def __init__(self, line: Line) -> None:
        super().__init__()
        self._line = line
        self._found: deque[Output] = deque()
        self._told: Any = None
        """What the API server says of the end."""
        self._asked = 0
        self._end = Ended(None, REPLICA_ENDED)

    def read(self) -> Output | Ended:
        while not self._over or self._found:
            if self._found:
                return self._found.popleft()
            self._wait()
            with self._guard:
                for channel, data in self._line.receive():
                    self._found.extend(self._take(channel, data))
                is_over = self._closed or self._line.is_over
            if is_over and not self._found:
                self._finish()
        return self._end

    def write(self, data: bytes) -> None:
        with self._writing:
            for at in range(0, len(data), PIECE):
                with self._guard:
                    if self._input_ended or self._over:
                        return
                    self._send(STDIN, data[at : at + PIECE])
                if not self._has_room():
                    return

    def _send(self, channel: int, data: bytes) -> None:
        """Whoever calls it holds the guard."""
        self._line.send(channel, data)
        if self._line.waiting:
            self._rouse()  # the reader waits for room too, and sends the rest

    def _take(self, channel: int, data: bytes) -> Iterable[Output]:
        """What of it is output; an end that is told goes to ``_told``."""
        raise NotImplementedError

    def _judged(self) -> Ended:
        """How it ended, unless it was closed here."""
        raise NotImplementedError

    def _is_forgotten(self) -> bool:
        """Whether nobody waits for what may come after a silence."""
        return False

    def _depart(self) -> None:
        """After it was closed here."""
        self._hang_up()

    def _hang_up(self) -> None:
        with self._guard:
            self._line.close()

    def _wait(self) -> None:
        """Until something may have come."""
        with self._guard:
            if self._line.has_more or self._line.is_over:
                return
            poll = select.poll()
            poll.register(self._wake, select.POLLIN)
            wanted = select.POLLIN | (select.POLLOUT if self._line.waiting else 0)
            poll.register(self._line.fileno(), wanted)
        if ready := poll.poll((ALIVE_EVERY if self._told is None else LAST_WORDS) * 1000):
            if any(fd == self._wake for fd, _ in ready):
                os.read(self._wake, PIECE)
            self._asked = 0
            return
        with self._guard:
            self._asked += 1
            if self._told is not None or self._asked > ALIVE_COUNT or self._is_forgotten():
                self._line.is_over = True
            else:
                self._line.ping()

    def _finish(self) -> None:
        is_left = self._closed and self._told is None
        end = Ended(None, CLOSED) if is_left else self._judged()
        with self._guard:
            self._end = end
            self._let_go()
        if is_left:
            self._depart()
        else:
            self._hang_up()

    def _has_room(self) -> bool:
        """Wait for it; False once nobody reads any more."""
        while True:
            with self._guard:
                self._line.flush()
                if self._over or self._closed or self._line.is_over:
                    return False
                if self._line.waiting < MOST_WAITING:
                    return True
                poll = select.poll()
                poll.register(self._line.fileno(), select.POLLOUT)
            # It may be closed meanwhile: then this wait is over at once, or by its time.
            poll.poll(50)


def pieces(stream: int, data: bytes) -> Iterable[Output]:
    """``data`` in parts that a driver may hand over at once."""
    return (Output(stream, data[at : at + PIECE]) for at in range(0, len(data), PIECE))
