"""The sentences that stand beside a status: why it is so, and what happens next."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from gangline.drivers.base import ObservedState
from gangline.lib.sentences import sentence
from gangline.web import formats
from workloads.models import Attempt, CreateState, Outcome, Replica, Workload

LONGEST = 400
_REFUSED = ("is forbidden", "is invalid")
"""In what Kubernetes says of a pod that an admission rule, such as a quota, turns down."""
_MISSING = " not found"
"""In what a scheduler says of a pod that needs what is not there, such as a claim."""
_TIMES = {1: "once", 2: "twice"}


@dataclass(frozen=True, slots=True)
class Told:
    """``why`` explains the status, ``next_step`` says what the system does and when."""

    why: str = ""
    next_step: str = ""


def tell(
    *,
    workload: Workload,
    attempt: Attempt,
    phase: str,
    replicas: Sequence[Replica],
    ran: timedelta | None = None,
) -> Told:
    """The sentences for a phase, cut to what the columns hold; ``ran``: from Running to its end."""
    if phase == "Completed":
        return Told("Finished." if ran is None else f"Finished in {formats.span(ran)}.")
    told = _TELLERS[phase](workload, attempt, replicas) if phase in _TELLERS else Told()
    if attempt.unknown_since and attempt.trouble and not told.next_step:
        told = Told(told.why, attempt.trouble)
    return Told(_cut(told.why), _cut(told.next_step))


def failure(attempt: Attempt, replicas: Sequence[Replica]) -> str:
    """Why the attempt failed: ``worker-2 failed first: exit code 1.``"""
    reason = attempt.observed_reason
    first = attempt.first_failure
    if first and not reason:
        culprit = next((r for r in replicas if r.name == first), None)
        reason = _ended_with(culprit) if culprit else ""
    if first and first not in reason:
        return sentence(f"{first} failed first: {reason}" if reason else f"{first} failed first")
    return sentence(reason) or "It failed, and the cluster gave no reason."


def seconds_in_words(seconds: float) -> str:
    """``20 s``, ``5 min``."""
    whole = max(1, round(seconds))
    return f"{whole} s" if whole < 120 else f"{round(whole / 60)} min"


def while_away(last_seen: datetime, now: datetime) -> str:
    """What can be told of one that is gone after nobody looked for long."""
    same_day = last_seen.date() == now.date()
    since = f"{last_seen:%H:%M}" if same_day else f"{last_seen:%d %b %H:%M}"
    return (
        f"It finished or was removed while the dashboard was away, after {since} UTC;"
        " its result is not known."
    )


def slow_down(seconds: float, now: datetime) -> str:
    """The cluster wants to be left alone for a while."""
    at = now + timedelta(seconds=seconds)
    pause = seconds_in_words(seconds)
    return f"The cluster asked to slow down; next try in {pause}, at {at:%H:%M:%S} UTC."


OTHER = "Remove that object from the cluster, or Copy & edit this one to give it another name."
TOO_SLOW = "The cluster answers too slowly for this to be done safely; it is tried again."


def times_in_words(count: int) -> str:
    """``once``, ``twice``, ``3 times``."""
    return _TIMES.get(count, f"{count} times")


def _trouble(attempt: Attempt) -> str:
    """What stands in the way; from the first create on, a reason to wait is a write that failed."""
    is_sent = attempt.create_state != CreateState.NONE
    return attempt.trouble or (attempt.wait_reason if is_sent else "")


def _holding_up(attempt: Attempt) -> str:
    """What the cluster says of an end that is not over yet."""
    is_ending = attempt.observed_state == ObservedState.TERMINATING
    return sentence(attempt.observed_reason) if is_ending else ""


def _ended_with(replica: Replica) -> str:
    if replica.reason:
        return replica.reason
    if replica.signal:
        return f"ended by signal {replica.signal}"
    return f"exit code {replica.exit_code}" if replica.exit_code is not None else ""


def _waiting(workload: Workload, attempt: Attempt, replicas: Sequence[Replica]) -> Told:
    if attempt.create_state == "seen":
        why = sentence(attempt.observed_reason) or "The cluster is looking for a place for it."
        return Told(why, _until_placed(attempt, replicas))
    if attempt.unknown_since:
        return _no_contact(workload, attempt, "It is saved and starts")
    if attempt.impossible:
        return Told(attempt.wait_reason, "Copy & edit it to ask for less, or enlarge the cluster.")
    if attempt.trouble:
        return Told(attempt.trouble)
    if attempt.next_try_at:
        return Told(attempt.wait_reason, "It tries again by itself.")
    return Told(attempt.wait_reason, "It starts as soon as the slots are free.")


def _until_placed(attempt: Attempt, replicas: Sequence[Replica]) -> str:
    """What comes of the wait for the cluster's scheduler, as far as it can be told."""
    held = _held(replicas)
    if attempt.impossible and held:
        return f"{held} Stop it to give them back, then Copy & edit it to ask for less."
    if attempt.impossible:
        return "Copy & edit it to ask for less; it starts if the cluster grows."
    if any(words in attempt.observed_reason for words in _REFUSED):
        advice = "Copy & edit it to ask for what the cluster takes; waiting alone may not help."
        return f"{held} {advice}".strip()
    if _MISSING in attempt.observed_reason:
        return f"{held} It starts once that is there; Copy & edit names another.".strip()
    # Not "as soon as there is room": a scheduler waits for much else, such as a fitting node.
    if held:
        return f"{held} It starts as soon as the cluster can place the rest."
    return "It starts as soon as the cluster can place it."


