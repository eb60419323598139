"""Removes what is kept for a time only: deleted workloads, drafts, request keys, sessions,
entries of the audit log (R4)."""

import logging
import subprocess
import threading
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, close_old_connections

from gangline.accounts.services import forget_failures
from gangline.audit.services import forget_entries
from gangline.clusters.connections import acts_here
from gangline.db.clock import db_now
from gangline.db.leases import PRUNER, LeaseHolder, ages_held_until
from gangline.settings.catalogue import AUDIT_DAYS, DELETED_DAYS
from gangline.settings.values import value_of
from workloads.models import Draft, IdempotencyKey, Workload
from workloads.services import tool_access
from workloads.terminals import tickets

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
            except Exception:
                log.exception("the pruner broke off")
                pause = EVERY_SECONDS
            close_old_connections()
            stop.wait(pause)


def prune(stop: threading.Event | None = None) -> bool:
    """Remove everything that is old enough. Repeating it, or breaking off, is harmless."""
    if ages_held_until() is not None:
        return True
    now = db_now()
    IdempotencyKey.objects.filter(expires_at__lte=now).delete()
    Draft.objects.filter(updated_at__lte=now - timedelta(days=DRAFT_DAYS)).delete()
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()
    tool_access.forget(before=now)
    tickets.forget()
    forget_failures(before=now - timedelta(days=1))
    forget_entries(before=now - timedelta(days=value_of(AUDIT_DAYS)))
    oldest = now - timedelta(days=value_of(DELETED_DAYS))
    gone = Workload.objects.filter(deleted_at__lte=oldest).select_related("cluster")
    left: set[UUID] = set()
    while not (stop and stop.is_set()):
        rows = list(gone.exclude(pk__in=left).order_by("deleted_at")[:BATCH])
        if not rows:
            break
        for workload in rows:
            if not acts_here(workload.cluster) or not _is_removed(workload):
                left.add(workload.pk)
    return True


def _is_removed(workload: Workload) -> bool:
    """One workload that cannot be removed must not keep the others."""
    try:
        return _remove(workload)
    except DatabaseError:
        raise
    except Exception:
        log.exception("the deleted workload %s stays until it can be removed", workload.pk)
        return False


def _remove(workload: Workload) -> bool:
    """Files first: a row without files can be pruned again, files without a row would stay.

    False, and the row stays, while there are files that cannot be removed.
    """
    for kind in ("logs", "runs"):
        folder = Path(settings.GANGLINE.data_dir) / kind / str(workload.pk)
        # Unlike `shutil.rmtree` it removes what is nested deeper than Python's stack.
        done = subprocess.run(
            ["/bin/rm", "-rf", "--", str(folder)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            why = (done.stderr.splitlines() or ["rm failed"])[0]
            log.warning("files of a deleted workload stay until they can be removed: %s", why)
            return False
    workload.delete()
    return True
