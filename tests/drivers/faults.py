"""What may go wrong on the faulty cluster, and what it remembers of calls and effects."""

from dataclasses import dataclass
from enum import StrEnum


class Fault(StrEnum):
    """What goes wrong with one call. Writes answer ``Unknown`` where nothing else is said."""

    ERROR_BEFORE = "500 before the effect: nothing happens"
    ERROR_AFTER = "500 after the effect: it happened"
    LATE = "time-out; the effect lands `seconds` later"
    HANG = "no answer for `seconds`, and no effect"
    BUSY = "429 with Retry-After `seconds`"
    REFUSED = "refused with `text`"
    KILL_BEFORE = "the calling process is killed (-9) before the effect"
    KILL_AFTER = "the calling process is killed (-9) after the effect, before it hears of it"
    STOP_BEFORE = "the calling process is paused (SIGSTOP) before the effect"
    STOP_AFTER = "the calling process is paused (SIGSTOP) after the effect"


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that really changed on the cluster."""

    at: float
    pid: int
    op: str
    workload: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Call:
    """One call by a driver, with the fault it met."""

    at: float
    pid: int
    op: str
    workload: str
    attempt: int
    fault: str
