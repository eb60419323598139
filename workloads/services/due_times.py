"""When a workload is due next: back-off after failures, waiting for its cluster, rest."""

import random
from datetime import datetime, timedelta

from gangline.drivers.base import IMAGE_PULL
from gangline.settings.catalogue import IMAGE_PULL_MINUTES
from gangline.settings.values import value_of
from workloads.models import Attempt, CreateState, Desired, Workload
from workloads.services import retries, sessions

RESYNC_SECONDS = (300.0, 600.0)
LONGEST_BACKOFF = 300.0
REPEAT_SECONDS = 10.0
"""An ending that shows no effect is sent again after so long."""
_SHORTEST = 0.2
_LONGEST_POLL = 30.0


def backoff_seconds(failures: int) -> float:
    """Full jitter over 1 s · 2ⁿ, at most 5 min."""
    longest = min(LONGEST_BACKOFF, 2.0 ** min(failures, 12))
    return max(_SHORTEST, random.uniform(0, longest))  # noqa: S311  no secret


def resync_at(now: datetime) -> datetime:
    """Every workload is looked at again some day, even if all its events were lost."""
    return now + timedelta(seconds=random.uniform(*RESYNC_SECONDS))  # noqa: S311  no secret


def is_fresh(sent_at: datetime | None, now: datetime) -> bool:
    """Whether an ending was sent so lately that repeating it would not help."""
    # A time to come was written before the clock was put back.
    return sent_at is not None and sent_at <= now < sent_at + timedelta(seconds=REPEAT_SECONDS)


def is_at_rest(workload: Workload, attempt: Attempt, now: datetime) -> bool:
    """Nothing of it is left to look for on its cluster."""
    if not attempt.outcome:
        return False
    is_watched = attempt.tombstone_until is not None and attempt.tombstone_until > now
    is_leaving = workload.desired == Desired.DELETED and workload.deleted_at is None
    return not is_watched and not is_leaving


def is_given_up(workload: Workload, attempt: Attempt, now: datetime) -> bool:
    """Whether an image could not be pulled for so long that waiting on is of no use."""
    if attempt.outcome or attempt.reason_code != IMAGE_PULL or attempt.reason_since is None:
        return False
    is_wanted = workload.desired == Desired.RUNNING and attempt.stop_sent_at is None
    waited = now - attempt.reason_since
    return is_wanted and waited >= timedelta(minutes=value_of(IMAGE_PULL_MINUTES))


def rest_due(workload: Workload, attempt: Attempt, now: datetime) -> datetime | None:
    """When to look again at one about which there is nothing to do; None: never."""
    if workload.deleted_at is not None:
        return retries.late_look(attempt, now)
    if not attempt.outcome:
        end = sessions.end_of(workload, attempt)
        return min(resync_at(now), end.at) if end else resync_at(now)
    times = (retries.auto_deletion_at(workload, attempt), retries.late_look(attempt, now))
    return min((at for at in times if at is not None), default=None)


def wait_due(attempt: Attempt, now: datetime, *, in_flight_max: float) -> datetime:
    """When to look again at one that is on its way; a watcher usually wakes it earlier."""
    if attempt.next_try_at is not None and attempt.next_try_at > now:
        return attempt.next_try_at
    if attempt.create_state == CreateState.SENT and attempt.absent_since is not None:
        certain = attempt.absent_since + timedelta(seconds=in_flight_max)
        return min(max(certain, now + timedelta(seconds=0.05)), now + timedelta(seconds=1))
    sent = (attempt.sent_at, attempt.stop_sent_at, attempt.delete_sent_at)
    began = max((at for at in sent if at is not None), default=attempt.created_at)
    elapsed = (now - began).total_seconds()
    return now + timedelta(seconds=min(_LONGEST_POLL, max(_SHORTEST, elapsed / 2)))
