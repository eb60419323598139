"""What clients ask about all workloads: batches, pods, figures, kinds."""

from typing import Any
from uuid import uuid4

import pytest

from gangline.db.clock import db_now
from tests.support.api import ApiClient
from tests.support.queries import query_budget
from tests.support.world import World
from workloads.models import Attempt, Replica, Workload

pytestmark = pytest.mark.django_db


@pytest.fixture
def two(world: World) -> list[str]:
    """One in vision with three pods, one in nlp without."""
    ids = []
    for name, project, person in (
        ("digits", world.vision, "researcher-vision"),
        ("words", world.nlp, "administrator"),
    ):
        client = ApiClient(world, person)
        made = client.post("workloads/distributed", world.body(name, projectId=str(project.pk)))
        assert made.status_code == 202
        ids.append(made.json()["workloadId"])
    attempt = Attempt.objects.get(workload=ids[0])
    for index in range(3):
        Replica.objects.create(
            attempt=attempt, role="worker", index=index, rank=index, node=f"n-{index % 2}",
            state="Running", ended_at=db_now() if index == 2 else None,
        )  # fmt: skip
    Workload.objects.filter(pk=ids[0]).update(phase="Running", status="Running", gpus_in_use=1.5)
    return ids


def test_a_batch_does_what_it_can_and_says_what_it_could_not(world: World, two: list[str]) -> None:
    own, foreign, unknown = two[0], two[1], str(uuid4())
    client = ApiClient(world, "researcher-vision")
    body = {"ids": [foreign, own, unknown, own], "action": "suspend"}
    answered = client.post("workloads/batch", body)
    assert answered.status_code == 200
    found = answered.json()
    assert found["succeeded"] == [own]
    assert [(one["id"], one["code"]) for one in found["failed"]] == [(foreign, 404), (unknown, 404)]
    assert Workload.objects.get(pk=own).desired == "Stopped"
    assert Workload.objects.get(pk=foreign).desired == "Running"


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        ({}, {"ids", "action"}),
        ({"ids": [], "action": "delete"}, {"ids"}),
        ({"ids": ["x", 1, None], "action": "stop"}, {"action", "ids.0", "ids.1", "ids.2"}),
        ({"ids": ["x"] * 501, "action": "delete"}, {"ids"}),
        ({"ids": [str(uuid4())], "action": "delete", "force": True}, {"force"}),
        ([], {""}),
    ],
)
def test_a_wrong_batch_names_its_fields(world: World, body: Any, paths: set[str]) -> None:
    answered = ApiClient(world, "administrator").post("workloads/batch", body)
    assert answered.status_code == 400
    assert {one["path"] for one in answered.json()["problems"]} == paths


def names(client: ApiClient, **query: Any) -> list[str]:
    found = client.get("workloads/pods", **query)
    assert found.status_code == 200, found.content
    return [one["name"] for one in found.json()["pods"]]


def test_pods_of_all_workloads_are_filtered_sorted_and_counted(
    world: World, two: list[str]
) -> None:
    client = ApiClient(world, "administrator")
    pods = [f"digits-worker-{n}" for n in range(3)]
    with query_budget("pods of all workloads"):
        assert names(client) == pods
    assert names(client, limit=2, sortBy="nodeName", sortOrder="desc") == [pods[1], pods[0]]
    assert names(client, filterBy=f"nodeName==n-1,workloadId=={two[0]}") == [pods[1]]
    assert names(client, search="WORKER-2") == [pods[2]]
    assert names(client, completed="true") == [pods[2]]
    assert names(client, completed="false") == pods[:2]
    assert client.get("workloads/pods/count", filterBy="nodeName==n-0").json() == {"count": 2}
    assert names(ApiClient(world, "viewer-nlp")) == []
    Workload.objects.filter(pk=two[0]).update(deleted_at=db_now())
    assert (names(client), names(client, deleted="true")) == ([], pods)


