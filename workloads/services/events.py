"""The timeline of a workload: one row per significant thing that happened."""

from dataclasses import dataclass
from datetime import datetime

from workloads.models import Event, Workload

SUBMITTED = "Submitted"
PHASE_CHANGED = "PhaseChanged"
STOP_REQUESTED = "StopRequested"
RESUME_REQUESTED = "ResumeRequested"
RERUN_REQUESTED = "RerunRequested"
DELETE_REQUESTED = "DeleteRequested"
ADOPTED = "Adopted"
ATTEMPT_ENDED = "AttemptEnded"
ANOMALY = "Anomaly"
LATE_LANDING = "LateLanding"

_LONGEST = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """An event not yet stored. The same ``source_key`` a second time is the same event."""

    workload: Workload
    kind: str
    message: str
    phase: str = ""
    source_key: str
    at: datetime
    severity: str = "info"
    object: str = ""
    actor_name: str = ""
    attempt_no: int | None = None


def record(*events: NewEvent) -> None:
    """Store events in the caller's transaction; those already there stay as they are."""
    Event.objects.bulk_create(
        [
            Event(
                workload_id=event.workload.pk,
                attempt_no=event.attempt_no or event.workload.attempt_no,
                at=event.at,
                last_at=event.at,
                kind=event.kind,
                severity=event.severity,
                object=event.object,
                phase=event.phase,
                message=event.message[:_LONGEST],
                actor_name=event.actor_name[:150],
                source_key=event.source_key[:200],
            )
            for event in events
        ],
        ignore_conflicts=True,
    )
