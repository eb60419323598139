"""Gangs under the real schedulers, from the submission to the words in the row.

Each test has the cluster to itself: four nodes of 8 GPUs and 64 cores, two in each zone.
"""

import contextlib
import secrets
import time
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings

from gangline.clusters import objects
from gangline.clusters.models import ClusterObject, ObjectState
from gangline.clusters.objects import reconcile_due
from gangline.clusters.services import refresh
from gangline.db.clock import db_now
from gangline.drivers.kubernetes import pending_reasons, watcher
from gangline.drivers.kubernetes.resources import NODES, PODS
from gangline.drivers.kubernetes.schedulers.volcano import QUEUES
from gangline.lib.problems import Refused
from gangline.organization import queues
from gangline.resources.registry import get
from gangline.resources.services import update
from gangline.spec.frameworks import WORKERS_AND_MASTER
from gangline.spec.problems import InvalidSpec
from tests.beds.kubernetes.bed import Bed
from tests.beds.kubernetes.objects import ROLES, grant
from tests.support import kubernetes_engine
from tests.support.kubernetes_engine import KubernetesEngine
from tests.support.waiting import wait_for
from workloads.models import Workload
from workloads.services import intents

pytestmark = pytest.mark.needs_kubernetes

GPUS = "compute.gpuDevicesRequest"
ONE_ZONE = {"podAffinity.key": "topology.kubernetes.io/zone", "podAffinity.type": "Required"}
STAYS = 4.0
"""Seconds for which a gang must stay whole while it waits."""


