"""What objects of a cluster mean: tables of jobs and pods, and what is made of them."""

from collections.abc import Sequence
from typing import Any

import pytest

from gangline.drivers.base import Observation, ObservedState, ReplicaState
from gangline.drivers.kubernetes import jobs, observation, pods
from gangline.drivers.kubernetes.kinds import KINDS
from tests.drivers.kubernetes.raw import NOW, OWNER, at, ended, job, pod, unscheduled

S, R = ObservedState, ReplicaState
PULL = {"waiting": {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "x:1".'}}
CREATING = {"waiting": {"reason": "ContainerCreating"}}
MPI = "training.kubeflow.org/job-role"


def look(
    raw: dict[str, Any], *its: dict[str, Any], framework: str = "PyTorch", **hints: str
) -> Observation:
    kind = KINDS[framework]
    found = [pods.read(each) for each in its]
    return observation.observe(jobs.read(raw, kind), found, now=NOW, hints=hints)


def states(seen: Observation) -> list[ReplicaState]:
    return [replica.state for replica in seen.replicas]


RUNNING = (pod(0), pod(1))
ROWS: dict[str, tuple[dict[str, Any], Sequence[dict[str, Any]], ObservedState]] = {
    "made and never released": (job(suspend=True, intent="", true=["Suspended"]), (), S.HELD),
    "released, its operator has not looked yet": (job(), (), S.PENDING),
    "held back by a queue of the cluster": (job(suspend=True, true=["Suspended"]), (), S.PENDING),
    "one pod has no node": (
        job(true=["Created"]),
        (pod(0), pod(1, phase="Pending", node="")),
        S.PENDING,
    ),
    "one pod is missing, the others have their nodes": (
        job(true=["Created"]),
        (pod(0),),
        S.PENDING,
    ),
    "an image is pulled": (
        job(true=["Created"]),
        (pod(0), pod(1, phase="Pending", state=CREATING)),
        S.STARTING,
    ),
    "all run": (job(true=["Created", "Running"]), RUNNING, S.RUNNING),
    "all run after a resume": (
        job(true=["Created", "Running"], false=["Suspended"]),
        RUNNING,
        S.RUNNING,
    ),
    "told to stop, pods are left": (
        job(suspend=True, intent="stop", true=["Running"]),
        RUNNING,
        S.TERMINATING,
    ),
    "stopped": (
        job(suspend=True, intent="stop", true=["Suspended"], false=["Running"]),
        (),
        S.SUSPENDED,
    ),
    "stopped before it was ever released": (job(suspend=True, intent="stop"), (), S.SUSPENDED),
    "succeeded": (
        job(true=["Succeeded"], false=["Running"]),
        [pod(i, phase="Succeeded", state=ended(0)) for i in (0, 1)],
        S.SUCCEEDED,
    ),
    "succeeded, and one is still being ended": (
        job(true=["Succeeded"]),
        (pod(0, phase="Succeeded", state=ended(0)), pod(1)),
        S.TERMINATING,
    ),
    "failed": (
        job(true=["Failed"], false=["Running"]),
        [pod(0, phase="Failed", state=ended(3))],
        S.FAILED,
    ),
    "failed, and one is still being ended": (
        job(true=["Failed"]),
        (pod(0, phase="Failed", state=ended(3)), pod(1)),
        S.TERMINATING,
    ),
    "failed and then restarted by its operator: the failure stays": (
        job(true=["Failed", "Running"]),
        (pod(0, phase="Failed", state=ended(3)),),
        S.FAILED,
    ),
    "one failed, its operator has not looked yet": (
        job(true=["Running"]),
        (pod(0), pod(1, phase="Failed", state=ended(3))),
        S.RUNNING,
    ),
    "being deleted": (job(deletionTimestamp=at(0), true=["Succeeded"]), RUNNING, S.TERMINATING),
    "finished before a stop": (
        job(suspend=True, intent="stop", true=["Succeeded"]),
        [pod(i, phase="Succeeded", state=ended(0)) for i in (0, 1)],
        S.SUCCEEDED,
    ),
}


@pytest.mark.parametrize("row", ROWS)
def test_every_row_has_its_state(row: str) -> None:
    raw, its, state = ROWS[row]
    assert look(raw, *its).state is state


def test_a_row_stays_what_it_is_in_whichever_order_conditions_stand() -> None:
    for raw, its, state in ROWS.values():
        turned = raw | {"status": {"conditions": raw["status"].get("conditions", [])[::-1]}}
        assert look(turned, *its).state is state


def test_replicas_are_told_in_the_order_of_ranks_with_where_they_run() -> None:
    seen = look(job(masters=1), pod(1, node="node-c"), pod(0), pod(role="master", node="node-b"))
    assert [(r.role, r.index, r.rank, r.node) for r in seen.replicas] == [
        ("master", 0, 0, "node-b"),
        ("worker", 0, 1, "node-a"),
        ("worker", 1, 2, "node-c"),
    ]
    assert [r.pod_uid for r in seen.replicas] == ["pod-master-0", "pod-worker-0", "pod-worker-1"]
    assert seen.started_at is not None


def test_the_launcher_of_mpi_is_listed_and_is_no_rank() -> None:
    launcher = pod(role="launcher", label=MPI)
    workers = [pod(i, label=MPI) for i in (0, 1)]
    seen = look(job("MPI", masters=1), launcher, *workers, framework="MPI")
    assert [(r.role, r.index, r.rank) for r in seen.replicas] == [
        ("master", 0, 0),
        ("worker", 0, 0),
        ("worker", 1, 1),
    ]
    assert seen.state is S.RUNNING


def test_a_launcher_that_waits_for_its_workers_is_a_start_and_no_queue() -> None:
    workers = [pod(i, label=MPI) for i in (0, 1)]
    assert look(job("MPI", masters=1), *workers, framework="MPI").state is S.STARTING


def test_workers_that_are_ended_after_the_launcher_have_not_failed() -> None:
    launcher = pod(role="launcher", label=MPI, phase="Succeeded", state=ended(0))
    killed = pod(0, label=MPI, phase="Failed", state=ended(143), deletionTimestamp=at(5))
    seen = look(job("MPI", masters=1, true=["Succeeded"]), launcher, killed, framework="MPI")
    assert seen.state is S.SUCCEEDED
    assert states(seen) == [R.SUCCEEDED, R.STOPPED, R.STOPPED]
    assert (seen.first_failure, seen.reason) == ("", "")


def test_a_failure_that_mpi_takes_back_is_no_end() -> None:
    """Its operator may set Failed to False again while it goes on."""
    launcher = pod(role="launcher", label=MPI)
    raw = job("MPI", workers=1, masters=1, true=["Running"], false=["Failed"])
    assert look(raw, launcher, pod(label=MPI), framework="MPI").state is S.RUNNING


def test_the_first_that_failed_is_the_cause_and_the_others_were_stopped() -> None:
    its = [
        pod(0, phase="Failed", state=ended(143, seconds=4), deletionTimestamp=at(30)),
        pod(1, phase="Failed", state=ended(3, seconds=1)),
    ]
    seen = look(job(workers=3, true=["Failed"]), *its)
    assert (seen.state, seen.first_failure) == (S.FAILED, "worker-1")
    assert seen.reason == "worker-1: Exited with code 3."
    assert states(seen) == [R.STOPPED, R.FAILED, R.STOPPED]
    assert seen.replicas[0].reason == "Stopped because worker-1 failed."
    assert seen.ended_at is not None


def test_of_failures_in_the_same_second_the_plain_exit_comes_before_a_signal() -> None:
    its = [pod(0, phase="Failed", state=ended(134)), pod(1, phase="Failed", state=ended(1))]
    assert look(job(true=["Failed"]), *its).first_failure == "worker-1"


@pytest.mark.parametrize(
    ("state", "status", "words"),
    [
        (ended(3), {}, "Exited with code 3."),
        (ended(137), {}, "Ended by signal 9 (SIGKILL, killed)."),
        (ended(139), {}, "Ended by signal 11 (SIGSEGV, segmentation fault)."),
        (ended(137, reason="OOMKilled"), {}, "Killed because it used more memory than its limit."),
        (
            {},
            {"reason": "Evicted", "message": "The node was low on resource: memory. "},
            "Evicted by the cluster: The node was low on resource: memory.",
        ),
        ({}, {"reason": "UnexpectedAdmissionError"}, "Failed: UnexpectedAdmissionError."),
    ],
)
def test_every_end_has_its_words(state: Any, status: dict[str, Any], words: str) -> None:
    failed = pod(0, phase="Failed", state=state, status=status)
    assert look(job(workers=1, true=["Failed"]), failed).reason == words


def test_an_exit_by_a_signal_names_the_signal() -> None:
    seen = look(job(workers=1, true=["Failed"]), pod(phase="Failed", state=ended(137)))
    assert (seen.replicas[0].exit_code, seen.replicas[0].signal) == (137, 9)


def test_a_failure_without_pods_is_told_in_the_operators_words() -> None:
    raw = job(true=["Failed"], message="PyTorchJob gang has failed because it was too slow.")
    assert look(raw).reason == "PyTorchJob gang has failed because it was too slow."


def test_the_worst_of_what_pods_wait_for_is_told() -> None:
    config = {
        "waiting": {"reason": "CreateContainerConfigError", "message": 'secret "s" not found'}
    }
    its = [pod(0, phase="Pending", state=PULL), pod(1, phase="Pending", state=config)]
    seen = look(job(true=["Created"]), *its)
    assert seen.state is S.STARTING
    assert seen.reason == 'worker-1: The configuration cannot be used: secret "s" not found.'
    assert seen.replicas[0].reason == 'The image cannot be pulled: Back-off pulling image "x:1".'


def test_why_it_waits_is_the_queues_word_before_the_schedulers() -> None:
    said = "0/4 nodes are available: 4 Insufficient nvidia.com/gpu. preemption: 0/4 nodes fit."
    waits = pod(1, phase="Pending", node="", conditions=[unscheduled(said)])
    raw = job(true=["Created"])
    assert look(raw, pod(0), waits).reason == "None of 4 nodes fits: 4 have too few free GPUs."
    told = look(raw, pod(0), waits, **{"job-1": "Waiting for 8 GPUs, 3 free on 4 nodes."})
    assert told.reason == "Waiting for 8 GPUs, 3 free on 4 nodes."
    assert told.replicas[1].reason == "None of 4 nodes fits: 4 have too few free GPUs."


def test_an_operator_that_does_not_answer_is_named_after_a_while() -> None:
    assert (
        look(job()).reason
        == "The training-operator has not picked up the job; is the operator running?"
    )
    assert look(job(creationTimestamp=at(-5))).reason == ""


def test_a_pod_of_a_lost_node_does_not_hold_back_the_end_for_ever() -> None:
    raw = job(workers=2, true=["Failed"])
    failed = pod(0, phase="Failed", state=ended(3))
    assert look(raw, failed, pod(1, deletionTimestamp=at(-100))).state is S.TERMINATING
    assert look(raw, failed, pod(1, deletionTimestamp=at(-200))).state is S.FAILED


def test_what_holds_back_a_deletion_is_named() -> None:
    held = job(deletionTimestamp=at(-60), finalizers=["example.org/keep", "foregroundDeletion"])
    assert look(held).reason == "Held back by example.org/keep."


def test_a_new_pod_stands_for_the_one_that_goes() -> None:
    old = pod(0, deletionTimestamp=at(5), uid="old")
    new = pod(0, uid="new", phase="Pending", state=CREATING)
    for order in ((old, new), (new, old)):
        assert look(job(workers=1, true=["Running"]), *order).replicas[0].pod_uid == "new"


def test_pods_without_a_job_are_not_absent() -> None:
    left = [pods.read(pod(0))]
    assert observation.without_job("w-1", 1, left).state is S.TERMINATING
    assert observation.without_job("w-1", 1, left).reason == "1 pod is still to be removed."
    over = [pods.read(pod(0, phase="Failed", state=ended(1)))]
    assert observation.without_job("w-1", 1, over).state is S.ABSENT


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (
            1,
            'Pod gang-worker-0 outlived its job. Remove it with "kubectl delete pod gang-worker-0'
            ' -n gangline-vision": Gangline may not remove pods.',
        ),
        (
            2,
            "Pod gang-worker-0 and 1 more outlived their job. Remove them with"
            ' "kubectl delete pod gang-worker-0 gang-worker-1 -n gangline-vision":'
            " Gangline may not remove pods.",
        ),
        (
            40,
            "Pod gang-worker-0 and 39 more outlived their job. Remove them with"
            ' "kubectl delete pod -l gangline.dev/workload=w-1,gangline.dev/attempt=1'
            ' -n gangline-vision": Gangline may not remove pods.',
        ),
    ],
)
def test_pods_that_nobody_removes_are_told_with_the_command_that_does(
    count: int, words: str
) -> None:
    """What ``kubectl delete --cascade=orphan`` leaves."""
    left = [pods.read(pod(index, ownerReferences=[])) for index in range(count)]
    goes = pods.read(pod(count, ownerReferences=[], deletionTimestamp=at(30)))
    assert observation.without_job("w-1", 1, [goes]).reason == "1 pod is still to be removed."
    seen = observation.without_job("w-1", 1, [goes, *left])
    assert (seen.state, seen.reason) == (S.TERMINATING, words)


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"metadata": None, "status": None, "spec": None},
        {"metadata": {"labels": None}, "status": {"conditions": None, "containerStatuses": None}},
        {"metadata": {"labels": {"gangline.dev/attempt": "12345678901234567890"}}},
        {"metadata": {"deletionTimestamp": "yesterday"}},
    ],
)
def test_an_odd_pod_is_read_as_far_as_it_goes(odd: dict[str, Any]) -> None:
    assert pods.read(odd).role == ""


