"""The input of `phases.plan`, for the pass that acts and the events that wake it."""

from dataclasses import replace
from datetime import datetime, timedelta

from gangline.drivers.base import Observation, ObservedState
from workloads.models import Attempt, Workload
from workloads.services import due_times, status
from workloads.services.admission import hands_out_slots
from workloads.services.phases import Situation


def to_plan(
    attempt: Attempt,
    workload: Workload,
    seen: Observation,
    *,
    now: datetime,
    in_flight_max: float | None = None,
) -> Situation:
    """The facts after ``seen`` was stored.

    ``in_flight_max``: how long a create can be on its way; without it no absence is certain.
    """
    facts = status.situation(attempt, workload, now=now)
    # The rows keep the last state that was known; what to do depends on what is known now.
    is_unknown = seen.state == ObservedState.UNKNOWN
    return replace(
        facts,
        observed=seen.state if is_unknown else facts.observed,
        hands_out_slots=hands_out_slots(workload.cluster),
        absence_is_certain=_is_certain(attempt, in_flight_max),
        stop_is_fresh=due_times.is_fresh(attempt.stop_sent_at, now),
        delete_is_fresh=due_times.is_fresh(attempt.delete_sent_at, now),
    )


def _is_certain(attempt: Attempt, in_flight_max: float | None) -> bool:
    since, read_at = attempt.absent_since, attempt.read_started_at
    if in_flight_max is None or since is None or read_at is None:
        return False
    return read_at - since >= timedelta(seconds=in_flight_max)
