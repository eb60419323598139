"""How a gang ends: one file ``ctl/end``, written once, seen by every shim (R18a)."""

import ctypes
import os
import time
from typing import Any

from . import files

FAILURE, INCOMPLETE, STOP, DELETE, SIGNAL = "failure", "incomplete", "stop", "delete", "signal"
FAILURE_GRACE = 10.0
"""Seconds the others get at most when one replica failed."""

_IN_CREATE, _IN_MOVED_TO = 0x100, 0x80
_IN_NONBLOCK, _IN_CLOEXEC = 0o4000, 0o2000000


def request(ctl: str, *, cause: str, grace: float, replica: str = "", reason: str = "") -> bool:
    """Ask the whole gang to end. False: somebody asked before, and that one counts."""
    value = {
        "cause": cause,
        "grace": grace,
        "replica": replica,
        "reason": reason,
        "time": time.time(),
    }
    return files.write_once(f"{ctl}/{files.END}", value)


def read(ctl: str) -> dict[str, Any] | None:
    return files.read_json(f"{ctl}/{files.END}")


def stopped_because(end: dict[str, Any]) -> str:
    """Reason on a replica that was ended by ``end``."""
    cause, replica = end.get("cause"), end.get("replica") or "another replica"
    if cause == FAILURE:
        return f"Stopped because {replica} failed."
    if cause == INCOMPLETE:
        return f"Stopped because {end.get('reason') or 'not every process started.'}"
    if cause == SIGNAL:
        return f"Stopped because the supervisor of {replica} was told to stop."
    return "Stopped on request."


def never_started_because(end: dict[str, Any] | None) -> str:
    """Reason on a replica whose turn came after the end; None: it was called off altogether."""
    if end is not None and end.get("cause") in (FAILURE, INCOMPLETE):
        return stopped_because(end).replace("Stopped", "Never started,", 1)
    return "Never started: it was stopped before."


class EndBell:
    """Wakes a shim when something appears in ``ctl/``; without inotify the shim looks by itself."""

    def __init__(self, ctl: str) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd: int = libc.inotify_init1(_IN_NONBLOCK | _IN_CLOEXEC)
        if (
            self.fd >= 0
            and libc.inotify_add_watch(self.fd, os.fsencode(ctl), _IN_CREATE | _IN_MOVED_TO) < 0
        ):
            os.close(self.fd)
            self.fd = -1

    @property
    def interval(self) -> float:
        """Seconds a shim may sleep at most and still see the end in time."""
        return 1.0 if self.fd >= 0 else 0.05

    def clear(self) -> None:
        if self.fd >= 0:
            try:
                os.read(self.fd, 65536)
            except BlockingIOError:
                pass
