"""A connection check always ends, whatever the cluster or Gangline itself does wrong."""

from typing import Any

import pytest

from gangline.clusters import checks, credentials
from gangline.clusters.models import Cluster
from gangline.drivers.kubernetes import probe
from gangline.drivers.kubernetes.access import ClusterCredentials
from gangline.resources.services import make
from tests.support.api_server import TOKEN, Script, answering
from tests.support.world import World

pytestmark = pytest.mark.usefixtures("loopback_admitted", "checks_at_once")
NODE = {"metadata": {"name": "n"}, "status": {"conditions": "Ready", "allocatable": {"cpu": "1"}}}


def looked_at(access: ClusterCredentials) -> Cluster:
    """A cluster after its check."""
    cluster: Cluster = make("cluster", actor=None, name="lab", kind="kubernetes")
    credentials.store(cluster, access, by=None)
    checks.start(cluster)
    cluster.refresh_from_db()
    return cluster


def shown(world: World, cluster: Cluster) -> str:
    client = world.client("administrator")
    return client.get(f"/clusters/{cluster.pk}/checks").content.decode()


class OddNodes(Script):
    def answer(self, path: str) -> tuple[int, Any]:
        if path.startswith("/api/v1/nodes"):
            return 200, {"items": [NODE]}
        return super().answer(path)


def test_nodes_of_another_shape_are_a_doubt_and_the_check_ends(world: World) -> None:
    with answering(OddNodes()) as access:
        cluster = looked_at(access)
    seen = checks.progress(cluster)
    assert seen is not None
    assert (seen.is_running, seen.broke_off, seen.to_come) == (False, False, ())
    assert "The answer of the cluster could not be read." in [s.sentence for s in seen.steps]
    assert "The answer of the cluster could not be read." in shown(world, cluster)


def test_a_check_that_breaks_says_so_and_has_ended(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: Any, **named: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(probe, "probe", broken)
    cluster = looked_at(ClusterCredentials("https://127.0.0.1:9", token=TOKEN))
    seen = checks.progress(cluster)
    assert seen is not None
    assert (seen.is_running, seen.broke_off) == (False, False)
    assert seen.steps[-1].sentence == "Internal error. See the server log."
    assert "Internal error. See the server log." in shown(world, cluster)
