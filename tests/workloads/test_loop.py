"""Ticker and watchers as the embedded product runs them: in threads, woken by the bell."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections as database_connections
from django.db import transaction

from gangline.clusters.models import Cluster
from gangline.db import clock, leases
from gangline.db.clock import db_now
from gangline.db.models import Lease
from gangline.drivers.base import AttemptRef, Observation, ObservedState
from tests.drivers.faults import Fault
from tests.drivers.faulty import FaultyDriver
from tests.support.engine import KIND, Engine, Faulty, current_attempt
from tests.support.kinds import declare
from tests.support.truth import assert_world
from tests.support.waiting import wait_for
from workloads.models import Event, Workload
from workloads.services import claims, events, intents
from workloads.services.reconcile import reconcile
from workloads.watching.ticker import Ticker
from workloads.watching.watcher import Watchers, lease_name

pytestmark = pytest.mark.postgres


class Gate(FaultyDriver):
    """Its next ``observe`` can be held between the look and the answer."""

    def __init__(self, path: Any) -> None:
        super().__init__(path)
        self.is_armed = False
        self.looked, self.open = threading.Event(), threading.Event()

    def observe(self, ref: AttemptRef) -> Observation:
        seen = super().observe(ref)
        if self.is_armed:
            self.is_armed = False
            self.looked.set()
            assert self.open.wait(20)
        return seen


@contextmanager
def _running(*parts: Any) -> Iterator[threading.Event]:
    stop = threading.Event()

    def run(part: Any) -> None:
        try:
            part.run(stop)
        finally:
            database_connections.close_all()

    threads = [threading.Thread(target=run, args=(part,)) for part in parts]
    for thread in threads:
        thread.start()
    try:
        yield stop
    finally:
        stop.set()
        for thread in threads:
            thread.join(10)
        assert not any(thread.is_alive() for thread in threads), "a part did not stop"


def _is(workload: Workload, *statuses: str) -> Callable[[], bool]:
    def look() -> bool:
        return Workload.objects.values_list("status", flat=True).get(pk=workload.pk) in statuses

    return look


def test_a_submission_runs_and_ends_without_anybody_asking(shared_engine: Engine) -> None:
    with _running(Ticker(), Watchers()):
        lives = shared_engine.workload("lives")
        ends = shared_engine.workload("ends", command="behave succeed 0.3")
        wait_for(_is(lives, "Running"), seconds=5)
        wait_for(_is(ends, "Completed"), seconds=5)
        intents.stop(workload_id=lives.pk, by="researcher")
        wait_for(_is(lives, "Stopped"), seconds=5)
    assert_world(shared_engine.truth, [lives, ends])


def test_a_stop_committed_during_a_look_is_acted_on_at_once(
    shared_engine: Engine,
) -> None:
    """R11a: the pass that looked before the stop must not put the row to sleep."""
    gate = Gate(shared_engine.truth.path)
    declare(KIND, lambda connection: gate, Faulty)
    workload = shared_engine.workload()
    with _running(Ticker()):
        wait_for(_is(workload, "Running"), seconds=5)
        gate.is_armed = True
        Workload.objects.filter(pk=workload.pk).update(due_at=db_now(), rung_until=None)
        assert gate.looked.wait(5), "the ticker looks once a second"
        intents.stop(workload_id=workload.pk, by="researcher")
        gate.open.set()
        # Put to sleep, it would be looked at again in five minutes.
        wait_for(lambda: shared_engine.truth.effects("suspend"), seconds=5)
        wait_for(_is(workload, "Stopped"), seconds=5)


def test_a_stop_committed_just_before_the_release_survives_it(shared_engine: Engine) -> None:
    """The same without a loop: the release keeps what a waker wrote, leased or not."""
    workload = shared_engine.workload()
    Workload.objects.filter(pk=workload.pk).update(due_at=db_now())
    held = claims.claim(workload.pk)
    assert held is not None
    intents.stop(workload_id=workload.pk, by="researcher")
    workload.refresh_from_db()
    woken = workload.due_at
    assert claims.release(held, next_due=db_now() + timedelta(minutes=5))
    workload.refresh_from_db()
    assert workload.due_at == woken


def test_without_a_wake_up_the_release_decides_when_it_is_due(shared_engine: Engine) -> None:
    workload = shared_engine.workload()
    held = claims.claim(workload.pk)
    assert held is not None
    assert claims.claim(workload.pk) is None, "one at a time"
    later = db_now() + timedelta(minutes=5)
    assert claims.release(held, next_due=later)
    workload.refresh_from_db()
    assert (workload.due_at, workload.lease_until) == (later, None)
    assert not claims.release(claims.Claim(workload.pk, 0, later, 1, 0.0), next_due=None)


def test_stops_go_before_everything_that_was_due_earlier(shared_engine: Engine) -> None:
    old = db_now() - timedelta(days=2)
    first, second = shared_engine.workload("first"), shared_engine.workload("second")
    Workload.objects.filter(pk=first.pk).update(due_at=old)
    second.attempts.update(create_state="seen", sent_at=db_now(), observed_state="Running")
    intents.stop(workload_id=second.pk, by="researcher")
    due = claims.due(db_now()).values_list("name", flat=True)
    assert list(due) == ["second", "first"]


def test_a_watcher_adopts_what_is_there_before_anything_is_done(shared_engine: Engine) -> None:
    engine = shared_engine
    workload = engine.workload()
    engine.truth.plan("create", Fault.ERROR_AFTER)
    reconcile(workload.pk)
    Workload.objects.filter(pk=workload.pk).update(due_at=None, lease_until=None)
    with _running(Watchers()):
        wait_for(_is(workload, "Running"), seconds=5)
        # What was listed is stored first, and the fence says afterwards that it was.
        wait_for(lambda: _is_synced(engine), seconds=5)
    assert current_attempt(workload).create_state == "seen"


def test_a_watcher_whose_lease_ran_out_begins_anew_and_work_goes_on(shared_engine: Engine) -> None:
    """Paused for longer than its lease, while nobody else was there to take over."""
    with _running(Watchers(), Ticker()):
        wait_for(lambda: Lease.objects.filter(name__startswith="watcher:").exists(), seconds=30)
        wait_for(lambda: _is_synced(shared_engine), seconds=30)
        clock.shift(timedelta(hours=1))
        workload = shared_engine.workload()
        wait_for(_is(workload, "Running"), seconds=60)
        wait_for(lambda: _is_synced(shared_engine), seconds=30)


def _is_synced(engine: Engine) -> bool:
    cluster = Cluster.objects.get(pk=engine.cluster.pk)
    return cluster.synced_fence == Lease.objects.get(name=lease_name(cluster.pk)).fence


def test_no_effect_happens_while_a_new_watcher_is_still_listing(shared_engine: Engine) -> None:
    listing = leases.LeaseHolder(lease_name(shared_engine.cluster.pk))
    assert listing.acquire()
    workload = shared_engine.workload()
    ticker = Ticker()
    ticker.round()
    assert shared_engine.truth.calls("create") == []
    Cluster.objects.update(synced_fence=listing.fence)
    with _running(ticker):
        wait_for(_is(workload, "Running"), seconds=5)


def test_two_watchers_make_no_event_twice(shared_engine: Engine) -> None:
    with _running(Watchers(), Watchers(), Ticker()):
        workload = shared_engine.workload(command="behave succeed 0.2")
        wait_for(_is(workload, "Completed"), seconds=5)
    words = list(
        Event.objects.filter(workload=workload, kind=events.PHASE_CHANGED)
        .order_by("id")
        .values_list("phase", flat=True)
    )
    assert len(words) == len(set(words))


def test_a_lost_object_is_noticed_by_the_watcher(shared_engine: Engine) -> None:
    with _running(Watchers(), Ticker()):
        workload = shared_engine.workload()
        wait_for(_is(workload, "Running"), seconds=5)
        shared_engine.truth.force(str(workload.pk), ObservedState.ABSENT)
        wait_for(_is(workload, "Failed"), seconds=5)
    assert_world(shared_engine.truth, [workload])


def test_only_one_ticker_works_and_the_other_takes_over(shared_engine: Engine) -> None:
    first, second = Ticker(), Ticker()
    with _running(first):
        wait_for(lambda: Lease.objects.filter(name=leases.TICKER).exists(), seconds=5)
        owner = Lease.objects.get(name=leases.TICKER).owner
        with _running(second):
            workload = shared_engine.workload()
            wait_for(_is(workload, "Running"), seconds=5)
            assert Lease.objects.get(name=leases.TICKER).owner == owner
    with _running(second := Ticker()):
        other = shared_engine.workload("other")
        wait_for(_is(other, "Running"), seconds=5)
    assert Lease.objects.get(name=leases.TICKER).owner != owner


def test_a_poisoned_workload_does_not_stop_the_others(
    shared_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    poison = shared_engine.workload("poison")
    look = FaultyDriver.observe

    def observe(self: FaultyDriver, ref: AttemptRef) -> Observation:
        if ref.workload == str(poison.pk):
            raise ZeroDivisionError
        return look(self, ref)

    monkeypatch.setattr(FaultyDriver, "observe", observe)
    with _running(Ticker()):
        healthy = shared_engine.workload("healthy")
        wait_for(_is(healthy, "Running"), seconds=5)
    poison.refresh_from_db()
    assert poison.fail_count >= 1
    assert poison.reason.startswith("Internal error ")


def test_what_a_killed_server_held_is_free_at_the_next_start(shared_engine: Engine) -> None:
    workload = shared_engine.workload()
    assert claims.claim(workload.pk) is not None
    assert claims.forget_all(now=db_now()) == 1
    assert claims.claim(workload.pk) is not None


@pytest.mark.django_db
def test_a_lease_goes_on_only_after_its_time_or_its_release() -> None:
    first, second = leases.LeaseHolder("role"), leases.LeaseHolder("role")
    assert first.acquire()
    assert first.acquire()
    assert not second.acquire()
    first.release()
    assert second.acquire()
    assert second.fence > 1
    assert not first.renew()


@pytest.mark.django_db(transaction=True)
def test_nobody_takes_a_role_while_its_holder_writes_under_it() -> None:
    first, second = leases.LeaseHolder("role", seconds=0.2), leases.LeaseHolder("role")
    assert first.acquire()
    taken = threading.Event()

    def take() -> None:
        try:
            wait_for(second.acquire, seconds=10)
            taken.set()
        finally:
            database_connections.close_all()

    thread = threading.Thread(target=take)
    with transaction.atomic():
        first.guard()
        thread.start()
        assert not taken.wait(0.6), "its time is over, yet its transaction is not"
    thread.join(10)
    assert taken.is_set()
    with pytest.raises(leases.LeaseLost), transaction.atomic():
        first.guard()


@pytest.mark.django_db
def test_a_silent_ticker_is_said_on_every_page() -> None:
    assert leases.notices() == []
    Lease.objects.create(
        name=leases.TICKER, owner="x", until=db_now() - timedelta(minutes=2), fence=1
    )
    (told,) = leases.notices()
    assert told.message.startswith("Submissions are saved; processing is paused since ")


@pytest.mark.django_db
def test_a_notice_keeps_its_first_time_until_it_is_cleared() -> None:
    leases.notice("workers", "Workers are silent.")
    leases.notice("workers", "Workers are silent again.")
    (told,) = leases.notices()
    assert told.message.startswith("Workers are silent. Since ")
    leases.clear_notice("workers")
    assert leases.notices() == []
