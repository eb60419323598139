"""Stop, run, run again, retry, delete and auto-deletion, carried out on the faulty cluster."""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from gangline.db import clock
from gangline.db.clock import db_now
from gangline.drivers.base import AttemptRef, Observation, ObservedState
from tests.drivers.faults import Fault
from tests.drivers.faulty import FaultyDriver
from tests.support.engine import Engine, current_attempt
from tests.support.truth import assert_world
from tests.support.waiting import wait_for
from workloads.models import Attempt, Event, Workload
from workloads.services import events, intents
from workloads.services.reconcile import reconcile
from workloads.services.retries import pause_seconds, tries_since_intent

pytestmark = pytest.mark.postgres


def _until(workload: Workload, *statuses: str, seconds: float = 10) -> None:
    def works() -> bool:
        reconcile(workload.pk)
        workload.refresh_from_db()
        return workload.status in statuses

    wait_for(works, seconds=seconds, what=f"{statuses} of {workload}")


def _is_deleted(workload: Workload) -> bool:
    reconcile(workload.pk)
    workload.refresh_from_db()
    return workload.deleted_at is not None


def _next_try_now(workload: Workload) -> None:
    past = db_now() - timedelta(seconds=1)
    workload.attempts.filter(no=workload.attempt_no).update(next_try_at=past)
    Workload.objects.filter(pk=workload.pk).update(due_at=past)


def test_a_stop_ends_it_and_run_makes_an_attempt_where_the_old_cannot_go_on(
    engine: Engine,
) -> None:
    """This cluster refuses to continue a stopped attempt, as the local one does."""
    workload = engine.workload()
    _until(workload, "Running")
    intents.stop(workload_id=workload.pk, by="researcher")
    _until(workload, "Stopped")
    assert workload.reason == "Stopped by researcher."
    assert workload.stop_cause == "user"
    assert_world(engine.truth, [workload])
    intents.resume(workload_id=workload.pk, by="researcher")
    _until(workload, "Running")
    assert current_attempt(workload).cause == "resume"
    assert [e.attempt for e in engine.truth.effects("create")] == [1, 2]
    assert_world(engine.truth, [workload])


def test_stopping_twice_changes_nothing(engine: Engine) -> None:
    workload = engine.workload()
    first = intents.stop(workload_id=workload.pk, by="researcher")
    again = intents.stop(workload_id=workload.pk, by="somebody")
    assert (again.desired_gen, again.desired_by) == (first.desired_gen, "researcher")


def test_a_stop_before_the_create_is_never_sent_to_the_cluster(engine: Engine) -> None:
    workload = engine.workload()
    intents.stop(workload_id=workload.pk, by="researcher")
    workload.refresh_from_db()
    assert workload.status == "Stopped"
    reconcile(workload.pk)
    assert engine.truth.calls() == [c for c in engine.truth.calls() if c.op in ("probe",)]


def test_a_stop_wins_over_a_create_that_lands_later(shared_engine: Engine) -> None:
    """P6: the answer is lost, the stop comes, then the object appears."""
    engine = shared_engine
    engine.truth.plan("create", Fault.LATE, seconds=0.5)
    workload = engine.workload()
    reconcile(workload.pk)
    intents.stop(workload_id=workload.pk, by="researcher")
    _until(workload, "Stopped", seconds=20)
    wait_for(lambda: len(engine.truth.effects("create")) == 1, seconds=5)
    _until(workload, "Stopped")
    assert_world(engine.truth, [workload])


def test_stopping_what_has_finished_is_refused(engine: Engine) -> None:
    workload = engine.workload(command="behave succeed")
    _until(workload, "Completed")
    with pytest.raises(intents.AlreadyEnded, match="digits had already finished"):
        intents.stop(workload_id=workload.pk, by="researcher")


