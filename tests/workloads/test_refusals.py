"""What a cluster refuses for good, kept with the attempt and told on the workload's pages."""

from datetime import timedelta

from gangline.db import clock
from tests.drivers.faults import Fault
from tests.support.engine import Engine, current_attempt
from tests.support.waiting import wait_for
from workloads.models import Workload
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


def _step(workload: Workload) -> str:
    reconcile(workload.pk)
    workload.refresh_from_db()
    return workload.status
