"""What a cluster refuses for good, kept with the attempt and told on the workload's pages."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from gangline.db import clock
from gangline.db.clock import db_now
from gangline.drivers.base import (
    NotYet,
    Observation,
    ObservedState,
    ReplicaObservation,
    ReplicaState,
)
from tests.drivers.faults import Fault
from tests.drivers.faulty import FaultyDriver
from tests.support.engine import Engine, current_attempt
from tests.support.waiting import wait_for
from workloads.models import Workload
from workloads.services import intents, observe
from workloads.services.reconcile import reconcile


def test_f14_what_a_cluster_refuses_is_kept_with_its_field_and_not_tried_again(
    engine: Engine,
) -> None:
    words = "minimum memory usage per Container is 100Mi, but request is 64Mi"
    text = f"worker.compute.cpuMemoryRequest: {words}"
    engine.truth.plan("create", Fault.REFUSED, text=text, times=9)
    workload = engine.workload(backoff_limit=3)
    wait_for(lambda: _step(workload) == "Failed", what="its end")
    clock.shift(timedelta(minutes=10))
    reconcile(workload.pk)
    assert len(engine.truth.calls("create")) == 1
    attempt = current_attempt(workload)
    (stored,) = attempt.refusal
    assert (stored["role"], stored["path"]) == ("worker", "compute.cpuMemoryRequest")
    assert attempt.refusals == [f"Memory request is not accepted by the cluster: {words}."]


@pytest.mark.parametrize(
    ("ask", "write", "doing"),
    [
        (intents.stop, "suspend", "Stopped by researcher; waiting for 1 pod to end. "),
        (intents.delete, "delete", ""),
    ],
)
def test_why_an_ending_was_refused_is_told_until_one_is_taken(
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    ask: Callable[..., Workload],
    write: str,
    doing: str,
) -> None:
    workload = _running(engine)
    engine.truth.plan(write, Fault.REFUSED, text="no patch for you", times=2)
    ask(workload_id=workload.pk, by="researcher")
    for tries in (1, 2):
        _step(workload)
        assert workload.reason == f"{doing}The cluster refused it: no patch for you."
        _see_it_run(workload)
        assert workload.reason == f"{doing}The cluster refused it: no patch for you."
        assert len(engine.truth.calls(write)) == tries
        clock.shift(timedelta(seconds=11 * tries))
        Workload.objects.update(due_at=db_now())
    monkeypatch.setattr(FaultyDriver, write, lambda driver, ref: NotYet())
    _step(workload)
    assert workload.reason == doing.strip()
    assert current_attempt(workload).wait_code == ""


def test_what_was_said_to_a_stop_is_no_answer_to_a_run(engine: Engine) -> None:
    workload = _running(engine)
    engine.truth.plan("suspend", Fault.REFUSED, text="no patch for you", times=9)
    intents.stop(workload_id=workload.pk, by="researcher")
    _step(workload)
    intents.resume(workload_id=workload.pk, by="researcher")
    _see_it_run(workload)
    assert workload.status == "Resuming"
    assert workload.reason == ""


def _running(engine: Engine) -> Workload:
    workload = engine.workload()
    wait_for(lambda: _step(workload) == "Running", what="its run")
    return workload


def _see_it_run(workload: Workload) -> None:
    """What a watch tells while nothing ends."""
    pod = ReplicaObservation("worker", 0, 0, ReplicaState.RUNNING, pod_uid="p")
    seen = Observation(str(workload.pk), 1, ObservedState.RUNNING, replicas=(pod,))
    observe.store([observe.Stamped(seen, db_now())])
    workload.refresh_from_db()


def _step(workload: Workload) -> str:
    reconcile(workload.pk)
    workload.refresh_from_db()
    return workload.status
