"""Connections to ports of running replicas: what a driver may offer."""

import contextlib
import socket
from typing import Protocol, runtime_checkable

from gangline.drivers.base import AttemptRef, Busy, Refused, Unknown
from gangline.drivers.shells import PIECE, STDOUT, Ended, Output

SILENT = "Nothing listens on port {port} of the pod."


class Connection(Protocol):
    """One connection. ``read`` is called by one thread, ``close`` by any, the others by another."""

    def read(self) -> Output | Ended:
        """Wait for what comes, or for the end. After the end, or ``close``, always the end."""

    def write(self, data: bytes) -> None:
        """Hand over all of ``data``, however long it takes; dropped after the end."""

    def end_input(self) -> None:
        """Nothing more is written; more may come."""

    def close(self) -> None:
        """Returns at once."""


@runtime_checkable
class PortOpener(Protocol):
    """A driver that lets people connect to ports of running replicas."""

    def open_port(
        self, ref: AttemptRef, replica: str, port: int
    ) -> Connection | Refused | Unknown | Busy:
        """Connect to ``port`` of ``replica`` (``worker-0``), where its own programs listen."""


class SocketConnection:
    """A connection over a socket of this process."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line

    def read(self) -> Output | Ended:
        try:
            data = self._line.recv(PIECE)
        except OSError:
            data = b""
        if data:
            return Output(STDOUT, data)
        return Ended(0)

    def write(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            self._line.sendall(data)

    def end_input(self) -> None:
        with contextlib.suppress(OSError):
            self._line.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        # Closing alone would leave a thread that reads waiting.
        with contextlib.suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)
        self._line.close()
