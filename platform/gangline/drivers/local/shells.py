"""Commands beside a running replica of this machine; its supervisor starts them (`visiting`)."""

import contextlib
import fcntl
import json
import os
import select
import socket
import struct
import termios
import threading
import time
from collections.abc import Callable
from typing import Any

from gangline.drivers.base import Refused, Unknown
from gangline.drivers.shells import (
    CLOSED,
    PIECE,
    REPLICA_ENDED,
    STDERR,
    STDOUT,
    Ended,
    Output,
    ShellRequest,
    Size,
)

from .run_folder import RunFolder
from .shim import visiting, words

TOO_OLD = (
    "It was started by an earlier version of Gangline, which nobody can enter."
    " Stop it and start it again."
)
ANSWER_SECONDS = 2 * visiting.PATIENCE
LAST_WORDS = 0.1
"""Seconds in which output may still come after the end of a command, while others hold its end."""
SETTLE_SECONDS = 2.0
"""In which an end of the pod, that took the command along, is known."""


class _Said(OSError):
    """What the keeper says against it."""


def visit(
    folder: RunFolder, name: str, request: ShellRequest, has_ended: Callable[[], bool]
) -> "LocalShell | Refused | Unknown":
    """Start a command in replica ``name``; ``has_ended`` tells whether the replica has."""
    if has_ended():
        return Refused(REPLICA_ENDED)
    line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    line.settimeout(ANSWER_SECONDS)
    fds: list[int] = []
    try:
        _knock(line, folder, name)
        _ask(line, request, fds)
    except OSError as problem:
        for fd in fds:
            os.close(fd)
        line.close()
        return Refused(REPLICA_ENDED) if has_ended() else _why(problem)
    return LocalShell(line, fds, request.tty, has_ended)


def _why(problem: OSError) -> Refused | Unknown:
    if isinstance(problem, FileNotFoundError):
        return Refused(TOO_OLD)
    if isinstance(problem, TimeoutError):
        return Unknown("The pod did not answer in time.")
    said = str(problem) if isinstance(problem, _Said) else ""
    return Refused(said or "The pod does not let anybody in just now.")


def _ask(line: socket.socket, request: ShellRequest, fds: list[int]) -> None:
    """Until the command runs; its ends are put into ``fds``. Raises OSError."""
    wanted = {
        "command": list(request.command),
        "tty": request.tty,
        "columns": request.size.columns,
        "rows": request.size.rows,
    }
    line.send(json.dumps(wanted).encode())
    while True:
        told, given = _answer(line)
        fds += given
        if told.get("state") == "started":
            return
        if told.get("state") != "made":
            raise _Said(str(told.get("reason", "")))


def _knock(line: socket.socket, folder: RunFolder, name: str) -> None:
    doors = os.open(folder.ctl / "doors", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # A socket address holds 107 bytes; the way over the folder's descriptor is short.
        line.connect(f"/proc/self/fd/{doors}/{name}")
    finally:
        os.close(doors)


def _answer(line: socket.socket) -> tuple[dict[str, Any], list[int]]:
    data, fds, _, _ = socket.recv_fds(line, visiting.LONGEST, 3)
    if not data:
        raise ConnectionError
    return json.loads(data), fds


class LocalShell:
    """See `gangline.drivers.shells.Shell`."""

    def __init__(
        self, line: socket.socket, fds: list[int], tty: bool, has_ended: Callable[[], bool]
    ) -> None:
        self._line, self._has_ended = line, has_ended
        line.setblocking(False)
        self._input, self._tty = fds[0], tty
        self._outputs = {fds[0]: STDOUT} if tty else {fds[1]: STDOUT, fds[2]: STDERR}
        for fd in fds:
            os.set_inheritable(fd, False)
            os.set_blocking(fd, False)
        self._wake, self._waker = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._guard = threading.Lock()
        """Around the use of descriptors that ``read`` closes in the end."""
        self._writing = threading.Lock()
        self._input_ended = self._closed = self._over = False
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
            told = json.loads(self._line.recv(visiting.LONGEST) or b"{}")
        if told.get("code") is not None:
            return Ended(int(told["code"]))
        until = time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < until:
            if self._has_ended():
                return Ended(None, REPLICA_ENDED)
            time.sleep(0.05)
        number = told.get("signal")
        return (
            Ended(words.AFTER_SIGNAL + number, words.signalled(number)) if number else Ended(None)
        )

    def _drop(self, fd: int) -> None:
        with self._guard:
            del self._outputs[fd]
            if fd != self._input:
                os.close(fd)

    def _finish(self, end: Ended) -> None:
        with self._guard:
            self._end, self._over = end, True
            self._line.close()
            held = {*self._outputs, self._wake, self._waker}
            held |= set() if self._input_ended and not self._tty else {self._input}
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
            if self._tty and not self._over and size.is_possible:
                fcntl.ioctl(
                    self._input,
                    termios.TIOCSWINSZ,
                    struct.pack("4H", size.rows, size.columns, 0, 0),
                )

    def close(self) -> None:
        with self._guard:
            self._closed = True
            if not self._over:
                with contextlib.suppress(BlockingIOError):
                    os.write(self._waker, b".")


def _read(fd: int) -> bytes | None:
    """None: nothing there just now; empty: nothing will come."""
    try:
        return os.read(fd, PIECE)
    except BlockingIOError:
        return None
    except OSError:
        return b""  # a terminal whose other end is closed
