"""Places where fault tests make the program die, stop, sleep or raise at the n-th hit.

``GANGLINE_FAIL_POINTS="reconcile.after_create:kill@1,submit.before_commit:raise@*"`` arms them;
without it a fail point does nothing. Outside of debug mode the variable is refused.
"""

import os
import signal
import threading
import time
from collections import Counter
from dataclasses import dataclass


class FailPointHit(RuntimeError):
    """What an armed ``raise`` raises."""


@dataclass(frozen=True, slots=True)
class _Armed:
    action: str
    seconds: float
    hit: int
    """Which hit acts; 0: every one."""


_hits: Counter[str] = Counter()
_lock = threading.Lock()
_armed: dict[str, _Armed] = {}


def arm(text: str) -> None:
    """Arm ``name:action@n`` items: kill, stop (SIGSTOP), raise or sleep(seconds); n or ``*``."""
    _hits.clear()
    _armed.clear()
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, _, rest = item.partition(":")
        what, _, when = rest.partition("@")
        action, _, seconds = what.rstrip(")").partition("(")
        if action not in ("kill", "stop", "raise", "sleep"):
            raise ValueError(f"{item!r} names no fail point action")
        hit = 0 if when == "*" else int(when or 1)
        _armed[name] = _Armed(action, float(seconds or 0), hit)


def fail_point(name: str) -> None:
    """Do what is armed for ``name``; usually nothing."""
    if not _armed or name not in _armed:
        return
    with _lock:
        _hits[name] += 1
        point, hit = _armed[name], _hits[name]
    if point.hit in (0, hit):
        _act(name, point)


def _act(name: str, point: _Armed) -> None:
    if point.action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif point.action == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif point.action == "sleep":
        time.sleep(point.seconds)
    else:
        raise FailPointHit(name)


def _from_environment() -> None:
    text = os.environ.get("GANGLINE_FAIL_POINTS", "")
    if not text:
        return
    if os.environ.get("GANGLINE_DEBUG", "").lower() not in ("1", "true", "yes", "on"):
        raise RuntimeError("GANGLINE_FAIL_POINTS is for tests: it needs GANGLINE_DEBUG=1.")
    arm(text)


_from_environment()
