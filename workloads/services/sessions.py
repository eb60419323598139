"""Interactive sessions: when they were last used, and when they are stopped."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from gangline.db.clock import db_now
from workloads import wording
from workloads.models import Attempt, Desired, Workload
from workloads.wording import NO_REASON, Reason

USED_EVERY = timedelta(seconds=30)
"""A use so soon after another one is not worth a write."""


@dataclass(frozen=True, slots=True)
class End:
    """When it is stopped if nobody uses it until then, and why."""

    at: datetime
    cause: str


def end_of(workload: Workload, attempt: Attempt) -> End | None:
    """None: it has no limit, or is not running."""
    if not workload.is_interactive or workload.desired != Desired.RUNNING:
        return None
    began = _began(attempt)
    if attempt.outcome or began is None:
        return None
    limits = limits_of(workload, attempt)
    ends = []
    if limits.over_at is not None:
        ends.append(End(limits.over_at, wording.SESSION_OVER))
    if limits.idle_seconds is not None:
        used = max(began, workload.used_at or began)
        ends.append(End(used + timedelta(seconds=limits.idle_seconds), wording.SESSION_IDLE))
    return min(ends, key=lambda end: end.at, default=None)


def why_stopped(workload: Workload) -> Reason:
    """The limit that ended it; no reason where it was anything else."""
    limits = {
        wording.SESSION_OVER: workload.session_seconds,
        wording.SESSION_IDLE: workload.idle_seconds,
    }
    if workload.stop_cause not in limits:
        return NO_REASON
    return Reason(workload.stop_cause, {"seconds": limits[workload.stop_cause] or 0})


def use(workload: Workload) -> None:
    """Something of it was used just now. What is no session keeps no account of that."""
    now = db_now()
    is_fresh = workload.used_at is not None and workload.used_at > now - USED_EVERY
    if workload.is_interactive and not is_fresh:
        Workload.objects.filter(pk=workload.pk).update(used_at=now)
        workload.used_at = now


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits in effect, as its page shows them; None: no such limit."""

    over_at: datetime | None
    idle_seconds: int | None


def limits_of(workload: Workload, attempt: Attempt) -> Limits:
    seconds, began = workload.session_seconds, _began(attempt)
    over_at = None
    if seconds is not None and began is not None:
        over_at = began + timedelta(seconds=seconds)
    return Limits(over_at, workload.idle_seconds)


def _began(attempt: Attempt) -> datetime | None:
    """The clock of a node may be far behind: nothing ran before it was sent."""
    if attempt.started_at is None:
        return None
    return max(attempt.started_at, attempt.sent_at or attempt.created_at)
