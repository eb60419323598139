"""Environments and compute resources chosen in the form."""

from typing import Any

import pytest

from assets.models import Asset
from gangline.clusters.models import Cluster
from gangline.db.clock import db_now
from gangline.policies.services import save
from gangline.resources.services import make
from tests.support.forms import Filler
from tests.support.world import CAPACITY, IMAGE, World
from workloads.models import Attempt, Workload

VARIABLES = [{"name": "SEED", "value": "1"}, {"name": "MODE", "value": "fast"}]


@pytest.fixture
def environment(world: World) -> Any:
    values = {
        "image": IMAGE,
        "command": "python train.py",
        "environmentVariables": VARIABLES,
    }
    return make("environment", scope=world.department.scope, name="digits", values=values)


@pytest.fixture
def compute(world: World) -> Any:
    values = {"compute.cpuCoreRequest": 0.25, "compute.cpuMemoryRequest": "64M"}
    return make("compute", scope=world.installation.scope, name="tiny", values=values)


def test_what_is_chosen_lies_under_what_is_typed(
    filler: Filler, world: World, environment: Any, compute: Any
) -> None:
    filler.post("setup", {"workload.name": "digits"})
    chosen = {"worker.environment~asset": environment.pk, "worker.compute~asset": compute.pk}
    filler.post("workers", chosen)
    page = filler.get("workers").page
    assert page.value("worker.command") == "python train.py"
    assert page.value("worker.environment~asset") == str(environment.pk)
    assert page.value("worker.compute.cpuCoreRequest") == "0.25"
    filler.post("workers", {"worker.command": "python evaluate.py"})
    filler.post("review", go="create")
    workload, attempt = Workload.objects.get(), Attempt.objects.get()
    assert attempt.value("worker.command") == "python evaluate.py"
    assert attempt.value("worker.image") == IMAGE
    assert attempt.value("worker.environmentVariables") == VARIABLES
    assert attempt.value("master.compute.cpuCoreRequest") == 0.25
    source = attempt.effective["worker.compute.cpuCoreRequest"]["source"]
    assert source == {"kind": "asset", "id": str(compute.pk), "name": "tiny"}
    assert workload.given["worker.environmentVariables"]["value"] == VARIABLES
    assert set(Asset.objects.values_list("used_count", flat=True)) == {1}


def test_items_of_an_asset_are_changed_and_removed_one_by_one(
    filler: Filler, environment: Any
) -> None:
    filler.post("setup", {"workload.name": "digits"})
    filler.post("workers", {"worker.environment~asset": environment.pk})
    page = filler.get("workers").page
    rows = [text for name, text in page.fields() if name == "worker.environmentVariables~rows"]
    assert len(rows) == 3
    filler.post(
        "workers",
        {f"worker.environmentVariables~{rows[1]}.value": "7"},
        go=f"remove:worker.environmentVariables~{rows[2]}",
    )
    filler.post("review", go="create")
    attempt = Attempt.objects.get()
    assert attempt.value("worker.environmentVariables") == [{"name": "SEED", "value": "7"}]
    assert Workload.objects.get().given["worker.environmentVariables"]["value"] == [
        {"name": "SEED", "value": "7"},
        {"name": "MODE", "exclude": True},
    ]


def test_what_the_policy_forbids_cannot_be_chosen_and_says_why(
    filler: Filler, world: World, compute: Any
) -> None:
    text = "rules:\n  worker:\n    compute:\n      cpuCoreRequest:\n        min: 1\n"
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=text)
    filler.post("setup", {"workload.name": "digits"})
    gallery = filler.get("workers").page.one(data_testid="f-worker.compute~asset")
    assert "project vision" in gallery.text


def test_aca04_an_asset_of_another_project_is_not_offered_and_not_taken(
    filler: Filler, world: World
) -> None:
    other = make("compute", scope=world.nlp.scope, name="theirs",
                 values={"compute.cpuCoreRequest": 0.25})  # fmt: skip
    filler.post("setup", {"workload.name": "digits"})
    filler.post("workers", {"worker.compute~asset": other.pk})
    page = filler.get("workers").page
    assert not page.has(value=str(other.pk))
    assert page.value("worker.compute.cpuCoreRequest") != "0.25"


