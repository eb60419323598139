"""How attempts end and what follows: another try, a resumed one, or the end (R2)."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from gangline.drivers.base import ObservedState
from workloads import wording
from workloads.models import Attempt, CreateState, Desired, Outcome, Workload
from workloads.models.attempt import MOVED, NO_TRIES, PREEMPTED, USER_CAUSES
from workloads.services import admission, events
from workloads.services.reasons import failure

TERMINATES = "worker.terminateAfterPreemption"
FIRST_PAUSE = 10.0
LONGEST_PAUSE = 300.0


def pause_seconds(retries: int) -> float:
    """Pause before the next try: 10 s · 2ⁿ after ``retries`` earlier ones, at most 5 min."""
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(retries, 10))


def conclude(
    *,
    workload: Workload,
    attempt: Attempt,
    outcome: Outcome,
    now: datetime,
    may_retry: bool = True,
    is_preempted: bool = False,
) -> None:
    """End the current attempt for good and start what follows, in the caller's transaction.

    ``is_preempted``: it failed because its cluster took its place away. The caller holds the
    workload's row and settles it afterwards.
    """
    attempt.outcome = outcome
    attempt.ended_at = attempt.ended_at or now
    attempt.trouble = ""
    attempt.unknown_since = None
    attempt.cause_due_at = now if outcome == Outcome.FAILED else None
    attempt.save()
    events.record(*_ended_events(workload, attempt, now))
    if attempt.placement is not None:
        free_slots_later(workload)
    workload.fail_count = 0
    workload.rung_until = None
    may_move = workload.desired == Desired.RUNNING and not attempt.value(TERMINATES)
    if is_preempted and outcome == Outcome.FAILED and may_move:
        workload.due_at = _move(workload, attempt, now)
    else:
        workload.due_at = _follow_up(workload, attempt, outcome, now, may_retry)
    workload.save(update_fields=["fail_count", "rung_until", "due_at", "attempt_no"])


def _ended_events(workload: Workload, attempt: Attempt, now: datetime) -> Iterator[events.NewEvent]:
    """What the change of the phase, which is recorded too, does not say."""
    if attempt.outcome == Outcome.FAILED:
        why = failure(attempt, list(attempt.replicas.order_by("rank", "id")))
        message = f"Attempt {attempt.no} failed. {why}"
    elif attempt.outcome == Outcome.STOPPED and attempt.create_state == CreateState.GONE:
        message = (
            f"The object of attempt {attempt.no} is no longer on the cluster: Run makes a new one."
        )
    elif attempt.outcome == Outcome.LOST:
        message = f"Attempt {attempt.no} was removed outside Gangline."
    elif attempt.outcome == Outcome.AWAY:
        message = f"Attempt {attempt.no} is gone. {attempt.observed_reason}"
    else:
        return
    yield events.NewEvent(
        workload=workload,
        attempt_no=attempt.no,
        kind=events.ATTEMPT_ENDED,
        message=message,
        source_key=f"ended:{attempt.no}",
        at=now,
        severity="error" if attempt.outcome in (Outcome.FAILED, Outcome.LOST) else "info",
    )


def free_slots_later(workload: Workload) -> None:
    """Let admission walk again once the present transaction is committed."""
    cluster_id = workload.cluster_id
    transaction.on_commit(lambda: admission.request(cluster_id))


def new_attempt(
    *,
    workload: Workload,
    cause: str,
    now: datetime,
    effective: dict[str, Any],
    rendered: Any,
    spec_hash: str,
    ran_before: float | None = None,
) -> Attempt:
    """Add the next attempt and make it the current one; the caller saves ``attempt_no``."""
    workload.attempt_no += 1
    return Attempt.objects.create(
        workload=workload,
        no=workload.attempt_no,
        cause=cause,
        effective=effective,
        rendered=rendered,
        spec_hash=spec_hash,
        ran_before=ran_before,
        created_at=now,
    )


def again(*, workload: Workload, attempt: Attempt, cause: str, now: datetime) -> Attempt:
    """A new attempt with the frozen specification of ``attempt``: policy stays pinned (R21a)."""
    return new_attempt(
        workload=workload,
        cause=cause,
        now=now,
        effective=attempt.effective,
        rendered=attempt.rendered,
        spec_hash=attempt.spec_hash,
        ran_before=attempt.ran_until(attempt.ended_at or now),
    )


def tries_since_intent(workload: Workload) -> int:
    """Tries since a person last asked for a run."""
    rows = Attempt.objects.filter(workload=workload)
    tries = rows.exclude(cause__in=NO_TRIES).order_by("-no")
    asked = tries.filter(cause__in=USER_CAUSES).values_list("no", flat=True).first() or 0
    return tries.filter(no__gte=asked).count()


def _follow_up(
    workload: Workload, attempt: Attempt, outcome: Outcome, now: datetime, may_retry: bool
) -> datetime | None:
    """Make the next attempt if there is one, and tell when the workload is due next."""
    if workload.desired == Desired.DELETED:
        return now
    if workload.desired == Desired.STOPPED:
        return late_look(attempt, now)
    if attempt.reclaimed_at and outcome in (Outcome.STOPPED, Outcome.FAILED):
        if attempt.value(TERMINATES):
            workload.desired, workload.stop_cause = Desired.STOPPED, "preempted"
            workload.save(update_fields=["desired", "stop_cause"])
            return late_look(attempt, now)
        return _wait_again(workload, attempt, now)
    if outcome == Outcome.STOPPED:
        again(workload=workload, attempt=attempt, cause="resume", now=now)
        free_slots_later(workload)
        return now
    if outcome == Outcome.FAILED and may_retry:
        tries = tries_since_intent(workload)
        if tries <= workload.backoff_limit:
            return _retry(workload, attempt, tries, now)
    if outcome in (Outcome.SUCCEEDED, Outcome.FAILED):
        return auto_deletion_at(workload, attempt)
    return None


def _retry(workload: Workload, attempt: Attempt, tries: int, now: datetime) -> datetime:
    pause = pause_seconds(tries - 1)
    following = again(workload=workload, attempt=attempt, cause="retry", now=now)
    following.next_try_at = now + timedelta(seconds=pause)
    following.wait_code = wording.RETRY
    following.wait_params = {"failed": tries, "of": workload.backoff_limit + 1, "seconds": pause}
    following.save(update_fields=["next_try_at", "wait_code", "wait_params"])
    return following.next_try_at


def _wait_again(workload: Workload, attempt: Attempt, now: datetime) -> datetime:
    """The same try in its old place of the queue: its slots were claimed by another project."""
    following = again(workload=workload, attempt=attempt, cause=PREEMPTED, now=now)
    following.queued_at = attempt.queued_at or attempt.created_at
    following.wait_code = wording.PREEMPTED
    following.save(update_fields=["queued_at", "wait_code"])
    free_slots_later(workload)
    return now


def _move(workload: Workload, attempt: Attempt, now: datetime) -> datetime:
    """The same try in another place."""
    causes = Attempt.objects.filter(workload=workload).order_by("-no").values_list("cause")
    moves = next((n for n, (cause,) in enumerate(causes[:20]) if cause != MOVED), 20)
    pause = pause_seconds(moves)
    following = again(workload=workload, attempt=attempt, cause=MOVED, now=now)
    following.next_try_at = now + timedelta(seconds=pause)
    following.wait_code, following.wait_params = wording.MOVED, {"seconds": pause}
    following.save(update_fields=["next_try_at", "wait_code", "wait_params"])
    return following.next_try_at


def auto_deletion_at(workload: Workload, attempt: Attempt) -> datetime | None:
    """When an ended workload deletes itself; None: never."""
    if workload.auto_delete_seconds is None or attempt.ended_at is None:
        return None
    if attempt.outcome not in (Outcome.SUCCEEDED, Outcome.FAILED):
        return None
    # The clock of a node may be far behind: nothing ended before it was sent.
    ended_at = max(attempt.ended_at, attempt.sent_at or attempt.created_at)
    return ended_at + timedelta(seconds=workload.auto_delete_seconds)


LOOKS = (5, 30, 300, 3600)
"""Seconds after the end at which a create that was never seen is looked for once more (R3)."""


def late_look(attempt: Attempt, now: datetime) -> datetime | None:
    """When to look next for a late landing of an attempt that ended unseen; None: no more."""
    if attempt.tombstone_until is None:
        return None
    buried = attempt.tombstone_until - timedelta(seconds=LOOKS[-1])
    times = (buried + timedelta(seconds=after) for after in LOOKS)
    return next((at for at in times if at > now), None)


def mark_deleted(attempt: Attempt, now: datetime) -> None:
    """Plan the late looks if a create was ever sent; the caller saves the attempt."""
    if attempt.sent_at is not None:
        attempt.tombstone_until = now + timedelta(seconds=LOOKS[-1])


def ended_as(attempt: Attempt) -> Outcome:
    """The outcome of an attempt that was seen to end."""
    if attempt.observed_state == ObservedState.SUCCEEDED:
        return Outcome.SUCCEEDED
    return Outcome.STOPPED if attempt.stop_sent_at else Outcome.FAILED


def is_never_sent(attempt: Attempt) -> bool:
    """Nothing of it can be on the cluster, so no read is needed to end it."""
    return attempt.create_state == CreateState.NONE and attempt.sent_at is None