def test_run_again_makes_a_new_attempt_of_the_same_workload(engine: Engine) -> None:
    workload = engine.workload(command="behave succeed")
    _until(workload, "Completed")
    attempt = current_attempt(workload)
    intents.rerun(
        workload_id=workload.pk,
        by="researcher",
        effective=attempt.effective,
        rendered={"command": "behave sleep", "replicas": 1},
        spec_hash="new",
    )
    _until(workload, "Running")
    assert current_attempt(workload).cause == "rerun"
    assert (workload.attempt_no, workload.ended_at) == (2, None)
    assert [e.attempt for e in engine.truth.effects("create")] == [1, 2]


def test_run_again_is_refused_while_it_lives(engine: Engine) -> None:
    workload = engine.workload()
    with pytest.raises(intents.NotEnded):
        intents.rerun(
            workload_id=workload.pk, by="researcher", effective={}, rendered={}, spec_hash=""
        )


def test_retries_are_counted_paused_and_said_in_words(engine: Engine) -> None:
    workload = engine.workload(command="behave fail", backoff_limit=2)
    _until(workload, "Pending")
    assert workload.reason == "Failed once; attempt 2 of 3 starts in 10 s."
    due = workload.due_at
    assert due is not None
    assert due == current_attempt(workload).next_try_at
    assert (due - db_now()).total_seconds() == pytest.approx(10, abs=3)
    assert reconcile(workload.pk).claimed == 0, "nothing happens during the pause"
    _next_try_now(workload)
    _until(workload, "Pending")
    assert workload.reason == "Failed twice; attempt 3 of 3 starts in 20 s."
    _next_try_now(workload)
    _until(workload, "Failed")
    assert [a.cause for a in workload.attempts.order_by("no")] == ["submit", "retry", "retry"]
    assert workload.reason == "worker-0 failed first: Exited with code 3."
    assert_world(engine.truth, [workload])


def test_moves_are_no_tries_however_many_they_are(engine: Engine) -> None:
    workload = engine.workload()
    causes = ["retry"] * 4 + ["moved"] * 210
    Attempt.objects.bulk_create(
        Attempt(workload=workload, no=no, cause=cause, effective={}, created_at=db_now())
        for no, cause in enumerate(causes, 2)
    )
    assert tries_since_intent(workload) == 5


def test_a_new_intent_starts_the_count_anew(engine: Engine) -> None:
    workload = engine.workload(command="behave fail", backoff_limit=1)
    _until(workload, "Pending")
    _next_try_now(workload)
    _until(workload, "Failed")
    attempt = current_attempt(workload)
    intents.rerun(
        workload_id=workload.pk,
        by="researcher",
        effective=attempt.effective,
        rendered=attempt.rendered,
        spec_hash="",
    )
    _until(workload, "Pending")
    assert workload.reason == "Failed once; attempt 2 of 2 starts in 10 s."


def test_without_a_backoff_limit_a_failure_is_final(engine: Engine) -> None:
    workload = engine.workload(command="behave fail")
    _until(workload, "Failed")
    assert workload.due_at is None


def test_a_stop_between_two_tries_leaves_no_third(engine: Engine) -> None:
    workload = engine.workload(command="behave fail", backoff_limit=3)
    _until(workload, "Pending")
    intents.stop(workload_id=workload.pk, by="researcher")
    workload.refresh_from_db()
    assert workload.status == "Stopped"
    _next_try_now(workload)
    reconcile(workload.pk)
    assert len(engine.truth.effects("create")) == 1


@pytest.mark.parametrize(
    ("retries", "seconds"), [(0, 10), (1, 20), (2, 40), (4, 160), (5, 300), (99, 300)]
)
def test_pauses_double_up_to_five_minutes(retries: int, seconds: float) -> None:
    assert pause_seconds(retries) == seconds


def test_a_refused_create_ends_the_attempt_in_the_clusters_words(engine: Engine) -> None:
    engine.truth.plan("create", Fault.REFUSED, text="hostPath is not\x07 allowed")
    workload = engine.workload(backoff_limit=3)
    _until(workload, "Failed")
    assert workload.reason == "hostPath is not allowed."
    assert (workload.attempt_no, current_attempt(workload).create_state) == (1, "none")
    assert len(engine.truth.calls("create")) == 1


