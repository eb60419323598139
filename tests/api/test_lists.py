"""GET /api/v1/workloads and its relatives: filters, sorting, paging, what one may see."""

import base64
import json
from typing import Any

import pytest

from gangline.db.clock import db_now
from tests.support.api import ApiClient
from tests.support.queries import query_budget
from tests.support.world import World
from workloads import wording
from workloads.api import representation
from workloads.models import Attempt, Event, Replica, Workload

pytestmark = pytest.mark.django_db


@pytest.fixture
def many(world: World) -> list[str]:
    """Five in vision, two in nlp."""
    client = ApiClient(world, "administrator")
    names = [f"digits-{n}" for n in range(5)]
    for n, name in enumerate(names):
        body = world.spec_body(name, compute={"gpuDevicesRequest": n % 2, "cpuCoreRequest": 0.5})
        assert client.post("workloads/distributed", body).status_code == 202
    for name in ("words-0", "words-1"):
        body = world.body(name, projectId=str(world.nlp.pk))
        assert client.post("workloads/distributed", body).status_code == 202
    Workload.objects.filter(name__in=["digits-1", "digits-2"]).update(
        status="Running", phase="Running", pods_ready=3
    )
    return names


def names_of(response: Any) -> list[str]:
    assert response.status_code == 200, response.content
    return [row["name"] for row in response.json()["workloads"]]


def test_everybody_sees_the_workloads_of_their_projects(world: World, many: list[str]) -> None:
    for person, expected in (
        ("researcher-vision", 5),
        ("viewer-nlp", 2),
        ("head", 7),
        ("administrator", 7),
        ("stranger", 0),
    ):
        client = ApiClient(world, person)
        assert len(names_of(client.get("workloads"))) == expected, person
        assert client.get("workloads/count").json() == {"count": expected}, person


def test_a_row_has_every_field_that_clients_need(world: World, many: list[str]) -> None:
    row = ApiClient(world, "administrator").get("workloads").json()["workloads"][0]
    assert row["type"] == "Distributed"
    assert row["distributedFramework"] == "XGBoost"
    assert row["projectName"] == "nlp"
    assert row["departmentName"] == "research"
    assert row["requestedPods"] == {"number": 3}
    assert row["deletedAt"] is None
    assert row["actionsSupport"]["delete"] is True
    assert row["createdAt"].endswith("Z")


@pytest.mark.parametrize(
    ("filter_by", "expected"),
    [
        ("name==digits-3", {"digits-3"}),
        ("name=^words", {"words-0", "words-1"}),
        ("name=$-1", {"digits-1", "words-1"}),
        ("name=@gits", {f"digits-{n}" for n in range(5)}),
        ("name!@digits", {"words-0", "words-1"}),
        ("status==Running", {"digits-1", "digits-2"}),
        ("status==Running,name!=digits-1", {"digits-2"}),
        ("projectName==nlp", {"words-0", "words-1"}),
        ("departmentName==research,name==words-0", {"words-0"}),
        ("gpus>=1", {"digits-1", "digits-3"}),
        ("createdAt>=2200-01-01T00:00:00Z", set()),
        ("type==Workspace", set()),
        ("type==Distributed,name==words-0", {"words-0"}),
        ("distributedFramework==XGBoost,submittedBy==administrator,name==words-1", {"words-1"}),
    ],
)
@pytest.mark.postgres
def test_filters(world: World, many: list[str], filter_by: str, expected: set[str]) -> None:
    client = ApiClient(world, "administrator")
    assert set(names_of(client.get("workloads", filterBy=filter_by))) == expected
    count = client.get("workloads/count", filterBy=filter_by).json()["count"]
    assert count == len(expected)


NOON = "2026-01-01T12:00:00Z"


