"""How often a pass looks: what it sees itself never makes it look again at once."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from gangline.clusters.models import Cluster
from gangline.db.clock import db_now
from gangline.drivers.base import (
    AttemptRef,
    Busy,
    NotYet,
    Observation,
    ObservedState,
    Result,
)
from tests.support.engine import Engine
from workloads.models import Attempt, Workload
from workloads.services import intents, observe
from workloads.services import reconcile as passes
from workloads.services.observe import Stamped
from workloads.services.reconcile import reconcile

RUNNING, TERMINATING, UNKNOWN = (
    ObservedState.RUNNING,
    ObservedState.TERMINATING,
    ObservedState.UNKNOWN,
)


class _Shown:
    """A cluster that shows what it is told to, and ends nothing while the test lasts."""

    in_flight_max = 60.0

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.seen = Observation(str(workload.pk), 1, RUNNING, ext_uid="uid-1")
        self.looks = 0
        self.writes: list[str] = []
        self.answer: Result = NotYet()

    def shows(self, state: ObservedState, *, reason: str = "", is_cut_off: bool = False) -> None:
        self.seen = Observation(
            str(self.workload.pk), 1, state, ext_uid="uid-1", reason=reason, is_cut_off=is_cut_off
        )

    def observe(self, ref: AttemptRef) -> Observation:
        self.looks += 1
        return self.seen

    def __getattr__(self, write: str) -> Callable[[AttemptRef], Result]:
        def call(ref: AttemptRef) -> Result:
            self.writes.append(write)
            return self.answer

        return call

    def news(self) -> None:
        """What it shows reaches the rows by the watch."""
        observe.store([Stamped(self.seen, db_now())])


@pytest.fixture
def cluster(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> _Shown:
    """One with an admission of its own and a workload that is not created yet."""
    Cluster.objects.update(capacity={"admission": "theirs"})
    made = _Shown(engine.workload(workers=2, backoff_limit=0))
    monkeypatch.setattr(passes, "driver_for", lambda row: made)
    return made


@pytest.fixture
def running(cluster: _Shown) -> _Shown:
    """The same, and it runs."""
    Attempt.objects.update(
        create_state="seen",
        create_answered=True,
        released=True,
        sent_at=db_now() - timedelta(minutes=1),
        observed_state=RUNNING,
        ext_uid="uid-1",
    )
    return cluster


def _seconds_to_rest(workload: Workload) -> float:
    workload.refresh_from_db()
    assert workload.due_at is not None
    return (workload.due_at - db_now()).total_seconds()


@pytest.mark.parametrize("state", [RUNNING, TERMINATING])
@pytest.mark.parametrize(("ask", "write"), [(intents.stop, "suspend"), (intents.delete, "delete")])
def test_an_ending_is_sent_once_and_then_waited_for(
    running: _Shown, ask: Callable[..., Workload], write: str, state: ObservedState
) -> None:
    ask(workload_id=running.workload.pk, by="researcher")
    assert reconcile(running.workload.pk).effects == 1
    assert (running.looks, running.writes) == (2, [write])
    running.shows(state)
    running.news()
    assert _seconds_to_rest(running.workload) > 0
    Workload.objects.update(due_at=db_now())
    assert reconcile(running.workload.pk).effects == 0
    assert running.looks == 3
    assert _seconds_to_rest(running.workload) > 0


@pytest.mark.parametrize("is_cut_off", [True, False])
def test_one_look_without_an_answer_is_one_failure_and_a_pause(
    cluster: _Shown, is_cut_off: bool
) -> None:
    """Before its create: nothing is known to be there, and whether something is, is unknown."""
    cluster.shows(UNKNOWN, reason="Gangline may not get pytorchjobs", is_cut_off=is_cut_off)
    assert reconcile(cluster.workload.pk).claimed == 1
    assert cluster.looks == 1
    assert _seconds_to_rest(cluster.workload) > 0
    assert cluster.workload.fail_count == 1
    row = Cluster.objects.get()
    assert row.failures == int(is_cut_off)
    assert row.backoff_until is None


def test_contact_that_is_back_is_told_before_anything_was_created(cluster: _Shown) -> None:
    cluster.shows(UNKNOWN, reason="No answer")
    reconcile(cluster.workload.pk)
    cluster.workload.refresh_from_db()
    assert cluster.workload.contact_lost_at is not None
    cluster.shows(ObservedState.ABSENT)
    cluster.answer = Busy(3.0, "Its namespace is just being removed")
    Workload.objects.update(due_at=db_now())
    reconcile(cluster.workload.pk)
    cluster.workload.refresh_from_db()
    assert cluster.writes == ["create"]
    assert cluster.workload.contact_lost_at is None
    assert cluster.workload.reason == "Its namespace is just being removed; next try in 3 s."


def test_what_landed_late_is_removed_once_while_it_ends(running: _Shown) -> None:
    now = db_now()
    Attempt.objects.update(outcome="Stopped", tombstone_until=now + timedelta(hours=1))
    reconcile(running.workload.pk)
    assert (running.looks, running.writes) == (2, ["delete"])
    assert _seconds_to_rest(running.workload) > 0


def test_news_of_an_ending_that_was_not_repeated_for_long_wakes_the_workload(
    running: _Shown,
) -> None:
    intents.delete(workload_id=running.workload.pk, by="researcher")
    reconcile(running.workload.pk)
    later = db_now() + timedelta(minutes=5)
    Workload.objects.update(due_at=later)
    Attempt.objects.update(delete_sent_at=db_now() - timedelta(seconds=11))
    running.news()
    assert _seconds_to_rest(running.workload) <= 0


def test_news_wakes_nothing_that_waits_for_slots(cluster: _Shown) -> None:
    Cluster.objects.update(capacity={"admission": "ours", "cpus": 8, "memory": 10**9, "gpus": []})
    Workload.objects.update(due_at=db_now() + timedelta(minutes=5))
    cluster.shows(ObservedState.ABSENT)
    cluster.news()
    assert _seconds_to_rest(cluster.workload) > 0
