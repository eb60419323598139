"""What people want of a workload, written into its row: the transitions that stop, run and delete.

`lifecycle` authorises, audits and calls these inside its own transaction; the workload's row is
locked here. Every intent raises ``desired_gen``: a pass that knew the older one starts no effect.
"""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Min

from gangline.db.clock import db_now
from gangline.db.locks import locked
from workloads import wakeup
from workloads.models import Attempt, CreateState, Desired, Outcome, Rest, Workload
from workloads.services import admission, events, retries, sessions, status
from workloads.statuses import ENDED


class AlreadyEnded(Exception):
    """There is nothing to stop any more."""

    def __init__(self, name: str, status: str) -> None:
        self.status = status
        super().__init__(f"{name} had already finished.")


class NotEnded(Exception):
    """Only a workload that has ended can run again from the start."""

    def __init__(self, name: str, status: str) -> None:
        self.status = status
        super().__init__(f"{name} has not ended: it is {status}.")


class BeingDeleted(Exception):
    """A deletion cannot be taken back."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is being deleted.")


def stop(*, workload_id: UUID, by: str, cause: str = "user") -> Workload:
    """Want it stopped, by a person or for a ``cause`` that `sessions` knows.

    Raises AlreadyEnded; stopping a stopped one changes nothing.
    """
    with transaction.atomic():
        workload, attempt, now = _locked(workload_id)
        if workload.desired == Desired.STOPPED:
            return workload
        if attempt.outcome and attempt.outcome != Outcome.STOPPED:
            raise AlreadyEnded(workload.name, workload.status)
        _want(workload, Desired.STOPPED, by, cause, now)
        said = sessions.why_stopped(workload).sentence or f"{by} stopped the workload."
        _record(workload, events.STOP_REQUESTED, said, by, now)
        if not attempt.outcome and retries.is_never_sent(attempt):
            # No pass can have sent it: that needs this row's lock and the older intent.
            retries.conclude(workload=workload, attempt=attempt, outcome=Outcome.STOPPED, now=now)
        status.settle(workload, now=now)
    return workload


def resume(*, workload_id: UUID, by: str) -> Workload:
    """Want a stopped one to run again; running ones stay as they are."""
    with transaction.atomic():
        workload, attempt, now = _locked(workload_id)
        if workload.desired == Desired.RUNNING:
            if workload.status in ENDED:
                raise AlreadyEnded(workload.name, workload.status)
            return workload
        _want(workload, Desired.RUNNING, by, "", now)
        _record(workload, events.RESUME_REQUESTED, f"{by} started the workload again.", by, now)
        if attempt.outcome:
            retries.again(workload=workload, attempt=attempt, cause="resume", now=now)
            workload.save(update_fields=["attempt_no"])
            retries.free_slots_later(workload)
        elif workload.ended_at is not None:
            _goes_on(attempt, stopped_at=workload.ended_at, now=now)
        status.settle(workload, now=now)
    return workload


def rerun(
    *,
    workload_id: UUID,
    by: str,
    effective: dict[str, Any],
    rendered: Any,
    spec_hash: str,
    columns: dict[str, Any] | None = None,
) -> Workload:
    """Run an ended one again with a newly resolved specification. Raises NotEnded.

    ``columns`` are those of the workload that follow from the specification (``gpus`` …).
    """
    with transaction.atomic():
        workload, attempt, now = _locked(workload_id)
        if not attempt.outcome:
            raise NotEnded(workload.name, workload.status)
        for name, value in (columns or {}).items():
            setattr(workload, name, value)
        retries.new_attempt(
            workload=workload,
            cause="rerun",
            now=now,
            effective=effective,
            rendered=rendered,
            spec_hash=spec_hash,
        )
        workload.save(update_fields=["attempt_no", *(columns or {})])
        _want(workload, Desired.RUNNING, by, "", now)
        _record(workload, events.RERUN_REQUESTED, f"{by} ran the workload again.", by, now)
        retries.free_slots_later(workload)
        status.settle(workload, now=now)
    return workload


def delete(*, workload_id: UUID, by: str, cause: str = "user") -> Workload:
    """Want it gone, whatever it does now. Asking again changes nothing."""
    with transaction.atomic():
        workload, _, now = _locked(workload_id, deleted_too=True)
        if workload.desired == Desired.DELETED:
            return workload
        _want(workload, Desired.DELETED, by, cause, now)
        _record(
            workload,
            events.DELETE_REQUESTED,
            f"{by} deleted the workload." if by else "Deleted automatically.",
            by,
            now,
        )
        status.settle(workload, now=now)
    return workload


def begin(workload: Workload, attempt: Attempt, *, now: datetime) -> None:
    """Last step of a submission, in the same transaction as the row and its first attempt."""
    status.settle(workload, now=now, attempt=attempt)
    cluster_id = workload.cluster_id
    transaction.on_commit(lambda: admission.request(cluster_id))


def _goes_on(attempt: Attempt, *, stopped_at: datetime, now: datetime) -> None:
    """Keep the times of the run that was stopped: the same object counts from zero from here on."""
    placed_at = attempt.replicas.aggregate(at=Min("started_at"))["at"]
    rest = Rest(placed_at, attempt.started_at, stopped_at, now)
    attempt.rests = [*attempt.rests, rest.as_dict()]
    attempt.started_at = None
    attempt.save(update_fields=["rests", "started_at"])


def _locked(workload_id: UUID, *, deleted_too: bool = False) -> tuple[Workload, Attempt, datetime]:
    workload = locked(Workload.objects.select_related("cluster", "project")).get(pk=workload_id)
    if workload.desired == Desired.DELETED and not deleted_too:
        raise BeingDeleted(workload.name)
    attempt = Attempt.objects.get(workload=workload, no=workload.attempt_no)
    return workload, attempt, db_now()


def _want(workload: Workload, desired: Desired, by: str, cause: str, now: datetime) -> None:
    workload.desired = desired
    workload.desired_gen += 1
    workload.desired_by = by[:150]
    workload.stop_cause = cause
    workload.due_at = now
    workload.rung_until = None
    workload.fail_count = 0
    workload.save(
        update_fields=[
            "desired",
            "desired_gen",
            "desired_by",
            "stop_cause",
            "due_at",
            "rung_until",
            "fail_count",
        ]
    )
    # What the cluster said of the writes for the intent before is no answer to this one.
    rows = Attempt.objects.filter(workload=workload, no=workload.attempt_no)
    rows.exclude(create_state=CreateState.NONE).update(wait_code="", wait_params={})
    transaction.on_commit(wakeup.ring)


def _record(workload: Workload, kind: str, message: str, by: str, now: datetime) -> None:
    events.record(
        events.NewEvent(
            workload=workload,
            kind=kind,
            message=message,
            source_key=f"intent:{workload.desired_gen}",
            at=now,
            actor_name=by,
        )
    )
