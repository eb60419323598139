"""The stretches of an attempt: when it waited, started and ran."""

import re
from datetime import timedelta

import pytest

from gangline.db import clock
from gangline.db.clock import db_now
from gangline.drivers.base import Observation, ObservedState
from tests.support.engine import Engine, current_attempt
from workloads.models import Attempt, Replica, Workload, running_since
from workloads.parts import draw_parts
from workloads.selectors import details
from workloads.services import intents, observe
from workloads.services.observe import Stamped


def _words(engine: Engine, **columns: object) -> list[str]:
    workload = engine.workload()
    attempt = current_attempt(workload)
    Attempt.objects.filter(pk=attempt.pk).update(**columns)
    Replica.objects.create(
        attempt=attempt, role="worker", index=0, rank=0, state="Running",
        started_at=attempt.created_at + timedelta(seconds=60),
    )  # fmt: skip
    return [s.word for s in details.timeline(details.attempts(workload)[0]).stretches]


def test_on_a_cluster_that_places_it_waits_until_the_first_pod_begins(engine: Engine) -> None:
    now = current_attempt(engine.workload("other")).created_at
    assert _words(engine, sent_at=now, observed_state="Starting") == ["waited", "starting"]


def test_a_gang_of_which_a_part_runs_still_waits(engine: Engine) -> None:
    now = current_attempt(engine.workload("other")).created_at
    assert _words(engine, sent_at=now, observed_state="Pending") == ["waiting"]


def test_where_slots_are_ours_it_waited_until_it_was_sent(engine: Engine) -> None:
    now = current_attempt(engine.workload("other")).created_at
    assert _words(engine, sent_at=now, placement=[]) == ["waited", "starting"]


def _seen(workload: Workload, state: ObservedState) -> None:
    seen = Observation(str(workload.pk), 1, state, ext_uid="uid-1")
    observe.store([Stamped(seen, db_now())])
    workload.refresh_from_db()


def _stretches(workload: Workload) -> list[tuple[str, float | None]]:
    """Words and whole seconds; None: it goes on."""
    workload = Workload.objects.get(pk=workload.pk)
    found = details.timeline(details.attempts(workload)[0]).stretches
    return [(s.word, round((s.ends - s.begins).total_seconds()) if s.ends else None) for s in found]


@pytest.fixture
def stopped(engine: Engine) -> Workload:
    """One that a cluster placed at once, ran there for a minute and was stopped."""
    workload = engine.workload()
    workload.attempts.update(create_state="sent", sent_at=db_now(), create_answered=True)
    _seen(workload, ObservedState.RUNNING)
    clock.shift(timedelta(seconds=60))
    intents.stop(workload_id=workload.pk, by="researcher")
    _seen(workload, ObservedState.SUSPENDED)
    assert workload.status == "Stopped"
    return workload


def test_a_stop_ends_the_running_where_the_cluster_keeps_the_object(stopped: Workload) -> None:
    clock.shift(timedelta(seconds=100))
    assert _stretches(stopped) == [("waited", 0), ("running", 60), ("stopped", None)]


def test_what_runs_again_counts_from_there(stopped: Workload) -> None:
    clock.shift(timedelta(seconds=100))
    intents.resume(workload_id=stopped.pk, by="researcher")
    stopped.refresh_from_db()
    assert stopped.started_at is None, "it does not run yet"
    clock.shift(timedelta(seconds=110))
    _seen(stopped, ObservedState.RUNNING)
    assert _stretches(stopped) == [
        ("waited", 0), ("running", 60), ("stopped", 40), ("waited", 10), ("running", None),
    ]  # fmt: skip
    assert stopped.started_at == current_attempt(stopped).started_at
    assert stopped.started_at is not None
    assert db_now() - stopped.started_at < timedelta(seconds=5)


def test_deleting_what_is_stopped_leaves_its_duration(stopped: Workload) -> None:
    clock.shift(timedelta(seconds=100))
    ended_at = stopped.ended_at
    intents.delete(workload_id=stopped.pk, by="researcher")
    stopped.refresh_from_db()
    assert (stopped.status, stopped.ended_at) == ("Deleting", ended_at)
    assert _stretches(stopped)[-1] == ("stopped", None)


def test_deleting_what_has_finished_leaves_its_duration(engine: Engine) -> None:
    workload = engine.workload()
    workload.attempts.update(create_state="sent", sent_at=db_now(), create_answered=True)
    _seen(workload, ObservedState.RUNNING)
    clock.shift(timedelta(seconds=31))
    _seen(workload, ObservedState.SUCCEEDED)
    ended_at = workload.ended_at
    clock.shift(timedelta(minutes=12))
    intents.delete(workload_id=workload.pk, by="researcher")
    workload.refresh_from_db()
    assert (workload.status, workload.ended_at) == ("Deleting", ended_at)
    assert ended_at is not None


def _duration(workload: Workload) -> int:
    """Seconds, as the column shows them."""
    workload.refresh_from_db()
    since = running_since(workload.ran_seconds)
    return round((db_now() - since).total_seconds()) if since else workload.ran_seconds


def test_a_stop_is_no_part_of_the_duration(stopped: Workload) -> None:
    """Neither the rest, nor the wait after it; what ran before is."""
    clock.shift(timedelta(seconds=100))
    intents.resume(workload_id=stopped.pk, by="researcher")
    assert _duration(stopped) == 60
    clock.shift(timedelta(seconds=110))
    _seen(stopped, ObservedState.RUNNING)
    clock.shift(timedelta(seconds=115))
    assert _duration(stopped) in range(64, 67)
    _seen(stopped, ObservedState.SUCCEEDED)
    clock.shift(timedelta(seconds=500))
    running = sum(s or 0 for word, s in _stretches(stopped) if word == "running")
    assert _duration(stopped) == running


def test_attempts_are_compared_on_one_scale(engine: Engine) -> None:
    """Hours between them count for nothing, and a short one can still be seen."""
    workload = engine.workload()
    now = db_now()
    for no, hours, seconds in ((3, 1, 200), (2, 5, 50), (1, 9, 0)):
        at = now - timedelta(hours=hours)
        times = {"created_at": at, "started_at": at, "ended_at": at + timedelta(seconds=seconds)}
        Attempt.objects.update_or_create(workload=workload, no=no, defaults=times)
    drawn = draw_parts(
        workload, may_act=frozenset(), tab="overview", first_pod=0, only=("timeline",)
    )["timeline"]
    bars = re.findall(r'<rect class="tone-good" x="(\d+)" width="(\d+)"', drawn)
    (long, short, none) = (int(width) for _, width in bars)
    assert long > 900
    assert 230 < short < 270
    assert 4 <= none < 20
    for track in drawn.split("<svg")[1:]:
        placed = re.findall(r'<rect class="tone-\w+" x="(\d+)" width="(\d+)"', track)
        ends = [int(x) + int(width) for x, width in placed]
        assert [int(x) for x, _ in placed] == [0, *ends[:-1]], "one after the other"
        assert ends[-1] <= 1000
    assert "3 min 20 s" in drawn.rpartition("</svg>")[2]


def test_the_pause_before_a_retry_is_no_part_of_the_duration(engine: Engine) -> None:
    workload = engine.workload(backoff_limit=1)
    workload.attempts.update(create_state="sent", sent_at=db_now(), create_answered=True)
    _seen(workload, ObservedState.RUNNING)
    clock.shift(timedelta(seconds=20))
    _seen(workload, ObservedState.FAILED)
    assert workload.attempt_no == 2
    clock.shift(timedelta(seconds=80))
    assert _duration(workload) == 20
