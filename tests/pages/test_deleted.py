"""Deleted workloads keep page and log for a while, for whoever saw them before."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from gangline.db.clock import db_now
from gangline.settings.catalogue import DELETED_DAYS
from tests.support.engine import new_workload
from tests.support.logs import WrittenLog
from tests.support.world import World, make_world
from workloads.models import Attempt, Draft, Workload
from workloads.watching.pruner import prune


@pytest.fixture
def world(db: None) -> World:
    return make_world()


@pytest.fixture
def deleted(world: World) -> Workload:
    workload = new_workload(
        name="digits",
        project=world.vision,
        owner=world.people["researcher-vision"],
        values={"image": "local://examples", "command": "python train.py"},
    )
    folder = Path(settings.GANGLINE.data_dir) / "logs" / str(workload.pk) / "1"
    log = WrittenLog(folder, "worker-0")
    log.print("the last words\n")
    log.end()
    Attempt.objects.filter(workload=workload).update(outcome="Succeeded", ended_at=db_now())
    Workload.objects.filter(pk=workload.pk).update(
        desired="Deleted", status="Completed", phase="Completed", deleted_at=db_now(),
        desired_by="researcher-vision",
    )  # fmt: skip
    new_workload(
        name="still-there",
        project=world.vision,
        owner=world.people["researcher-vision"],
        values={"image": "local://examples", "command": "python train.py"},
    )
    return workload


def client_of(world: World, person: str) -> Client:
    return world.client(person)


def test_the_deleted_view_has_them_alone_and_the_list_has_none(
    world: World, deleted: Workload
) -> None:
    client = client_of(world, "researcher-vision")
    usual = client.get(reverse("workload-list")).content.decode()
    kept = client.get(reverse("workload-list"), {"deleted": "1"}).content.decode()
    assert ("digits" in usual, "still-there" in usual) == (False, True)
    assert ("digits" in kept, "still-there" in kept) == (True, False)
    assert "data-live-table" not in kept
    assert 'name="action"' not in kept, "nothing can be stopped or deleted there"
    csv = client.get(reverse("workload-export"), {"deleted": "1"}).getvalue()
    assert (b"digits" in csv, b"still-there" in csv) == (True, False)
    found = client.get(reverse("workload-list"), {"deleted": "1", "q": "nothing-like-it"})
    assert f"/workloads/{deleted.pk}" not in found.content.decode()


def test_page_and_log_stay_and_are_read_only(world: World, deleted: Workload) -> None:
    client = client_of(world, "researcher-vision")
    page = client.get(reverse("workload-detail", args=[deleted.pk]))
    assert page.status_code == 200
    assert "the last words" in page.content.decode()
    for tab in ("pods", "logs", "events", "spec"):
        assert client.get(reverse("workload-tab", args=[deleted.pk, tab])).status_code == 200
    whole = client.get(reverse("workload-log-download", args=[deleted.pk]))
    assert whole.getvalue() == b"the last words\n"
    for action in ("stop", "resume", "rerun", "delete"):
        url = reverse("workload-act", args=[deleted.pk, action])
        assert url not in page.content.decode()
        assert client.post(url).status_code == 404
    client.post(reverse("draft-start"), {"from": str(deleted.pk)})
    assert Draft.objects.filter(owner=world.people["researcher-vision"]).exists()


def test_nobody_else_sees_more_of_it_than_before(world: World, deleted: Workload) -> None:
    viewer, stranger = client_of(world, "viewer-vision"), client_of(world, "viewer-nlp")
    page = viewer.get(reverse("workload-detail", args=[deleted.pk]))
    assert "the last words" not in page.content.decode()
    assert viewer.get(reverse("workload-log", args=[deleted.pk])).status_code == 403
    for name in ("workload-detail", "workload-log"):
        assert stranger.get(reverse(name, args=[deleted.pk])).status_code == 404
    kept = stranger.get(reverse("workload-list"), {"deleted": "1"}).content.decode()
    assert f"/workloads/{deleted.pk}" not in kept


def test_after_its_time_all_of_it_is_gone(world: World, deleted: Workload) -> None:
    long_ago = db_now() - timedelta(days=DELETED_DAYS.default, seconds=1)
    Workload.objects.filter(pk=deleted.pk).update(deleted_at=long_ago)
    prune()
    client = client_of(world, "researcher-vision")
    assert client.get(reverse("workload-detail", args=[deleted.pk])).status_code == 404
    assert not (Path(settings.GANGLINE.data_dir) / "logs" / str(deleted.pk)).exists()


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/workloads/{}",
        "/api/v1/workloads/{}/events",
        "/api/v1/workloads/{}/history",
        "/api/v1/workloads/{}/pods",
        "/api/v1/workloads/distributed/{}",
    ],
)
def test_the_api_tells_of_it_as_its_page_does(world: World, deleted: Workload, path: str) -> None:
    answer = client_of(world, "researcher-vision").get(path.format(deleted.pk))
    assert answer.status_code == 200, answer.content
    assert client_of(world, "stranger").get(path.format(deleted.pk)).status_code == 404
