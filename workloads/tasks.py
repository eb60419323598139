"""Celery tasks. A message is a doorbell: losing or repeating it is harmless."""

import socket
from typing import Any
from uuid import UUID

from celery import shared_task

from gangline.db import leases
from workloads.services import reconcile as reconciling

VERSION = 1
RECONCILE, CANARY = "workloads.reconcile", "workloads.canary"
SEEN_SECONDS = 60.0


@shared_task(name=RECONCILE, ignore_result=True)  # type: ignore[untyped-decorator]
def reconcile(workload_id: str, v: int = VERSION, **_: Any) -> None:
    """Work on one workload. Messages of a newer version are dropped: the ticker rings again."""
    if v == VERSION:
        reconciling.reconcile(UUID(workload_id))


@shared_task(name=CANARY, ignore_result=True)  # type: ignore[untyped-decorator]
def canary(v: int = VERSION, **_: Any) -> None:
    """Write down that workers take messages."""
    leases.mark(leases.WORKERS_SEEN, owner=socket.gethostname()[:120], seconds=SEEN_SECONDS)
