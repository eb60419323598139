"""A ticker that meets a bug, or a cluster that goes while it works."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections as database_connections

from gangline.clusters.models import Cluster
from gangline.db import clock
from gangline.db.clock import db_now
from gangline.db.leases import notices
from gangline.resources.services import make
from tests.support.engine import Engine
from tests.support.waiting import wait_for
from workloads.models import Workload
from workloads.services import admission, claims, intents
from workloads.services.reconcile import reconcile
from workloads.watching.pruner import prune
from workloads.watching.ticker import Ticker


def _runs(workload: Workload) -> bool:
    workload.refresh_from_db()
    return workload.status == "Running"


def test_a_ticker_that_broke_begins_again_with_threads_that_work(
    shared_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticker = Ticker()
    with monkeypatch.context() as broken:
        broken.setattr(ticker, "round", lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            ticker.run(threading.Event())
    stop = threading.Event()

    def run() -> None:
        try:
            ticker.run(stop)
        finally:
            database_connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        for n in range(6):  # more than there are threads
            workload = shared_engine.workload(f"w{n}")
            wait_for(lambda one=workload: _runs(one), seconds=10)  # type: ignore[misc]
    finally:
        stop.set()
        thread.join(10)
    assert not thread.is_alive()


@pytest.mark.parametrize("is_new", [False, True], ids=["the same ticker", "after a restart"])
def test_what_was_due_before_the_clock_was_put_back_is_not_waited_for(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, is_new: bool
) -> None:
    ticker = Ticker()
    monkeypatch.setattr(ticker, "_work_here", lambda clusters: None)
    clock.shift(timedelta(days=1))
    sent, stopping = engine.workload("sent"), engine.workload("stopping")
    claims.claim(sent.pk)
    ticker.round()
    reconcile(stopping.pk)
    intents.stop(workload_id=stopping.pk, by="researcher")
    reconcile(stopping.pk)
    clock.shift(timedelta())
    if is_new:
        ticker = Ticker()
        monkeypatch.setattr(ticker, "_work_here", lambda clusters: None)
    ticker.round()
    assert claims.claim(stopping.pk) is not None
    sent.refresh_from_db()
    assert sent.lease_until is not None
    assert sent.lease_until <= db_now() + timedelta(seconds=claims.LEASE_SECONDS)


@pytest.mark.parametrize("is_right", [True, False], ids=["it stays", "it is put back"])
def test_after_a_leap_of_the_clock_nothing_is_deleted_for_its_age(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, is_right: bool
) -> None:
    ticker = Ticker()
    monkeypatch.setattr(ticker, "_work_here", lambda clusters: None)
    ticker.round()
    month = timedelta(days=30)
    ended = engine.workload("ended", command="behave succeed", auto_delete_seconds=30 * 86400)
    wait_for(lambda: reconcile(ended.pk) and _status(ended) == "Completed", seconds=10)
    gone = engine.workload("gone")
    ten_days_ago = db_now() - timedelta(days=10)
    Workload.objects.filter(pk=gone.pk).update(desired="Deleted", deleted_at=ten_days_ago)

    def all_are_there() -> bool:
        Workload.objects.filter(pk=ended.pk).update(due_at=db_now())
        reconcile(ended.pk)
        prune()
        return _status(ended) == "Completed" and Workload.objects.filter(pk=gone.pk).exists()

    clock.shift(timedelta(days=40))
    assert all_are_there(), "before the ticker saw it"
    ticker.round()
    assert all_are_there()
    assert len(notices()) == 1
    ended.refresh_from_db()
    assert ended.due_at is not None
    assert timedelta(minutes=59) < ended.due_at - db_now() < timedelta(minutes=61)

    clock.shift(timedelta(days=40, minutes=61) if is_right else timedelta())
    ticker.round()
    assert notices() == []
    reconcile(ended.pk)
    prune()
    ended.refresh_from_db()
    assert (ended.stop_cause == "auto") == is_right
    assert Workload.objects.filter(pk=gone.pk).exists() != is_right
    assert is_right or timedelta() < ended.due_at - db_now() <= month


def _status(workload: Workload) -> str:
    workload.refresh_from_db()
    return workload.status


def test_a_bug_in_the_admission_of_one_cluster_keeps_no_other_from_its_work(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = make("cluster", actor=None, name="bad", kind="kubernetes")
    Cluster.objects.update(admit_due=True)
    asked: list[Any] = []

    def admit(cluster_id: Any) -> admission.Admitted:
        asked.append(cluster_id)
        if cluster_id == bad.pk:
            raise ZeroDivisionError
        return admission.Admitted()

    monkeypatch.setattr(admission, "admit", admit)
    Ticker()._admit(list(Cluster.objects.order_by("-name")) * 2)
    assert {bad.pk, engine.cluster.pk} <= set(asked)


def test_a_cluster_that_was_removed_admits_nothing(engine: Engine) -> None:
    gone = make("cluster", actor=None, name="gone", kind="kubernetes")
    key = gone.pk
    gone.delete()
    assert admission.admit(key) == admission.Admitted()
