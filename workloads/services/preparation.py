"""What is committed before an effect, so that a crash in the middle is understood later."""

from collections.abc import Callable
from datetime import datetime

from workloads.models import Attempt, CreateState, Workload
from workloads.services import events
from workloads.services.phases import Action

Preparation = Callable[[Workload, Attempt, int, datetime], None]


def before_create(workload: Workload, attempt: Attempt, fence: int, now: datetime) -> None:
    """From here on the object may exist. What was seen stays seen: this completes it (R7a)."""
    if attempt.create_state == CreateState.NONE:
        attempt.unknown_since = None  # that was of the cluster; from here on it is of the object
    if attempt.create_state != CreateState.SEEN:
        attempt.create_state = CreateState.SENT
    attempt.sent_at = now
    attempt.sent_fence = fence
    attempt.create_answered = False
    attempt.absent_since = None
    attempt.next_try_at = None
    attempt.wait_code, attempt.wait_params = "", {}
    attempt.trouble = ""
    attempt.save()


def before_suspend(workload: Workload, attempt: Attempt, fence: int, now: datetime) -> None:
    """An end from here on is a stop and not a failure."""
    attempt.stop_sent_at = now
    attempt.save(update_fields=["stop_sent_at"])


def before_resume(workload: Workload, attempt: Attempt, fence: int, now: datetime) -> None:
    attempt.stop_sent_at = None
    attempt.save(update_fields=["stop_sent_at"])


def before_delete(workload: Workload, attempt: Attempt, fence: int, now: datetime) -> None:
    attempt.delete_sent_at = now
    attempt.save(update_fields=["delete_sent_at"])


def before_removing_late(workload: Workload, attempt: Attempt, fence: int, now: datetime) -> None:
    """A create that came in after the end: said in the timeline, then removed."""
    before_delete(workload, attempt, fence, now)
    events.record(
        events.NewEvent(
            workload=workload,
            attempt_no=attempt.no,
            kind=events.LATE_LANDING,
            message=f"Attempt {attempt.no} appeared after its end and is being removed.",
            source_key=f"late:{attempt.no}",
            at=now,
            severity="warning",
        )
    )


def nothing(workload: Workload, attempt: Attempt, fence: int, now: datetime) -> None:
    """Releasing something held leaves no mark: repeating it is all there is to know."""


PREPARATIONS: dict[Action, Preparation] = {
    Action.CREATE: before_create,
    Action.COMMIT: nothing,
    Action.SUSPEND: before_suspend,
    Action.RESUME: before_resume,
    Action.DELETE: before_delete,
}
