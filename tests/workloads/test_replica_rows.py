"""What the rows of pods keep: where and when one ran, once its pod is there no more."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from gangline.clusters.models import Cluster
from gangline.db.clock import db_now
from gangline.drivers.base import (
    Observation,
    ObservedState,
    ReplicaObservation,
    ReplicaState,
)
from tests.support.engine import Engine, current_attempt
from workloads.models import Replica, Workload
from workloads.services import intents, observe
from workloads.services.observe import Stamped
from workloads.services.replicas import GONE

pytestmark = pytest.mark.postgres

See = Callable[..., Replica]


@pytest.fixture
def workload(engine: Engine) -> Workload:
    made = engine.workload(backoff_limit=0)
    made.attempts.update(create_state="sent", sent_at=db_now() - timedelta(minutes=1))
    return made


@pytest.fixture
def began() -> datetime:
    return db_now() - timedelta(seconds=30)


@pytest.fixture
def see(workload: Workload) -> See:
    """Store how the attempt and its only pod are seen, ``ago`` seconds ago; return the row."""

    def store(state: ObservedState, pod: ReplicaState, *, ago: float = 0, **values: Any) -> Replica:
        seen = replace(ReplicaObservation("worker", 0, 0, pod), **values)
        its = Observation(str(workload.pk), 1, state, ext_uid="uid-1", replicas=(seen,))
        observe.store([Stamped(its, db_now() - timedelta(seconds=ago))])
        return Replica.objects.get()

    return store


@pytest.fixture
def ran(see: See, began: datetime) -> dict[str, Any]:
    """What belongs to its pod, which was seen to run."""
    pod = {"pod_uid": "p", "node": "node-a", "started_at": began, "restarts": 2}
    see(ObservedState.RUNNING, ReplicaState.RUNNING, ago=9, **pod)
    return pod


def _of_its_pod(row: Replica) -> dict[str, Any]:
    return {name: getattr(row, name) for name in ("pod_uid", "node", "started_at", "restarts")}


def test_where_a_pod_ran_is_known_after_it_was_removed(see: See, ran: dict[str, Any]) -> None:
    """An operator removes the others of a gang that has failed."""
    row = see(ObservedState.FAILED, ReplicaState.STOPPED, reason="Ended with the others.")
    assert (row.state, row.reason) == ("Stopped", "Ended with the others.")
    assert _of_its_pod(row) == ran
    assert row.ended_at is not None


@pytest.mark.parametrize("meanwhile", [ObservedState.PENDING, ObservedState.TERMINATING])
def test_it_is_known_when_the_end_is_told_after_the_pod_was_removed(
    see: See, ran: dict[str, Any], meanwhile: ObservedState
) -> None:
    for ago in (3, 2):
        row = see(meanwhile, ReplicaState.PENDING, ago=ago)
        assert (row.state, row.reason) == ("Stopped", GONE)
        assert _of_its_pod(row) == ran
    gone_at = row.ended_at
    row = see(ObservedState.FAILED, ReplicaState.STOPPED, reason="Ended with the others.")
    assert (row.state, row.reason) == ("Stopped", "Ended with the others.")
    assert _of_its_pod(row) == ran
    assert row.ended_at == gone_at


def test_where_a_pod_was_that_never_began_is_kept_too(see: See) -> None:
    see(ObservedState.STARTING, ReplicaState.STARTING, ago=3, pod_uid="p", node="node-a")
    row = see(ObservedState.FAILED, ReplicaState.STOPPED)
    assert (row.node, row.started_at) == ("node-a", None)


def test_how_a_pod_ended_is_known_after_it_was_removed(see: See, ran: dict[str, Any]) -> None:
    end = {"exit_code": 3, "reason": "Exited with code 3.", "ended_at": db_now()}
    see(ObservedState.RUNNING, ReplicaState.FAILED, ago=4, **(ran | end))
    see(ObservedState.PENDING, ReplicaState.PENDING, ago=3)
    row = see(ObservedState.FAILED, ReplicaState.STOPPED, reason="Ended with the others.")
    assert (row.state, row.exit_code, row.reason) == ("Failed", 3, "Exited with code 3.")
    assert (_of_its_pod(row), row.ended_at) == (ran, end["ended_at"])


def test_another_pod_takes_the_place_of_the_one_that_is_gone(see: See, ran: dict[str, Any]) -> None:
    see(ObservedState.PENDING, ReplicaState.PENDING, ago=3)
    row = see(ObservedState.PENDING, ReplicaState.PENDING, ago=2, pod_uid="q")
    assert (row.state, row.pod_uid, row.node, row.reason) == ("Pending", "q", "", "")
    assert (row.started_at, row.ended_at) == (None, None)


def test_a_pod_to_come_of_one_that_goes_on_after_a_stop_has_no_node(
    workload: Workload, see: See, ran: dict[str, Any]
) -> None:
    Cluster.objects.update(capacity={"admission": "theirs"})
    intents.stop(workload_id=workload.pk, by="ada")
    row = see(ObservedState.SUSPENDED, ReplicaState.STOPPED, ago=3, reason="Stopped on request.")
    assert (row.state, row.node) == ("Stopped", "node-a")
    intents.resume(workload_id=workload.pk, by="ada")
    assert current_attempt(workload).rests
    row = see(ObservedState.PENDING, ReplicaState.PENDING)
    assert (row.state, row.node, row.started_at, row.ended_at) == ("Pending", "", None, None)


def test_a_pod_that_takes_a_part_of_a_gpu_holds_that_part(workload: Workload, see: See) -> None:
    compute = {"gpuDevicesRequest": 1, "gpuRequestType": "portion", "gpuPortionRequest": 0.1}
    said = {f"worker.compute.{name}": {"value": value} for name, value in compute.items()}
    workload.attempts.update(effective=said)
    assert see(ObservedState.RUNNING, ReplicaState.RUNNING).gpus == 0.1
    workload.refresh_from_db()
    assert workload.gpus_in_use == 0.1
