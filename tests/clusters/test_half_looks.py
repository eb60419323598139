"""What is kept of a cluster when a look at it learns a part only."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import pytest

from gangline.clusters import connections
from gangline.clusters import services as clusters
from gangline.clusters.models import Cluster
from gangline.drivers import addresses
from gangline.drivers.kubernetes.access import Options
from gangline.drivers.kubernetes.client import Client
from gangline.drivers.kubernetes.driver import KubernetesDriver
from gangline.resources.services import make
from gangline.scopes.services import found
from tests.support.api_server import Script, answering

HERE = addresses.AllowedAddresses(addresses.networks("127.0.0.0/8,::1"))
VOLCANO = "scheduling.volcano.sh"
NODES, CLASSES = "/api/v1/nodes", "/apis/scheduling.k8s.io/v1/priorityclasses"
ROOM = {"cpu": "8", "memory": "32Gi", "amd.com/gpu": "4"}
BUSY = (503, {"kind": "Status", "code": 503, "message": "etcd leader changed"})
ENDED = (401, {"kind": "Status", "code": 401})
ODD_NODE = {
    "metadata": {"name": "n1"},
    "status": {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": 5},
}
FORBIDDEN = (403, {"kind": "Status", "code": 403})


@dataclass
class Amd(Script):
    """A cluster with one node of AMD, with Volcano, and answers that are to be others."""

    others: dict[str, tuple[int, Any]] = field(default_factory=dict)
    groups: Mapping[str, Mapping[str, list[str]]] = field(
        default_factory=lambda: {"kubeflow.org": {"v1": ["pytorchjobs"]}, VOLCANO: {"v1beta1": []}}
    )
    uid: str = "kube-system-1"

    def answer(self, path: str) -> tuple[int, Any]:
        name = path.partition("?")[0]
        if name in self.others:
            return self.others[name]
        if name == NODES:
            ready = {"conditions": [{"type": "Ready", "status": "True"}]}
            node = {"metadata": {"name": "n1"}, "status": {**ready, "allocatable": ROOM}}
            return 200, {"items": [node], "metadata": {}}
        return super().answer(path)


@pytest.fixture
def script(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Amd]:
    """Its driver is the one of every cluster."""
    found(name="Test")
    script = Amd()
    with answering(script) as access, closing(Client(access, HERE)) as client:
        driver = KubernetesDriver(client, Options())
        monkeypatch.setattr(clusters, "driver_for", lambda _: driver)
        yield script


@pytest.fixture
def amd(script: Amd) -> Cluster:
    """The cluster after a look that learned everything."""
    row: Cluster = make("cluster", actor=None, name="amd", kind="kubernetes")
    clusters.refresh(row)
    row.refresh_from_db()
    assert (connections.gpu_of(row), row.capacity["cpus"], row.gpu_count) == ("amd.com/gpu", 8.0, 4)
    return row


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        (NODES, BUSY),
        (NODES, ENDED),
        (NODES, (200, {})),
        (NODES, (200, {"items": 5})),
        (NODES, (200, {"items": [ODD_NODE]})),
        (CLASSES, BUSY),
        ("/apis/storage.k8s.io/v1/storageclasses", BUSY),
        (f"/apis/{VOLCANO}/v1beta1/queues", BUSY),
        ("/apis", BUSY),
        ("/apis", (200, {})),
        ("/apis/kubeflow.org/v1", BUSY),
        ("/api/v1/namespaces/kube-system", BUSY),
    ],
)
def test_what_was_not_told_this_time_stays_as_it_was(
    script: Amd, amd: Cluster, path: str, answer: tuple[int, Any]
) -> None:
    facts, capacity, made_from = amd.facts, amd.capacity, connections._configuration(amd)
    script.others[path] = answer
    health = clusters.refresh(amd)
    assert (health.reachable, health.facts) == (True, None)
    amd.refresh_from_db()
    assert (amd.facts, amd.capacity) == (facts, capacity)
    assert connections._configuration(amd) == made_from, "its driver and its watch go on"


def test_a_right_that_is_missing_is_news(script: Amd, amd: Cluster) -> None:
    script.others |= dict.fromkeys((NODES, CLASSES), FORBIDDEN)
    health = clusters.refresh(amd)
    assert health.reason == "Failed in the check: Nodes and GPUs."
    amd.refresh_from_db()
    assert not {"nodes", "priorities"} & amd.facts["detail"].keys()
    assert amd.facts["detail"]["uid"] == "kube-system-1"
    assert (amd.capacity["cpus"], amd.gpu_count) == (0.0, 0)


def test_room_that_was_counted_is_news_though_the_rest_is_not(script: Amd, amd: Cluster) -> None:
    facts = amd.facts
    node = {"metadata": {"name": "n1"}, "spec": {"unschedulable": True}}
    script.others |= {CLASSES: BUSY, NODES: (200, {"items": [node]})}
    clusters.refresh(amd)
    amd.refresh_from_db()
    assert (amd.facts, amd.capacity["cpus"]) == (facts, 0.0)
