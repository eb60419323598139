"""What a cluster shows in a shape that nobody thought of costs that workload its news alone."""

from datetime import UTC, datetime, timedelta

import pytest

from gangline.db.clock import db_now
from gangline.drivers.base import (
    Observation,
    ObservedState,
    ReplicaObservation,
    ReplicaState,
)
from tests.support.engine import Engine, current_attempt
from workloads.models import Attempt, Desired, Workload
from workloads.services import intents, observe
from workloads.services.observe import Stamped
from workloads.services.reconcile import reconcile

LAST = datetime.max.replace(tzinfo=UTC)


def _failed(workload: Workload, ended_at: datetime, code: int = 1) -> Stamped:
    ill = ReplicaObservation("worker", 0, 0, ReplicaState.FAILED, exit_code=code)
    seen = Observation(
        str(workload.pk), 1, ObservedState.FAILED, ext_uid="u", replicas=(ill,), ended_at=ended_at
    )
    return Stamped(seen, db_now())


def test_the_others_of_its_batch_are_stored(
    engine: Engine, workload: Workload, caplog: pytest.LogCaptureFixture
) -> None:
    other = engine.workload(name="other")
    seen = Observation(str(other.pk), 1, ObservedState.RUNNING, ext_uid="u")
    stored = observe.store_batch([_failed(workload, db_now(), 10**30), Stamped(seen, db_now())])
    assert stored.changed == 1
    other.refresh_from_db()
    workload.refresh_from_db()
    assert (other.status, workload.status) == ("Running", "Creating")
    assert f"an observation of workload {workload.pk} cannot be stored" in caplog.text


def test_a_deletion_needs_no_day_of_deletion(workload: Workload) -> None:
    Workload.objects.filter(pk=workload.pk).update(auto_delete_seconds=60)
    Attempt.objects.filter(workload=workload).update(outcome="Failed", ended_at=LAST)
    intents.delete(workload_id=workload.pk, by="researcher")
    reconcile(workload.pk)
    workload.refresh_from_db()
    assert workload.desired == Desired.DELETED
    assert "Internal error" not in workload.reason


def test_a_clock_that_is_behind_deletes_nothing(workload: Workload) -> None:
    Workload.objects.filter(pk=workload.pk).update(auto_delete_seconds=3600)
    observe.store_batch([_failed(workload, db_now() - timedelta(days=400))])
    assert current_attempt(workload).outcome == "Failed"
    reconcile(workload.pk)
    workload.refresh_from_db()
    assert (workload.desired, workload.status) == (Desired.RUNNING, "Failed")
