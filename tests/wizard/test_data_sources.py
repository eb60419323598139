"""Data sources in the form: each stands as an item of its list, with the asset as source."""

from pathlib import Path
from typing import Any

import pytest

from assets.models import Asset
from assets.selectors.data import imposable, item_name
from gangline.clusters import objects
from gangline.clusters.models import ClusterObject, ObjectState
from gangline.db.clock import db_now
from gangline.drivers.local.driver import LocalDriver
from gangline.policies.services import save
from gangline.resources.services import make
from tests.support.forms import Filler, Page
from tests.support.world import World
from workloads.models import Attempt, Workload

PICKS = "worker.data~asset"


@pytest.fixture(autouse=True)
def _sandboxed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Container paths are judged, nothing is started."""
    monkeypatch.setattr(LocalDriver, "_is_sandboxed", lambda self: True)


def git(world: World, name: str, **more: Any) -> Asset:
    item = {"repository": f"https://git.example/{name}", "path": f"/{name}", **more}
    asset: Asset = make(
        "git", scope=world.department.scope, name=name, values={"storage.git": [item]}
    )
    return asset


def pvc(world: World, name: str, **more: Any) -> Asset:
    item = {"path": f"/{name}", "claimInfo": {"size": "10G"}, **more}
    asset: Asset = make(
        "pvc", scope=world.department.scope, name=name, values={"storage.pvc": [item]}
    )
    return asset


def made(world: World) -> None:
    """Let the cluster have what is wanted."""
    ClusterObject.objects.update(due_at=db_now())
    objects.reconcile_due()


def test_keys_of_a_credential_are_asked_for_with_the_credential(filler: Filler) -> None:
    """What stands aside is kept and not said: the default holds."""
    filler.fill()
    git, user = "worker.storage.git", "secretRef.secretKeyOfUser"
    filler.post("workers", go=f"add:{git}")
    page = filler.get("workers").page
    row = next(text for name, text in page.fields() if name == f"{git}~rows" and text)
    at = f"{git}~{row}"
    drawn = filler.client.get(filler.url("workers")).content.decode()
    assert f'data-needs="{at}.secretRef.name" data-usual="User" data-aside' in drawn
    code = {f"{at}.repository": "https://git.example/code", f"{at}.path": "/code"}
    filler.post("workers", {**code, f"{at}.{user}": None, f"{at}.{user}~aside": "me"})
    filler.post("review", go="create")
    (said,) = Workload.objects.get().given[git]["value"]
    assert said["secretRef"]["secretKeyOfUser"] == "User"


def test_several_are_chosen_changed_for_this_workload_and_sent(
    filler: Filler, world: World
) -> None:
    code, tools = git(world, "code"), git(world, "tools")
    filler.fill()
    filler.post("workers", {PICKS: [str(code.pk), str(tools.pk)]})
    page = filler.get("workers").page
    rows = [text for name, text in page.fields() if name == "worker.storage.git~rows" and text]
    assert len(rows) == 2
    filler.post("workers", {f"worker.storage.git~{rows[0]}.path": "/elsewhere"})
    filler.post("review", go="create")
    attempt = Attempt.objects.get()
    found = {i["repository"]: i["path"] for i in attempt.value("worker.storage.git")}
    assert found == {
        "https://git.example/code": "/elsewhere",
        "https://git.example/tools": "/tools",
    }
    sources = attempt.effective["worker.storage.git"]["items"]
    assert {one["source"].get("id") for one in sources} >= {str(tools.pk)}
    assert set(Workload.objects.get().assets.all()) == {
        Asset.objects.get(pk=code.pk),
        Asset.objects.get(pk=tools.pk),
    }


def test_none_is_chosen_any_more_once_all_are_unticked(filler: Filler, world: World) -> None:
    code = git(world, "code")
    filler.fill()
    filler.post("workers", {PICKS: [str(code.pk)]})
    filler.post("workers", {PICKS: [""]})
    filler.post("review", go="create")
    assert Attempt.objects.get().value("worker.storage.git") is None


def test_a_removed_row_unchooses_the_data_source_that_the_person_chose(
    filler: Filler, world: World
) -> None:
    code, tools = git(world, "code"), git(world, "tools")
    filler.fill()
    filler.post("workers", {PICKS: [str(code.pk), str(tools.pk)]})
    page = filler.get("workers").page
    rows = [text for name, text in page.fields() if name == "worker.storage.git~rows" and text]
    filler.post("workers", {f"worker.storage.git~{rows[0]}.path": "/elsewhere"})
    filler.post("workers", go=f"remove:worker.storage.git~{rows[0]}")
    page = filler.get("workers").page
    assert not page.has(value=str(code.pk), checked="")
    assert page.has(value=str(tools.pk), checked="")
    filler.post("review", go="create")
    assert "exclude" not in str(Workload.objects.get().given)
    found = [i["path"] for i in Attempt.objects.get().value("worker.storage.git")]
    assert found == ["/tools"]


def test_a_master_inherits_drops_and_adds(filler: Filler, world: World) -> None:
    code, tools = git(world, "code"), git(world, "tools")
    filler.fill(framework="PyTorch", configuration="workersAndMaster")
    filler.post("workers", {PICKS: [str(code.pk)]})
    assert filler.get("master").page.has(value=str(code.pk), checked="")
    filler.post("master", {"master.different": "on", "master.data~asset": [str(tools.pk)]})
    filler.post("review", go="create")
    attempt = Attempt.objects.get()
    paths = {
        r: [i["path"] for i in attempt.value(f"{r}.storage.git")] for r in ("worker", "master")
    }
    assert paths == {"worker": ["/code"], "master": ["/tools"]}


def test_a_claim_is_made_at_once_and_usable_when_it_is_there(
    filler: Filler, world: World, settings: Any
) -> None:
    data = pvc(world, "weights")
    wanted = ClusterObject.objects.filter(owner_type="pvc", owner_id=str(data.pk))
    assert {one.namespace for one in wanted} == {
        world.vision.claims_namespace,
        world.nlp.claims_namespace,
    }
    filler.fill()
    page = filler.get("workers").page
    assert page.has(value=str(data.pk), aria_disabled="true")
    filler.post("workers", {PICKS: [str(data.pk)]})
    answer = filler.post("review", go="create")
    assert answer.status == 422
    assert not Workload.objects.exists()

    made(world)
    folder = Path(settings.GANGLINE.data_dir) / "volumes/projects" / world.vision.claims_namespace
    assert [one.name for one in folder.iterdir()] == [wanted[0].name]
    assert not filler.get("workers").page.has(value=str(data.pk), aria_disabled="true")
    filler.post("workers", {PICKS: [str(data.pk)]})
    filler.post("review", go="create")
    (item,) = Attempt.objects.get().value("worker.storage.pvc")
    assert item["existingPvc"] is True
    assert item["claimName"] == wanted[0].name


def test_one_that_failed_says_why(filler: Filler, world: World) -> None:
    data = pvc(world, "weights", existingPvc=True, claimName="none", claimInfo={})
    made(world)
    assert set(ClusterObject.objects.values_list("state", flat=True)) == {ObjectState.FAILED}
    filler.fill()
    page = filler.get("workers").page
    assert page.has(value=str(data.pk), aria_disabled="true")
    assert "no claim none" in page.html


def test_a_new_project_gets_the_claims_of_the_scopes_above(world: World) -> None:
    data = pvc(world, "weights")
    late = make("project", department=world.department, name="late")
    assert ClusterObject.objects.filter(
        owner_id=str(data.pk), namespace=late.claims_namespace
    ).exists()


def test_one_is_made_within_the_form_by_type(filler: Filler, world: World) -> None:
    before = git(world, "code")
    filler.fill()
    opened = filler.post("workers", {PICKS: [str(before.pk)]}, go="new:worker.data")
    types = Page(filler.client.get(opened.location).content.decode())
    address = f"{filler.url('workers')}?new=worker.git"
    assert types.has(href=address)
    shown = Page(filler.client.get(address).content.decode())
    assert shown.has(name="worker.storage.git~rows", value="item")
    answer = filler.client.post(address, {"name": "fresh", "worker.storage.git~rows": "item"})
    assert answer.status_code == 422
    assert Page(answer.content.decode()).has(id="f-worker-storage-git~item-repository-e")
    filler.client.post(
        address,
        {
            "name": "fresh",
            "worker.storage.git~rows": "item",
            "worker.storage.git~item.repository": "https://git.example/fresh",
            "worker.storage.git~item.path": "/fresh",
        },
    )
    fresh = Asset.objects.get(name="fresh")
    assert fresh.scope == world.vision.scope
    page = filler.get("workers").page
    assert page.has(value=str(fresh.pk), checked="")
    assert page.has(value=str(before.pk), checked="")


def test_what_this_cluster_cannot_mount_is_shown_with_the_reason(
    filler: Filler, world: World
) -> None:
    item = {"server": "nfs", "path": "/x", "mountPath": "/x"}
    nfs = make("nfs", scope=world.department.scope, name="sets", values={"storage.nfs": [item]})
    filler.fill()
    page = filler.get("workers").page
    assert page.has(value=str(nfs.pk), aria_disabled="true")
    assert LocalDriver.unsupported["storage.nfs"] in page.html


def test_an_imposed_one_is_there_locked_and_ticked_whatever_is_posted(
    filler: Filler, world: World
) -> None:
    code = git(world, "code")
    save(
        actor=world.actor("administrator"),
        scope=world.department.scope,
        text=f"imposedAssets: [{code.pk}]",
    )
    filler.fill()
    filler.post("workers", {PICKS: [""]})
    page = filler.get("workers").page
    card = next(one for one in page.all(value=str(code.pk)) if one.tag == "input")
    assert {"checked", "disabled"} <= card.attributes.keys()
    filler.post("review", go="create")
    attempt = Attempt.objects.get()
    for role in ("worker", "master"):
        (item,) = attempt.value(f"{role}.storage.git")
        assert (item["name"], item["path"]) == (item_name(code), "/code")


def test_one_with_a_credential_cannot_be_imposed(world: World) -> None:
    given = {"user": "u", "password": "p"}
    login = make(
        "credential", scope=world.department.scope, name="login", kind="password", given=given
    )
    code = git(world, "code", secretRef={"name": login.object_name})
    (found,) = imposable(world.vision.scope, [str(code.pk), "no id"])
    assert found.needs_credential
