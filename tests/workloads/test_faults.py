"""Fault tests F-07 to F-11 and F-15, each with real processes, and the control that must fail.

A test that shifts the clock spares itself the 45 s of a lease; pauses of the cluster are real.
"""

import os
import signal
import threading
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection

from gangline.db import clock
from gangline.db.clock import db_now
from tests.drivers.faults import Fault
from tests.support.engine import Engine, answer, current_attempt, is_stopped, worker
from tests.support.truth import assert_world
from tests.support.waiting import wait_for
from workloads.models import Event, Workload
from workloads.services import events, intents
from workloads.services.claims import LEASE_SECONDS
from workloads.services.reconcile import Pass, reconcile

pytestmark = pytest.mark.postgres

PAST_THE_LEASE = LEASE_SECONDS + 1


def test_f07_a_worker_killed_after_the_create_leaves_one_adopted_object(
    shared_engine: Engine,
) -> None:
    workload = shared_engine.workload()
    with worker("reconcile", workload.pk, fail_points="reconcile.after_create:kill@1") as process:
        assert process.wait(30) == -signal.SIGKILL
    assert current_attempt(workload).create_state == "sent"
    _pass_the_lease(workload)
    _until_running(workload)
    assert len(shared_engine.truth.effects("create")) == 1
    assert events.ADOPTED in _kinds(workload)
    assert_world(shared_engine.truth, [workload])


def test_f08_a_worker_killed_before_the_create_leaves_an_object_that_appears(
    shared_engine: Engine,
) -> None:
    workload = shared_engine.workload()
    with worker("reconcile", workload.pk, fail_points="reconcile.before_create:kill@1") as process:
        assert process.wait(30) == -signal.SIGKILL
    assert shared_engine.truth.effects("create") == []
    _pass_the_lease(workload)
    _until_running(workload)
    assert len(shared_engine.truth.effects("create")) == 1
    assert_world(shared_engine.truth, [workload])


def test_f09_a_worker_paused_past_its_lease_changes_no_row_when_it_goes_on(
    transactional_db: None, idempotent_engine: Engine
) -> None:
    engine = idempotent_engine
    workload = engine.workload()
    with worker("reconcile", workload.pk, fail_points="reconcile.before_create:stop@1") as first:
        wait_for(lambda: is_stopped(first), seconds=30)
        _pass_the_lease(workload)
        with worker("loop", shift=PAST_THE_LEASE) as second:
            wait_for(lambda: _status(workload) == "Running", seconds=20)
            second.kill()
        before = _row(workload)
        os.kill(first.pid, signal.SIGCONT)
        # The effect it had prepared still goes out: the cluster has to know the attempt already.
        assert answer(first)["effects"] == 1
    assert _row(workload) == before
    assert len(engine.truth.effects("create")) == 1
    assert len(engine.truth.calls("create")) == 2
    assert_world(engine.truth, [workload])


def test_f10_an_error_after_the_create_is_never_shown_as_a_failure(shared_engine: Engine) -> None:
    shared_engine.truth.plan("create", Fault.ERROR_AFTER)
    workload = shared_engine.workload()
    _until_running(workload, seconds=10)
    assert len(shared_engine.truth.effects("create")) == 1
    assert "Failed" not in " ".join(Event.objects.values_list("message", flat=True))
    assert events.ADOPTED in _kinds(workload)
    assert_world(shared_engine.truth, [workload])


def test_f11_a_create_that_lands_late_is_not_sent_twice(
    transactional_db: None, patient_engine: Engine
) -> None:
    """A create may be under way for 4 s here; it lands after 2 s, though we heard nothing."""
    engine = patient_engine
    engine.truth.plan("create", Fault.LATE, seconds=2)
    workload = engine.workload()
    _until_running(workload, seconds=15)
    assert len(engine.truth.calls("create")) == 1
    assert_world(engine.truth, [workload])


def test_an_error_before_the_create_is_repeated_once_its_landing_is_ruled_out(
    shared_engine: Engine,
) -> None:
    shared_engine.truth.plan("create", Fault.ERROR_BEFORE)
    workload = shared_engine.workload()
    _until_running(workload)
    first, second = shared_engine.truth.calls("create")
    assert second.at - first.at >= shared_engine.truth.in_flight_max
    assert_world(shared_engine.truth, [workload])


