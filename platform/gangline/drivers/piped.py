"""A command whose ends are descriptors of ours, and whose end somebody tells over a line."""

import contextlib
import fcntl
import json
import os
import select
import socket
import struct
import termios
import time
from collections.abc import Callable
from typing import Any

from gangline.drivers.closable import Closable
from gangline.drivers.shells import (
    CLOSED,
    PIECE,
    REPLICA_ENDED,
    STDERR,
    STDOUT,
    Ended,
    Output,
    Size,
)

LONGEST = 1 << 16
"""Bytes of what the line tells."""
LAST_WORDS = 0.1
"""Seconds in which output may still come after the end of a command, while others hold its end."""
SETTLE_SECONDS = 2.0
"""In which an end of the pod, that took the command along, is known."""
Resize = Callable[[int, Size], None]


def in_no_words(number: int) -> Ended:
    """The end by a signal, as a shell tells it."""
    return Ended(128 + number)


class PipedShell(Closable):
    """See `gangline.drivers.shells.Shell`.

    ``line``: one message, JSON with ``code`` or ``signal``, when the command has ended; who holds
    its other end learns from its closing that nobody wants the command any more. ``fds``: of
    input, output and error output, or with a terminal of input and of output, which may be one.
    """

    def __init__(
        self,
        line: socket.socket,
        fds: list[int],
        has_ended: Callable[[], bool],
        resize: Resize | None,
        signalled: Callable[[int], Ended] = in_no_words,
    ) -> None:
        super().__init__()
        self._line, self._has_ended, self._signalled = line, has_ended, signalled
        line.setblocking(False)
        self._input, self._resize, self._tty = fds[0], resize, resize is not None
        # Of one descriptor the end is its closing, of two each has its own.
        self._outputs = {fds[-1]: STDOUT} if self._tty else {fds[1]: STDOUT, fds[2]: STDERR}
        for fd in fds:
            os.set_inheritable(fd, False)
            os.set_blocking(fd, False)
        self._end: Ended | None = None

    def read(self) -> Output | Ended:
        while not self._over:
            found = self._look()
            if found is not None:
                return found
        return self._end or Ended(None, REPLICA_ENDED)

    def _look(self) -> Output | None:
        """One wait: output, or None; ``_over`` once nothing more can come."""
        poll = select.poll()
        for fd in (*self._outputs, self._wake):
            poll.register(fd, select.POLLIN)
        if self._end is None:
            poll.register(self._line.fileno(), select.POLLIN)
        ready = {fd for fd, _ in poll.poll(None if self._end is None else LAST_WORDS * 1000)}
        if self._wake in ready:
            self._finish(Ended(None, CLOSED))
            return None
        for fd in ready & self._outputs.keys():
            data = _read(fd)
            if data:
                return Output(self._outputs[fd], data)
            if data is not None:
                self._drop(fd)
        if self._end is None and self._line.fileno() in ready:
            self._end = self._told()
        elif self._end is not None and (not ready or not self._outputs):
            self._finish(self._end)
        return None

    def _told(self) -> Ended:
        told: dict[str, Any] = {}
        with contextlib.suppress(OSError, ValueError):
            told = json.loads(self._line.recv(LONGEST) or b"{}")
        if told.get("code") is not None:
            return Ended(int(told["code"]))
        until = time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < until:
            if self._has_ended():
                return Ended(None, REPLICA_ENDED)
            time.sleep(0.05)
        number = told.get("signal")
        return self._signalled(int(number)) if number else Ended(None)

    def _drop(self, fd: int) -> None:
        with self._guard:
            del self._outputs[fd]
            if fd != self._input:
                os.close(fd)

    def _finish(self, end: Ended) -> None:
        with self._guard:
            self._end = end
            self._let_go()
            self._line.close()
            held = set(self._outputs)
            held |= set() if self._input_ended else {self._input}
            for fd in held:
                os.close(fd)
            self._outputs.clear()

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        with self._writing:
            while view:
                with self._guard:
                    if self._over or self._closed or self._input_ended:
                        return
                    try:
                        view = view[os.write(self._input, view) :]
                        continue
                    except BlockingIOError:
                        pass
                    except OSError:
                        return  # the command reads no more
                    fd = self._input
                # It may be closed meanwhile: then this wait is over at once, or by its time.
                poll = select.poll()
                poll.register(fd, select.POLLOUT)
                poll.poll(50)

    def end_input(self) -> None:
        if self._tty:
            self.write(b"\x04")
            return
        with self._writing, self._guard:
            if not (self._over or self._input_ended):
                self._input_ended = True
                os.close(self._input)

    def resize(self, size: Size) -> None:
        with self._guard:
            if self._resize is not None and not self._over and size.is_possible:
                self._resize(self._input, size)


def resize_terminal(fd: int, size: Size) -> None:
    """Of a terminal of this machine."""
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("4H", size.rows, size.columns, 0, 0))


def _read(fd: int) -> bytes | None:
    """None: nothing there just now; empty: nothing will come."""
    try:
        return os.read(fd, PIECE)
    except BlockingIOError:
        return None
    except OSError:
        return b""  # a terminal whose other end is closed
