"""GET …/metrics of clusters, node pools, nodes, departments and projects: of what was held."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from gangline.clusters import nodes
from gangline.drivers.facts import NodeFact
from tests.api.test_metrics import BEGAN, asked, ran, values  # noqa: F401  a fixture
from tests.support.api import ApiClient
from tests.support.world import World
from workloads.models import Attempt, Replica, Workload

pytestmark = pytest.mark.django_db
ONE = {"numberOfSamples": 2}


@pytest.fixture
def placed(world: World, ran: Workload) -> Workload:  # noqa: F811
    """Two pods of a GPU each that ran for 60 of 80 seconds, after a minute of waiting."""
    nodes.store(world.cluster, [NodeFact("n1", "Ready", cpu=4.0, memory=2**30)])
    Replica.objects.filter(attempt__workload=ran).update(gpus=1, node="n1")
    Attempt.objects.filter(workload=ran).update(
        created_at=BEGAN - timedelta(seconds=60), started_at=BEGAN
    )
    return ran


def test_a_project_and_its_department_tell_what_was_held_on_average(
    world: World, administrator: ApiClient, placed: Workload
) -> None:
    wanted = "GPU_ALLOCATION,CPU_ALLOCATION_MILLICORES,CPU_MEMORY_ALLOCATION_MB,GPU_QUOTA"
    for path in (f"projects/{world.vision.pk}", f"departments/{world.department.pk}"):
        found = values(administrator.get(f"org-unit/{path}/metrics", **asked(wanted, **ONE)))
        assert found == {
            "GPU_ALLOCATION": ["2", "1"],
            "CPU_ALLOCATION_MILLICORES": ["4000", "2000"],
            "CPU_MEMORY_ALLOCATION_MB": ["2000", "1000"],
            "GPU_QUOTA": [],
        }
    other = administrator.get(f"org-unit/projects/{world.nlp.pk}/metrics", **asked(wanted, **ONE))
    assert values(other)["GPU_ALLOCATION"] == ["0", "0"]


def test_a_cluster_and_its_pool_tell_of_all_workloads(
    world: World, administrator: ApiClient, placed: Workload
) -> None:
    wanted = "ALLOCATED_GPU,WORKLOADS_COUNT,AVG_WORKLOAD_WAIT_TIME,TOTAL_GPU"
    expected = {
        "ALLOCATED_GPU": ["2", "1"],
        "WORKLOADS_COUNT": ["1", "1"],
        "AVG_WORKLOAD_WAIT_TIME": ["60"],
        "TOTAL_GPU": [],
    }
    here = f"clusters/{world.cluster.pk}"
    for path in (f"{here}/metrics", f"{here}/nodepools/default/metrics"):
        assert values(administrator.get(path, **asked(wanted, **ONE))) == expected
    assert administrator.get(f"{here}/nodepools/none/metrics", **asked(wanted)).status_code == 404


def test_a_node_tells_what_pods_used_on_it(
    world: World, administrator: ApiClient, researcher: ApiClient, placed: Workload
) -> None:
    listed = administrator.get("nodes").json()["nodes"]
    pk = next(one["id"] for one in listed if one["name"] == "n1")
    query = asked("CPU_USAGE_CORES,CPU_UTILIZATION,GPU_UTILIZATION", numberOfSamples=1)
    for node in (pk, "n1"):
        found = values(administrator.get(f"nodes/{node}/metrics", **query))
        assert found == {
            "CPU_USAGE_CORES": ["1.5"],
            "CPU_UTILIZATION": ["37.5"],
            "GPU_UTILIZATION": [],
        }
    assert researcher.get(f"nodes/{pk}/metrics", **query).status_code == 404


def test_who_may_not_see_a_place_learns_nothing_of_it(world: World) -> None:
    query = asked("GPU_ALLOCATION")
    stranger = ApiClient(world, "stranger")
    researcher = ApiClient(world, "researcher-vision")
    for path in (f"projects/{world.vision.pk}", f"departments/{world.department.pk}"):
        assert stranger.get(f"org-unit/{path}/metrics", **query).status_code == 404
    assert researcher.get(f"org-unit/projects/{world.nlp.pk}/metrics", **query).status_code == 404
    place = f"clusters/{world.cluster.pk}"
    for path in (f"{place}/metrics", f"{place}/nodepools/default/metrics"):
        assert stranger.get(path, **asked("ALLOCATED_GPU")).status_code == 404
        assert researcher.get(path, **asked("ALLOCATED_GPU")).status_code == 403


def older(world: World, person: str, path: str, **query: Any) -> Any:
    at = f"/v1/k8s/clusters/{world.cluster.pk}/{path}"
    return Client().get(at, query, headers=world.headers(person))


def test_older_addresses_tell_the_same_in_their_shape(world: World, placed: Workload) -> None:
    times = {k: v for k, v in asked("x", **ONE).items() if k != "metricType"}
    project, department = world.vision, world.department
    for path, about in (
        (f"projects/{project.pk}", {"projectId": project.pk, "departmentId": department.pk}),
        (f"departments/{department.pk}", {"departmentId": department.pk}),
        ("", {"clusterId": str(world.cluster.pk)}),
    ):
        answer = older(world, "administrator", f"{path}/metrics".removeprefix("/"), **times)
        found = answer.json()
        assert found["metadata"].items() >= about.items(), path
        over = found["timeRange"]["resources"]
        assert [row["gpu"]["allocated"] for row in over] == [2, 1]
        assert [row["cpu"]["allocated"] for row in over] == [4000, 2000]
        (now,) = found["current"]["resources"]
        assert (now["nodepoolName"], now["gpu"]["allocated"]) == ("default", 0)
        assert now["numberOfPendingWorkloads"] == 0
    for path in ("projects/metrics", "departments/metrics"):
        (first, *_) = older(world, "administrator", path).json()["data"]
        assert "timeRange" not in first
        assert "current" in first


def test_older_addresses_count_what_waits_for_its_pool(world: World, placed: Workload) -> None:
    Attempt.objects.filter(workload=placed).update(started_at=None, ended_at=None)
    Replica.objects.all().delete()
    found = older(world, "administrator", f"projects/{world.vision.pk}/metrics").json()
    assert found["current"]["resources"][0]["numberOfPendingWorkloads"] == 1
    other = older(world, "administrator", f"projects/{world.nlp.pk}/metrics").json()
    assert other["current"]["resources"][0]["numberOfPendingWorkloads"] == 0


@pytest.mark.parametrize(
    ("query", "status"),
    [({"start": "2026-11-03T14:00:00Z"}, 400), ({"start": "x", "end": "y"}, 400),
     ({"nodepoolName": "none"}, 404), ({"metricType": "TOTAL_GPU"}, 400)],
)  # fmt: skip
def test_older_addresses_refuse_what_they_cannot_use(
    world: World, query: dict[str, str], status: int
) -> None:
    path = f"projects/{world.vision.pk}/metrics"
    assert older(world, "researcher-vision", path, **query).status_code == status
    assert older(world, "stranger", path).status_code == 404
    assert older(world, "researcher-vision", f"projects/{world.nlp.pk}/metrics").status_code == 404
