"""What a row says of an end that the cluster holds up, took away, or does not let be read."""

import pytest

from gangline.drivers.base import ObservedState, ReplicaObservation, ReplicaState
from tests.support.engine import See, current_attempt
from workloads.models import Event, Replica, Workload
from workloads.services import events, intents

RUNNING, TERMINATING, FAILED = (
    ObservedState.RUNNING,
    ObservedState.TERMINATING,
    ObservedState.FAILED,
)
NO_RIGHT = "Gangline does not have permission to list pytorchjobs"
OPERATOR = "PyTorchJob digits is failed because 1 Worker replica(s) failed."


def _two(state: ReplicaState, reason: str = "") -> tuple[ReplicaObservation, ...]:
    other = ReplicaObservation("worker", 0, 0, ReplicaState.RUNNING, node="a", pod_uid="p0")
    return (other, ReplicaObservation("worker", 1, 1, state, reason=reason, node="b", pod_uid="p1"))


def test_a_right_that_is_missing_is_told_and_is_no_silence(workload: Workload, see: See) -> None:
    see(ObservedState.UNKNOWN, reason=NO_RIGHT, ago=30)
    workload.refresh_from_db()
    assert (workload.status, workload.reason) == ("Creating", f"{NO_RIGHT}.")
    assert workload.next_reason.startswith("The workload is saved")
    see(ObservedState.UNKNOWN, reason="it refuses connections", is_cut_off=True, ago=20)
    workload.refresh_from_db()
    assert workload.reason == "No contact with cluster faulty-one."
    see(RUNNING, ago=10)
    see(ObservedState.UNKNOWN, reason=NO_RIGHT)
    workload.refresh_from_db()
    assert (workload.status, workload.next_reason) == ("Running", f"{NO_RIGHT}.")


def test_a_deletion_says_what_holds_it_up(workload: Workload, see: See) -> None:
    see(RUNNING, ago=20)
    intents.delete(workload_id=workload.pk, by="researcher")
    see(TERMINATING, reason="Held back by evil.example.com/x.", ago=10)
    workload.refresh_from_db()
    assert (workload.status, workload.reason) == ("Deleting", "Held back by evil.example.com/x.")


def test_so_does_a_stop(workload: Workload, see: See) -> None:
    see(RUNNING, replicas=_two(ReplicaState.RUNNING), ago=30)
    intents.stop(workload_id=workload.pk, by="ada")
    see(TERMINATING, ago=20)
    workload.refresh_from_db()
    assert workload.reason == "Stopped by ada; waiting for 2 pods to end."
    left = 'Remove it with "kubectl delete pod a -n b": Gangline may not remove pods.'
    see(TERMINATING, reason=left, ago=10)
    workload.refresh_from_db()
    assert (workload.status, workload.reason) == ("Stopping", f"Stopped by ada. {left}")


def test_so_does_that_of_one_which_had_ended(workload: Workload, see: See) -> None:
    see(ObservedState.SUCCEEDED, ago=30)
    intents.delete(workload_id=workload.pk, by="researcher")
    see(TERMINATING, reason="2 pods are still to end.", ago=20)
    see(TERMINATING, reason="1 pod is still to end.", ago=10)
    workload.refresh_from_db()
    assert (workload.status, workload.reason) == ("Deleting", "1 pod is still to end.")
    see(ObservedState.ABSENT)
    workload.refresh_from_db()
    assert workload.reason == ""


def test_pods_of_what_somebody_removed_have_ended(workload: Workload, see: See) -> None:
    see(RUNNING, replicas=_two(ReplicaState.SUCCEEDED), ago=5)
    see(ObservedState.ABSENT)
    first, second = Replica.objects.order_by("rank")
    assert (first.state, second.state) == ("Stopped", "Succeeded")
    assert first.reason.startswith("Removed with the workload")
    assert first.ended_at is not None


def test_a_stop_stays_when_it_was_though_its_object_goes_later(
    workload: Workload, see: See
) -> None:
    cluster = workload.cluster
    cluster.capacity = {**cluster.capacity, "admission": "theirs"}
    cluster.save()
    see(RUNNING, ago=30)
    intents.stop(workload_id=workload.pk, by="researcher")
    see(ObservedState.SUSPENDED, ago=20)
    workload.refresh_from_db()
    assert workload.status == "Stopped"
    early = workload.ended_at
    assert early
    see(ObservedState.ABSENT)
    workload.refresh_from_db()
    assert (workload.status, workload.ended_at) == ("Stopped", early)
    assert Event.objects.filter(kind=events.ATTEMPT_ENDED).count() == 1


@pytest.mark.parametrize("last", [FAILED, TERMINATING])
def test_the_pod_that_the_cluster_took_is_remembered_when_it_is_gone(
    workload: Workload, see: See, last: ObservedState
) -> None:
    moved = "worker-1: Evicted by the cluster: Eviction API: evicting."
    see(
        TERMINATING, reason=moved, first_failure="worker-1", is_preempted=True, ago=20,
        replicas=_two(ReplicaState.FAILED, moved.partition(": ")[2]),
    )  # fmt: skip
    see(last, reason=OPERATOR, ago=15)
    see(FAILED, reason=OPERATOR, ago=10)
    first = workload.attempts.get(no=1)
    assert (first.outcome, first.observed_reason) == ("Failed", moved)
    workload.refresh_from_db()
    assert (current_attempt(workload).no, current_attempt(workload).cause) == (2, "moved")
    told = Event.objects.get(kind=events.ATTEMPT_ENDED).message
    assert told == f"Attempt 1 failed. {moved}"
