"""A connected cluster, its server as it is told to be, and people."""

from collections.abc import Iterator
from typing import Any

import pytest

from gangline.clusters.models import Cluster
from gangline.drivers.kubernetes.access import ClusterCredentials
from tests.support.api_server import Script, answering
from tests.support.connected import GROUPS, Post, browser, by_token
from tests.support.world import World


@pytest.fixture
def script() -> Script:
    return Script(groups=GROUPS, uid="one")


@pytest.fixture
def server(script: Script) -> Iterator[ClusterCredentials]:
    with answering(script) as access:
        yield access


@pytest.fixture
def post(world: World) -> Post:
    """Posts as an administrator, or as somebody else."""

    def send(address: str, person: str = "administrator", **fields: Any) -> Any:
        return browser(world, person).post(address, fields)

    return send


@pytest.fixture
def lab(checks_at_once: None, post: Post, server: ClusterCredentials) -> Cluster:
    """A connected cluster that was looked at."""
    assert post("/clusters/new", name="lab", **by_token(server)).status_code == 302
    found = Cluster.objects.get(name="lab")
    assert found.health == "Connected"
    return found
