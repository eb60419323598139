"""Workloads on a real Kubernetes, from the submission to the object, its pods, and back."""

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from gangline.clusters.connections import driver_for
from gangline.drivers.kubernetes.kinds import KINDS
from gangline.drivers.kubernetes.resources import PODS
from gangline.spec.frameworks import FRAMEWORKS, PROGRAMS, WORKERS_AND_MASTER, places
from tests.beds.kubernetes.bed import Bed
from tests.support import kubernetes_engine
from tests.support.engine import current_attempt
from tests.support.kubernetes_engine import KubernetesEngine
from tests.support.waiting import wait_for
from workloads import refs
from workloads.models import Event, Outcome, Replica
from workloads.services import events, intents, retries

pytestmark = pytest.mark.needs_kubernetes


@pytest.fixture
def engine(
    bed: Bed, transactional_db: None, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> Iterator[KubernetesEngine]:
    with kubernetes_engine.engine_on(bed, monkeypatch, settings) as made:
        yield made


def test_a_training_runs_on_the_cluster_and_completes(engine: KubernetesEngine) -> None:
    workload = engine.submit("digits", behave="talk")
    engine.until(workload, "Completed")
    attempt = current_attempt(workload)
    raw = engine.object(workload)
    assert raw is not None
    assert raw["kind"] == "PyTorchJob"
    assert raw["metadata"]["uid"] == attempt.ext_uid
    pods = Replica.objects.filter(attempt=attempt).order_by("rank")
    assert [(p.name, p.state, p.exit_code, bool(p.node)) for p in pods] == [
        ("worker-0", "Succeeded", 0, True),
        ("worker-1", "Succeeded", 0, True),
    ]
    assert attempt.started_at is not None
    assert workload.reason.startswith("Finished in ")
    driver, ref = driver_for(workload.cluster), refs.attempt_ref(workload, attempt)
    for name in ("worker-0", "worker-1"):
        wait_for(lambda n=name: driver.read_log(ref, n, 2**40, 10).end, seconds=20)  # type: ignore[misc]
        text = driver.read_log(ref, name, 0, 2**20).data
        assert [line.split(b" ", 3)[3] for line in text.splitlines()] == [
            b"line %d" % number for number in range(200)
        ]


USUAL = (("PyTorch", WORKERS_AND_MASTER), ("MPI", WORKERS_AND_MASTER))


def test_a_gang_of_mxnet_ends_as_soon_as_a_server_fails(engine: KubernetesEngine) -> None:
    """All others wait for it for ever. It is one JobSet."""
    said = {"numServers": 1}
    workload = engine.submit("kv", framework="MXNet", behave="server-0-fails", said=said)
    engine.until(workload, "Failed")
    assert workload.reason.startswith("server-0: ")
    raw = engine.object(workload)
    assert raw is not None
    assert raw["kind"] == "JobSet"
    pods = Replica.objects.filter(attempt__workload=workload).order_by("rank")
    assert [(p.name, p.state) for p in pods] == [
        ("scheduler-0", "Stopped"),
        ("server-0", "Failed"),
        ("worker-0", "Stopped"),
        ("worker-1", "Stopped"),
    ]


@pytest.mark.thorough
def test_ranks_over_gloo_complete_while_their_meeting_is_still_served(
    engine: KubernetesEngine,
) -> None:
    """They are a JobSet, whose launcher nobody waits for."""
    said = {"launcher": "gloo", "command": "python3 behave succeed"}
    workload = engine.submit("hvd", framework="MPI", behave="succeed", said=said)
    engine.until(workload, "Completed")
    workers = Replica.objects.filter(attempt__workload=workload, role="worker")
    assert {(pod.state, pod.exit_code) for pod in workers} == {("Succeeded", 0)}


@pytest.mark.parametrize(
    ("framework", "configuration"),
    [
        pytest.param(
            framework.name,
            configuration,
            marks=() if (framework.name, configuration) in USUAL else pytest.mark.thorough,
        )
        for framework in PROGRAMS.values()
        for configuration in framework.configurations
    ],
)
def test_every_framework_runs_in_each_of_its_configurations(
    engine: KubernetesEngine, framework: str, configuration: str
) -> None:
    workload = engine.submit(
        "any", framework=framework, configuration=configuration, behave="succeed"
    )
    engine.until(workload, "Completed")
    raw = engine.object(workload)
    assert raw is not None
    kind = KINDS[framework]
    assert (raw["apiVersion"], raw["kind"]) == (kind.resource.api_version, kind.resource.kind)
    pods = Replica.objects.filter(attempt__workload=workload).order_by("role", "index")
    gang = FRAMEWORKS[framework].gang(configuration)
    counted = places((role, role.count({"numWorkers": 2})) for role in gang)
    assert [pod.name for pod in pods] == [f"{role}-{index}" for role, index, _ in counted]
    assert {pod.state for pod in pods} <= {"Succeeded", "Stopped"}
    assert pods[0].state == "Succeeded"


@pytest.mark.thorough
def test_what_is_submitted_while_the_cluster_is_away_runs_when_it_is_back(
    engine: KubernetesEngine, own_processes: Bed
) -> None:
    """F-32, in small: nothing is lost, the page says what is missing, and the stop comes first."""
    runs = engine.submit("runs")
    engine.until(runs, "Running")
    own_processes.kill("kube-apiserver")
    try:
        late = engine.submit("late", behave="succeed")
        intents.stop(workload_id=runs.pk, by="researcher")
        wait_for(lambda: current_attempt(late).unknown_since, seconds=20)
        late.refresh_from_db()
        assert late.status == "Creating"
        assert late.reason.startswith("No contact with cluster")
        runs.refresh_from_db()
        assert runs.status == "Stopping"
    finally:
        own_processes.restart("kube-apiserver")
    engine.until(runs, "Stopped", seconds=90)
    engine.until(late, "Completed", seconds=90)
    assert late.attempts.count() == 1


def test_a_failure_is_tried_again_as_another_object_and_then_told(
    engine: KubernetesEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "FIRST_PAUSE", 0.5)
    workload = engine.submit("fails", behave="fail", said={"backoffLimit": 1})
    engine.until(workload, "Failed", seconds=60)
    first, second = workload.attempts.order_by("no")
    assert (first.outcome, second.outcome) == (Outcome.FAILED, Outcome.FAILED)
    assert first.ext_uid != second.ext_uid
    raw = engine.object(workload)
    assert raw is not None
    assert raw["metadata"]["uid"] == second.ext_uid
    assert workload.reason.endswith("Exited with code 3.")


def test_one_worker_that_fails_is_the_cause(engine: KubernetesEngine) -> None:
    workload = engine.submit("one-fails", workers=3, behave="one-fails")
    engine.until(workload, "Failed")
    assert workload.reason == "worker-1: Exited with code 3."
    states = Replica.objects.filter(attempt__workload=workload).order_by("rank")
    assert [pod.state for pod in states] == ["Stopped", "Failed", "Stopped"]


def test_a_pod_that_the_cluster_moves_away_costs_no_try(
    engine: KubernetesEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "FIRST_PAUSE", 0.5)
    workload = engine.submit("moved")
    engine.until(workload, "Running")
    evicted = {
        "phase": "Failed",
        "reason": "Evicted",
        "message": "The node was low on resource: memory. ",
    }
    pods = (engine.namespace, "moved-worker-1", {"status": evicted}, "status")
    assert engine.bed.client.patch(PODS, *pods).ok
    wait_for(lambda: current_attempt(workload).no == 2, seconds=20)
    assert workload.attempts.get(no=1).observed_reason == (
        "worker-1: Evicted by the cluster: The node was low on resource: memory."
    )
    assert current_attempt(workload).cause == "moved"
    engine.until(workload, "Running")
    assert retries.tries_since_intent(workload) == 1


def test_a_drained_node_costs_no_try_and_is_named(
    engine: KubernetesEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``kubectl drain`` evicts: https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/"""
    monkeypatch.setattr(retries, "FIRST_PAUSE", 0.5)
    workload = engine.submit("drained")
    engine.until(workload, "Running")
    name = "drained-worker-1"
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": engine.namespace},
    }
    path = f"/api/v1/namespaces/{engine.namespace}/pods/{name}/eviction"
    assert engine.bed.client.request("POST", path, body=eviction).ok
    wait_for(lambda: current_attempt(workload).no == 2, seconds=30)
    first = workload.attempts.get(no=1)
    assert first.observed_reason.startswith("worker-1: Evicted by the cluster")
    assert first.replicas.get(role="worker", index=1).state == "Failed"
    assert current_attempt(workload).cause == "moved"
    engine.until(workload, "Running")


def test_a_stop_keeps_the_object_and_run_goes_on_with_it(engine: KubernetesEngine) -> None:
    workload = engine.submit("sleeps", behave="talk-on")
    engine.until(workload, "Running")
    uid = current_attempt(workload).ext_uid
    intents.stop(workload_id=workload.pk, by="researcher")
    engine.until(workload, "Stopped")
    assert "pods" not in engine.left()
    intents.resume(workload_id=workload.pk, by="researcher")
    engine.until(workload, "Running")
    attempt = current_attempt(workload)
    assert (attempt.no, attempt.ext_uid) == (1, uid)
    driver, ref = driver_for(workload.cluster), refs.attempt_ref(workload, attempt)
    wait_for(lambda: driver.read_log(ref, "worker-0", 0, 2**16).data.count(b"hello") == 2)


def test_a_deletion_leaves_nothing_and_the_name_is_free(engine: KubernetesEngine) -> None:
    workload = engine.submit("goes")
    engine.until(workload, "Running")
    intents.delete(workload_id=workload.pk, by="researcher")
    _gone(engine, workload.pk)
    assert engine.left() == {}
    again = engine.submit("goes")
    engine.until(again, "Running")


@pytest.mark.thorough
def test_the_launcher_and_the_workers_of_mpi(engine: KubernetesEngine) -> None:
    workload = engine.submit(
        "mpi",
        framework="MPI",
        behave="talk-on",
        said={"compute.gpuDevicesRequest": 1},
    )
    engine.until(workload, "Running")
    pods = Replica.objects.filter(attempt__workload=workload)
    assert sorted((p.name, p.state, p.gpus) for p in pods) == [
        ("master-0", "Running", 0),
        ("worker-0", "Running", 1),
        ("worker-1", "Running", 1),
    ]
    assert workload.gpus_in_use == 2
    intents.stop(workload_id=workload.pk, by="researcher")
    engine.until(workload, "Stopped")
    intents.resume(workload_id=workload.pk, by="researcher")
    engine.until(workload, "Running")
    intents.delete(workload_id=workload.pk, by="researcher")
    _gone(engine, workload.pk)
    wait_for(lambda: engine.left() == {}, seconds=10, what="nothing left")


@pytest.mark.thorough
def test_a_gang_that_no_room_could_hold_says_so(engine: KubernetesEngine) -> None:
    workload = engine.submit("large", workers=9, said={"compute.gpuDevicesRequest": 8})

    def told() -> bool:
        workload.refresh_from_db()
        return workload.status == "Cannot start"

    wait_for(told, seconds=60, what="a reason")
    assert workload.reason == "The workload needs 72 GPUs, and the cluster has 32 in all."


def test_what_somebody_else_removes_is_lost_and_not_made_again(engine: KubernetesEngine) -> None:
    workload = engine.submit("removed")
    engine.until(workload, "Running")
    raw = engine.object(workload)
    assert raw is not None
    kind = KINDS["PyTorch"]
    meta = raw["metadata"]
    engine.bed.client.delete(kind.resource, engine.namespace, meta["name"], uid=meta["uid"])
    engine.until(workload, "Failed")
    assert current_attempt(workload).outcome == Outcome.LOST
    assert engine.object(workload) is None


def test_an_object_of_others_with_its_name_is_left_alone(engine: KubernetesEngine) -> None:
    first = engine.submit("first")  # makes the namespace
    engine.until(first, "Running")
    kind = KINDS["PyTorch"]
    theirs = engine.object(first)
    assert theirs is not None
    foreign = {
        "apiVersion": theirs["apiVersion"],
        "kind": theirs["kind"],
        "metadata": {"name": "taken", "namespace": engine.namespace},
        "spec": theirs["spec"],
    }
    assert engine.bed.client.create(kind.resource, engine.namespace, foreign).ok
    before = engine.bed.client.get(kind.resource, engine.namespace, "taken").body
    workload = engine.submit("taken")
    engine.until(workload, "Failed")
    assert workload.reason == (
        "Another object on the cluster has this name: "
        f"taken in namespace {engine.namespace} was not created by Gangline."
    )
    assert workload.next_reason.startswith("Remove that object from the cluster, or Copy & edit")
    after = engine.bed.client.get(kind.resource, engine.namespace, "taken").body
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["spec"] == before["spec"]


@pytest.mark.thorough
def test_what_was_made_by_the_same_process_is_not_adopted(engine: KubernetesEngine) -> None:
    workload = engine.submit("refused")
    engine.until(workload, "Running")
    kinds = Event.objects.filter(workload=workload).values_list("kind", flat=True)
    assert events.ADOPTED not in kinds


def _gone(engine: KubernetesEngine, pk: object) -> None:
    def look() -> bool:
        workload = next(w for w in engine.made if w.pk == pk)
        workload.refresh_from_db()
        return workload.deleted_at is not None

    wait_for(look, seconds=40, what="the deletion")
