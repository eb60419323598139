"""An address that a workload chose for its tool is its own on the cluster while it is there."""

from collections.abc import Iterator
from typing import Any

import pytest

from gangline.clusters import credentials
from gangline.clusters.models import Cluster
from gangline.db.clock import db_now
from tests.support.api import ApiClient
from tests.support.api_server import Script, answering
from tests.support.world import World
from workloads.models import ToolAddress, Workload
from workloads.services import submission, tool_addresses

pytestmark = pytest.mark.django_db
SUBMIT = "workloads/distributed"
URL = "https://board.lab.example/runs"


@pytest.fixture(autouse=True)
def with_tools(world: World, loopback_admitted: None) -> Iterator[None]:
    """The cluster is a Kubernetes that gives tools addresses."""
    cluster = Cluster.objects.get(pk=world.cluster.pk)
    Cluster.objects.filter(pk=cluster.pk).update(
        kind="kubernetes", host_id="", config={"tools_domain": "lab.example"}
    )
    with answering(Script()) as access:
        credentials.store(Cluster.objects.get(pk=cluster.pk), access, by=None)
        yield


def body(world: World, name: str, url: str = URL) -> dict[str, object]:
    tool = {"name": "board", "toolType": "tensorboard", "customUrl": True, "url": url}
    return world.spec_body(name, exposedUrls=[tool], image="registry.example/training:1")


def path(refused: Any) -> str:
    assert refused.status_code == 400, refused.content
    (one,) = refused.json()["problems"]
    return str(one["path"])


def test_one_address_is_taken_once_and_free_again_when_its_workload_is_gone(
    world: World, researcher: ApiClient
) -> None:
    first = researcher.post(SUBMIT, body(world, "first"))
    assert first.status_code == 202, first.content
    for url in (URL, f"{URL}/", URL.replace("https", "http")):
        refused = researcher.post(SUBMIT, body(world, "second", url))
        assert path(refused) == "exposedUrls.0.url"
    assert researcher.post(SUBMIT, body(world, "other", f"{URL}/2")).status_code == 202
    Workload.objects.filter(name="first").update(deleted_at=db_now())
    assert researcher.post(SUBMIT, body(world, "second")).status_code == 202
    assert ToolAddress.objects.count() == 3


def test_of_two_that_were_judged_at_once_one_is_refused_and_nothing_of_it_stored(
    world: World, researcher: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = researcher.post(SUBMIT, body(world, "first"))
    assert first.status_code == 202, first.content
    # The judge of the second has looked before the first was stored.
    monkeypatch.setattr(submission, "_acceptable", _too_early(monkeypatch))
    refused = researcher.post(SUBMIT, body(world, "second"))
    assert path(refused) == "exposedUrls.0.url"
    assert Workload.objects.count() == ToolAddress.objects.count() == 1


def _too_early(monkeypatch: pytest.MonkeyPatch) -> object:
    acceptable = submission._acceptable

    def judged(*arguments: object) -> object:
        with monkeypatch.context() as early:
            early.setattr(tool_addresses, "problems", lambda *_: iter(()))
            return acceptable(*arguments)  # type: ignore[arg-type]

    return judged
