"""Why attempts failed: looked for once their logs are there, stored beside them (S16)."""

from datetime import datetime, timedelta

from django.db import transaction

from gangline.access.refusals import NotVisible
from gangline.db.clock import db_now
from gangline.db.locks import locked
from gangline.drivers.base import IMAGE_PULL, ReplicaState
from workloads.causes import LOOKED_AT, Finding, LogLine, find
from workloads.logs.sanitizer import plain
from workloads.models import Attempt, Replica, Workload
from workloads.selectors.logs import Unreadable, log_of
from workloads.services import status

PATIENCE = timedelta(seconds=30)
"""After the end, until a log counts that is not complete."""
AGAIN, LATER = timedelta(seconds=1), timedelta(minutes=1)
"""Until a log is looked at again that is not complete, before and after that."""


def look(attempt: Attempt) -> None:
    """Look for the cause of an attempt whose turn it is, with its workload and cluster."""
    now = db_now()
    culprit = _culprit(attempt)
    told = IMAGE_PULL if attempt.reason_code == IMAGE_PULL else culprit and culprit.reason_code
    lines: list[LogLine] = []
    is_complete = True
    if culprit is not None:
        try:
            log = log_of(attempt.workload, attempt_no=attempt.no, pods=culprit.name)
            window = log.tail(LOOKED_AT).window
        except (NotVisible, Unreadable):
            pass
        else:
            is_complete = window.has_ended
            lines = [
                LogLine(line.id, line.stream.decode(), plain(line.words))
                for line in window.lines
                if not line.is_notice
            ]
    is_late = attempt.ended_at is None or now - attempt.ended_at >= PATIENCE
    if not (is_complete or is_late):
        put_off(attempt, now + AGAIN)
        return
    exit_code = culprit.exit_code if culprit else None
    found = find(lines, told=told or "", exit_code=exit_code)
    # What comes late may tell more, once.
    again = None if is_complete or attempt.cause_code else now + LATER
    _store(attempt, found, culprit.name if culprit else "", again)


def put_off(attempt: Attempt, until: datetime) -> None:
    Attempt.objects.filter(pk=attempt.pk, cause_due_at__isnull=False).update(cause_due_at=until)


def _culprit(attempt: Attempt) -> Replica | None:
    """The replica that failed first."""
    failed = [r for r in attempt.replicas.all() if r.state == ReplicaState.FAILED]
    named = (r for r in failed if r.name == attempt.first_failure)
    by_time = sorted(failed, key=lambda r: (r.ended_at is None, r.ended_at or r.rank, r.rank))
    return next(named, by_time[0] if by_time else None)


@transaction.atomic
def _store(attempt: Attempt, found: Finding, replica: str, again: datetime | None) -> None:
    rows = Workload.objects.select_related("cluster", "project").filter(pk=attempt.workload_id)
    workload = locked(rows).first()
    current = Attempt.objects.defer("effective", "rendered").filter(pk=attempt.pk).first()
    if workload is None or current is None or current.cause_due_at is None:
        return
    current.cause_due_at = again
    if found.is_known or not current.cause_lines:
        current.cause_code, current.cause_replica = found.code, replica
        current.cause_lines, current.cause_place = list(found.lines), found.place
    fields = ("cause_due_at", "cause_code", "cause_replica", "cause_lines", "cause_place")
    current.save(update_fields=fields)
    if current.no == workload.attempt_no:
        status.settle(workload, now=db_now(), attempt=current)
