"""The lines of a failure's log stand where the failure is shown, for who may read logs."""

import pytest
from django.urls import reverse

from gangline.db.clock import db_now
from tests.support.engine import new_workload
from tests.support.world import World, make_world
from workloads.models import Attempt, Workload

LINE = "ModuleNotFoundError: No module named 'canary_of_the_log'"


@pytest.fixture
def world(db: None) -> World:
    return make_world()


@pytest.fixture
def failed(world: World) -> Workload:
    """As `settle` and the search for causes leave it."""
    workload = new_workload(
        name="digits",
        project=world.vision,
        owner=world.people["researcher-vision"],
        values={"image": "local://examples", "command": "python train.py"},
    )
    Workload.objects.filter(pk=workload.pk).update(
        status="Failed",
        phase="Failed",
        reason="worker-0 could not import a Python module.",
        error_line=LINE,
        ended_at=db_now(),
    )
    Attempt.objects.filter(workload=workload).update(
        outcome="Failed",
        cause_code="import",
        cause_replica="worker-0",
        cause_place="worker-0:1200",
        cause_lines=["loading", LINE],
    )
    return workload


def pages(world: World, person: str, failed: Workload) -> dict[str, str]:
    """What stands on every page and in every answer that shows a failure."""
    client = world.client(person)
    since = db_now().isoformat()
    asked = {
        "home": (reverse("home"), {}),
        "list": (reverse("workload-list"), {}),
        "live list": (reverse("workload-changes"), {"ids": str(failed.pk), "since": since}),
        "overview": (reverse("workload-detail", args=[failed.pk]), {}),
        "live overview": (
            reverse("workload-detail-changes", args=[failed.pk]),
            {"query": f"{failed.pk}/overview/0"},
        ),
    }
    answers = {name: client.get(url, query) for name, (url, query) in asked.items()}
    assert {answer.status_code for answer in answers.values()} == {200}
    return {name: answer.content.decode() for name, answer in answers.items()}


@pytest.mark.parametrize("person", ["researcher-vision", "administrator"])
def test_who_may_read_logs_sees_the_line_wherever_the_failure_is_shown(
    world: World, failed: Workload, person: str
) -> None:
    found = pages(world, person, failed)
    assert [name for name, text in found.items() if "canary_of_the_log" not in text] == []
    place = f"/workloads/{failed.pk}/logs?attempt=1&amp;pod=worker-0&amp;at=worker-0:1200"
    assert place in found["overview"]


def test_nobody_else_sees_it_anywhere(world: World, failed: Workload) -> None:
    found = pages(world, "viewer-vision", failed)
    assert [name for name, text in found.items() if "canary_of_the_log" in text] == []
    assert "could not import a Python module" in found["list"]
    assert "Show in log" not in found["overview"]


def test_the_csv_never_holds_it(world: World, failed: Workload) -> None:
    client = world.client("administrator")
    text = client.get(reverse("workload-export")).getvalue()
    assert b"digits" in text
    assert b"canary_of_the_log" not in text
