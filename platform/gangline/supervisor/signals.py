"""Waiting for the signal that ends a process, in a way that no thread or child is hurt by."""

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGINT)


class EndSignal:
    """Told by the handlers through a socket, since they may run in the middle of anything."""

    def __init__(self, heard: socket.socket) -> None:
        self._heard = heard

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for one of `ENDING`; False when none came in time."""
        self._heard.settimeout(seconds)
        try:
            return bool(self._heard.recv(1))
        except TimeoutError:
            return False


@contextmanager
def handled_by_server() -> Iterator[None]:
    """Let a server that catches `ENDING` itself also have the last word about them.

    Uvicorn sends itself again what it caught, once it has ended: what comes after its end, such as
    giving leases back, would then not happen.
    """
    before = {which: signal.signal(which, _nothing) for which in ENDING}
    try:
        yield
    finally:
        for which, handler in before.items():
            signal.signal(which, handler)


@contextmanager
def end_signal() -> Iterator[EndSignal]:
    """Catch `ENDING` inside the block. Only for the main thread.

    The signals are not blocked, because processes started in the meantime would inherit that.
    """
    heard, told = socket.socketpair()
    told.setblocking(False)
    before = {which: signal.signal(which, _nothing) for which in ENDING}
    wakeup = signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
    try:
        yield EndSignal(heard)
    finally:
        signal.set_wakeup_fd(wakeup)
        for which, handler in before.items():
            signal.signal(which, handler)
        heard.close()
        told.close()


def _nothing(number: int, frame: FrameType | None) -> None:
    """Whoever waits for the signal knows of it already."""
