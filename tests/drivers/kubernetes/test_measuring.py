"""What a metrics server tells of pods: over a real connection, and on a real cluster."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gangline.drivers.checks import State
from gangline.drivers.kubernetes import permissions, pods
from gangline.drivers.kubernetes.client import Client
from gangline.drivers.kubernetes.kind import Kubernetes
from gangline.drivers.kubernetes.pod_metrics import Measuring
from gangline.drivers.kubernetes.resources import POD_METRICS, PODS, Resource
from gangline.drivers.logs.store import LogStore
from gangline.drivers.metrics.reader import Series, read
from tests.beds.kubernetes.bed import Bed
from tests.drivers.kubernetes import raw
from tests.drivers.kubernetes.harness import ground
from tests.drivers.kubernetes.test_probing import HERE, look, steps_of
from tests.support.api_server import Script, answering
from tests.support.waiting import wait_for

GROUPS = {POD_METRICS.group: {POD_METRICS.version: [POD_METRICS.plural]}}
ROOT = POD_METRICS.path()


def pod_metrics(name: str, when: str, *usages: tuple[str, str]) -> dict[str, Any]:
    """As metrics-server 0.7 prints one: ``kubectl get --raw /apis/metrics.k8s.io/v1beta1/pods``."""
    return {
        "metadata": {
            "name": name,
            "namespace": raw.REF.namespace,
            "creationTimestamp": when,
            "labels": {"gangline.dev/install": "install-a"},
        },
        "timestamp": when,
        "window": "15.062s",
        "containers": [
            {"name": f"main-{n}", "usage": {"cpu": cpu, "memory": memory}}
            for n, (cpu, memory) in enumerate(usages)
        ],
    }


@dataclass
class Server(Script):
    """An API server whose metrics are those of ``items``; some paths may not be asked for."""

    items: list[dict[str, Any]] = field(default_factory=list)
    statuses: dict[str, int] = field(default_factory=dict)

    def answer(self, path: str) -> tuple[int, Any]:
        path = path.partition("?")[0]
        if path in self.statuses:
            return self.statuses[path], {"kind": "Status", "message": "no"}
        if path.startswith("/apis/metrics.k8s.io/"):
            return 200, {"kind": "PodMetricsList", "metadata": {}, "items": self.items}
        return super().answer(path)


@contextmanager
def measuring(server: Server, folder: Path) -> Iterator[Measuring]:
    with answering(server) as access, closing(Client(access, HERE)) as client:
        made = Measuring(client, LogStore(folder), "install-a")
        made._over.set()  # the test looks itself
        made.tell(pods.read(raw.pod()))
        yield made


def figures(folder: Path) -> Series:
    return read(next((folder / "logs").glob("*/*/*")))


def test_containers_of_a_pod_are_summed_and_a_look_that_brings_nothing_new_adds_nothing(
    tmp_path: Path,
) -> None:
    name = pods.read(raw.pod()).name
    first = pod_metrics(name, "2026-03-01T12:00:05Z", ("156340n", "102400Ki"), ("1500m", "1Mi"))
    server = Server(items=[first, pod_metrics("another", "2026-03-01T12:00:05Z", ("1", "1Gi"))])
    with measuring(server, tmp_path) as made:
        assert made.look()
        assert made.look()
        server.items[0] = pod_metrics(name, "2026-03-01T12:00:20Z", ("250u", "50Mi"))
        assert made.look()
    found = figures(tmp_path)
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()
    assert [point.at - noon for point in found.points("cpu")] == [0, 15]
    assert found.peak("cpu") == pytest.approx(1.50015634, rel=1e-6)
    assert found.peak("memory") == 101 * 2**20
    assert found.last("cpu") == pytest.approx(0.00025)
    assert [row[1] for row in found.rows] == [1, 1]


def test_where_the_whole_cluster_may_not_be_asked_each_namespace_is(tmp_path: Path) -> None:
    name = pods.read(raw.pod()).name
    item = pod_metrics(name, "2026-03-01T12:00:05Z", ("1", "1Mi"))
    server = Server(items=[item], statuses={ROOT: 403})
    with measuring(server, tmp_path) as made:
        assert made.look()
        assert made.look()
    assert figures(tmp_path).last("cpu") == 1.0
    assert [line.partition("?")[0] for line in server.seen] == [
        f"GET {ROOT}",
        *[f"GET {POD_METRICS.path(raw.REF.namespace)}"] * 2,
    ]


@pytest.mark.parametrize(("status", "is_there"), [(404, False), (503, True)])
def test_no_server_is_asked_for_rarely_and_one_that_is_away_again(
    tmp_path: Path, status: int, is_there: bool
) -> None:
    with measuring(Server(statuses={ROOT: status}), tmp_path) as made:
        assert made.look() is is_there
    assert not (tmp_path / "logs").exists()


def test_what_is_no_figure_is_left_out(tmp_path: Path) -> None:
    name = pods.read(raw.pod()).name
    broken: list[dict[str, Any]] = [{}, {"metadata": {"name": name}}]
    item = pod_metrics(name, "2026-03-01T12:00:05Z", ("1", "1Mi"))
    with measuring(Server(items=[*broken, item | {"timestamp": "noon"}, item]), tmp_path) as made:
        assert made.look()
    assert figures(tmp_path).last("cpu") == 1.0


def test_a_pod_that_is_over_or_gone_is_asked_about_no_more(tmp_path: Path) -> None:
    with measuring(Server(), tmp_path) as made:
        made.gone(pods.read(raw.pod()).uid)
        assert made._pods == {}


def test_the_check_says_whether_there_is_a_metrics_server() -> None:
    without, there = steps_of(Script()), steps_of(Script(groups=GROUPS))
    assert (without["Metrics"].state, there["Metrics"].state) == (State.WARNING, State.OK)
    with answering(Script()) as access:
        facts = look(access)[1].facts
    assert facts is not None
    assert "metrics server" in Kubernetes().unmeasured(facts)


def test_the_right_is_asked_for_only_where_it_matters() -> None:
    names = {rule.group for rule in permissions.applicable(permissions.CLUSTER, frozenset())}
    assert POD_METRICS.group not in names
    present = frozenset({permissions.METRICS})
    rules = [
        rule
        for table in (permissions.CLUSTER, permissions.PROJECT)
        for rule in permissions.applicable(table, present)
        if rule.group == POD_METRICS.group
    ]
    assert [(rule.resources, rule.verbs) for rule in rules] == [(("pods",), ("list",))] * 2


# A real cluster: its API server serves the group, as an object of its own kind

KINDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CRD", namespaced=False)
DEFINITION = {
    "apiVersion": KINDS.api_version,
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": f"{POD_METRICS.plural}.{POD_METRICS.group}",
        "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
    },
    "spec": {
        "group": POD_METRICS.group,
        "scope": "Namespaced",
        "names": {"kind": POD_METRICS.kind, "plural": "pods", "singular": "podmetrics"},
        "versions": [
            {
                "name": POD_METRICS.version,
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}


@pytest.mark.needs_kubernetes
def test_a_watch_with_the_shipped_role_records_what_its_pods_use(
    own_processes: Bed, tmp_path: Path
) -> None:
    bed = own_processes
    try:
        assert bed.client.request("POST", KINDS.path(), body=DEFINITION).ok
        wait_for(lambda: bed.client.request("GET", ROOT).ok, seconds=20, what="the group is served")
        with ground(bed, tmp_path) as place:
            ref = place.ref()
            place.running(ref)
            for item in bed.client.list(PODS, place.namespace).body["items"]:
                when = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
                body = pod_metrics(item["metadata"]["name"], when, ("750m", "64Mi"))
                body["metadata"] = {
                    "name": item["metadata"]["name"],
                    "namespace": place.namespace,
                    "labels": item["metadata"]["labels"],
                }
                body |= {"apiVersion": POD_METRICS.api_version, "kind": POD_METRICS.kind}
                path = POD_METRICS.path(place.namespace)
                assert bed.client.request("POST", path, body=body).ok
            folder = tmp_path / "logs" / ref.workload / "1" / "worker-0"
            batches = place.driver.watch(place.install, "")
            until = time.monotonic() + 30
            for _ in batches:
                if read(folder) or time.monotonic() > until:
                    break
            batches.close()  # type: ignore[attr-defined]
        assert read(folder).last("cpu") == 0.75
        assert read(folder).last("memory") == 64 * 2**20
    finally:
        bed.client.request("DELETE", KINDS.path(name=f"pods.{POD_METRICS.group}"))
