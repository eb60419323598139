"""A worker that tests may kill: ``worker_process DATABASE SHIFT TASK ARGUMENT…``.

``reconcile ID`` makes one call, ``naive ID`` does it the naive way (submit, then mark), ``loop``
works on whatever is due until it is killed, ``bulk`` carries out the actions on many workloads that
are due, ``watch CLUSTER`` follows a cluster until then and says
what was rejected of what it stored.
"""

import json
import sys
import threading
import time
from datetime import timedelta
from uuid import UUID

import django
from django.conf import settings


def main(arguments: list[str]) -> None:
    database, shift, task, *rest = arguments
    django.setup()
    settings.DATABASES["default"]["NAME"] = database
    from gangline.db import clock
    from tests.support.engine import register_faulty

    register_faulty()
    clock.shift(timedelta(seconds=float(shift)))
    if task == "loop":
        _loop()
    elif task == "reconcile":
        _reconcile(UUID(rest[0]))
    elif task == "bulk":
        _bulk()
    elif task == "watch":
        _watch(UUID(rest[0]))
    elif task == "naive":
        _naive(UUID(rest[0]))
    else:
        raise SystemExit(f"no task {task}")


def _reconcile(workload_id: UUID) -> None:
    from workloads.services.reconcile import reconcile

    done = reconcile(workload_id)
    print(json.dumps({"claimed": done.claimed, "effects": done.effects}))  # noqa: T201  the answer


def _loop() -> None:
    from gangline.db.clock import db_now
    from workloads.services import claims
    from workloads.services.reconcile import reconcile

    while True:
        for pk in claims.due(db_now()).values_list("pk", flat=True)[:1]:
            reconcile(pk)
        time.sleep(0.02)


def _bulk() -> None:
    from workloads.services import bulk

    while bulk.is_due():
        bulk.turn()


def _watch(cluster_id: UUID) -> None:
    from gangline.db.leases import LeaseLost
    from workloads.watching.watcher import Watcher

    watcher = Watcher(cluster_id)
    guard = watcher._lease.guard

    def told() -> None:
        try:
            guard()
        except LeaseLost:
            print(json.dumps({"rejected": True}), flush=True)  # noqa: T201  the answer
            raise

    watcher._lease.guard = told  # type: ignore[method-assign]
    watcher.run(threading.Event())


def _naive(workload_id: UUID) -> None:
    """What the first version of many a dashboard does: no look, no lease, no mark beforehand."""
    from gangline.clusters.connections import driver_for
    from gangline.drivers.base import Done, NotYet
    from gangline.lib.fail_points import fail_point
    from workloads import refs
    from workloads.models import Attempt, Workload

    workload = Workload.objects.select_related("cluster", "project").get(pk=workload_id)
    attempt = Attempt.objects.get(workload=workload, no=workload.attempt_no)
    if attempt.create_state == "none":
        result = driver_for(workload.cluster).create(refs.attempt_ref(workload, attempt))
        fail_point("reconcile.after_create")
        if isinstance(result, Done | NotYet):
            Attempt.objects.filter(pk=attempt.pk).update(create_state="seen")
    print(json.dumps({"claimed": 1, "effects": 1}))  # noqa: T201  the answer


if __name__ == "__main__":
    main(sys.argv[1:])
