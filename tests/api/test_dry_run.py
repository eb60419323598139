"""``dryRun=All``: the cluster is asked as well, after our own checks."""

from pathlib import Path

import pytest

from gangline.clusters.models import Cluster
from tests.drivers.faults import Fault
from tests.drivers.faulty import FaultyCluster
from tests.support.api import ApiClient
from tests.support.engine import KIND, register_faulty
from tests.support.world import World
from workloads.models import Workload

ASK = "workloads/distributed?dryRun=All"


@pytest.fixture
def truth(world: World, tmp_path: Path) -> FaultyCluster:
    """The world's cluster is one that fails as told."""
    register_faulty()
    truth = FaultyCluster(tmp_path / "cluster.db", idempotent=True)
    Cluster.objects.filter(pk=world.cluster.pk).update(
        kind=KIND, host_id="", config={"path": str(truth.path)}
    )
    return truth


def test_what_the_cluster_would_take_is_200_with_what_was_asked(
    world: World, researcher: ApiClient, truth: FaultyCluster
) -> None:
    answer = researcher.post(ASK, world.body())
    assert answer.status_code == 200, answer.json()
    assert answer.json()["cluster"] == {"asked": ["the whole training"], "doubts": []}
    assert answer.json()["sources"]["worker.command"] == {"kind": "you"}
    assert not Workload.objects.exists()
    assert truth.objects() == 0


def test_its_objections_are_400_at_the_fields(
    world: World, researcher: ApiClient, truth: FaultyCluster
) -> None:
    truth.plan("dry_run", Fault.REFUSED, text="master.image: Required value")
    answer = researcher.post(ASK, world.body())
    assert answer.status_code == answer.json()["code"] == 400
    (problem,) = answer.json()["problems"]
    # The master follows the workers: it is mended there.
    assert (problem["role"], problem["path"], problem["rule"]) == ("worker", "image", "cluster")
    assert problem["message"] == "is not accepted by the cluster: Required value"
    assert problem["label"] == "Image"
    assert problem["accepted"]


def test_our_own_problems_come_first_and_the_cluster_is_not_asked(
    world: World, researcher: ApiClient, truth: FaultyCluster
) -> None:
    answer = researcher.post(ASK, world.body(name="Not A Name"))
    assert answer.status_code == 400
    assert [p["path"] for p in answer.json()["problems"]] == ["name"]
    assert truth.calls("dry_run") == []


def test_doubt_is_told_as_doubt(world: World, researcher: ApiClient, truth: FaultyCluster) -> None:
    truth.set_unreachable(True)
    answer = researcher.post(ASK, world.body())
    assert answer.status_code == 200
    assert answer.json()["cluster"] == {"asked": [], "doubts": ["The cluster does not answer."]}


def test_a_plain_dry_run_asks_nobody(
    world: World, researcher: ApiClient, truth: FaultyCluster
) -> None:
    answer = researcher.post(ASK.replace("All", "1"), world.body())
    assert answer.status_code == 200
    assert "cluster" not in answer.json()
    assert truth.calls("dry_run") == []


def test_who_may_not_create_may_not_ask_either(world: World, truth: FaultyCluster) -> None:
    answer = ApiClient(world, "viewer-vision").post(ASK, world.body())
    assert answer.status_code == 403
    assert truth.calls("dry_run") == []
