"""Transactions that meet at the same rows: none of them becomes a deadlock's victim."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
from django.db import connection

from gangline.clusters.models import Cluster
from gangline.db.locks import locked, update_in_order
from tests.support.engine import Engine, new_workload
from workloads.models import Workload
from workloads.services import admission, status, walk

pytestmark = pytest.mark.postgres

CAPACITY = {"admission": "ours", "cpus": 1.0, "memory": 10**9, "gpus": [], "ports": [16000, 32000]}
TOO_MUCH = {"command": "behave sleep", "compute.cpuCoreRequest": 64}


def _in_thread(work: Callable[[], object]) -> object:
    try:
        return work()
    finally:
        connection.close()


def _ask(engine: Engine, name: str) -> Workload:
    return new_workload(
        name=name, project=engine.project, owner=engine.owner, values=TOO_MUCH, workers=1
    )


def test_a_submission_ends_while_admission_walks(
    shared_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The submission has the project's counter when it checks its keys, and admission wants it."""
    engine = shared_engine
    Cluster.objects.filter(pk=engine.cluster.pk).update(capacity=CAPACITY)
    first = _ask(engine, "first")
    walking, counted = Event(), Event()
    real, settle = walk.Walk, status.settle_all

    def slow_walk(*args: Any, **kwargs: Any) -> object:
        walking.set()
        # On SQLite the submission cannot come so far: there is one writer at a time.
        counted.wait(0.5)
        return real(*args, **kwargs)

    def announced(workloads: Sequence[Workload], **more: object) -> object:
        done = settle(workloads, **more)  # type: ignore[arg-type]
        if walking.is_set():
            counted.set()
        return done

    monkeypatch.setattr(walk, "Walk", slow_walk)
    monkeypatch.setattr(status, "settle_all", announced)
    with ThreadPoolExecutor(2) as pool:
        walked = pool.submit(_in_thread, lambda: admission.admit(engine.cluster.pk))
        assert walking.wait(10)
        asked = pool.submit(_in_thread, lambda: _ask(engine, "second"))
        asked.result(30)
        walked.result(30)
    first.refresh_from_db()
    assert "64 CPU" in first.reason
    assert Workload.objects.count() == 2


def test_rows_are_updated_in_the_order_of_their_keys(shared_engine: Engine) -> None:
    """Asked for in another order, they are taken in this one all the same."""
    for name in ("one", "two", "three"):
        shared_engine.workload(name)
    backwards = Workload.objects.order_by("-pk")
    assert list(locked(backwards).query.order_by) == ["pk"]
    assert update_in_order(backwards, reason="said") == 3
    assert set(Workload.objects.values_list("reason", flat=True)) == {"said"}
