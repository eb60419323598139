"""Lists that are polled have an ETag: 304 while nothing changes, and every change changes it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from gangline.clusters import nodes
from gangline.db.clock import db_now
from gangline.drivers.facts import NodeFact
from gangline.organization.models import Project
from gangline.people.services import give
from gangline.resources.registry import get
from gangline.resources.services import make, update
from tests.support.engine import new_workload
from tests.support.world import World
from workloads.models import Attempt, Replica, Workload
from workloads.services import lifecycle
from workloads.services.status import settle

pytestmark = pytest.mark.django_db
LISTS = ("workloads", "workloads/pods", "nodes")


class Poller:
    """Asks for a list as a client that has its last answer."""

    def __init__(self, world: World, path: str, person: str = "administrator") -> None:
        self._client, self._path = Client(headers=world.headers(person)), f"/api/v1/{path}"
        self.tag = ""

    def asks(self) -> int:
        answer = self._client.get(self._path, headers={"If-None-Match": self.tag or '"none"'})
        self.tag = answer.headers.get("ETag", self.tag)
        assert answer.status_code != 304 or not answer.content
        return answer.status_code


@pytest.fixture
def workload(world: World) -> Workload:
    made = new_workload(
        name="digits",
        project=world.vision,
        owner=world.people["head"],
        values={"image": "local://examples", "command": "python train.py"},
        workers=1,
    )
    attempt = Attempt.objects.get(workload=made)
    Replica.objects.create(attempt=attempt, role="worker", index=0, rank=0)
    nodes.store(world.cluster, [NodeFact("n1", "Ready", {"gpu": "a100"})])
    return made


@pytest.mark.parametrize("path", LISTS)
def test_an_unchanged_list_is_304_without_being_built(
    world: World, workload: Workload, path: str
) -> None:
    poller = Poller(world, path)
    assert poller.asks() == 200
    with CaptureQueriesContext(connection) as first:
        Poller(world, path).asks()
    with CaptureQueriesContext(connection) as again:
        assert poller.asks() == 304
    assert len(again) <= len(first)
    if path != "workloads/pods":
        assert len(again) < len(first)
    assert poller.tag.startswith('W/"')


def _stop(world: World, workload: Workload) -> None:
    lifecycle.stop(actor=world.actor("administrator"), workload_id=workload.pk)


def _delete(world: World, workload: Workload) -> None:
    lifecycle.delete(actor=world.actor("administrator"), workload_id=workload.pk)


def _submit(world: World, workload: Workload) -> None:
    client = Client(headers=world.headers("administrator"))
    path = "/api/v1/workloads/distributed"
    answer = client.post(path, world.body(name="other"), "application/json")
    assert answer.status_code == 202


def _fails(world: World, workload: Workload) -> None:
    Attempt.objects.filter(workload=workload).update(outcome="Failed", ended_at=db_now())
    settle(Workload.objects.get(), now=db_now())


def _unreachable(world: World, workload: Workload) -> None:
    Attempt.objects.filter(workload=workload).update(unknown_since=db_now())
    settle(Workload.objects.get(), now=db_now())


def _renamed(world: World, workload: Workload) -> None:
    project = Project.objects.get(pk=world.vision.pk)
    update(get("project"), actor=None, obj=project, values={"name": "seeing"})


CHANGES: dict[str, Callable[[World, Workload], Any]] = {
    "stopped": _stop,
    "deleted": _delete,
    "submitted": _submit,
    "failed": _fails,
    "unreachable": _unreachable,
    "renamed": _renamed,
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_of_a_workload_is_told(world: World, workload: Workload, change: str) -> None:
    poller = Poller(world, "workloads")
    poller.asks()
    assert poller.asks() == 304
    CHANGES[change](world, workload)
    assert poller.asks() == 200


@pytest.mark.parametrize(
    "values", [{"state": "Running"}, {"node": "n1"}, {"restarts": 1}, {"peak_memory": 7}]
)
def test_every_change_of_a_pod_is_told(
    world: World, workload: Workload, values: dict[str, Any]
) -> None:
    pollers = [Poller(world, p) for p in ("workloads/pods", f"workloads/{workload.pk}/pods")]
    for poller in pollers:
        poller.asks()
    Replica.objects.update(**values)
    assert [poller.asks() for poller in pollers] == [200, 200]


def test_every_change_of_a_node_is_told(world: World, workload: Workload) -> None:
    poller = Poller(world, "nodes")
    poller.asks()
    nodes.store(world.cluster, [NodeFact("n1", "NotReady", {"gpu": "a100"})])
    assert poller.asks() == 200
    make("node_pool", cluster=world.cluster, name="p", label_key="gpu", label_value="a100")
    assert poller.asks() == 200
    nodes.store(world.cluster, [])
    assert poller.asks() == 200


def test_a_tag_is_of_one_person_and_one_query(world: World, workload: Workload) -> None:
    mine, others = Poller(world, "workloads"), Poller(world, "workloads", "viewer-vision")
    mine.asks()
    others.tag = mine.tag
    assert others.asks() == 200
    narrowed = Poller(world, "workloads?filterBy=name==none")
    narrowed.tag = mine.tag
    assert narrowed.asks() == 200
    stranger = Poller(world, "workloads", "stranger")
    stranger.asks()
    give(actor=None, user=world.people["stranger"], role="viewer", scope=world.vision.scope)
    assert stranger.asks() == 200


def test_a_stranger_gets_no_304() -> None:
    assert Client().get("/api/v1/workloads", headers={"If-None-Match": "*"}).status_code == 401
