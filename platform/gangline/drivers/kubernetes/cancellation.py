"""Ends the wait of a thread that reads from an API server, from another thread.

A watch may be silent for a minute and more: closing what it reads is the only way to end it sooner.
"""

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import urllib3

_current = threading.local()


class Cancellation:
    """The connection on which one thread waits. ``cut`` ends the wait, and all later ones."""

    def __init__(self) -> None:
        self.is_cut = False
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()

    def cut(self) -> None:
        with self._lock:
            self.is_cut = True
            _end(self._socket)

    def hold(self, connection: socket.socket | None) -> None:
        """From here on the thread waits on this connection; None: on nothing."""
        with self._lock:
            self._socket = connection
            if self.is_cut:
                _end(connection)


@contextlib.contextmanager
def waiting_on(cancellation: Cancellation | None) -> Iterator[None]:
    """What this thread reads in the block can be ended through ``wire``."""
    if cancellation is None:
        yield
        return
    _current.cancellation = cancellation
    try:
        yield
    finally:
        _current.cancellation = None
        cancellation.hold(None)


def install(pool: urllib3.PoolManager) -> None:
    """Let the connections of ``pool`` say on which of them a thread waits."""
    base: Any = pool.pool_classes_by_scheme["https"]

    class Connection(base.ConnectionCls):  # type: ignore[misc]
        def getresponse(self) -> Any:
            cancellation = getattr(_current, "wire", None)
            if cancellation is not None:
                cancellation.hold(self.sock)
            return super().getresponse()

    class Pool(base):  # type: ignore[misc]
        ConnectionCls = Connection

    pool.pool_classes_by_scheme = {**pool.pool_classes_by_scheme, "https": Pool}


def _end(connection: socket.socket | None) -> None:
    if connection is not None:
        # Not the way of TLS, which is not made for two threads.
        with contextlib.suppress(OSError):
            socket.socket.shutdown(connection, socket.SHUT_RDWR)
