"""Data volumes: who may mount one, and what a workload that does is given."""

import json
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from assets.data_volumes import sharing
from assets.models import Asset, DataVolume
from gangline.clusters.models import Cluster, ClusterObject, ObjectState
from gangline.drivers.local import mounts
from gangline.lib.problems import Problem
from gangline.organization.models import Project
from gangline.resources.registry import get
from gangline.resources.services import InUse, delete
from tests.resources.data_volume_sample import CLAIM, origin, volume
from tests.support.forms import Filler
from tests.support.world import World
from workloads.models import Attempt
from workloads.services import data_volumes

FIELD = "storage.dataVolume"


@pytest.fixture
def send(world: World) -> Callable[..., Any]:
    def send(method: str, path: str, body: Any = None, person: str = "administrator") -> Any:
        return Client().generic(
            method,
            f"/api/v1/{path}",
            data=b"" if body is None else json.dumps(body).encode(),
            content_type="application/json",
            headers=world.headers(person),
        )

    return send


@pytest.fixture
def there(world: World) -> Iterator[str]:
    """The claim of the data source is on this machine; its name."""
    folder = mounts.claim_folder(settings.GANGLINE.data_dir, world.vision.claims_namespace, CLAIM)
    folder.mkdir(parents=True, exist_ok=True)
    origin(world)
    ClusterObject.objects.update(state=ObjectState.OK)
    yield CLAIM
    shutil.rmtree(folder)


def shared(project: Project) -> dict[str, Any]:
    return {"add": [{"scopeType": "project", "scopeId": str(project.pk)}]}


def listed(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.content
    return [one["name"] for one in answer.json()["datavolumes"]]


def test_whom_it_is_shared_with_sees_and_lists_it(world: World, send: Any) -> None:
    made = volume(world, "sets")
    one, person = f"datavolumes/{made.pk}", "researcher-nlp"
    usable = f"datavolumes?requestType=UsableInProject&usableInProjectId={world.nlp.pk}"
    assert send("GET", one, person=person).status_code == 404
    assert listed(send("GET", usable, person=person)) == []
    for path in ("sharedScopes", "shared-scopes"):
        changed = send("PATCH", f"{one}/{path}", shared(world.nlp))
        assert changed.json() == [
            {"scopeType": "project", "scopeId": str(world.nlp.pk), "scopeName": "nlp"}
        ]
    assert send("GET", one, person=person).json()["sharedScopes"] == changed.json()
    assert listed(send("GET", usable, person=person)) == ["sets"]
    assert listed(send("GET", "datavolumes?requestType=Originated", person=person)) == []
    assert listed(send("GET", "datavolumes?requestType=Originated")) == ["sets"]
    assert "sharedScopes" not in send("GET", "datavolumes").json()["datavolumes"][0]
    assert send("PATCH", f"{one}/sharedScopes", {"add": []}, person).status_code == 403
    gone = {"remove": shared(world.nlp)["add"]}
    assert send("PATCH", f"{one}/sharedScopes", gone).json() == []
    assert send("GET", one, person=person).status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {"add": [{"scopeType": "tenant", "scopeId": "1"}]},
        {"add": [{"scopeType": "project", "scopeId": "999999"}]},
        {"add": [7]},
        {"add": 7},
        {"plus": []},
        [],
    ],
)
def test_a_scope_that_is_none_is_refused(world: World, send: Any, body: Any) -> None:
    made = volume(world, "sets")
    assert send("PATCH", f"datavolumes/{made.pk}/sharedScopes", body).status_code == 400
    assert not made.shared.exists()


def test_a_name_is_taken_on_its_whole_cluster(world: World, send: Any) -> None:
    volume(world, "sets")
    ask = f"datavolumes/name-availability?clusterId={world.cluster.pk}&dataName="
    assert [send("GET", f"{ask}{name}").status_code for name in ("sets", "other")] == [409, 204]


