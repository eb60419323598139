"""A Slurm cluster is connected by its page, checked step by step, and shows its nodes."""

import pytest

from gangline.clusters import credentials
from gangline.clusters.models import Cluster, Credential, Node
from gangline.drivers.slurm import probe
from tests.beds.slurm.lab import PARTITIONS, Lab
from tests.support.ssh_server import SshServer
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
    client = world.client("administrator")
    chosen = '<a class="card" href="?kind=slurm" aria-current="true">'
    assert chosen in client.get("/clusters/new?kind=slurm").content.decode()
    assert client.post("/clusters/new", _given(slurm_lab)).status_code == 302
    cluster = Cluster.objects.get(name="lab")
    assert cluster.health == "Connected", cluster.health_reason
    assert set(cluster.facts["detail"]["partitions"]) == set(PARTITIONS)
    assert cluster.capacity["gpu_count"] == 8
    pools = {node.labels["partition"] for node in Node.objects.filter(cluster=cluster)}
    assert pools == {"pool-a", "pool-b"}
    page = client.get(f"/clusters/{cluster.pk}/checks").content.decode()
    assert all(f'data-step="{name}"' in page for name in probe.NAMES)
    assert 'data-state="failed"' not in page


@pytest.mark.needs_sshd
@pytest.mark.usefixtures("checks_at_once", "loopback_admitted")
def test_a_cluster_is_connected_by_ssh_with_a_key_of_ganglines(
    world: World, slurm_lab: Lab, ssh_server: SshServer
) -> None:
    """The key is made here: the check shows the line that lets it in."""
    client = world.client("administrator")
    login = {"way": "ssh", "host": "127.0.0.1", "port": str(ssh_server.port)}
    given = _given(slurm_lab, **login, user=ssh_server.access.user)
    assert client.post("/clusters/new", given).status_code == 302
    cluster = Cluster.objects.get(name="lab")
    assert cluster.health != "Connected"
    public = credentials.access_of(cluster).public
    page = client.get(f"/clusters/{cluster.pk}/checks").content.decode()
    assert public in page
    assert "PRIVATE KEY" not in page
    ssh_server.let_in(public)
    assert client.post(f"/clusters/{cluster.pk}/check").status_code == 302
    cluster.refresh_from_db()
    assert cluster.health == "Connected", cluster.health_reason
    assert cluster.facts["version"].startswith("Slurm ")
    stored = Credential.objects.get(cluster=cluster)
    assert stored.server == f"127.0.0.1:{ssh_server.port}"
    assert stored.fingerprint.startswith("SHA256:")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"folder": "relative"}, "folder"),
        ({"folder": "/a/../../etc"}, "folder"),
        ({"folder": "/x; touch /tmp/no"}, "folder"),
        ({"config": "slurm.conf"}, "config"),
        ({"programs": "$(id)"}, "programs"),
        ({"account": "a\n#SBATCH --exclusive"}, "account"),
        ({"time_limit": "two days"}, "time_limit"),
        ({"modules": "python;id"}, "modules"),
    ],
)
def test_odd_settings_are_refused_at_their_field(
    world: World, slurm_lab: Lab, changes: dict[str, str], field: str
) -> None:
    client = world.client("administrator")
    answer = client.post("/clusters/new", _given(slurm_lab, **changes))
    assert answer.status_code in (200, 422)
    assert list(answer.context["form"].errors) == [field]
    assert not Cluster.objects.filter(name="lab").exists()
