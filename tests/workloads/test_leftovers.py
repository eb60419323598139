"""What an attempt leaves for the next one goes when the workload goes before that comes."""

from tests.support.engine import Engine
from tests.support.waiting import wait_for
from workloads.models import Workload
from workloads.services import intents
from workloads.services.reconcile import reconcile


def _looked_at(workload: Workload) -> Workload:
    reconcile(workload.pk)
    workload.refresh_from_db()
    return workload


def test_a_deletion_before_the_next_try_has_the_cluster_clear_up_after_the_last_one(
    engine: Engine,
) -> None:
    workload = engine.workload(command="behave fail", backoff_limit=2)
    wait_for(lambda: _looked_at(workload).attempt_no == 2, seconds=10, what="the second try")
    engine.truth.set_unreachable(True)
    intents.delete(workload_id=workload.pk, by="researcher")
    assert _looked_at(workload).deleted_at is None
    engine.truth.set_unreachable(False)
    engine.heard()
    wait_for(lambda: _looked_at(workload).deleted_at, seconds=10, what="the deletion")
    assert [call.attempt for call in engine.truth.calls("delete")][-1] == 2
    assert [effect.attempt for effect in engine.truth.effects("create")] == [1]