def test_a_busy_cluster_is_left_alone_for_as_long_as_it_asks(engine: Engine) -> None:
    engine.truth.plan("create", Fault.BUSY, seconds=7)
    workload = engine.workload()
    reconcile(workload.pk)
    workload.refresh_from_db()
    assert workload.due_at is not None
    assert (workload.due_at - db_now()).total_seconds() == pytest.approx(7, abs=2)
    assert workload.reason.startswith("The cluster is rate limiting requests; next try in 7 s, at ")
    assert workload.fail_count == 0


def test_what_a_busy_cluster_did_not_make_is_made_without_waiting_for_it(engine: Engine) -> None:
    """Nothing can be on its way: the next try need not wait until it could have landed."""
    engine.truth.plan("create", Fault.BUSY, seconds=0.1)
    workload = engine.workload()
    reconcile(workload.pk)
    assert current_attempt(workload).create_state == "none"
    began = time.monotonic()
    _until(workload, "Running")
    assert time.monotonic() - began < engine.truth.in_flight_max
    assert len(engine.truth.effects("create")) == 1


def test_a_release_that_is_refused_ends_the_attempt(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = FaultyDriver._look

    def held(driver: FaultyDriver, ref: AttemptRef) -> Observation:
        seen = look(driver, ref)
        is_there = seen.state is not ObservedState.ABSENT
        return replace(seen, state=ObservedState.HELD) if is_there else seen

    monkeypatch.setattr(FaultyDriver, "_look", held)
    engine.truth.plan("commit", Fault.REFUSED, text="exceeded quota: claims")
    workload = engine.workload(backoff_limit=3)
    _until(workload, "Failed")
    assert workload.reason == "exceeded quota: claims."
    assert (workload.attempt_no, current_attempt(workload).create_state) == (1, "seen")


def test_a_stop_that_never_arrived_is_forgotten_when_a_run_is_wanted_again(engine: Engine) -> None:
    workload = engine.workload()
    _until(workload, "Running")
    engine.truth.plan("suspend", Fault.ERROR_BEFORE)
    intents.stop(workload_id=workload.pk, by="researcher")
    reconcile(workload.pk)
    intents.resume(workload_id=workload.pk, by="researcher")
    _until(workload, "Resuming")
    clock.shift(timedelta(seconds=61))
    _until(workload, "Running")
    assert current_attempt(workload).stop_sent_at is None
    assert len(engine.truth.effects("suspend")) == 0


def test_a_deletion_frees_the_name_once_the_cluster_has_nothing(engine: Engine) -> None:
    workload = engine.workload()
    _until(workload, "Running")
    intents.delete(workload_id=workload.pk, by="researcher")
    wait_for(lambda: _is_deleted(workload), seconds=10)
    assert engine.truth.objects() == 0
    engine.workload(workload.name)
    assert_world(engine.truth, [workload])


def test_a_deletion_before_the_create_needs_no_cluster(engine: Engine) -> None:
    workload = engine.workload()
    engine.truth.set_unreachable(True)
    intents.delete(workload_id=workload.pk, by="researcher")
    assert _is_deleted(workload)


def test_an_ended_workload_can_be_deleted(engine: Engine) -> None:
    workload = engine.workload(command="behave fail")
    _until(workload, "Failed")
    intents.delete(workload_id=workload.pk, by="researcher")
    wait_for(lambda: _is_deleted(workload), seconds=10)
    assert engine.truth.objects() == 0


@pytest.mark.parametrize(
    "act",
    [
        lambda pk: intents.stop(workload_id=pk, by="x"),
        lambda pk: intents.resume(workload_id=pk, by="x"),
    ],
)
def test_a_deletion_cannot_be_taken_back(engine: Engine, act: Callable[[object], Workload]) -> None:
    workload = engine.workload()
    intents.delete(workload_id=workload.pk, by="researcher")
    with pytest.raises(intents.BeingDeleted):
        act(workload.pk)


def test_what_lands_after_the_deletion_is_removed_at_a_later_look(shared_engine: Engine) -> None:
    """R3: the name is free, yet whatever carries the workload's label later goes."""
    engine = shared_engine
    engine.truth.plan("create", Fault.LATE, seconds=4)
    workload = engine.workload()
    reconcile(workload.pk)
    intents.delete(workload_id=workload.pk, by="researcher")
    wait_for(lambda: _is_deleted(workload), seconds=10)
    assert engine.truth.effects("create") == []
    wait_for(lambda: engine.truth.objects() == 1, seconds=10)
    look = workload.due_at
    assert look is not None
    assert (look - db_now()).total_seconds() < 6
    clock.shift(timedelta(seconds=6))
    reconcile(workload.pk)
    wait_for(lambda: engine.truth.objects() == 0, seconds=5)


def test_an_ended_workload_deletes_itself_when_its_time_has_come(engine: Engine) -> None:
    workload = engine.workload(command="behave succeed", auto_delete_seconds=60)
    _until(workload, "Completed")
    assert workload.due_at is not None
    assert workload.ended_at is not None
    assert workload.due_at == workload.ended_at + timedelta(seconds=60)
    clock.shift(timedelta(seconds=61))
    assert _is_deleted(workload)
    assert workload.stop_cause == "auto"


def test_a_deletion_says_when_it_came_by_itself(engine: Engine) -> None:
    workload = engine.workload()
    _until(workload, "Running")
    intents.delete(workload_id=workload.pk, by="auto-deletion", cause="auto")
    workload.refresh_from_db()
    assert (workload.status, workload.reason) == (
        "Deleting",
        "Deleted automatically after its retention time.",
    )


def test_a_stopped_workload_does_not_delete_itself(engine: Engine) -> None:
    workload = engine.workload(auto_delete_seconds=60)
    intents.stop(workload_id=workload.pk, by="researcher")
    clock.shift(timedelta(seconds=61))
    reconcile(workload.pk)
    workload.refresh_from_db()
    assert (workload.status, workload.due_at) == ("Stopped", None)


def test_what_was_removed_behind_our_back_is_not_started_again(engine: Engine) -> None:
    workload = engine.workload(backoff_limit=5)
    _until(workload, "Running")
    engine.truth.force(str(workload.pk), ObservedState.ABSENT)
    Workload.objects.update(due_at=db_now())
    reconcile(workload.pk)
    workload.refresh_from_db()
    assert (workload.status, workload.reason) == ("Failed", "Removed outside Gangline.")
    assert reconcile(workload.pk).claimed == 0
    assert len(engine.truth.effects("create")) == 1


def test_a_bug_in_a_driver_is_shown_with_its_number_and_tried_again(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.drivers.faulty import FaultyDriver

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    workload = engine.workload()
    with monkeypatch.context() as patched:
        patched.setattr(FaultyDriver, "observe", broken)
        reconcile(workload.pk)
    workload.refresh_from_db()
    assert workload.reason.startswith("Internal error ")
    assert workload.fail_count == 1
    assert workload.due_at is not None
    assert workload.due_at > db_now() - timedelta(seconds=1)
    Workload.objects.update(due_at=db_now())
    _until(workload, "Running")
    assert "Internal error" not in workload.reason


def test_a_running_workload_is_looked_at_again_within_ten_minutes(engine: Engine) -> None:
    workload = engine.workload()
    _until(workload, "Running")
    assert workload.due_at is not None
    assert 300 <= (workload.due_at - db_now()).total_seconds() + 5 <= 606


def test_the_timeline_tells_who_asked(engine: Engine) -> None:
    workload = engine.workload()
    intents.stop(workload_id=workload.pk, by="researcher")
    event = Event.objects.get(workload=workload, kind=events.STOP_REQUESTED)
    assert event.actor_name == "researcher"
