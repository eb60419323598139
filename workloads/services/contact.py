"""What follows for workloads when their cluster falls silent, and when it answers again.

That it does is known from `gangline.clusters.contact`.
"""

from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Case, F, Q, QuerySet, Value, When

from gangline.db.clock import db_now
from gangline.db.locks import locked, update_in_order
from workloads import wakeup
from workloads.models import Attempt, CreateState, Desired, Workload
from workloads.services import claims, status

BATCH = 200
_MARKED = Q(first_seen_at__isnull=False) | Q(create_state=CreateState.NONE)
"""Whether one whose create was sent is there, the next look finds out."""


def wake_waiting(cluster_id: UUID) -> int:
    """Make due what waits for another try on this cluster; what is to end is first again."""
    now = db_now()
    is_to_end = ~Q(desired=Desired.RUNNING) & ~Q(status=claims.STOPPED) & Q(deleted_at=None)
    has_failed = Q(fail_count__gt=0)
    is_late = Q(due_at__gt=now) & (has_failed | is_to_end)
    # One that is due, but failed, would come after all that is due for longer.
    rows = Workload.objects.filter(is_late | (has_failed & is_to_end), cluster=cluster_id)
    failed = Case(When(desired=Desired.RUNNING, then=F("fail_count")), default=0)
    woken = update_in_order(rows, due_at=now, rung_until=None, fail_count=failed)
    if woken:
        wakeup.ring()
    return woken


def mark_lost(cluster_id: UUID, *, since: datetime, asked_at: datetime) -> int:
    """Say of what runs there since when it is only the last that was known (P4), and of what is
    still to be made there, why nothing comes of it.

    ``asked_at``: when it was asked in vain. What was read of a workload later than that is news.
    """
    silent = _current(cluster_id).filter(_MARKED, unknown_since=None)
    silent = silent.exclude(read_started_at__gt=asked_at)
    last = Case(When(read_started_at__gt=since, then=F("read_started_at")), default=Value(since))
    return _mark(silent, unknown_since=last, trouble="")


def mark_found(cluster_id: UUID) -> int:
    """What is still to be made there goes on. Of what runs there, the next look says how it is."""
    waiting = Q(create_state=CreateState.NONE, unknown_since__isnull=False)
    return _mark(_current(cluster_id).filter(waiting), unknown_since=None, trouble="")


def _current(cluster_id: UUID) -> QuerySet[Attempt]:
    return Attempt.objects.filter(
        workload__cluster=cluster_id,
        workload__deleted_at=None,
        workload__attempt_no=F("no"),
        outcome="",
    )


def _mark(attempts: QuerySet[Attempt], **columns: object) -> int:
    """One walk: what another process changes behind it is the matter of the next probe."""
    marked, last = 0, UUID(int=0)
    while True:
        ahead = attempts.filter(workload_id__gt=last).order_by("workload_id")
        ids = list(ahead.values_list("workload_id", flat=True)[:BATCH])
        if not ids:
            return marked
        with transaction.atomic():
            rows = list(
                locked(Workload.objects.select_related("cluster", "project").filter(pk__in=ids))
            )
            attempts.filter(workload__in=ids).update(**columns)
            status.settle_all(rows, now=db_now())
        marked, last = marked + len(ids), ids[-1]
