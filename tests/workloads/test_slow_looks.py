"""A look that took so long that its claim may be over before an effect arrives."""

import pytest

from gangline.db.clock import db_now
from tests.support.engine import Engine, current_attempt
from tests.support.waiting import wait_for
from workloads.models import CreateState, Workload
from workloads.services import claims, intents
from workloads.services.reconcile import reconcile


@pytest.fixture
def is_slow(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(claims, "OLDEST_FOR_EFFECT", -1.0)
    return monkeypatch


def _told(workload: Workload) -> None:
    """It is tried again after a pause, and nothing was noted as sent."""
    workload.refresh_from_db()
    assert workload.fail_count == 1
    assert workload.due_at
    assert workload.due_at > db_now()
    assert current_attempt(workload).trouble.startswith("The cluster answers too slowly")


def test_no_create_is_noted_that_is_not_sent(engine: Engine, is_slow: pytest.MonkeyPatch) -> None:
    workload = engine.workload()
    reconcile(workload.pk)
    _told(workload)
    attempt = current_attempt(workload)
    assert (attempt.create_state, attempt.sent_at) == (CreateState.NONE, None)
    assert not engine.truth.effects("create")
    is_slow.undo()
    Workload.objects.filter(pk=workload.pk).update(due_at=db_now())
    assert reconcile(workload.pk).effects
    workload.refresh_from_db()
    assert workload.fail_count == 0


def test_no_stop_is_noted_that_is_not_sent(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    workload = engine.workload()

    def runs() -> bool:
        reconcile(workload.pk)
        return current_attempt(workload).observed_state == "Running"

    wait_for(runs, seconds=10)
    monkeypatch.setattr(claims, "OLDEST_FOR_EFFECT", -1.0)
    intents.stop(workload_id=workload.pk, by="researcher")
    reconcile(workload.pk)
    _told(workload)
    assert current_attempt(workload).stop_sent_at is None
    assert not engine.truth.effects("suspend")
