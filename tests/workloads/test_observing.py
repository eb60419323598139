"""What may reach the rows: the newest read of our own object, and nothing after the end."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from gangline.clusters.models import Cluster
from gangline.db import clock
from gangline.db.clock import db_now
from gangline.db.leases import LeaseHolder, LeaseLost
from gangline.drivers.base import (
    IMAGE_PULL,
    AttemptRef,
    Done,
    Observation,
    ObservedState,
    ReplicaObservation,
    ReplicaState,
)
from gangline.settings.catalogue import IMAGE_PULL_MINUTES
from tests.drivers.faulty import FaultyDriver
from tests.support.engine import Engine, See, current_attempt
from tests.support.settings import turn
from workloads.models import Attempt, Event, Replica, Workload
from workloads.services import events, intents, observe
from workloads.services.observe import Stamped
from workloads.services.reconcile import reconcile

pytestmark = pytest.mark.postgres

RUNNING, FAILED, SUCCEEDED, ABSENT, UNKNOWN = (
    ObservedState.RUNNING,
    ObservedState.FAILED,
    ObservedState.SUCCEEDED,
    ObservedState.ABSENT,
    ObservedState.UNKNOWN,
)


def _replica(index: int, state: ReplicaState, **values: Any) -> ReplicaObservation:
    return replace(ReplicaObservation("worker", index, index, state), **values)


def test_a_first_sight_is_stored_with_its_replicas(workload: Workload, see: See) -> None:
    replicas = tuple(_replica(i, ReplicaState.RUNNING) for i in range(2))
    assert see(RUNNING, replicas=replicas).changed == 1
    attempt = current_attempt(workload)
    assert (attempt.create_state, attempt.ext_uid) == ("seen", "uid-1")
    assert (workload.status, workload.pods_ready) == ("Running", 2)
    assert [r.name for r in Replica.objects.order_by("rank")] == ["worker-0", "worker-1"]


def test_two_reads_of_one_batch_leave_one_row_for_each_pod(workload: Workload) -> None:
    first, second = (ReplicaState.STARTING, ReplicaState.RUNNING)
    now = db_now()
    observe.store_batch(
        [
            Stamped(
                Observation(str(workload.pk), 1, RUNNING, replicas=(_replica(0, state),)),
                now - timedelta(seconds=ago),
            )
            for state, ago in ((second, 1), (first, 2))
        ]
    )
    assert [(r.name, r.state) for r in Replica.objects.all()] == [("worker-0", "Running")]


def test_pods_of_a_batch_take_as_many_statements_as_those_of_one(engine: Engine) -> None:
    made = [engine.workload(f"w{number}", workers=2) for number in range(4)]
    for workload in made:
        workload.attempts.update(create_state="sent", sent_at=db_now(), create_answered=True)

    def see(workloads: Sequence[Workload], state: ReplicaState) -> list[str]:
        pods = tuple(_replica(index, state) for index in range(2))
        with CaptureQueriesContext(connection) as captured:
            observe.store_batch(
                [
                    Stamped(Observation(str(one.pk), 1, RUNNING, replicas=pods), db_now())
                    for one in workloads
                ]
            )
        return [q["sql"].split()[0] for q in captured if "workloads_replica" in q["sql"]]

    see(made, ReplicaState.STARTING)
    assert see(made, ReplicaState.RUNNING) == see(made[:1], ReplicaState.STARTING)
    states = Replica.objects.order_by("attempt__workload__name", "rank")
    assert [one.state for one in states] == ["Starting"] * 2 + ["Running"] * 6


def test_an_older_read_is_dropped_and_named_as_stale(workload: Workload, see: See) -> None:
    see(RUNNING, ago=1)
    stored = see(FAILED, ago=2)
    assert [s.state for s in stored.stale] == [FAILED]
    assert current_attempt(workload).observed_state == RUNNING


def test_a_read_from_before_the_clock_was_put_back_is_no_newer(
    workload: Workload, see: See
) -> None:
    clock.shift(timedelta(minutes=20))
    see(RUNNING)
    clock.shift(timedelta())
    assert see(SUCCEEDED).stale == []
    assert current_attempt(workload).observed_state == SUCCEEDED


def test_of_reads_that_began_together_the_first_that_is_stored_stays(workload: Workload) -> None:
    seen = Observation(str(workload.pk), 1, RUNNING)
    read_at = db_now()
    assert observe.store([Stamped(seen, read_at)]) == 1
    again = replace(seen, state=ObservedState.STARTING)
    stored = observe.store_batch([Stamped(again, read_at)])
    assert (stored.changed, stored.stale) == (0, [again])
    assert current_attempt(workload).observed_state == RUNNING


def test_in_one_batch_the_newest_read_wins(workload: Workload) -> None:
    now = db_now()
    newer = Stamped(Observation(str(workload.pk), 1, RUNNING), now)
    older = Stamped(
        Observation(str(workload.pk), 1, ObservedState.STARTING), now - timedelta(seconds=1)
    )
    observe.store([newer, older])
    assert current_attempt(workload).observed_state == RUNNING


def test_an_object_with_another_uid_is_not_ours(workload: Workload, see: See) -> None:
    see(RUNNING, ago=1)
    assert see(FAILED, ext_uid="uid-2").changed == 0
    assert current_attempt(workload).outcome == ""


@pytest.mark.parametrize("text", ["", "no-uuid", "5f0c0d3e-0000-4000-8000-000000000000"])
def test_objects_of_no_row_are_ignored(workload: Workload, text: str) -> None:
    assert observe.store([Stamped(Observation(text, 1, RUNNING), db_now())]) == 0
    assert observe.store([Stamped(Observation(str(workload.pk), 7, RUNNING), db_now())]) == 0


def test_a_number_that_no_row_can_have_does_not_fail_the_batch(workload: Workload) -> None:
    seen = [Observation(str(workload.pk), no, RUNNING) for no in (10**20, -1, 1)]
    assert observe.store([Stamped(one, db_now()) for one in seen]) == 1
    assert current_attempt(workload).observed_state == RUNNING


@pytest.mark.parametrize("end", [SUCCEEDED, FAILED])
def test_a_terminal_attempt_never_runs_again(
    workload: Workload, see: See, end: ObservedState
) -> None:
    see(end, ago=2)
    attempt = current_attempt(workload)
    status, seq = workload.status, workload.seq
    assert see(RUNNING, ago=1).changed == 0
    assert see(RUNNING, ago=0.5).changed == 0
    after = current_attempt(workload)
    assert (after.outcome, after.observed_state) == (attempt.outcome, end)
    assert (workload.status, workload.seq) == (status, seq)
    assert Event.objects.filter(kind=events.ANOMALY).count() == 1


def test_what_somebody_removed_is_lost_and_stays_so(workload: Workload, see: See) -> None:
    see(RUNNING, ago=2)
    see(ABSENT, ago=1)
    attempt = current_attempt(workload)
    assert attempt.outcome == "LostExternally"
    assert (workload.status, workload.reason) == ("Failed", "Removed outside Gangline.")
    assert workload.attempt_no == 1
    see(RUNNING)
    assert current_attempt(workload).outcome == "LostExternally"


def test_absence_read_before_the_create_was_sent_says_nothing(workload: Workload, see: See) -> None:
    see(ABSENT, ago=120)
    assert current_attempt(workload).absent_since is None
    see(ABSENT, ago=30)
    first = current_attempt(workload).absent_since
    see(ABSENT, ago=10)
    assert current_attempt(workload).absent_since == first
    see(RUNNING)
    assert current_attempt(workload).absent_since is None


def test_no_contact_keeps_the_last_state_and_says_since_when(workload: Workload, see: See) -> None:
    see(RUNNING, ago=60)
    see(UNKNOWN, ago=30)
    see(UNKNOWN, ago=10)
    workload.refresh_from_db()
    assert workload.status == "Running"
    assert workload.contact_lost_at is not None
    assert _seconds_ago(workload.contact_lost_at) == pytest.approx(30, abs=5)
    see(RUNNING)
    workload.refresh_from_db()
    assert workload.contact_lost_at is None


def test_only_what_was_never_observed_becomes_unknown(workload: Workload, see: See) -> None:
    see(UNKNOWN, ago=90)
    workload.refresh_from_db()
    assert workload.status == "Creating"
    see(UNKNOWN, ago=5)
    workload.refresh_from_db()
    assert workload.status == "Unknown"


def test_a_foreign_object_with_the_name_is_a_failure_without_retry(
    workload: Workload, see: See
) -> None:
    Workload.objects.filter(pk=workload.pk).update(backoff_limit=3)
    see(ObservedState.CONFLICT)
    workload.refresh_from_db()
    assert workload.status == "Failed"
    assert "Another object" in workload.reason
    assert workload.attempt_no == 1


def test_the_first_failure_is_the_reason(workload: Workload, see: See) -> None:
    replicas = (
        _replica(0, ReplicaState.STOPPED),
        _replica(1, ReplicaState.FAILED, exit_code=1),
    )
    see(FAILED, replicas=replicas, first_failure="worker-1")
    workload.refresh_from_db()
    assert workload.reason == "worker-1 failed first: exit code 1."


def test_ill_pods_of_a_running_gang_make_it_degraded(workload: Workload, see: See) -> None:
    replicas = (_replica(0, ReplicaState.RUNNING), _replica(1, ReplicaState.FAILED, exit_code=1))
    see(RUNNING, replicas=replicas)
    workload.refresh_from_db()
    assert workload.status == "Degraded"
    assert workload.reason == "1 of 2 pods failed. worker-1: exit code 1."


def test_a_stop_that_is_due_wakes_the_row_and_a_mere_change_does_not(
    workload: Workload, see: See
) -> None:
    later = db_now() + timedelta(minutes=5)
    Workload.objects.filter(pk=workload.pk).update(due_at=later)
    assert see(ObservedState.STARTING, ago=3).woken == []
    assert see(RUNNING, ago=2).woken == []
    intents.stop(workload_id=workload.pk, by="researcher")
    Workload.objects.filter(pk=workload.pk).update(due_at=later, rung_until=later)
    assert see(RUNNING).woken == [workload.pk]
    workload.refresh_from_db()
    assert workload.due_at is not None
    assert workload.due_at < later
    assert workload.rung_until is None


def test_a_watcher_without_its_lease_stores_nothing(workload: Workload) -> None:
    holder, successor = LeaseHolder("watcher:x", seconds=0), LeaseHolder("watcher:x")
    assert holder.acquire()
    assert successor.acquire()
    seen = Stamped(Observation(str(workload.pk), 1, RUNNING), db_now())
    with pytest.raises(LeaseLost):
        observe.store_batch([seen], guard=holder.guard)
    assert current_attempt(workload).create_state == "sent"
    assert observe.store_batch([seen], guard=successor.guard).changed == 1


def test_a_failure_during_a_stop_is_a_stop(workload: Workload, see: See) -> None:
    see(RUNNING, ago=2)
    intents.stop(workload_id=workload.pk, by="researcher")
    Attempt.objects.update(stop_sent_at=db_now())
    see(FAILED)
    assert current_attempt(workload).outcome == "Stopped"
    assert (workload.status, workload.reason) == ("Stopped", "Stopped by researcher.")


@pytest.mark.parametrize(
    ("admission", "state", "expected"),
    [
        ("ours", ObservedState.SUSPENDED, True),
        ("theirs", ObservedState.SUSPENDED, False),
        *(
            (admission, state, True)
            for admission in ("ours", "theirs")
            for state in (SUCCEEDED, FAILED)
        ),
        *(
            (admission, state, False)
            for admission in ("ours", "theirs")
            for state in ObservedState
            if state not in (SUCCEEDED, FAILED, ObservedState.SUSPENDED)
        ),
    ],
)
def test_a_stopped_attempt_is_over_only_where_slots_are_ours(
    admission: str, state: ObservedState, expected: bool
) -> None:
    cluster = Cluster(capacity={"admission": admission})
    assert observe.is_over(Observation("w", 1, state), cluster) is expected


def test_a_stopped_attempt_that_is_seen_again_is_no_anomaly(workload: Workload, see: See) -> None:
    _give_out_slots(workload)
    intents.stop(workload_id=workload.pk, by="ada")
    see(ObservedState.SUSPENDED, ago=3)
    attempt = current_attempt(workload)
    assert (attempt.outcome, workload.status) == ("Stopped", "Stopped")
    see(ObservedState.SUSPENDED, ago=2)
    assert not Event.objects.filter(kind=events.ANOMALY).exists()
    see(RUNNING, ago=1)
    (event,) = Event.objects.filter(kind=events.ANOMALY)
    assert event.message.startswith("Attempt 1 had ended, but the cluster shows it as Running.")
    attempt.refresh_from_db()
    assert (attempt.outcome, attempt.observed_state) == ("Stopped", "Suspended")


def test_what_goes_after_its_end_to_make_room_for_the_next_attempt_is_no_anomaly(
    workload: Workload, see: See
) -> None:
    Workload.objects.update(backoff_limit=2)
    see(RUNNING, ago=4)
    see(FAILED, ago=3)
    assert current_attempt(workload).no == 2
    see(ObservedState.TERMINATING, ago=2)
    assert not Event.objects.filter(kind=events.ANOMALY).exists()
    see(RUNNING, ago=1)
    assert Event.objects.filter(kind=events.ANOMALY).count() == 1


def test_a_suspended_attempt_of_another_scheduler_goes_on(workload: Workload, see: See) -> None:
    intents.stop(workload_id=workload.pk, by="ada")
    see(ObservedState.SUSPENDED, ago=2)
    assert current_attempt(workload).outcome == ""
    assert workload.status == "Stopped"


def test_only_what_lives_after_its_end_landed_late(workload: Workload, see: See) -> None:
    """`reconcile` ends a create that came in after all, and lets what is over rest."""
    _give_out_slots(workload)
    intents.stop(workload_id=workload.pk, by="ada")
    see(ObservedState.SUSPENDED, ago=1)
    assert not _is_deleted_when_seen(workload, ObservedState.SUSPENDED)
    assert _is_deleted_when_seen(workload, RUNNING)


def _is_deleted_when_seen(workload: Workload, state: ObservedState) -> bool:
    now = db_now()
    Attempt.objects.update(tombstone_until=now + timedelta(hours=1))
    Workload.objects.update(due_at=now)
    asked: list[AttemptRef] = []

    def delete(driver: FaultyDriver, ref: AttemptRef) -> Done:
        asked.append(ref)
        return Done()

    with pytest.MonkeyPatch.context() as patched:
        seen = Observation(str(workload.pk), 1, state)
        patched.setattr(FaultyDriver, "observe", lambda driver, ref: seen)
        patched.setattr(FaultyDriver, "delete", delete)
        reconcile(workload.pk)
    return bool(asked)


def _give_out_slots(workload: Workload) -> None:
    capacity = {"admission": "ours", "cpus": 8, "memory": 10**9, "gpus": []}
    Cluster.objects.filter(pk=workload.cluster_id).update(capacity=capacity)


def _seconds_ago(at: datetime) -> float:
    return (db_now() - at).total_seconds()


def test_an_image_that_cannot_be_pulled_fails_after_a_while_without_a_retry(
    workload: Workload, see: See, monkeypatch: pytest.MonkeyPatch
) -> None:
    Workload.objects.filter(pk=workload.pk).update(backoff_limit=3)
    reconcile(workload.pk)
    deleted: list[AttemptRef] = []

    def look(driver: FaultyDriver, ref: AttemptRef) -> Observation:
        stuck = _replica(0, ReplicaState.STARTING)
        return Observation(
            ref.workload, ref.attempt, ObservedState.STARTING, replicas=(stuck,),
            reason_code=IMAGE_PULL, reason_params={"pod": "worker-0", "image": "no/such"},
        )  # fmt: skip

    def delete(driver: FaultyDriver, ref: AttemptRef) -> Done:
        deleted.append(ref)
        return Done()

    monkeypatch.setattr(FaultyDriver, "observe", look)
    monkeypatch.setattr(FaultyDriver, "delete", delete)

    def look_again() -> Attempt:
        Workload.objects.filter(pk=workload.pk).update(due_at=db_now())
        reconcile(workload.pk)
        return current_attempt(workload)

    attempt = look_again()
    assert (attempt.outcome, workload.status, deleted) == ("", "Initializing", [])
    past = db_now() - timedelta(minutes=10)
    Attempt.objects.filter(pk=attempt.pk).update(reason_since=past)
    assert not look_again().outcome
    turn(IMAGE_PULL_MINUTES, 10)
    attempt = look_again()
    assert (attempt.no, attempt.outcome, len(deleted)) == (1, "Failed", 1)
    assert (workload.status, workload.reason_code) == ("Failed", IMAGE_PULL)
    assert workload.reason_params["image"] == "no/such"
    assert not Event.objects.filter(kind=events.ANOMALY).exists()
