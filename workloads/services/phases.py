"""What to do and what to show for every pair of desired and observed state: two pure functions.

Nothing here knows rows, clocks or drivers, so tests walk over every pair.
"""

from dataclasses import dataclass
from enum import StrEnum

from gangline.drivers.base import ObservedState as Seen
from workloads.models.attempt import PREEMPTED

RUNNING, STOPPED, DELETED = "Running", "Stopped", "Deleted"
NONE, SENT, SEEN, GONE = "none", "sent", "seen", "gone"


class Action(StrEnum):
    """What one pass does next; at most one of them is an effect on the cluster."""

    NOTHING = "nothing"
    WAIT = "wait"
    """Look again soon: something is under way or a time has not come."""
    PLACE = "place"
    """Ask admission for slots."""
    CREATE = "create"
    COMMIT = "commit"
    SUSPEND = "suspend"
    RESUME = "resume"
    DELETE = "delete"
    END = "end"
    """Nothing of it is left on the cluster: the attempt ends as stopped."""
    VANISH = "vanish"
    """Nothing of it is left on the cluster: the workload is gone."""

    @property
    def is_effect(self) -> bool:
        return self in _EFFECTS


_EFFECTS = frozenset({Action.CREATE, Action.COMMIT, Action.SUSPEND, Action.RESUME, Action.DELETE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Everything that decides about one attempt, without times: those are already judged."""

    desired: str = RUNNING
    observed: Seen = Seen.ABSENT
    create_state: str = NONE
    outcome: str = ""
    cause: str = "submit"
    released: bool = False
    incomplete: bool = False
    create_answered: bool = False
    absence_is_certain: bool = False
    """Two strong reads saw nothing, further apart than a create can be on its way."""
    hands_out_slots: bool = False
    """Gangline itself admits on this cluster (R7)."""
    placed: bool = False
    impossible: bool = False
    waits: bool = False
    """Admission looked at it and has no slots for it."""
    pauses: bool = False
    """The time of the next try has not come."""
    reclaimed: bool = False
    """Its slots were claimed for a workload within its quota."""
    stop_sent: bool = False
    """A suspend was sent in this attempt's life."""
    stop_is_fresh: bool = False
    """… and so lately that repeating it would not help."""
    delete_is_fresh: bool = False
    is_deleted: bool = False
    ill: int = 0
    """Replicas that failed while the attempt goes on."""


def plan(s: Situation) -> Action:
    """The next action. Repeating it is harmless: drivers are idempotent."""
    if s.desired == DELETED:
        return _plan_deletion(s)
    if s.outcome:
        return Action.NOTHING
    return _plan_stop(s) if s.desired == STOPPED or s.reclaimed else _plan_run(s)


def _plan_run(s: Situation) -> Action:
    match s.observed:
        case Seen.ABSENT:
            return _plan_absent(s)
        case Seen.HELD:
            return Action.WAIT if s.released else Action.COMMIT
        case Seen.SUSPENDED:
            return Action.RESUME
        case Seen.STARTING if s.incomplete and not s.create_answered and not s.stop_sent:
            return Action.CREATE
        case Seen.STARTING | Seen.TERMINATING | Seen.UNKNOWN:
            return Action.WAIT
        case Seen.PENDING | Seen.RUNNING if s.stop_sent:
            return Action.WAIT
        case _:
            return Action.NOTHING


def _plan_absent(s: Situation) -> Action:
    if s.create_state == SENT:
        return Action.CREATE if s.absence_is_certain else Action.WAIT
    if s.create_state != NONE:
        return Action.NOTHING
    if s.pauses:
        return Action.WAIT
    return Action.PLACE if s.hands_out_slots and not s.placed else Action.CREATE


def _plan_stop(s: Situation) -> Action:
    match s.observed:
        case Seen.ABSENT if s.create_state == SENT and not s.absence_is_certain:
            return Action.WAIT
        case Seen.ABSENT | Seen.CONFLICT:
            return Action.END
        case Seen.UNKNOWN if s.create_state == NONE:
            return Action.END
        case Seen.HELD | Seen.PENDING | Seen.STARTING | Seen.RUNNING:
            return Action.WAIT if s.stop_is_fresh else Action.SUSPEND
        case Seen.TERMINATING | Seen.UNKNOWN:
            return Action.WAIT
        case _:
            return Action.NOTHING


def _plan_deletion(s: Situation) -> Action:
    if s.is_deleted:
        late = s.observed not in (Seen.ABSENT, Seen.CONFLICT, Seen.UNKNOWN)
        return Action.DELETE if late and not s.delete_is_fresh else Action.NOTHING
    match s.observed:
        case Seen.ABSENT if s.create_state == SENT and not s.absence_is_certain:
            return Action.WAIT
        case Seen.ABSENT | Seen.CONFLICT:
            return Action.VANISH
        case Seen.UNKNOWN if s.create_state == NONE:
            return Action.VANISH
        case Seen.UNKNOWN:
            return Action.WAIT
        case _:
            return Action.WAIT if s.delete_is_fresh else Action.DELETE


def derive_phase(s: Situation) -> str:
    """The phase by the names of the API; `workloads.statuses` turns it into people's words."""
    if s.is_deleted:  # what became of it stays to be seen while it is kept
        return _KEPT.get(s.outcome, "Failed")
    if s.desired == DELETED:
        return "Deleting"
    if s.desired == STOPPED:
        return "Stopped" if s.outcome or _is_at_rest(s) else "Stopping"
    if s.outcome:
        return _ENDED.get(s.outcome, "Failed")
    if s.reclaimed and (s.observed in _LIVE or s.observed in (Seen.ABSENT, Seen.HELD)):
        return "Preempted"
    if s.observed == Seen.ABSENT:
        return _absent_phase(s)
    if s.observed == Seen.RUNNING and s.ill:
        return "Degraded"
    if s.stop_sent and s.observed in _LIVE:
        return "Resuming"
    if s.observed == Seen.HELD:
        return "Pending" if s.released else "Creating"
    return _PHASES[s.observed]


def _absent_phase(s: Situation) -> str:
    if s.create_state == SEEN:
        return "Failed"
    if s.create_state == NONE and not s.placed and (s.pauses or s.waits or s.impossible):
        return "Preempted" if s.cause == PREEMPTED and not s.impossible else "Pending"
    return "Resuming" if s.cause in ("resume", PREEMPTED) else "Creating"


def _is_at_rest(s: Situation) -> bool:
    if s.observed == Seen.ABSENT:
        return s.create_state != SENT
    return s.observed.is_terminal or s.observed in (Seen.SUSPENDED, Seen.CONFLICT)


_ENDED = {"Succeeded": "Completed", "Stopped": "Resuming"}
_KEPT = {"Succeeded": "Completed", "Stopped": "Stopped", "": "Stopped"}
_LIVE = (Seen.PENDING, Seen.STARTING, Seen.RUNNING, Seen.TERMINATING)
_PHASES = {
    Seen.UNKNOWN: "Unknown",
    Seen.PENDING: "Pending",
    Seen.STARTING: "Initializing",
    Seen.RUNNING: "Running",
    Seen.SUSPENDED: "Resuming",
    Seen.SUCCEEDED: "Completed",
    Seen.FAILED: "Failed",
    Seen.TERMINATING: "Terminating",
    Seen.CONFLICT: "Failed",
}
