"""The sentences that stand beside a status: why it is so, and what happens next."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from gangline.drivers.base import IMAGE_PULL, ObservedState
from gangline.lib.sentences import sentence
from gangline.web import formats
from workloads.causes import BY_CODE
from workloads.models import Attempt, CreateState, Outcome, Replica, Workload
from workloads.services import sessions
from workloads.wording import NEXT_STEPS, NO_REASON, RECLAIMED, Reason, seconds_in_words

LONGEST = 400


@dataclass(frozen=True, slots=True)
class StatusMessage:
    """``why`` explains the status, ``next_step`` is what the system does next and when."""

    why: str = ""
    next_step: str = ""
    reason: Reason = NO_REASON
    """Of ``why``, for programs."""

    @classmethod
    def by(cls, reason: Reason, next_step: str = "") -> "StatusMessage":
        return cls(reason.sentence, next_step or reason.next_step, reason)


def status_message(
    *,
    workload: Workload,
    attempt: Attempt,
    phase: str,
    replicas: Sequence[Replica],
    ran: float | None = None,
) -> StatusMessage:
    """The sentences for a phase, cut to what the columns hold; ``ran``: seconds."""
    if phase == "Completed":
        return StatusMessage("Finished." if ran is None else f"Finished in {formats.span(ran)}.")
    told = _TELLERS[phase](workload, attempt, replicas) if phase in _TELLERS else StatusMessage()
    if attempt.unknown_since and attempt.trouble and not told.next_step:
        told = replace(told, next_step=attempt.trouble)
    return replace(told, why=_cut(told.why), next_step=_cut(told.next_step))


def failure(attempt: Attempt, replicas: Sequence[Replica]) -> str:
    """Why the attempt failed: ``worker-2 failed first: exit code 1.``"""
    if attempt.reason_code == IMAGE_PULL:
        return Reason(attempt.reason_code, attempt.reason_params).sentence
    reason = attempt.observed_reason
    first = attempt.first_failure
    if first and not reason:
        culprit = next((r for r in replicas if r.name == first), None)
        reason = _ended_with(culprit) if culprit else ""
    if first and first not in reason:
        return sentence(f"{first} failed first: {reason}" if reason else f"{first} failed first")
    return sentence(reason) or "The cluster gave no reason for the failure."


def while_away(last_seen: datetime, now: datetime) -> str:
    """What can be told of one that is gone after nobody looked for long."""
    same_day = last_seen.date() == now.date()
    since = f"{last_seen:%H:%M}" if same_day else f"{last_seen:%d %b %H:%M}"
    return (
        f"The workload finished or was removed while Gangline was down, after {since} UTC;"
        " the result is unknown."
    )


def slow_down(seconds: float, now: datetime) -> str:
    """The cluster wants to be left alone for a while."""
    at = now + timedelta(seconds=seconds)
    pause = seconds_in_words(seconds)
    return f"The cluster is rate limiting requests; next try in {pause}, at {at:%H:%M:%S} UTC."


OTHER = "Remove that object from the cluster, or Copy & edit this workload under another name."
TOO_SLOW = "The cluster answers too slowly for a safe change; Gangline tries again."


def _trouble(attempt: Attempt) -> str:
    """What stands in the way; from the first create on, a reason to wait is a write that failed."""
    is_sent = attempt.create_state != CreateState.NONE
    return attempt.trouble or (attempt.waits_for.sentence if is_sent else "")


def _holding_up(attempt: Attempt) -> str:
    """The condition of an end that is not over yet."""
    is_ending = attempt.observed_state == ObservedState.TERMINATING
    return sentence(attempt.observed_reason) if is_ending else ""


def _ended_with(replica: Replica) -> str:
    return replica.reason or _how_it_ended(replica)


def _how_it_ended(replica: Replica) -> str:
    if replica.signal:
        return f"ended by signal {replica.signal}"
    return f"exit code {replica.exit_code}" if replica.exit_code is not None else ""


def _waiting(workload: Workload, attempt: Attempt, replicas: Sequence[Replica]) -> StatusMessage:
    if attempt.create_state == "seen":
        why = sentence(attempt.observed_reason) or "The cluster is looking for capacity."
        known = Reason(attempt.reason_code, attempt.reason_params)
        return StatusMessage(why, _until_placed(attempt, replicas), known)
    if attempt.unknown_since:
        return _no_contact(workload, attempt, "The workload is saved and starts")
    if attempt.impossible:
        return StatusMessage.by(attempt.waits_for, "Copy & edit to request less, or add capacity.")
    return (
        StatusMessage(attempt.trouble) if attempt.trouble else StatusMessage.by(attempt.waits_for)
    )


def _until_placed(attempt: Attempt, replicas: Sequence[Replica]) -> str:
    """What comes of the wait for the cluster's scheduler, as far as it can be told."""
    held = _held(replicas)
    if attempt.impossible and held:
        return f"{held} Stop the workload to release them, then Copy & edit to request less."
    if attempt.impossible:
        return "Copy & edit to request less, or wait until the cluster or queue grows."
    # Not "as soon as there is room": a scheduler waits for much else, such as a fitting node.
    rest = "Starts as soon as the cluster can place the rest."
    alone = "Starts as soon as the cluster can place the workload."
    advice = NEXT_STEPS.get(attempt.reason_code, rest if held else alone)
    return f"{held} {advice}".strip()