@pytest.fixture
def volcano(
    volcano_bed: Bed, transactional_db: None, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> Iterator[KubernetesEngine]:
    with _engine(volcano_bed, monkeypatch, settings) as engine:
        assert engine.cluster.facts["detail"]["queues"]["scheduler"] == "volcano"
        yield engine


@pytest.fixture
def native(
    native_bed: Bed, transactional_db: None, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> Iterator[KubernetesEngine]:
    with _engine(native_bed, monkeypatch, settings) as engine:
        yield engine


@contextlib.contextmanager
def _engine(
    bed: Bed, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> Iterator[KubernetesEngine]:
    """Reasons are looked for every second, so that a test need not wait for them."""
    monkeypatch.setattr(watcher, "EXPLAIN_EVERY", 1.0)
    monkeypatch.setattr(pending_reasons, "ROOM_SECONDS", 1.0)
    wait_for(lambda: _is_empty(bed), seconds=90, every=0.5, what="the test before to be gone")
    with kubernetes_engine.engine_on(bed, monkeypatch, settings) as engine:
        yield engine


def _is_empty(bed: Bed) -> bool:
    return not bed.client.list(PODS).body["items"]


def told(workload: Workload, words: str, *, status: str = "Pending") -> None:
    """Wait for this reason in the row."""

    def look() -> bool:
        workload.refresh_from_db()
        return (workload.status, workload.reason) == (status, words)

    try:
        wait_for(look, seconds=30)
    except AssertionError:
        raise AssertionError(f"{workload.status}: {workload.reason}") from None


def stays_unplaced(engine: KubernetesEngine, workload: Workload) -> None:
    """No pod of it gets a node for a while, though single ones would fit."""
    until = time.monotonic() + STAYS
    while time.monotonic() < until:
        nodes = [pod["spec"].get("nodeName") for pod in engine.pods(workload)]
        assert not any(nodes), nodes
        time.sleep(0.2)


def nodes_of(engine: KubernetesEngine, workload: Workload) -> list[str]:
    return sorted(pod["spec"]["nodeName"] for pod in engine.pods(workload))


# Volcano


def kept_nothing() -> bool:
    ClusterObject.objects.update(due_at=db_now())
    reconcile_due()
    return not ClusterObject.objects.exists()


def test_a_quota_is_a_queue_that_binds_and_comes_back(volcano: KubernetesEngine) -> None:
    """Without the right the page says so; with it: made, sized, binding, and made again."""
    client, project = volcano.bed.client, volcano.project

    def kept() -> Any:
        ClusterObject.objects.update(due_at=db_now())
        reconcile_due()
        return objects.of(project, "project").get()

    def comes_to(state: ObjectState) -> None:
        """The engine's own keeper may be at it already: then a turn of ours does nothing."""
        wait_for(lambda: kept().state == state, seconds=30, what=f"{state} of the queue")

    def uid_now() -> str:
        queue = client.get(QUEUES, "", kept().name)
        return str(queue.body["metadata"]["uid"]) if queue.ok else ""

    def give(**quota: Any) -> None:
        row = {"node_pool": project.cluster.pools.get(), **quota}
        update(get("project"), actor=None, obj=project, values={}, parts={"quotas": [row]})

    give(gpus=16, over_quota=False)
    comes_to(ObjectState.FORBIDDEN)
    assert "queues.yaml" in queues.state_of(project)
    grant(client, ROLES / "queues.yaml")
    try:
        comes_to(ObjectState.OK)
        name = kept().name
        there = client.get(QUEUES, "", name).body
        assert there["spec"]["deserved"]["nvidia.com/gpu"] == "16"
        wait_for(lambda: client.get(QUEUES, "", name).body.get("status", {}).get("state") == "Open")
        first = volcano.submit("first", said={GPUS: 8})
        volcano.until(first, "Running")
        second = volcano.submit("second", said={GPUS: 8})
        told(second, f"Queue {name} is at its limit of 16 GPUs.")
        assert volcano.pods(second) == []
        give(gpus=32)
        comes_to(ObjectState.OK)
        volcano.until(second, "Running", seconds=60)
        for each in (first, second):
            intents.delete(workload_id=each.pk, by="researcher")
        uid = client.get(QUEUES, "", name).body["metadata"]["uid"]
        wait_for(lambda: client.delete(QUEUES, "", name, uid=uid).ok, seconds=30)
        wait_for(lambda: kept().state == ObjectState.OK and uid_now() not in ("", uid), seconds=30)
    finally:
        objects.unwant(ClusterObject.objects.all())
        wait_for(kept_nothing, seconds=60)


@pytest.mark.parametrize(
    ("framework", "configuration", "pods"),
    [
        ("PyTorch", WORKERS_AND_MASTER, 3),
        pytest.param("PyTorch", "", 2, marks=pytest.mark.thorough),
        pytest.param("MPI", WORKERS_AND_MASTER, 3, marks=pytest.mark.thorough),
    ],
)
def test_a_gang_waits_whole_for_room_in_volcano_and_starts_when_it_is_there(
    volcano: KubernetesEngine, framework: str, configuration: str, pods: int
) -> None:
    first = volcano.submit("first", workers=3, said={GPUS: 8})
    volcano.until(first, "Running")
    second = volcano.submit(
        "second", framework=framework, configuration=configuration, said={GPUS: 8}
    )
    gpus = 24 if (framework, pods) == ("PyTorch", 3) else 16  # a launcher has none
    told(second, f"Waiting for {gpus} GPUs, 8 free on 4 nodes.")
    stays_unplaced(volcano, second)
    intents.stop(workload_id=first.pk, by="researcher")
    volcano.until(first, "Stopped")
    volcano.until(second, "Running", seconds=60)
    assert len(nodes_of(volcano, second)) == pods


@pytest.mark.thorough
def test_a_queue_at_its_limit_is_named_and_lets_in_when_there_is_room(
    volcano: KubernetesEngine,
) -> None:
    with queue(volcano, {"nvidia.com/gpu": "16"}) as name:
        first = volcano.submit("first", said={GPUS: 8})
        volcano.until(first, "Running")
        second = volcano.submit("second", said={GPUS: 8})
        told(second, f"Queue {name} is at its limit of 16 GPUs.")
        assert volcano.pods(second) == []
        other = volcano.submit("other", said={GPUS: 8}, workers=3)
        told(other, f"Queue {name} is limited to 16 GPUs, and the workload needs 24 GPUs.")
        intents.delete(workload_id=first.pk, by="researcher")
        volcano.until(second, "Running", seconds=60)
        told(other, f"Queue {name} is limited to 16 GPUs, and the workload needs 24 GPUs.")


@pytest.mark.thorough
def test_a_project_whose_queue_is_not_there_is_refused_at_once(volcano: KubernetesEngine) -> None:
    with queue(volcano, {}) as name:
        pass
    with pytest.raises(Refused) as refused:
        update(get("project"), actor=None, obj=volcano.project, values={"own_queue": "team-b"})
    assert str(refused.value).startswith("Volcano has no queue team-b on the cluster; there is ")
    update(get("project"), actor=None, obj=volcano.project, values={"own_queue": name})
    refresh(volcano.cluster)  # sees that it was removed
    with pytest.raises(InvalidSpec) as wrong:
        volcano.submit("lost")
    (problem,) = wrong.value.problems
    assert (problem.path, problem.value) == ("projectId", name)
    assert f"Volcano has no queue {name} on the cluster" in problem.message


@pytest.mark.thorough
def test_a_queue_that_goes_while_a_gang_waits_is_told_in_its_row(
    volcano: KubernetesEngine,
) -> None:
    with queue(volcano, {"nvidia.com/gpu": "4"}) as name:
        waits = volcano.submit("waits", said={GPUS: 8})
        told(waits, f"Queue {name} is limited to 4 GPUs, and the workload needs 16 GPUs.")
    told(waits, f"Queue {name} does not exist.")


@pytest.mark.thorough
def test_what_the_whole_cluster_cannot_hold_cannot_start_until_it_grows(
    volcano: KubernetesEngine,
) -> None:
    workload = volcano.submit("large", workers=5, said={GPUS: 8})
    words = "The workload needs 40 GPUs, and the cluster has 32 in all."
    told(workload, words, status="Cannot start")
    assert workload.next_reason == "Copy & edit it to ask for less; it starts if the cluster grows."
    with another_node(volcano.bed):
        volcano.until(workload, "Running", seconds=60)


@pytest.mark.thorough
def test_a_gang_of_volcano_stops_and_goes_on(volcano: KubernetesEngine) -> None:
    _stops_and_goes_on(volcano)


# Kubernetes itself


def test_a_gang_waits_whole_for_room_in_kubernetes_and_starts_when_it_is_there(
    native: KubernetesEngine,
) -> None:
    first = native.submit("first", workers=3, said={GPUS: 8, "compute.cpuCoreRequest": 20})
    native.until(first, "Running")
    second = native.submit("second", configuration=WORKERS_AND_MASTER, said={GPUS: 8})
    told(second, "Waiting for 24 GPUs, 8 free on 4 nodes.")
    third = native.submit("third", said={"compute.cpuCoreRequest": 60})
    told(
        third,
        "Waiting for room for 2 workers with 60 CPU cores each; 196 CPU cores free on 4 nodes,"
        " enough for 1.",
    )
    stays_unplaced(native, second)
    stays_unplaced(native, third)
    intents.delete(workload_id=first.pk, by="researcher")
    native.until(second, "Running", seconds=60)
    assert len(nodes_of(native, second)) == 3


@pytest.mark.thorough
def test_a_gang_of_one_zone_waits_until_a_zone_has_room_for_all_of_it(
    native: KubernetesEngine,
) -> None:
    first = native.submit("first")  # makes the namespace
    native.until(first, "Running")
    intents.delete(workload_id=first.pk, by="researcher")
    for node in ("gpu-node-1", "gpu-node-3"):
        _somebody(native, node)
    workload = native.submit("bound", said={GPUS: 8, **ONE_ZONE})
    told(workload, "Waiting for 16 GPUs in one zone; zone-a has the most, 8 free.")
    stays_unplaced(native, workload)
    _somebody_leaves(native, "gpu-node-3")
    native.until(workload, "Running", seconds=60)
    assert nodes_of(native, workload) == ["gpu-node-3", "gpu-node-4"]


@pytest.mark.thorough
def test_what_no_zone_could_ever_hold_cannot_start(native: KubernetesEngine) -> None:
    workload = native.submit("bound", workers=3, said={GPUS: 8, **ONE_ZONE})
    words = "The workload needs 24 GPUs in one zone, and zone-a has the most, 16 in all."
    told(workload, words, status="Cannot start")


@pytest.mark.thorough
def test_a_gang_of_kubernetes_stops_and_goes_on(native: KubernetesEngine) -> None:
    _stops_and_goes_on(native)


def test_without_gangs_a_pod_that_lacks_room_is_told_with_numbers(
    native: KubernetesEngine,
) -> None:
    native.cluster.config["scheduler"] = "plain"
    native.cluster.save(update_fields=["config"])
    first = native.submit("first", workers=3, said={GPUS: 8})
    native.until(first, "Running")
    second = native.submit("second", said={GPUS: 8})
    told(second, "Waiting for 8 GPUs, 0 free on 4 nodes.")
    assert sum("nodeName" in pod["spec"] for pod in native.pods(second)) == 1
    intents.delete(workload_id=first.pk, by="researcher")
    native.until(second, "Running", seconds=60)


def _stops_and_goes_on(engine: KubernetesEngine) -> None:
    workload = engine.submit("goes-on", workers=3, said={GPUS: 8})
    engine.until(workload, "Running")
    before = {pod["metadata"]["uid"] for pod in engine.pods(workload)}
    intents.stop(workload_id=workload.pk, by="researcher")
    engine.until(workload, "Stopped")
    assert engine.pods(workload) == []
    other = engine.submit("other", said={GPUS: 8})
    engine.until(other, "Running")
    intents.resume(workload_id=workload.pk, by="researcher")
    told(workload, "Waiting for 24 GPUs, 16 free on 4 nodes.")
    stays_unplaced(engine, workload)
    intents.delete(workload_id=other.pk, by="researcher")
    engine.until(workload, "Running", seconds=60)
    assert before.isdisjoint(pod["metadata"]["uid"] for pod in engine.pods(workload))


@contextlib.contextmanager
def queue(engine: KubernetesEngine, capability: dict[str, str]) -> Iterator[str]:
    """A queue of Volcano that the project's trainings wait in."""
    name = f"team-{secrets.token_hex(2)}"
    body = {
        "apiVersion": QUEUES.api_version,
        "kind": QUEUES.kind,
        "metadata": {"name": name},
        "spec": {"weight": 1, "capability": capability},
    }
    client = engine.bed.client
    made = client.create(QUEUES, "", body)
    assert made.ok, made.message
    wait_for(lambda: client.get(QUEUES, "", name).body.get("status", {}).get("state") == "Open")
    refresh(engine.cluster)
    update(get("project"), actor=None, obj=engine.project, values={"own_queue": name})
    try:
        yield name
    finally:
        client.delete(QUEUES, "", name, uid=made.body["metadata"]["uid"])


@contextlib.contextmanager
def another_node(bed: Bed) -> Iterator[None]:
    like = bed.client.get(NODES, "", "gpu-node-1").body
    name = "gpu-node-5"
    room = {key: like["status"]["capacity"][key] for key in ("cpu", "memory", "pods")}
    room["nvidia.com/gpu"] = "8"
    body: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
            "labels": like["metadata"]["labels"] | {"kubernetes.io/hostname": name},
        },
        "status": {"capacity": room, "allocatable": room},
    }
    made = bed.client.create(NODES, "", body)
    assert made.ok, made.message
    try:
        yield
    finally:
        bed.client.delete(NODES, "", name, uid=made.body["metadata"]["uid"])


def _somebody(engine: KubernetesEngine, node: str) -> None:
    """A pod of others that holds all GPUs of a node."""
    container = {
        "name": "main",
        "image": "registry.example/other:1",
        "resources": {"limits": {"nvidia.com/gpu": "8"}},
    }
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"of-others-on-{node}"},
        "spec": {"nodeName": node, "containers": [container]},
    }
    made = engine.bed.client.create(PODS, engine.namespace, body)
    assert made.ok, made.message


def _somebody_leaves(engine: KubernetesEngine, node: str) -> None:
    client, name = engine.bed.client, f"of-others-on-{node}"
    uid = client.get(PODS, engine.namespace, name).body["metadata"]["uid"]
    client.delete(PODS, engine.namespace, name, uid=uid)
