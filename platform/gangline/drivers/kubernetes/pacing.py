"""How fast one process may ask one cluster: a rest that it asks for, and a limit for writes.

Both hold for all threads that share a client; see `reliability.md` §7.3.
"""

import threading
import time

LONGEST_REST = 300.0
"""Whatever a server asks for: nobody waits longer than this without asking again."""


class Rest:
    """Until when the cluster wants to be left alone."""

    def __init__(self) -> None:
        self._until = 0.0

    @property
    def left(self) -> float:
        """Seconds that are left of it; 0 when there is none."""
        return max(0.0, self._until - time.monotonic())

    def take(self, seconds: float) -> None:
        """Rest for so long from now on, unless a longer rest is being taken."""
        self._until = max(self._until, time.monotonic() + min(seconds, LONGEST_REST))


class Allowance:
    """A token bucket: ``per_second`` on average, ``burst`` at once."""

    def __init__(self, per_second: float, burst: float) -> None:
        self.per_second, self.burst = per_second, burst
        self._tokens, self._at = burst, time.monotonic()
        self._lock = threading.Lock()

    def take(self) -> None:
        """Take one, and wait for it where there is none yet."""
        with self._lock:
            now = time.monotonic()
            self._tokens = min(self.burst, self._tokens + (now - self._at) * self.per_second)
            self._at = now
            self._tokens -= 1
            debt = -self._tokens / self.per_second
        if debt > 0:
            time.sleep(debt)


def asked_for(header: str) -> float | None:
    """Seconds of a ``Retry-After``; None where it says none (a date counts as none)."""
    text = header.strip()
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        return None
    return min(float(text), LONGEST_REST)