def _held(replicas: Sequence[Replica]) -> str:
    """What the placed part of a gang keeps from others while the rest has no place."""
    placed = [r for r in replicas if r.state in ("Starting", "Running")]
    if not placed:
        return ""
    gpus = sum(r.gpus for r in placed)
    what = f"{gpus:g} GPU{'s' if gpus > 1 else ''}" if gpus else "their CPUs and memory"
    if len(placed) == 1:
        return f"1 pod already holds {what if gpus else 'its CPUs and memory'}."
    return f"{len(placed)} pods already hold {what}."


def _preempted(workload: Workload, attempt: Attempt, replicas: Sequence[Replica]) -> StatusMessage:
    if attempt.reclaimed_at and not attempt.outcome:
        next_step = "It ends within its grace period and keeps its place in the queue."
        return StatusMessage.by(Reason(RECLAIMED), next_step)
    return _waiting(workload, attempt, replicas)


def _creating(workload: Workload, attempt: Attempt, replicas: Sequence[Replica]) -> StatusMessage:
    if attempt.unknown_since:
        return _no_contact(workload, attempt, "The workload is saved and starts")
    return StatusMessage(_trouble(attempt))


def _no_contact(workload: Workload, attempt: Attempt, then: str) -> StatusMessage:
    if attempt.trouble:  # it answers, but tells nothing of this one
        return StatusMessage(attempt.trouble, f"{then} once that is fixed; Gangline keeps trying.")
    return StatusMessage(
        f"No contact with cluster {workload.cluster.name}.",
        f"{then} when contact returns; Gangline checks every 30 s.",
    )


def _ready(workload: Workload, attempt: Attempt, replicas: Sequence[Replica]) -> StatusMessage:
    ready = sum(r.state == "Running" for r in replicas)
    why = sentence(attempt.observed_reason)
    known = Reason(attempt.reason_code, attempt.reason_params)
    return StatusMessage(
        f"{ready} of {_pods(workload.pods_total)} ready. {why}".strip(), reason=known
    )


def _running(workload: Workload, attempt: Attempt, replicas: Sequence[Replica]) -> StatusMessage:
    ready = sum(r.state == "Running" for r in replicas)
    if ready < workload.pods_total:
        return StatusMessage(f"{ready} of {_pods(workload.pods_total)} are still running.")
    words = {1: "The pod is ready.", 2: "Both pods are ready."}
    return StatusMessage(words.get(ready, f"All {_pods(ready)} are ready."))


def _degraded(workload: Workload, attempt: Attempt, replicas: Sequence[Replica]) -> StatusMessage:
    ill = [r for r in replicas if r.state == "Failed"]
    head = f"{len(ill)} of {_pods(workload.pods_total)} failed."
    why = sentence(f"{ill[0].name}: {_ended_with(ill[0])}") if ill and _ended_with(ill[0]) else ""
    return StatusMessage(f"{head} {why}".strip())