def test_only_a_cause_that_the_cluster_took_away_is_moved() -> None:
    away = pod(0, phase="Failed", status={"reason": "Preempted", "message": "Preempted by x."})
    assert look(job(true=["Failed"]), away).is_preempted
    own = pod(1, phase="Failed", state=ended(1, seconds=-5))
    assert not look(job(true=["Failed"]), away, own).is_preempted


def test_an_evicted_pod_is_the_cause_from_when_it_is_told_to_go() -> None:
    """The operator fails the job at once; the pod runs on for its grace period."""
    target = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    evicted = pod(1, conditions=[target])
    evicted["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:30Z"
    seen = look(job(true=["Failed"]), pod(0), evicted)
    assert (seen.state, seen.is_preempted) == (ObservedState.TERMINATING, True)
    assert seen.reason == "worker-1: Evicted by the cluster: Eviction API: evicting."
    assert [replica.state for replica in seen.replicas] == [
        ReplicaState.RUNNING,
        ReplicaState.FAILED,
    ]
    evicted["status"] |= {"phase": "Failed"} | {"containerStatuses": [{"state": ended(143)}]}
    assert look(job(true=["Failed"]), evicted).is_preempted
    alone = look(job(true=["Created", "Running"]), pod(0), evicted)
    assert alone.first_failure == "worker-1"


@pytest.mark.parametrize("phase", ["Failed", "Running"])
def test_an_evicted_pod_whose_end_nobody_wrote_down_comes_before_those_that_it_took_along(
    phase: str,
) -> None:
    """Its container could not be found any more, or has not ended yet."""
    target = {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": at(0)}
    lost = {"exitCode": 137, "reason": "ContainerStatusUnknown", "finishedAt": None}
    state = {"terminated": lost} if phase == "Failed" else None
    evicted = pod(1, phase=phase, state=state, conditions=[target])
    follower = pod(0, phase="Failed", state=ended(1, seconds=5))
    seen = look(job(true=["Failed"]), evicted, follower)
    assert (seen.first_failure, seen.is_preempted) == ("worker-1", True)
    earlier = pod(0, phase="Failed", state=ended(1, seconds=-5))
    assert not look(job(true=["Failed"]), evicted, earlier).is_preempted


def test_a_pod_that_was_killed_for_its_memory_is_a_cause_although_it_is_deleted() -> None:
    dead = pod(1, phase="Failed", state=ended(137, reason="OOMKilled"))
    dead["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:30Z"
    seen = look(job(true=["Failed"]), dead)
    assert seen.reason.endswith("Killed because it used more memory than its limit.")


@pytest.mark.parametrize("code", [0, 3])
def test_a_pod_that_another_container_keeps_has_started_and_says_so(code: int) -> None:
    """Such as the proxy of a service mesh."""
    kept = pod(0, state=ended(code))
    proxy = {"name": "istio-proxy", "state": {"running": {}}, "restartCount": 0}
    kept["status"]["containerStatuses"].append(proxy)
    seen = look(job(true=["Created", "Running"]), kept, pod(1))
    assert (seen.state, states(seen)) == (S.RUNNING, [R.RUNNING, R.RUNNING])
    words = f"The program ended with code {code}; another container keeps the pod."
    assert [replica.reason for replica in seen.replicas] == [words, ""]


def test_a_container_that_was_started_again_is_counted() -> None:
    raw = pod(0)
    raw["status"].setdefault("containerStatuses", [{}])[0]["restartCount"] = 2
    seen = look(job(true=["Created", "Running"]), raw, pod(1))
    assert [replica.restarts for replica in seen.replicas] == [2, 0]


@pytest.mark.parametrize(
    ("made", "is_ours"),
    [
        ({}, True),
        ({"ownerReferences": [OWNER | {"uid": "job-2"}]}, False),
        ({"ownerReferences": [{**OWNER, "kind": "Job", "name": "gang-launcher"}]}, True),
        ({"ownerReferences": [{**OWNER, "kind": "Job", "name": "gang-2-launcher"}]}, False),
        ({"ownerReferences": []}, True),  # its job was deleted, and it was left
        ({"ownerReferences": [], "name": "debug"}, False),
        ({"ownerReferences": [OWNER | {"controller": False}], "name": "debug"}, False),
    ],
)
def test_a_pod_is_ours_by_its_owner_and_not_by_its_labels(
    made: dict[str, Any], is_ours: bool
) -> None:
    assert pods.read(pod(0, **made)).is_of("gang", "job-1") is is_ours