def test_a_claim_that_is_shared_keeps_its_data_source(world: World) -> None:
    made = volume(world, "sets")
    source = get("pvc").model.objects.get(pk=made.origin_id)
    with pytest.raises(InUse):
        delete(get("pvc"), actor=None, obj=source)


def body(world: World, made: Any, path: str = "/sets") -> dict[str, Any]:
    storage = {"dataVolume": [{"id": str(made.pk), "mountPath": path}]}
    return world.spec_body(storage=storage) | {"projectId": str(world.nlp.pk)}


def test_what_is_not_shared_cannot_be_mounted(world: World, send: Any, there: str) -> None:
    answer = send("POST", "workloads/distributed", body(world, volume(world, "sets")))
    assert answer.status_code == 400
    assert [one["path"] for one in answer.json()["problems"]] == [f"{FIELD}.0.id"]


@pytest.mark.needs_bwrap
def test_another_project_mounts_the_claim_read_only(world: World, send: Any, there: str) -> None:
    made = volume(world, "sets", world.department)
    refused = send("POST", "workloads/distributed", body(world, made, "/usr"))
    assert f"{FIELD}.0.mountPath" in [p["path"] for p in refused.json()["problems"]]
    answer = send("POST", "workloads/distributed", body(world, made))
    assert answer.status_code == 202, answer.content
    rendered: Any = Attempt.objects.get().rendered
    (mount,) = rendered["worker"]["mounts"]["pvc"]
    assert (mount["claimName"], mount["readOnly"], mount["path"]) == (there, True, "/sets")
    assert rendered["volumesElsewhere"] == {mount["name"]: world.vision.claims_namespace}
    row = DataVolume.objects.get()
    assert row.used_count == 1
    with pytest.raises(InUse):
        delete(get("data_volume"), actor=None, obj=row)


def test_on_kubernetes_its_own_project_mounts_the_claim_and_no_other(world: World) -> None:
    Cluster.objects.update(kind="kubernetes")
    made = volume(world, "sets", world.cluster)
    values = {f"worker.{FIELD}": [{"id": str(made.pk), "mountPath": "/sets"}]}
    home, other = (Project.objects.get(pk=p.pk) for p in (world.vision, world.nlp))
    (claim,) = data_volumes.mounted(values, home).values["worker.storage.pvc"]
    assert claim["claimName"] == CLAIM
    assert claim["existingPvc"]
    assert claim["readOnly"]
    assert data_volumes.mounted(values, other).values == {}
    made = DataVolume.objects.get()
    assert sharing.why_not(made, home) == ""
    assert home.claims_namespace in sharing.why_not(made, other)


@pytest.mark.parametrize(("state", "word"), [("ok", "Ready"), ("failed", "Not ready")])
def test_the_list_tells_how_each_claim_is(world: World, there: str, state: str, word: str) -> None:
    volume(world, "sets")
    problem = Problem("missing:claim", "claimName", {"value": CLAIM})
    ClusterObject.objects.update(state=state, problem=problem.as_stored())
    volumes = get("data_volume")
    (row,) = volumes.table.fetch(volumes.rows(world.people["administrator"]))
    cell = next(one.cell(row) for one in volumes.table.columns if one.name == "state")
    assert word in cell
    assert (problem.told in cell) is (state == "failed")


def test_the_form_offers_what_is_shared_as_a_card(world: World, there: str) -> None:
    made, hidden = volume(world, "sets", world.nlp), volume(world, "secret")
    filler = Filler(world, "researcher-nlp", tab="tab-1")
    filler.post("setup", {"workload.name": "digits", "workload.project": str(world.nlp.pk)})
    page = filler.get("workers").page
    assert page.has(value=str(made.pk))
    assert not page.has(value=str(hidden.pk))
    filler.post("workers", {"worker.data~asset": str(made.pk)})
    page = filler.get("workers").page
    ids = [text for name, text in page.fields() if name.endswith(".mountPath")]
    assert "/data-volumes/sets" in ids
    assert Asset.objects.get(pk=made.pk).used_count == 0