def test_cards_of_the_master_are_judged_by_its_own_rules(
    filler: Filler, world: World, compute: Any
) -> None:
    rules = "rules: {master: {compute: {cpuCoreRequest: {min: 0.5}}}}"
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=rules)
    filler.fill()
    filler.post("master", {"master.different~asked": "1", "master.different": "on"}, go="apply")
    card = {"type": "radio", "value": str(compute.pk)}
    assert "aria-disabled" not in filler.get("workers").page.one(**card).attributes
    page = filler.get("master").page
    assert page.one(**card).attributes["aria-disabled"] == "true"
    why = page.one(aria_label="Why is tiny not available?")
    assert why.attributes["value"] == "explain:master.compute.cpuCoreRequest"
    told = filler.get("master", explain="master.compute.cpuCoreRequest").page
    assert "Project vision" in told.html


def test_environments_of_other_frameworks_and_clusters_are_counted_and_not_offered(
    filler: Filler, world: World
) -> None:
    """A chosen one stays in sight, with the reason why it does not fit any more."""
    scope = world.department.scope
    here = make("environment", scope=scope, name="here", framework="XGBoost",
                values={"image": IMAGE})  # fmt: skip
    other = make("environment", scope=scope, name="other", framework="MPI",
                 values={"image": IMAGE})  # fmt: skip
    make("environment", scope=scope, name="far", values={"image": "registry.lab/ddp:1"})
    filler.post("setup", {"workload.name": "digits", "worker.distributedFramework": "XGBoost"})
    filler.post("workers", {"worker.environment~asset": here.pk})
    page = filler.get("workers").page
    assert "2 more are for other frameworks or clusters." in page.html
    assert not page.has(value=str(other.pk))
    filler.post("setup", {"worker.distributedFramework": "MPI"})
    page = filler.get("workers").page
    assert page.has(value=str(other.pk))
    assert "Made for XGBoost." in page.html


def test_a_card_with_gpus_is_grey_where_there_are_none_and_an_empty_one_says_so(
    filler: Filler, world: World
) -> None:
    scope = world.department.scope
    gpus = make("compute", scope=scope, name="two", values={"compute.gpuDevicesRequest": 2})
    make("compute", scope=scope, name="empty", values={})
    filler.post("setup", {"workload.name": "digits"})
    card = {"type": "radio", "value": str(gpus.pk)}
    page = filler.get("workers").page
    assert "aria-disabled" not in page.one(**card).attributes
    assert "No values" in page.html
    Cluster.objects.update(capacity={**CAPACITY, "gpus": []})
    page = filler.get("workers").page
    assert page.one(**card).attributes["aria-disabled"] == "true"
    assert "This cluster has no GPUs." in page.html


def test_cards_say_how_often_they_were_used_and_show_their_values(
    filler: Filler, environment: Any, world: World
) -> None:
    Asset.objects.filter(pk=environment.pk).update(used_count=12, last_used_at=db_now())
    for number in range(9):
        make("environment", scope=world.vision.scope, name=f"e{number}", values={"image": IMAGE})
    filler.post("setup", {"workload.name": "digits"})
    page = filler.get("workers").page
    slot = page.one(data_used="12")
    assert "Used 12 times" in slot.text
    assert int(slot.attributes["data-recent"]) > 0
    tools = page.one(id="f-worker-environment~asset-tools")
    told = [[o.text for o in e.inside] for e in tools.inside if e.tag == "select"]
    assert told == [
        ["All scopes", "Department research", "Project vision"],
        ["Most used", "Recent", "Name"],
    ]
    (button,) = [e for e in slot.inside if e.attributes.get("class") == "card-more"]
    went = filler.post("workers", {"worker.args": "--kept"}, go=button.attributes["value"])
    shown = filler.client.get(went.location).content.decode()
    for words in ("python train.py", IMAGE, "SEED", "12 times"):
        assert words in shown
    assert filler.get("workers").page.value("worker.args") == "--kept"
