"""When a cluster is left alone: because it asked for it, or because it does not answer.

Kept in its row, so that all processes keep to it: while a cluster rests, no work for it is handed
out, and thousands of workloads do not each find out for themselves that it is away (§7.3).
"""

from datetime import timedelta
from uuid import UUID

from django.db.models import Case, F, Q, When

from gangline.db.clock import db_now

from .models import Cluster

MOST_FAILURES = 5
"""Passes in a row without contact, after which a cluster counts as away."""
PAUSE_SECONDS = 15.0
LOGIN_REFUSED = "login-refused"
"""Prefix of the notice about a credential that a cluster accepts no longer."""


def rest(cluster_id: UUID, seconds: float) -> None:
    """Leave the cluster alone for so long from now on, unless it rests for longer already."""
    until = db_now() + timedelta(seconds=seconds)
    rows = Cluster.objects.filter(Q(backoff_until=None) | Q(backoff_until__lt=until), pk=cluster_id)
    rows.update(backoff_until=until)


def lost(cluster_id: UUID) -> None:
    """One more pass had no contact."""
    Cluster.objects.filter(pk=cluster_id).update(failures=F("failures") + 1)
    if Cluster.objects.filter(pk=cluster_id, failures__gte=MOST_FAILURES).exists():
        rest(cluster_id, PAUSE_SECONDS)


def heard(cluster: Cluster) -> bool:
    """It answered; True when it had been away, so that what waits for it should go on now."""
    if not cluster.failures:
        return False
    now = db_now()
    was_lost = Cluster.objects.filter(pk=cluster.pk, failures__gt=0)
    # A rest for which the cluster asked stays: it is no sign that it is away.
    is_for_silence = Q(
        failures__gte=MOST_FAILURES, backoff_until__lte=now + timedelta(seconds=PAUSE_SECONDS)
    )
    rests = Case(When(is_for_silence, then=None), default=F("backoff_until"))
    return bool(was_lost.update(failures=0, backoff_until=rests))


def is_resting(cluster: Cluster) -> bool:
    """Whether nothing is to be asked of it now."""
    return cluster.backoff_until is not None and cluster.backoff_until > db_now()
