"""A Slurm cluster is connected by its page, checked step by step, and shows its nodes."""

import pytest
from django.test import Client

from gangline.clusters.models import Cluster, Node
from gangline.drivers.slurm import probing
from tests.beds.slurm.lab import PARTITIONS, Lab
from tests.support.world import World

pytestmark = pytest.mark.needs_slurm


def _given(lab: Lab, **changes: str) -> dict[str, str]:
    return {
        "kind": "slurm",
        "name": "lab",
        "way": "local",
        "folder": str(lab.folder / "runs"),
        "config": str(lab.config),
        **changes,
    }


@pytest.mark.usefixtures("checks_at_once")
def test_a_cluster_is_connected_by_commands_of_this_machine(world: World, slurm_lab: Lab) -> None:
    client = Client()
    client.force_login(world.people["administrator"])
    assert client.get("/clusters/new?kind=slurm").status_code == 200
    assert client.post("/clusters/new", _given(slurm_lab)).status_code == 302
    cluster = Cluster.objects.get(name="lab")
    assert cluster.health == "Connected", cluster.health_reason
    assert set(cluster.facts["detail"]["partitions"]) == set(PARTITIONS)
    assert cluster.capacity["gpu_count"] == 8
    pools = {node.labels["partition"] for node in Node.objects.filter(cluster=cluster)}
    assert pools == {"pool-a", "pool-b"}
    page = client.get(f"/clusters/{cluster.pk}/checks").content.decode()
    assert all(f'data-step="{name}"' in page for name in probing.NAMES)
    assert 'data-state="failed"' not in page


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"folder": "relative"}, "folder"),
        ({"folder": "/a/../../etc"}, "folder"),
        ({"folder": "/x; touch /tmp/no"}, "folder"),
        ({"config": "slurm.conf"}, "config"),
        ({"programs": "$(id)"}, "programs"),
    ],
)
def test_odd_paths_are_refused_at_their_field(
    world: World, slurm_lab: Lab, changes: dict[str, str], field: str
) -> None:
    client = Client()
    client.force_login(world.people["administrator"])
    answer = client.post("/clusters/new", _given(slurm_lab, **changes))
    assert answer.status_code in (200, 422)
    assert list(answer.context["form"].errors) == [field]
    assert not Cluster.objects.filter(name="lab").exists()
