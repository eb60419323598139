"""An interactive session runs until one of its limits ends it, and says which."""

from datetime import timedelta
from typing import Any

import pytest

from gangline.audit.models import AuditEntry
from gangline.db import clock
from gangline.db.clock import db_now
from tests.support.engine import Engine
from tests.support.waiting import wait_for
from workloads import wording
from workloads.models import Event, Workload
from workloads.services import events, intents, sessions
from workloads.services.reconcile import reconcile


def until(workload: Workload, status: str) -> None:
    def works() -> bool:
        reconcile(workload.pk)
        workload.refresh_from_db()
        return workload.status == status

    wait_for(works, seconds=10, what=f"{status} of {workload}")


def running(engine: Engine, **limits: Any) -> Workload:
    workload = engine.workload(is_interactive=True, **limits)
    until(workload, "Running")
    return workload


def after(workload: Workload, seconds: float) -> Workload:
    """What it is so long after the test began."""
    clock.shift(timedelta(seconds=seconds))
    reconcile(workload.pk)
    workload.refresh_from_db()
    return workload


def test_it_is_stopped_when_its_time_is_over_though_somebody_uses_it(engine: Engine) -> None:
    workload = running(engine, session_seconds=3600, idle_seconds=600)
    for seconds in range(500, 3600, 500):
        assert after(workload, seconds).status == "Running"
        sessions.use(workload)
    after(workload, 3610)
    until(workload, "Stopped")
    assert workload.reason_code == workload.stop_cause == wording.SESSION_OVER
    assert "1 h" in workload.reason
    asked = Event.objects.get(workload=workload, kind=events.STOP_REQUESTED)
    assert asked.message == workload.reason
    entry = AuditEntry.objects.get(action="workload.stop")
    assert (entry.actor_id, entry.object_id) == (None, str(workload.pk))


def test_it_is_stopped_when_nobody_has_used_it_for_long(engine: Engine) -> None:
    """The rows are not looked at every second: the end itself makes it due."""
    workload = running(engine, idle_seconds=120)
    assert workload.due_at is not None
    assert workload.due_at <= db_now() + timedelta(seconds=120)
    after(workload, 100)
    sessions.use(workload)
    assert after(workload, 210).status == "Running"
    after(workload, 230)
    until(workload, "Stopped")
    assert (workload.reason_code, "2 min" in workload.reason) == (wording.SESSION_IDLE, True)


def test_one_that_is_started_again_has_its_whole_time(engine: Engine) -> None:
    workload = running(engine, session_seconds=120)
    after(workload, 130)
    until(workload, "Stopped")
    intents.resume(workload_id=workload.pk, by="researcher")
    until(workload, "Running")
    assert workload.stop_cause == ""
    assert after(workload, 240).status == "Running"
    after(workload, 260)
    until(workload, "Stopped")


@pytest.mark.parametrize("limits", [{}, {"session_seconds": 10**6, "idle_seconds": 10**6}])
def test_without_a_limit_it_runs_on(engine: Engine, limits: dict[str, int]) -> None:
    assert after(running(engine, **limits), 80_000).status == "Running"


def test_what_is_no_session_has_no_such_limits(engine: Engine) -> None:
    workload = engine.workload(session_seconds=60, idle_seconds=60)
    until(workload, "Running")
    sessions.use(workload)
    assert after(workload, 600).status == "Running"
    assert workload.used_at is None
