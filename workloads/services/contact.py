"""What follows for workloads when their cluster falls silent, and when it answers again.

That it does is known from `gangline.clusters.contact`.
"""

from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Case, DateTimeField, F, Q, Value, When

from gangline.db.clock import db_now
from gangline.db.locks import locked, update_in_order
from workloads import work_bell
from workloads.models import Attempt, Desired, Workload
from workloads.services import status
from workloads.services.intents import FIRST_IN_LINE

BATCH = 200


def wake_waiting(cluster_id: UUID) -> int:
    """Make due what waits for another try on this cluster, stops and deletions first."""
    now = db_now()
    first, then = (Value(at, output_field=DateTimeField()) for at in (now - FIRST_IN_LINE, now))
    waits = Q(fail_count__gt=0, due_at__gt=now)
    is_to_end = ~Q(desired=Desired.RUNNING) & Q(due_at__gt=now - FIRST_IN_LINE, deleted_at=None)
    rows = Workload.objects.filter(waits | is_to_end, cluster=cluster_id)
    woken = update_in_order(
        rows,
        due_at=Case(
            When(desired=Desired.RUNNING, then=then), default=first, output_field=DateTimeField()
        ),
        rung_until=None,
    )
    if woken:
        work_bell.ring()
    return woken


def mark_lost(cluster_id: UUID, since: datetime) -> int:
    """Say of what runs there since when it is only the last that was known (P4)."""
    unknown = Attempt.objects.filter(
        workload__cluster=cluster_id,
        workload__deleted_at=None,
        workload__attempt_no=F("no"),
        outcome="",
        first_seen_at__isnull=False,
        unknown_since=None,
    )
    marked = 0
    while True:
        ids = list(unknown.values_list("workload_id", flat=True)[:BATCH])
        if not ids:
            return marked
        with transaction.atomic():
            rows = list(
                locked(Workload.objects.select_related("cluster", "project").filter(pk__in=ids))
            )
            unknown.filter(workload__in=ids).update(unknown_since=since)
            status.settle_all(rows, now=db_now())
        marked += len(ids)
