"""The only writer of what people see of a workload: phase, status, numbers, sequence (R6a)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from gangline.db.batches import update_rows
from gangline.drivers.base import ObservedState
from gangline.live import notify
from gangline.spec import shares
from workloads.models import (
    Attempt,
    CreateState,
    Outcome,
    Replica,
    ScopeSeq,
    Workload,
    sortable_duration,
)
from workloads.services import events, reasons
from workloads.services.phases import Situation, derive_phase
from workloads.statuses import ENDED, STATUSES, status_of

_SEVERITY = {"Failed": "error", "Cannot start": "error", "Degraded": "warning"}
_GOES_ON = ("retry", "moved", "preempt")
# These move without anything that a page shows having changed.
_SILENT = frozenset({"observed_at"})

Attempts = Mapping[tuple[UUID, int], Attempt]
_NONE: Attempts = {}


@dataclass(frozen=True, slots=True)
class _Change:
    """A workload that looks different now: its status before, and the columns that differ."""

    workload: Workload
    before: str
    differing: Set[str]


def settle(workload: Workload, *, now: datetime, attempt: Attempt | None = None) -> None:
    """Bring the shown columns of one workload in line with its attempt, read again unless given."""
    known = {(workload.pk, attempt.no): attempt} if attempt else {}
    settle_all([workload], now=now, seen=known)


def settle_all(
    workloads: Sequence[Workload],
    *,
    now: datetime,
    seen: Attempts = _NONE,
    pods: Callable[[Attempt], Sequence[Replica]] | None = None,
) -> list[Workload]:
    """Do it for several, whose rows the caller has locked; return those that people see changed.

    ``seen``: attempts as they are stored now, by workload and number, and ``pods``: their replicas;
    what is not given is read. Call it once, as the last step of a transaction: it takes the
    counters of the projects, in id order, and whatever holds them makes the others wait (R13).
    """
    attempts = _attempts(workloads, seen)
    known = {a.pk: pods(a) for a in seen.values() if _has_begun(a)} if pods else {}
    replicas = _replicas([a for a in attempts.values() if a.pk not in known]) | known
    changed: list[_Change] = []
    silent: list[_Change] = []
    for workload in workloads:
        attempt = attempts[workload.pk]
        shown = _shown(workload, attempt, replicas.get(attempt.pk, ()), now)
        differing = {k: v for k, v in shown.items() if getattr(workload, k) != v}
        change = _Change(workload, workload.status, frozenset(differing))
        for name, value in differing.items():
            setattr(workload, name, value)
        if workload.seq == 0 or not differing.keys() <= _SILENT:
            changed.append(change)
        elif differing:
            silent.append(change)
    _number(changed)
    _write(changed + silent)
    moved = [change for change in changed if change.before != change.workload.status]
    events.record(*(_event(change.workload, now) for change in moved))
    return [change.workload for change in changed]


def situation(attempt: Attempt, workload: Workload, *, now: datetime, ill: int = 0) -> Situation:
    """The facts that `derive_phase` judges."""
    return Situation(
        desired=workload.desired,
        observed=ObservedState(attempt.observed_state),
        create_state=attempt.create_state,
        outcome=attempt.outcome,
        cause=attempt.cause,
        released=attempt.released,
        incomplete=attempt.incomplete,
        create_answered=attempt.create_answered,
        placed=attempt.placement is not None,
        impossible=attempt.impossible,
        waits=bool(attempt.wait_code),
        pauses=attempt.next_try_at is not None and attempt.next_try_at > now,
        reclaimed=attempt.reclaimed_at is not None,
        stop_sent=attempt.stop_sent_at is not None,
        is_deleted=workload.deleted_at is not None,
        ill=ill,
    )


def _attempts(workloads: Iterable[Workload], seen: Attempts) -> dict[UUID, Attempt]:
    """The current attempt of each."""
    numbers = {workload.pk: workload.attempt_no for workload in workloads}
    found = {key: seen[key, no] for key, no in numbers.items() if (key, no) in seen}
    missing = numbers.keys() - found.keys()
    if missing:
        wanted = {numbers[key] for key in missing}
        rows = Attempt.objects.filter(workload__in=missing, no__in=wanted)
        for row in rows.defer("effective", "rendered"):
            if row.no == numbers[row.workload_id]:
                found[row.workload_id] = row
    return found


def _has_begun(attempt: Attempt) -> bool:
    """Whether there can be replicas of it."""
    return attempt.create_state != CreateState.NONE


def _replicas(attempts: Iterable[Attempt]) -> dict[int, Sequence[Replica]]:
    found: dict[int, list[Replica]] = defaultdict(list)
    ids = [a.pk for a in attempts if _has_begun(a)]
    if ids:
        for replica in Replica.objects.filter(attempt__in=ids).order_by("rank", "id"):
            found[replica.attempt_id].append(replica)
    return dict(found)


def _shown(
    workload: Workload, attempt: Attempt, replicas: Sequence[Replica], now: datetime
) -> dict[str, Any]:
    ill = sum(r.state == "Failed" for r in replicas)
    facts = situation(attempt, workload, now=now, ill=ill)
    phase = derive_phase(facts)
    cannot_start = facts.impossible and phase == "Pending"
    status = status_of(phase, cannot_start=cannot_start)
    is_over = status in ENDED
    is_new_run = _is_new_run(attempt) and attempt.started_at is None
    started_at = None if is_new_run and not is_over else workload.started_at
    if attempt.started_at and (started_at is None or started_at < _run_began(attempt, workload)):
        started_at = attempt.started_at
    if started_at is None and attempt.cause in _GOES_ON:
        started_at = _first_start(attempt)
    ended_at = attempt.ended_at or workload.ended_at
    if phase != "Deleting":  # a deletion changes nothing of how long it ran
        ended_at = (ended_at or now) if is_over else None
    end = attempt.ended_at or ended_at
    since = None if end else attempt.started_at
    ran = attempt.ran_until(end) if end else attempt.ran_earlier
    told = reasons.status_message(
        workload=workload, attempt=attempt, phase=phase, replicas=replicas, ran=ran
    )
    return {
        "phase": phase,
        "status": status,
        "reason": told.why,
        "error_line": _error_line(attempt) if status == "Failed" else "",
        "next_reason": told.next_step,
        "reason_code": told.reason.code,
        "reason_params": dict(told.reason.params),
        "cannot_start": cannot_start,
        "contact_lost_at": attempt.unknown_since,
        "phase_since": workload.phase_since if workload.status == status and workload.seq else now,
        "observed_at": attempt.read_started_at or workload.observed_at,
        "pods_ready": _pods_ready(attempt, status, workload.pods_total, replicas),
        "gpus_in_use": 0 if is_over else _gpus_in_use(attempt, replicas),
        "started_at": started_at,
        "ended_at": ended_at,
        "ran_seconds": sortable_duration(ran, since),
    }


def _error_line(attempt: Attempt) -> str:
    return str(attempt.cause_lines[-1]) if attempt.cause_lines else ""


def _pods_ready(attempt: Attempt, status: str, total: int, replicas: Sequence[Replica]) -> int:
    """Pods that run; of one that completed, all of them, also while it is deleted."""
    if attempt.outcome == Outcome.SUCCEEDED:
        return total
    return 0 if status in ENDED else sum(r.state == "Running" for r in replicas)


def _gpus_in_use(attempt: Attempt, replicas: Sequence[Replica]) -> float:
    """GPUs held: by our own admission, or by the pods that a cluster has given a node."""
    if attempt.outcome:
        return 0
    if attempt.placement is not None:
        taken = (len(r["gpus"]) * r.get("gpu_share", 1.0) for r in attempt.placement)
        return shares.added(taken)
    return shares.added(r.gpus for r in replicas if r.state in ("Starting", "Running"))


def _first_start(attempt: Attempt) -> datetime | None:
    """Start of the tries before this one, when the first of them was over before it was seen."""
    rows = Attempt.objects.filter(workload_id=attempt.workload_id, no__lt=attempt.no)
    for cause, started_at in rows.order_by("-no").values_list("cause", "started_at"):
        if started_at is not None or cause not in _GOES_ON:
            return started_at
    return None


def _is_new_run(attempt: Attempt) -> bool:
    """Whether its time starts from zero: a retry continues."""
    return attempt.cause in ("resume", "rerun") or bool(attempt.rests)


def _run_began(attempt: Attempt, workload: Workload) -> datetime:
    """When the present run was asked for."""
    return attempt.asked_at if _is_new_run(attempt) else workload.created_at


def _number(changes: Sequence[_Change]) -> None:
    """Give each its sequence number. The counter's row lock makes commit order its order."""
    by_project: dict[int, list[_Change]] = defaultdict(list)
    for change in changes:
        by_project[change.workload.project_id].append(change)
    for project_id in sorted(by_project):
        members = by_project[project_id]
        head = _advance(project_id, len(members))
        for number, change in enumerate(members, start=head - len(members) + 1):
            change.workload.seq = number
        transaction.on_commit(lambda p=project_id, h=head: notify.announce(p, h))  # type: ignore[misc]


def _write(changes: Sequence[_Change]) -> None:
    """Of each row what differs in any: what does not differ there is what it had."""
    names = {"seq"}.union(*(change.differing for change in changes))
    update_rows([change.workload for change in changes], names)


def _advance(project_id: int, by: int) -> int:
    # One statement, which the query builder has no words for: it locks, counts and answers.
    table = connection.ops.quote_name(ScopeSeq._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} (project_id, seq) VALUES (%s, %s) "  # noqa: S608  its own name
            f"ON CONFLICT (project_id) DO UPDATE SET seq = {table}.seq + excluded.seq "
            "RETURNING seq",
            [project_id, by],
        )
        head: int = cursor.fetchone()[0]
    return head


def _event(workload: Workload, now: datetime) -> events.NewEvent:
    message = workload.reason or STATUSES[workload.status].meaning
    if workload.deleted_at:
        message = "Nothing is left on the cluster."
    return events.NewEvent(
        workload=workload,
        kind=events.PHASE_CHANGED,
        phase="Deleted" if workload.deleted_at else workload.status,
        message=message,
        source_key=f"seq:{workload.seq}",
        at=now,
        severity="info" if workload.deleted_at else _SEVERITY.get(workload.status, "info"),
    )