def _held(replicas: Sequence[Replica]) -> str:
    """What the placed part of a gang keeps from others while the rest has no place."""
    placed = [r for r in replicas if r.state in ("Starting", "Running")]
    if not placed:
        return ""
    gpus = sum(r.gpus for r in placed)
    what = f"{gpus} GPU{'s' if gpus > 1 else ''}" if gpus else "their CPUs and memory"
    if len(placed) == 1:
        return f"1 of its pods already holds {what if gpus else 'its CPUs and memory'}."
    return f"{len(placed)} of its pods already hold {what}."


def _creating(workload: Workload, attempt: Attempt, replicas: Sequence[Replica]) -> Told:
    if attempt.unknown_since:
        return _no_contact(workload, attempt, "It is saved and starts")
    return Told(_trouble(attempt))


def _no_contact(workload: Workload, attempt: Attempt, then: str) -> Told:
    if attempt.trouble:  # it answers, but tells nothing of this one
        return Told(attempt.trouble, f"{then} when that is mended; it is tried time and again.")
    return Told(
        f"No contact with cluster {workload.cluster.name}.",
        f"{then} when contact returns, for which Gangline looks every 30 s.",
    )


def _ready(workload: Workload, attempt: Attempt, replicas: Sequence[Replica]) -> Told:
    ready = sum(r.state == "Running" for r in replicas)
    why = sentence(attempt.observed_reason)
    return Told(f"{ready} of {_pods(workload.pods_total)} ready. {why}".strip())


def _running(workload: Workload, attempt: Attempt, replicas: Sequence[Replica]) -> Told:
    ready = sum(r.state == "Running" for r in replicas)
    if ready < workload.pods_total:
        return Told(f"{ready} of {_pods(workload.pods_total)} still run.")
    words = {1: "Its pod is ready.", 2: "Both pods are ready."}
    return Told(words.get(ready, f"All {_pods(ready)} are ready."))


def _degraded(workload: Workload, attempt: Attempt, replicas: Sequence[Replica]) -> Told:
    ill = [r for r in replicas if r.state == "Failed"]
    head = f"{len(ill)} of {_pods(workload.pods_total)} failed."
    why = sentence(f"{ill[0].name}: {_ended_with(ill[0])}") if ill and _ended_with(ill[0]) else ""
    return Told(f"{head} {why}".strip())


def _stopping(workload: Workload, attempt: Attempt, replicas: Sequence[Replica]) -> Told:
    left = sum(r.state in ("Running", "Starting") for r in replicas)
    by = f" by {workload.desired_by}" if workload.desired_by else ""
    told = _holding_up(attempt)
    why = f"Stopped{by}; {_pods(left)} still to end." if left and not told else f"Stopped{by}."
    if attempt.unknown_since:
        lost = _no_contact(workload, attempt, "It is stopped")
        return Told(f"{why} {lost.why}", lost.next_step)
    return Told(f"{why} {_trouble(attempt) or told}".strip())


def _stopped(workload: Workload, attempt: Attempt, replicas: Sequence[Replica]) -> Told:
    if attempt.outcome == Outcome.SUCCEEDED:
        return Told("It had finished without an error before the stop reached it.")
    if attempt.outcome == Outcome.FAILED:
        return Told(f"It had failed before the stop reached it. {failure(attempt, replicas)}")
    by = f" by {workload.desired_by}" if workload.desired_by else ""
    return Told(f"Stopped{by}.")


def _deleting(workload: Workload, attempt: Attempt, replicas: Sequence[Replica]) -> Told:
    if workload.deleted_at:
        return Told("It is gone from the cluster.")
    if attempt.unknown_since:
        return _no_contact(workload, attempt, "It is removed")
    why = "The time that it was to be kept is over." if workload.stop_cause == "auto" else ""
    return Told(_trouble(attempt) or _holding_up(attempt) or why)


def _failed(workload: Workload, attempt: Attempt, replicas: Sequence[Replica]) -> Told:
    if attempt.outcome == Outcome.AWAY:
        return Told(sentence(attempt.observed_reason), "Its logs so far are kept.")
    if attempt.outcome == Outcome.LOST or (attempt.create_state == "seen" and not attempt.outcome):
        return Told("Removed outside the dashboard.")
    if attempt.observed_state == "Conflict":
        whose = f": {attempt.observed_reason}" if attempt.observed_reason else ""
        why = f"Its name is used on the cluster by an object that is not ours{whose}"
        return Told(sentence(why), OTHER)
    return Told(failure(attempt, replicas))


def _resuming(workload: Workload, attempt: Attempt, replicas: Sequence[Replica]) -> Told:
    if attempt.unknown_since:
        return _no_contact(workload, attempt, "It goes on")
    return Told(attempt.trouble or attempt.wait_reason)


def _ending(workload: Workload, attempt: Attempt, replicas: Sequence[Replica]) -> Told:
    if attempt.first_failure:
        return Told(failure(attempt, replicas), "The other pods are being ended.")
    return Told(sentence(attempt.observed_reason))


def _pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


_TELLERS = {
    "Creating": _creating,
    "Pending": _waiting,
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
