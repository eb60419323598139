"""Removes what is kept for a time only: deleted workloads, old drafts, request keys (R4)."""

import logging
import shutil
import threading
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, close_old_connections

from gangline.clusters.connections import acts_here
from gangline.db.clock import db_now
from gangline.db.leases import PRUNER, LeaseHolder
from workloads.models import Draft, IdempotencyKey, Workload

log = logging.getLogger(__name__)

EVERY_SECONDS = 600.0
STANDBY_SECONDS = 5.0
DRAFT_DAYS = 30
BATCH = 100


class Pruner:
    """One per installation at a time; every ten minutes."""

    def __init__(self) -> None:
        self._lease = LeaseHolder(PRUNER, seconds=EVERY_SECONDS * 2)

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            close_old_connections()
            try:
                pause = EVERY_SECONDS if self._lease.acquire() and prune(stop) else STANDBY_SECONDS
            except DatabaseError as error:
                log.warning("the database did not answer the pruner: %s", error)
                pause = STANDBY_SECONDS
            close_old_connections()
            stop.wait(pause)


def prune(stop: threading.Event | None = None) -> bool:
    """Remove everything that is old enough. Repeating it, or breaking off, is harmless."""
    now = db_now()
    IdempotencyKey.objects.filter(expires_at__lte=now).delete()
    Draft.objects.filter(updated_at__lte=now - timedelta(days=DRAFT_DAYS)).delete()
    oldest = now - timedelta(days=settings.GANGLINE.keep_deleted_days)
    gone = Workload.objects.filter(deleted_at__lte=oldest).select_related("cluster")
    left: set[UUID] = set()
    while not (stop and stop.is_set()):
        rows = list(gone.exclude(pk__in=left).order_by("deleted_at")[:BATCH])
        if not rows:
            break
        for workload in rows:
            if not acts_here(workload.cluster) or not _remove(workload):
                left.add(workload.pk)
    return True


def _remove(workload: Workload) -> bool:
    """Files first: a row without files can be pruned again, files without a row would stay.

    False, and the row stays, while there are files that cannot be removed.
    """
    for kind in ("logs", "runs"):
        folder = Path(settings.GANGLINE.data_dir) / kind / str(workload.pk)
        try:
            if folder.exists():
                shutil.rmtree(folder)
        except OSError as error:
            log.warning("files of a deleted workload stay until they can be removed: %s", error)
            return False
    workload.delete()
    return True