@pytest.mark.parametrize(
    "query",
    [
        {"completed": "yes"},
        {"filterBy": "image==x"},
        {"sortBy": "image"},
        {"limit": "501"},
        {"search": "x" * 300},
        {"since": "1"},
    ],
)
def test_a_wrong_question_about_pods_is_refused(world: World, query: dict[str, str]) -> None:
    assert ApiClient(world, "administrator").get("workloads/pods", **query).status_code == 400


def told(client: ApiClient, path: str, **query: str) -> dict[tuple[str, ...], str]:
    found = client.get(f"{path}/telemetry", **query)
    assert found.status_code == 200, found.content
    return {
        tuple(group["name"] for group in one["groups"]): one["value"]
        for one in found.json()["values"]
    }


def test_workloads_are_counted_by_groups(world: World, two: list[str]) -> None:
    client = ApiClient(world, "administrator")
    count = {"telemetryType": "WORKLOADS_COUNT"}
    assert told(client, "workloads", **count) == {(): "2"}
    assert told(client, "workloads", **count, groupBy="ProjectId,Phase") == {
        ("nlp", "Creating"): "1",
        ("vision", "Running"): "1",
    }
    assert told(client, "workloads", **count, filterByPhases="Running", groupBy="Type") == {
        ("Distributed",): "1"
    }
    gpus = {"telemetryType": "GPU_ALLOCATION", "groupBy": "ClusterId"}
    assert told(client, "workloads", **gpus) == {(world.cluster.name,): "1.5"}
    assert told(ApiClient(world, "stranger"), "workloads", **count) == {(): "0"}


def test_quotas_and_what_is_held_are_told_by_department(world: World) -> None:
    client = ApiClient(world, "administrator")
    quota = {"telemetryType": "GPU_QUOTA", "clusterId": str(world.cluster.pk)}
    assert told(client, "org-unit/projects", **quota) == {(): "2"}
    assert told(client, "org-unit/projects", **quota, groupBy="ParentId") == {("research",): "2"}
    assert told(client, "org-unit/departments", telemetryType="CPU_ALLOCATION") == {(): "0"}


@pytest.mark.parametrize("path", ["workloads", "nodes", "org-unit/projects"])
@pytest.mark.parametrize(
    "query",
    [
        {},
        {"telemetryType": "MOOD"},
        {"telemetryType": "first", "groupBy": "Owner"},
        {"telemetryType": "first", "clusterId": "1"},
        {"telemetryType": "first", "since": "1"},
    ],
)
def test_a_wrong_question_about_figures_is_refused(
    world: World, path: str, query: dict[str, str]
) -> None:
    firsts = {"workloads": "WORKLOADS_COUNT", "nodes": "TOTAL_GPUS"}
    given = {k: firsts.get(path, "GPU_QUOTA") if v == "first" else v for k, v in query.items()}
    assert ApiClient(world, "administrator").get(f"{path}/telemetry", **given).status_code == 400


def test_kinds_refer_to_categories_and_priorities_that_exist(world: World) -> None:
    client = ApiClient(world, "viewer-nlp")
    (category,) = client.get("workload-categories").json()["categories"]
    (kind,) = client.get("workload-types", filterBy="name==Distributed").json()["types"]
    levels = client.get("workload-priorities").json()["priorities"]
    assert kind["categoryId"] == category["id"]
    assert kind["priorityId"] in {one["id"] for one in levels}
    assert [one["value"] for one in levels] == sorted(one["value"] for one in levels)
    assert client.get(f"workload-types/{kind['id']}").json() == kind
    assert client.get(f"workload-categories/{category['id']}").json() == category
    assert client.get(f"workload-types/{uuid4()}").status_code == 404
    assert client.get("workload-types", externalTypesOnly="true").json() == {"types": []}
    (high,) = client.get("workload-priorities", filterBy="name==high").json()["priorities"]
    assert high["value"] == 125
    assert client.get("workload-priorities", filterBy="name=@h").status_code == 400


def test_one_of_the_orders_of_what_is_left_over_is_the_default(world: World) -> None:
    found = ApiClient(world, "viewer-nlp").get("org-unit/priorities").json()["priorities"]
    assert [one["name"] for one in found if one["isDefault"]] == ["MediumLow"]