def cursor_of(*values: object, place: object = 0) -> str:
    """A cursor of such a row, ``place`` rows into the list."""
    values = (*values, place)
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "query",
    [
        {"filterBy": "owner__password=^a"},
        {"filterBy": "name"},
        {"filterBy": "name=="},
        {"filterBy": "createdAt>=yesterday"},
        {"filterBy": "createdAt>=0001-01-01T00:00:00+23:59"},
        {"filterBy": "clusterId==1"},
        {"filterBy": "gpus=@1"},
        {"filterBy": ",".join(["name==a"] * 21)},
        {"sortBy": "owner__password"},
        {"sortBy": "phase"},
        {"sortOrder": "up"},
        {"limit": "0"},
        {"limit": "501"},
        {"limit": "1_0"},
        {"limit": "٣"},
        {"offset": "-1"},
        {"offset": "10001"},
        {"cursor": "nonsense"},
        {"cursor": "WyJhIiwiYiJd"},
        {"cursor": cursor_of("0001-01-01T00:00:00+23:59", "0" * 32)},
        {"cursor": cursor_of("2026-01-01T00:00:00", "0" * 32)},
        {"cursor": cursor_of(NOON, "zzz")},
        {"sortBy": "gpus", "cursor": cursor_of("abc", NOON, "0" * 32)},
        {"sortBy": "gpus", "cursor": cursor_of("9" * 99, NOON, "0" * 32)},
        {"sortBy": "name", "cursor": cursor_of("\ud800", NOON, "0" * 32)},
        {"sortBy": "name", "cursor": cursor_of("a\0", NOON, "0" * 32)},
        {"sortBy": "name", "cursor": cursor_of(["a"], NOON, "0" * 32)},
        {"cursor": cursor_of(NOON, "0" * 32, place=-1)},
        {"cursor": cursor_of(NOON, "0" * 32, place="1")},
        {"limit": ""},
        {"offset": ""},
        {"deleted": "perhaps"},
        {"search": "x" * 101},
        {"ordering": "created_by__password"},
        {"created_by__email__startswith": "a"},
        {"fields": "seal"},
    ],
    ids=str,
)
def test_strange_queries_are_400_with_a_sentence(world: World, query: dict[str, str]) -> None:
    response = ApiClient(world, "administrator").get("workloads", **query)
    assert response.status_code == response.json()["code"] == 400
    assert response.json()["message"].endswith(".")


def test_a_cursor_of_the_right_shape_is_taken(world: World) -> None:
    client = ApiClient(world, "administrator")
    for query in ({"cursor": cursor_of(NOON, "0" * 32)},
                  {"sortBy": "gpus", "cursor": cursor_of(4, NOON, "0" * 32)}):  # fmt: skip
        assert client.get("workloads", **query).status_code == 200, query


def test_a_filter_on_another_project_finds_nothing(world: World, many: list[str]) -> None:
    client = ApiClient(world, "researcher-vision")
    assert names_of(client.get("workloads", filterBy=f"projectId=={world.nlp.pk}")) == []
    assert names_of(client.get("workloads", search="words")) == []


@pytest.mark.parametrize("sort", ["createdAt", "name", "projectName", "submittedBy", "gpus"])
@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.postgres
def test_pages_by_offset_and_by_cursor_hold_every_row_once(
    world: World, many: list[str], sort: str, order: str
) -> None:
    client = ApiClient(world, "administrator")
    whole = names_of(client.get("workloads", sortBy=sort, sortOrder=order))
    assert len(whole) == 7
    by_offset: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = client.get("workloads", sortBy=sort, sortOrder=order, limit=2, offset=offset)
        by_offset += names_of(page)
        offset = page.json().get("next")
    by_cursor: list[str] = []
    query: dict[str, Any] | None = {}
    while query is not None:
        page = client.get("workloads", sortBy=sort, sortOrder=order, limit=2, **query)
        by_cursor += names_of(page)
        cursor = page.json().get("cursor")
        query = {"cursor": cursor} if cursor else None
    assert by_offset == by_cursor == whole


def test_deleted_ones_are_listed_apart(world: World, many: list[str]) -> None:
    Workload.objects.filter(name="digits-0").update(deleted_at=db_now(), status="Deleting")
    client = ApiClient(world, "administrator")
    assert "digits-0" not in names_of(client.get("workloads"))
    assert names_of(client.get("workloads", deleted="true")) == ["digits-0"]
    gone = Workload.objects.get(name="digits-0").pk
    assert client.get(f"workloads/{gone}").json()["deletedAt"]


