"""The right to act on one workload: a lease in its row, and a fence that outlives it (R11a).

A claim is a conditional UPDATE; whoever holds it writes only while the row still carries its fence.
Database time alone decides. A waker, leased or not, sets ``due_at`` to now: the release keeps that.
"""

import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Case, DateTimeField, F, Q, QuerySet, Value, When

from gangline.db.clock import db_now
from gangline.db.locks import locked, update_in_order
from workloads.models import Attempt, Desired, Workload

STOPPED = "Stopped"
"""The status of a workload that has nothing to end; it is only looked at now and then."""
LEASE_SECONDS = 45.0
OLDEST_FOR_EFFECT = 40.0
"""An older claim starts no effect: it might be carried out after another process took over."""


class LostLease(Exception):
    """Somebody else owns the workload now; everything this pass knows is worth nothing."""


@dataclass(frozen=True, slots=True)
class Claim:
    workload_id: UUID
    fence: int
    due_at: datetime
    """What the claim set: still there at the release unless the row was woken."""
    desired_gen: int
    taken: float
    """Monotonic time of the claim."""

    @property
    def is_too_old(self) -> bool:
        return time.monotonic() - self.taken > OLDEST_FOR_EFFECT


def claim(workload_id: UUID) -> Claim | None:
    """Take the workload if it is due and nobody holds it."""
    now = db_now()
    until = now + timedelta(seconds=LEASE_SECONDS)
    owner = f"{socket.gethostname()}:{os.getpid()}:{threading.get_ident()}:{uuid.uuid4().hex[:12]}"
    taken = time.monotonic()
    changed = (
        claimable(now)
        .filter(pk=workload_id)
        .update(
            lease_owner=owner[-120:],
            lease_until=until,
            fence=F("fence") + 1,
            rung_until=None,
            due_at=until,
        )
    )
    if not changed:
        return None
    row = (
        Workload.objects.filter(pk=workload_id, lease_owner=owner[-120:])
        .values_list("fence", "desired_gen", "due_at")
        .first()
    )
    if row is None:
        return None
    fence, generation, _ = row
    return Claim(workload_id, fence, until, generation, taken)


def claimable(now: datetime) -> QuerySet[Workload]:
    """Workloads that are due and not claimed."""
    return Workload.objects.filter(
        Q(lease_until=None) | Q(lease_until__lte=now), due_at__isnull=False, due_at__lte=now
    )


def due(now: datetime) -> QuerySet[Workload]:
    """… and of which no worker was told lately: what is to end first, then the longest due.

    Once only: an end that failed waits with all others, and keeps no healthy cluster waiting.
    """
    is_to_end = ~Q(desired=Desired.RUNNING) & ~Q(status=STOPPED) & Q(fail_count=0)
    untold = claimable(now).filter(Q(rung_until=None) | Q(rung_until__lte=now))
    return untold.order_by(Case(When(is_to_end, then=0), default=1), "due_at")


@contextmanager
def fenced(held: Claim, *, same_intent: bool = False) -> Iterator[Workload]:
    """A transaction with the workload's row locked; raises LostLease when the claim is stale.

    ``same_intent``: also when the person's intent is no longer the one that was claimed.
    """
    with transaction.atomic():
        workload = (
            locked(Workload.objects.select_related("cluster", "project"))
            .filter(pk=held.workload_id, fence=held.fence)
            .first()
        )
        if workload is None or (same_intent and workload.desired_gen != held.desired_gen):
            raise LostLease
        yield workload


def release(held: Claim, *, next_due: datetime | None, failed: bool | None = None) -> bool:
    """Give the workload back; False when it was no longer held. A wake-up meanwhile is kept.

    ``failed``: None when nothing was tried. A failure during which the row was woken is not
    counted: what failed was before the news.
    """
    is_as_left = Q(due_at=held.due_at)
    kept = Value(next_due, output_field=DateTimeField())
    due_at = Case(When(is_as_left, then=kept), default=F("due_at"), output_field=DateTimeField())
    columns: dict[str, Any] = {} if failed is None else {"fail_count": 0}
    if failed:
        columns["fail_count"] = F("fail_count") + Case(When(is_as_left, then=1), default=0)
    changed = Workload.objects.filter(pk=held.workload_id, fence=held.fence).update(
        lease_until=None, lease_owner="", due_at=due_at, **columns
    )
    return bool(changed)


def after_step_back(*, now: datetime) -> int:
    """Make due what was written for a time to come before the clock was put back.

    Its next look, its pause and its lease would last as long as the step.
    """
    until = now + timedelta(seconds=LEASE_SECONDS)
    Workload.objects.filter(lease_until__gt=until).update(lease_until=until)
    was_ahead = Q(observed_at__gt=now) | Q(phase_since__gt=now) | Q(rung_until__gt=until)
    was_ahead |= Q(auto_delete_seconds__isnull=False)  # perhaps held back: `leases.see_clock`
    rows = Workload.objects.filter(was_ahead, due_at__isnull=False)
    Attempt.objects.filter(workload__in=rows, next_try_at__gt=now).update(next_try_at=now)
    return update_in_order(rows, due_at=now, rung_until=None)


def forget_all(*, now: datetime) -> int:
    """At the start of the only process: free what a killed one held, at once."""
    return Workload.objects.exclude(lease_until=None).update(
        lease_until=None, lease_owner="", fence=F("fence") + 1, due_at=now, rung_until=None
    )