def _stopping(workload: Workload, attempt: Attempt, replicas: Sequence[Replica]) -> StatusMessage:
    left = sum(r.state in ("Running", "Starting") for r in replicas)
    told, limit = _holding_up(attempt), sessions.why_stopped(workload)
    why = _stop(workload)
    if left and not told and not limit:
        why = f"{why[:-1]}; waiting for {_pods(left)} to end."
    if attempt.unknown_since:
        lost = _no_contact(workload, attempt, "The workload stops")
        return StatusMessage(f"{why} {lost.why}", lost.next_step)
    return StatusMessage(f"{why} {_trouble(attempt) or told}".strip())


def _stopped(workload: Workload, attempt: Attempt, replicas: Sequence[Replica]) -> StatusMessage:
    if workload.deleted_at:
        return StatusMessage()  # by then or earlier
    if attempt.outcome == Outcome.SUCCEEDED:
        return StatusMessage("Finished without an error before it could be stopped.")
    if attempt.outcome == Outcome.FAILED:
        return StatusMessage(f"Failed before it could be stopped. {failure(attempt, replicas)}")
    return StatusMessage(_stop(workload), reason=sessions.why_stopped(workload))


def _stop(workload: Workload) -> str:
    by = f" by {workload.desired_by}" if workload.desired_by else ""
    return sessions.why_stopped(workload).sentence or f"Stopped{by}."


def _deleting(workload: Workload, attempt: Attempt, replicas: Sequence[Replica]) -> StatusMessage:
    if attempt.unknown_since:
        return _no_contact(workload, attempt, "The workload is removed")
    why = "Deleted automatically after its retention time." if workload.stop_cause == "auto" else ""
    return StatusMessage(_trouble(attempt) or _holding_up(attempt) or why)


def _failed(workload: Workload, attempt: Attempt, replicas: Sequence[Replica]) -> StatusMessage:
    if attempt.outcome == Outcome.AWAY:
        return StatusMessage(sentence(attempt.observed_reason), "Logs so far are kept.")
    if attempt.outcome == Outcome.LOST or (attempt.create_state == "seen" and not attempt.outcome):
        return StatusMessage("Removed outside Gangline.")
    if attempt.observed_state == "Conflict":
        whose = f": {attempt.observed_reason}" if attempt.observed_reason else ""
        why = f"Another object on the cluster has this name{whose}"
        return StatusMessage(sentence(why), OTHER)
    return _of_cause(attempt, replicas) or StatusMessage(failure(attempt, replicas))


def _of_cause(attempt: Attempt, replicas: Sequence[Replica]) -> StatusMessage | None:
    """Of a known cause: the cluster's own words where they say it, else ours."""
    if IMAGE_PULL in (attempt.reason_code, attempt.cause_code):
        return StatusMessage.by(Reason(IMAGE_PULL, attempt.reason_params))
    if attempt.cause_code not in BY_CODE:
        return None
    culprit = next((r for r in replicas if r.name == attempt.cause_replica), None)
    ended = _how_it_ended(culprit) if culprit else ""
    reason = Reason(attempt.cause_code, {"pod": attempt.cause_replica, "ended": ended})
    if culprit is not None and culprit.reason_code:
        return StatusMessage(failure(attempt, replicas), reason.next_step, reason)
    return StatusMessage.by(reason)


def _resuming(workload: Workload, attempt: Attempt, replicas: Sequence[Replica]) -> StatusMessage:
    if attempt.unknown_since:
        return _no_contact(workload, attempt, "The workload continues")
    return (
        StatusMessage(attempt.trouble) if attempt.trouble else StatusMessage.by(attempt.waits_for)
    )


def _ending(workload: Workload, attempt: Attempt, replicas: Sequence[Replica]) -> StatusMessage:
    if attempt.first_failure:
        return StatusMessage(failure(attempt, replicas), "The other pods are stopping.")
    return StatusMessage(sentence(attempt.observed_reason))


def _pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


_TELLERS = {
    "Creating": _creating,
    "Pending": _waiting,
    "Preempted": _preempted,
    "Initializing": _ready,
    "Running": _running,
    "Degraded": _degraded,
    "Stopping": _stopping,
    "Stopped": _stopped,
    "Deleting": _deleting,
    "Failed": _failed,
    "Resuming": _resuming,
    "Terminating": _ending,
}
