"""Only settle writes what people see, and it numbers every change of a project without gaps."""

import threading
from datetime import timedelta

import pytest
from django.db import connection, transaction

from gangline.db.clock import db_now
from gangline.live import notify
from gangline.resources.services import make
from tests.support.engine import Engine, current_attempt, new_workload
from workloads.models import Event, ScopeSeq, Workload
from workloads.services import intents, status
from workloads.services.reconcile import reconcile

pytestmark = pytest.mark.postgres


def _settle(workload: Workload) -> None:
    with transaction.atomic():
        row = Workload.objects.select_for_update().get(pk=workload.pk)
        status.settle(row, now=db_now())


def test_a_submission_gets_the_first_number(engine: Engine) -> None:
    workload = engine.workload()
    workload.refresh_from_db()
    assert (workload.seq, workload.status) == (1, "Creating")
    assert ScopeSeq.objects.get(pk=engine.project.pk).seq == 1


def test_settling_what_has_not_changed_takes_no_number(engine: Engine) -> None:
    workload = engine.workload()
    _settle(workload)
    workload.refresh_from_db()
    assert workload.seq == 1


def test_a_newer_reading_of_the_same_state_takes_no_number(engine: Engine) -> None:
    workload = engine.workload()
    attempt = current_attempt(workload)
    attempt.read_started_at = db_now()
    attempt.save()
    _settle(workload)
    workload.refresh_from_db()
    assert workload.observed_at == attempt.read_started_at
    assert workload.seq == 1


def test_every_change_of_status_is_one_event(engine: Engine) -> None:
    workload = engine.workload()
    reconcile(workload.pk)
    intents.stop(workload_id=workload.pk, by="researcher")
    reconcile(workload.pk)
    changes = Event.objects.filter(workload=workload, kind="PhaseChanged").order_by("id")
    words = [event.phase for event in changes]
    assert words == ["Running", "Stopping", "Stopped"]
    keys = [event.source_key for event in changes]
    assert keys == sorted(set(keys)), "each change has the event of its own number"


def test_numbers_of_many_writers_have_no_gap_and_no_double(shared_engine: Engine) -> None:
    """Eight threads stop and resume workloads of two projects; every change has its own number."""
    engine = shared_engine
    department = engine.project.department
    other = make("project", department=department, name="nlp")
    workloads = [engine.workload(f"one-{n}") for n in range(4)]
    workloads += [
        new_workload(name=f"two-{n}", project=other, owner=engine.owner, values={"command": "x"})
        for n in range(4)
    ]
    seen: list[tuple[int, int]] = []
    lock = threading.Lock()

    def work(workload: Workload) -> None:
        try:
            for turn in range(6):
                act = intents.stop if turn % 2 == 0 else intents.resume
                changed = act(workload_id=workload.pk, by="researcher")
                with lock:
                    seen.append((changed.project_id, changed.seq))
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(workload,)) for workload in workloads]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for project in (engine.project, other):
        numbers = sorted(seq for pk, seq in seen if pk == project.pk)
        head = ScopeSeq.objects.get(pk=project.pk).seq
        assert numbers == list(range(5, head + 1)), "4 submissions, then one number per intent"
        assert len(numbers) == 24


def test_the_bell_rings_with_the_head_after_the_commit(
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: object,
) -> None:
    rung: list[tuple[int, int]] = []
    monkeypatch.setattr(notify, "announce", lambda project, seq: rung.append((project, seq)))
    workload = engine.workload()
    rung.clear()
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        intents.stop(workload_id=workload.pk, by="researcher")
        assert rung == [], "nothing is announced before it is committed"
    workload.refresh_from_db()
    assert rung == [(engine.project.pk, workload.seq)]


def test_a_rerun_counts_its_time_anew_and_a_retry_goes_on(engine: Engine) -> None:
    workload = engine.workload(command="behave fail", backoff_limit=1)
    reconcile(workload.pk)
    reconcile(workload.pk)
    workload.refresh_from_db()
    first_start = workload.started_at
    assert first_start is not None
    assert workload.status == "Pending"
    attempt = current_attempt(workload)
    assert attempt.cause == "retry"
    _run_now(workload)
    workload.refresh_from_db()
    assert workload.status == "Failed"
    assert workload.started_at == first_start
    intents.rerun(
        workload_id=workload.pk,
        by="researcher",
        effective=attempt.effective,
        rendered=attempt.rendered,
        spec_hash="",
    )
    workload.refresh_from_db()
    fresh = Workload.objects.get(pk=workload.pk)
    assert fresh.status == "Creating"
    assert fresh.started_at is None
    assert fresh.ended_at is None


def _run_now(workload: Workload) -> None:
    """Spare the pause before the next try."""
    past = db_now() - timedelta(seconds=1)
    workload.attempts.filter(no=workload.attempt_no).update(next_try_at=past)
    Workload.objects.filter(pk=workload.pk).update(due_at=past)
    reconcile(workload.pk)
