"""GET /api/v1/workloads/{id}/logs: the merged log as plain text."""

from pathlib import Path

import pytest
from django.conf import settings

from gangline.db.clock import db_now
from tests.support.api import ApiClient
from tests.support.logs import WrittenLog
from tests.support.world import World
from workloads.models import Workload

pytestmark = pytest.mark.django_db


@pytest.fixture
def made(researcher: ApiClient, world: World) -> str:
    workload_id: str = researcher.post("workloads/distributed", world.body()).json()["workloadId"]
    return workload_id


def test_a_log_that_has_not_begun_is_empty(researcher: ApiClient, made: str) -> None:
    body = researcher.get(f"workloads/{made}/logs").json()
    assert body["lines"] == []
    assert body["pods"] == ["master-0", "worker-0", "worker-1"]
    assert (body["attempt"], body["ended"]) == (1, False)
    again = researcher.get(f"workloads/{made}/logs", after=body["after"])
    assert again.status_code == 200


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"pod": "worker-1"}, 200),
        ({"pod": "worker"}, 200),
        ({"pod": "worker-7"}, 404),
        ({"pod": "../etc/passwd"}, 400),
        ({"pod": "worker-٣"}, 400),
        ({"attempt": "2"}, 404),
        ({"attempt": "0"}, 400),
        ({"limit": "2001"}, 400),
        ({"after": "nonsense"}, 400),
        ({"before": "AAAA"}, 400),
        ({"after": "x", "before": "y"}, 400),
        ({"tail": "1"}, 400),
    ],
    ids=str,
)
def test_parameters(researcher: ApiClient, made: str, query: dict[str, str], status: int) -> None:
    response = researcher.get(f"workloads/{made}/logs", **query)
    assert response.status_code == status, response.content
    assert not Path(settings.GANGLINE.data_dir, "logs", "etc").exists()


def test_lines_that_grow_and_the_log_as_text(researcher: ApiClient, made: str) -> None:
    log = WrittenLog(Path(settings.GANGLINE.data_dir) / "logs" / made / "1", "worker-0")
    log.print("one \x1b[31mred\x1b[0m\x00\nhalf", at=1)
    log.pause(at=1)
    body = researcher.get(f"workloads/{made}/logs").json()
    assert [line["text"] for line in body["lines"]] == ["one red␀", "half"]
    log.print(" and whole\n", at=2)
    after = researcher.get(f"workloads/{made}/logs", after=body["after"]).json()
    (grown,) = after["grown"]
    assert (grown["id"], grown["text"]) == (body["lines"][1]["id"], " and whole")
    assert (after["lines"], grown["replaces"]) == ([], False)
    response = researcher.get(f"workloads/{made}/logs", format="text")
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response.content.decode().splitlines() == [
        "2026-01-01T00:00:01.000000000Z worker-0 one red␀",
        "2026-01-01T00:00:01.000000000Z worker-0 half and whole",
    ]
    again = researcher.get(f"workloads/{made}/logs", after=response["Gangline-After"])
    assert again.json()["lines"] == []
    refused = researcher.get(f"workloads/{made}/logs", format="text", limit=0)
    assert (refused.status_code, refused["Content-Type"]) == (400, response["Content-Type"])
    assert "limit" in refused.content.decode()


def test_the_log_stays_while_and_after_a_workload_is_deleted(
    researcher: ApiClient, made: str
) -> None:
    researcher.delete(f"workloads/distributed/{made}")
    assert researcher.get(f"workloads/{made}/logs").status_code == 200
    Workload.objects.filter(pk=made).update(deleted_at=db_now())
    assert researcher.get(f"workloads/{made}/logs").status_code == 200


def test_logs_are_a_right_of_their_own(world: World, made: str) -> None:
    response = ApiClient(world, "viewer-vision").get(f"workloads/{made}/logs")
    assert response.status_code == 403
    assert "logs" in response.json()["message"]