def test_one_workload_with_pods_events_and_history(world: World, many: list[str]) -> None:
    workload = Workload.objects.get(name="digits-1")
    attempt = Attempt.objects.get(workload=workload)
    stopped = ApiClient(world, "administrator").post(f"workloads/distributed/{workload.pk}/suspend")
    assert stopped.status_code == 202, stopped.content
    for index in range(2):
        Replica.objects.create(
            attempt=attempt, role="worker", index=index, rank=index + 1, state="Running",
            node="here",
        )  # fmt: skip
    client = ApiClient(world, "viewer-vision")
    Workload.objects.filter(pk=workload.pk).update(reason_code=wording.SLOTS_WAIT)
    one = client.get(f"workloads/{workload.pk}").json()
    assert one["reasonCode"] == "slots.wait"
    assert one["images"] == ["local://examples"]
    assert one["podsRequestedResources"]["cpu"] == {"request": 0.5}
    distributed = client.get(f"workloads/distributed/{workload.pk}").json()
    assert distributed["spec"]["numWorkers"] == 2
    assert distributed["reasonCode"] == "slots.wait"
    listed = client.get("workloads", filterBy="name==digits-1").json()["workloads"]
    assert [row["reasonCode"] for row in listed] == ["slots.wait"]
    pods = client.get(f"workloads/{workload.pk}/pods").json()["pods"]
    assert [p["name"] for p in pods] == ["digits-1-worker-0", "digits-1-worker-1"]
    assert "_" not in "".join(p["id"] for p in pods)
    assert client.get(f"workloads/{workload.pk}/pods", deleted="true").json() == {"pods": []}
    events = client.get(f"workloads/{workload.pk}/events").json()["events"]
    assert {"Submitted", "PhaseChanged"} <= {e["reason"] for e in events}
    history = client.get(f"workloads/{workload.pk}/history", sortOrder="asc").json()["records"]
    assert {r["meta"]["type"] for r in history} == {"Event", "PhaseUpdate"}
    changed = next(r["spec"] for r in history if r["meta"]["type"] == "PhaseUpdate")
    assert changed["phaseUpdate"]["phase"] == "Stopped"
    paged = client.get(f"workloads/{workload.pk}/events", limit=1).json()
    assert len(paged["events"]) == 1
    assert paged["next"] == 1


@pytest.mark.postgres
def test_events_come_newest_first(world: World, many: list[str]) -> None:
    workload = Workload.objects.get(name="digits-1")
    client = ApiClient(world, "viewer-vision")
    times = [e["createdAt"] for e in client.get(f"workloads/{workload.pk}/events").json()["events"]]
    assert times == sorted(times, reverse=True)
    assert len(times) == Event.objects.filter(workload=workload).count()


def test_clusters_and_projects(world: World) -> None:
    client = ApiClient(world, "researcher-vision")
    clusters = client.get("clusters").json()
    assert [c["name"] for c in clusters] == ["this-machine"]
    assert clusters[0]["status"]["state"] == "Connected"
    assert "status" not in client.get("clusters", verbosity="metadata").json()[0]
    assert client.get(f"clusters/{world.cluster.pk}").json()["uuid"] == str(world.cluster.pk)
    projects = client.get("org-unit/projects").json()["projects"]
    assert [(p["id"], p["name"]) for p in projects] == [(str(world.vision.pk), "vision")]
    assert client.get("org-unit/projects/count").json() == {"count": 1}
    assert client.get(f"org-unit/projects/{world.vision.pk}").json()["name"] == "vision"
    assert client.get(f"org-unit/projects/{world.nlp.pk}").status_code == 404
    assert client.get("org-unit/projects/99999999999999999999").status_code == 404
    stranger = ApiClient(world, "stranger")
    assert stranger.get("clusters").json() == []
    assert stranger.get(f"clusters/{world.cluster.pk}").status_code == 404


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("api list", "workloads"),
        ("api list filtered", "workloads?filterBy=status==Running&sortBy=name&search=digits"),
        ("api count", "workloads/count"),
        ("api one", "workloads/{id}"),
        ("api distributed", "workloads/distributed/{id}"),
        ("api pods", "workloads/{id}/pods"),
        ("api events", "workloads/{id}/events"),
        ("api clusters", "clusters"),
        ("api projects", "org-unit/projects"),
    ],
)
def test_query_budgets(world: World, many: list[str], name: str, path: str) -> None:
    client = ApiClient(world, "administrator")
    where = path.format(id=Workload.objects.get(name="digits-1").pk)
    assert client.get(where).status_code == 200  # the first use of a token writes its time
    with query_budget(name):
        client.get(where)


@pytest.mark.parametrize(
    ("priority", "word"),
    [(0, "very-low"), (25, "very-low"), (40, "low"), (79, "medium-low"), (150, "very-high")],
)
def test_the_class_of_a_priority_is_the_highest_that_it_reaches(priority: int, word: str) -> None:
    assert representation.priority_class(priority) == word
