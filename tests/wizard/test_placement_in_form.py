"""Topology, node affinity and parts of GPUs in the form and on the review page."""

import pytest

from gangline.clusters.models import Cluster
from gangline.drivers.local.driver import LocalDriver
from gangline.policies.services import save
from gangline.resources.services import make
from gangline.settings.catalogue import TOPOLOGY
from tests.support.forms import Filler
from tests.support.settings import turn
from tests.support.world import World
from workloads.models import Workload

NODES = "worker.nodeAffinityRequired"
ZONE = "topology.kubernetes.io/zone"


@pytest.fixture
def ready(filler: Filler) -> Filler:
    turn(TOPOLOGY, True)
    filler.fill()
    return filler


@pytest.fixture
def everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a cluster that has every field."""
    monkeypatch.setattr(LocalDriver, "unsupported", {})


def test_what_the_nodes_have_is_offered_and_anything_can_be_typed(
    ready: Filler, everywhere: None, world: World
) -> None:
    cluster = Cluster.objects.get(pk=world.vision.cluster_id)
    detail = {**cluster.facts.get("detail", {}), "suggestions": {"podAffinity.key": [ZONE]}}
    Cluster.objects.filter(pk=cluster.pk).update(facts={**cluster.facts, "detail": detail})
    page = ready.get("workers").page
    assert (
        page.one(id="f-worker-podAffinity-key").attributes["list"] == "f-worker-podAffinity-key-s"
    )
    assert page.has(value=ZONE)
    assert not page.has(value="example.com/rack")
    make("network_topology", cluster=cluster, name="hall", levels=["example.com/rack", ZONE])
    assert ready.get("workers").page.has(value="example.com/rack")
    assert not page.has(id="f-worker-nodeType-s")
    ready.post(
        "workers", {"worker.podAffinity.key": "rack", "worker.podAffinity.type": "Preferred"}
    )
    ready.post("review", go="create")
    said = Workload.objects.get().given
    assert said["worker.podAffinity.key"]["value"] == "rack"
    assert said["worker.podAffinity.type"]["value"] == "Preferred"


def test_a_topology_alone_is_told_at_the_rule_that_is_missing(
    ready: Filler, everywhere: None
) -> None:
    page = ready.post("workers", {"worker.podAffinity.key": ZONE}).page
    assert page.links == ["f-worker-podAffinity-type"]


def test_requirements_of_nodes_are_sent_and_shown(ready: Filler, everywhere: None) -> None:
    ready.post("workers", go=f"add:{NODES}")
    page = ready.get("workers").page
    row = [value for name, value in page.fields() if name == f"{NODES}~rows" and value][-1]
    typed = {"term": "2", "key": ZONE, "operator": "In", "values": "a, b"}
    ready.post("workers", {f"{NODES}~{row}.{name}": text for name, text in typed.items()})
    assert "In a, b" in ready.get("review").page.html
    ready.post("review", go="create")
    workload = Workload.objects.get()
    (kept,) = workload.given[NODES]["value"]
    assert kept == {**typed, "term": 2, "name": "topology.kubernetes.io-zone"}
    spec = ready.client.get(f"/workloads/{workload.pk}/spec").content.decode()
    assert f"{ZONE} In a, b" in spec


def test_parts_of_gpus_are_added_up(ready: Filler, everywhere: None) -> None:
    ready.post(
        "workers",
        {
            "worker.numWorkers": "3",
            "worker.compute.gpuDevicesRequest": "1",
            "worker.compute.gpuRequestType": "portion",
            "worker.compute.gpuPortionRequest": "50",
        },
    )
    html = ready.get("review").page.html
    assert "GPUs, 50 % of each" in html


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (
            "defaults: {worker: {nodeType: dgx}}\nrules: {worker: {nodeType: {canEdit: false}}}",
            "Node type is fixed, and cluster",
        ),
        ("rules: {worker: {nodeType: {required: true}}}", "Node type is required, and cluster"),
    ],
)
def test_what_a_policy_insists_on_blocks_a_cluster_that_lacks_it(
    ready: Filler, world: World, policy: str, words: str
) -> None:
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=policy)
    html = ready.post("workers").page.html
    name = world.vision.cluster.name
    assert f"{words} {name} does not have it: This machine is the only node" in html
    ready.post("review", go="create")
    assert not Workload.objects.exists()


def test_a_policys_default_for_what_a_cluster_lacks_is_not_used(
    ready: Filler, world: World
) -> None:
    policy = "defaults: {worker: {nodeType: dgx}}"
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=policy)
    ready.post("review", go="create")
    assert Workload.objects.exists()
