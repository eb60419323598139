"""Looks for the causes of failures, as soon as the logs that tell them are there."""

import logging
import threading
from datetime import timedelta

from django.db import DatabaseError, close_old_connections

from gangline.clusters.connections import acts_here
from gangline.clusters.models import Cluster
from gangline.db.clock import db_now
from workloads.models import Attempt
from workloads.services import causes

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
AFTER_TROUBLE = timedelta(minutes=5)
MOST = 50


class CauseSearch:
    """The rows say whose turn it is: several processes may run one."""

    def run(self, stop: threading.Event) -> None:
        while not stop.wait(LOOK_SECONDS):
            close_old_connections()
            try:
                look_at_due(stop)
            except DatabaseError as error:
                log.warning("the database did not answer the search for causes: %s", error)
            close_old_connections()


def look_at_due(stop: threading.Event | None = None) -> None:
    """Those whose logs lie where this process can read them."""
    due = Attempt.objects.filter(cause_due_at__lte=db_now())
    if not due.exists():
        return
    here = [cluster.pk for cluster in Cluster.objects.all() if acts_here(cluster)]
    rows = due.filter(workload__cluster__in=here).order_by("cause_due_at")
    for row in rows.defer("effective", "rendered").select_related(
        "workload__cluster", "workload__project__scope"
    )[:MOST]:
        if stop is not None and stop.is_set():
            return
        try:
            causes.look(row)
        except DatabaseError:
            raise
        except Exception:
            log.exception("the cause of attempt %s could not be looked for", row.pk)
            causes.put_off(row, db_now() + AFTER_TROUBLE)