def test_while_writes_fail_and_reads_do_not_the_row_says_what_the_cluster_answered(
    shared_engine: Engine,
) -> None:
    """A look finds nothing and has contact: that is no word about the create."""
    shared_engine.truth.plan("create", Fault.ERROR_BEFORE)
    workload = shared_engine.workload()
    reconcile(workload.pk)
    for _ in range(2):
        workload.refresh_from_db()
        told = (workload.status, workload.reason)
        assert told == ("Creating", "The cluster answered 500 to create.")
        Workload.objects.filter(pk=workload.pk).update(due_at=db_now())
        reconcile(workload.pk)
    assert current_attempt(workload).absent_since is not None
    _until_running(workload)
    workload.refresh_from_db()
    assert "500" not in workload.reason
    shared_engine.truth.plan("suspend", Fault.ERROR_BEFORE)
    intents.stop(workload_id=workload.pk, by="researcher")
    reconcile(workload.pk)
    workload.refresh_from_db()
    assert workload.reason.endswith("The cluster answered 500 to suspend.")
    clock.shift(timedelta(seconds=61))
    _until(workload, "Stopped")
    assert current_attempt(workload).wait_code == ""


def test_f15_twenty_deliveries_of_one_task_have_one_effect(shared_engine: Engine) -> None:
    workload = shared_engine.workload()
    passes = _at_once(20, lambda: reconcile(workload.pk))
    assert sum(done.effects for done in passes) == 1
    assert sum(done.claimed == 0 for done in passes) >= 10
    assert len(shared_engine.truth.calls("create")) == 1
    assert_world(shared_engine.truth, [workload])


def _naive_killed_after_create(engine: Engine, workload: Workload) -> None:
    with worker("naive", workload.pk, fail_points="reconcile.after_create:kill@1") as process:
        process.wait(30)
    _naive(workload)


def _naive_error_after(engine: Engine, workload: Workload) -> None:
    engine.truth.plan("create", Fault.ERROR_AFTER)
    _naive(workload)
    _naive(workload)


def _naive_late_landing(engine: Engine, workload: Workload) -> None:
    engine.truth.plan("create", Fault.LATE, seconds=1)
    _naive(workload)
    _naive(workload)
    wait_for(lambda: len(engine.truth.effects("create")) == 2, seconds=10)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "scenario", [_naive_killed_after_create, _naive_error_after, _naive_late_landing]
)
def test_the_naive_worker_fails_the_same_check(
    shared_engine: Engine, scenario: Callable[[Engine, Workload], None]
) -> None:
    """The control: if it passed, the checker would be blind."""
    workload = shared_engine.workload()
    scenario(shared_engine, workload)
    with pytest.raises(AssertionError, match="created more than once"):
        assert_world(shared_engine.truth, [workload])


def _naive(workload: Workload) -> None:
    with worker("naive", workload.pk) as process:
        answer(process)


def _pass_the_lease(workload: Workload) -> None:
    workload.refresh_from_db()
    assert workload.lease_until is not None, "the worker should have died holding the lease"
    clock.shift(timedelta(seconds=PAST_THE_LEASE))


def _until_running(workload: Workload, *, seconds: float = 20) -> None:
    _until(workload, "Running", seconds=seconds)


def _until(workload: Workload, status: str, *, seconds: float = 20) -> None:
    def reached() -> bool:
        reconcile(workload.pk)
        return _status(workload) == status

    wait_for(reached, seconds=seconds)


def _status(workload: Workload) -> str:
    return Workload.objects.values_list("status", flat=True).get(pk=workload.pk)


def _kinds(workload: Workload) -> list[str]:
    return list(Event.objects.filter(workload=workload).values_list("kind", flat=True))


def _row(workload: Workload) -> tuple[object, ...]:
    columns = Workload.objects.filter(pk=workload.pk).values_list().get()
    attempts = workload.attempts.order_by("no").values_list()
    return (columns, *attempts, *_kinds(workload))


def _at_once(count: int, call: Callable[[], Pass]) -> list[Pass]:
    """The answers of ``count`` threads that start together."""
    barrier = threading.Barrier(count)
    answers: list[Pass] = []

    def run() -> None:
        barrier.wait(10)
        try:
            answers.append(call())
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(answers) == count
    return answers
