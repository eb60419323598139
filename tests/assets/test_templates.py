"""What a template links, fixes and asks for holds wherever it is used."""

import json
from typing import Any

import pytest

from gangline.lib.problems import Refused
from gangline.policies.services import save
from gangline.resources.registry import get
from gangline.resources.services import make, update
from tests.support.api import ApiClient
from tests.support.forms import Filler, Page
from tests.support.world import IMAGE, World
from workloads.models import Attempt, Workload

pytestmark = pytest.mark.django_db
LIST, SUBMIT = "workload-templates/distributed", "workloads/distributed"
VALUES = {"worker.command": "python train.py", "worker.compute.cpuCoreRequest": 0.5}


@pytest.fixture
def environment(world: World) -> Any:
    variables = [{"name": "SEED", "value": "1"}]
    values = {"image": IMAGE, "environmentVariables": variables, "args": "--one"}
    return make("environment", scope=world.department.scope, name="digits", values=values)


@pytest.fixture
def compute(world: World) -> Any:
    values = {"compute.cpuCoreRequest": 0.25}
    return make("compute", scope=world.department.scope, name="tiny", values=values)


@pytest.fixture
def filler(world: World) -> Filler:
    return Filler(world)


def template(world: World, name: str = "digits", **changes: Any) -> Any:
    given = {
        "scope": world.department.scope,
        "name": name,
        "framework": "XGBoost",
        "configuration": "workersAndMaster",
        "values": VALUES,
        **changes,
    }
    return make("template", **given)


def submitted(world: World, used: Any, **spec: Any) -> Any:
    body = world.body(templateId=str(used.pk), spec=spec or None)
    return ApiClient(world, "researcher-vision").post(SUBMIT, body)


def wrong(answer: Any) -> set[tuple[str, str]]:
    assert answer.status_code == 400, answer.content
    return {(p["path"], p["rule"]) for p in answer.json()["problems"]}


def test_a_linked_asset_flows_in_also_when_it_changes_later(world: World, environment: Any) -> None:
    used = template(world, links={"worker.environment": str(environment.pk)})
    assert submitted(world, used).status_code == 202
    changed = environment.values | {"args": "--two"}
    update(get("environment"), actor=None, obj=environment, values={"values": changed})
    answer = ApiClient(world, "researcher-vision").get(f"{LIST}/{used.pk}").json()
    assert answer["combinedSpec"]["args"] == "--two"
    assert "args" not in answer["spec"]
    assert answer["assets"] == {"environment": str(environment.pk)}
    first = Attempt.objects.get()
    assert first.value("worker.args") == "--one"
    environment.refresh_from_db()
    assert environment.used_count == 1


def test_typed_then_chosen_asset_then_template_then_its_own_asset(
    filler: Filler, world: World, environment: Any, compute: Any
) -> None:
    """S3a."""
    links = {"worker.environment": str(environment.pk)}
    variables = [{"name": "MODE", "value": "fast"}]
    values = VALUES | {"worker.environmentVariables": variables}
    used = template(world, links=links, values=values)
    filler.post("setup", {"workload.name": "digits", "worker.distributedFramework": "XGBoost"})
    filler.post("setup", {"workload.templateId": str(used.pk)})
    page = filler.get("workers").page
    assert page.value("worker.compute.cpuCoreRequest") == "0.5"
    assert page.value("worker.args") == "--one"
    filler.post("workers", {"worker.compute~asset": str(compute.pk)})
    filler.post("workers", {"worker.command": "python mine.py"})
    filler.post("review", go="create")
    attempt = Attempt.objects.get()
    assert attempt.value("worker.compute.cpuCoreRequest") == 0.25, "the chosen asset"
    assert attempt.value("worker.command") == "python mine.py"
    assert attempt.value("worker.image") == IMAGE
    names = [item["name"] for item in attempt.value("worker.environmentVariables")]
    assert names == ["SEED", "MODE"], "lists are joined item by item"


def test_a_fixed_field_is_changed_neither_in_the_form_nor_in_the_api(
    filler: Filler, world: World
) -> None:
    values = VALUES | {"worker.image": IMAGE}
    used = template(world, values=values, modes={"worker.command": "fixed"})
    assert wrong(submitted(world, used, command="sh -c evil")) == {("command", "canEdit")}
    same = submitted(world, used, command="python train.py")
    assert same.status_code == 202, same.content
    filler.post("setup", {"workload.name": "other", "worker.distributedFramework": "XGBoost"})
    filler.post("setup", {"workload.templateId": str(used.pk)})
    page = filler.get("workers").page
    assert page.has(data_testid="lock-worker.command")
    assert not page.has(name="worker.command")
    filler.post("workers", {"worker.command": "sh -c evil"})
    filler.post("master", {"master.different": "on", "master.command": "sh -c evil"})
    filler.post("review", go="create")
    made = Workload.objects.get(name="other")
    attempt = Attempt.objects.get(workload=made)
    assert attempt.value("worker.command") == attempt.value("master.command") == "python train.py"


def test_a_fixed_list_takes_no_other_item(world: World) -> None:
    variables = [{"name": "SEED", "value": "1"}]
    values = VALUES | {"worker.image": IMAGE, "worker.environmentVariables": variables}
    used = template(world, values=values, modes={"worker.environmentVariables": "fixed"})
    for item, rule in (("SEED", "locked"), ("OTHER", "canAdd")):
        more = [{"name": item, "value": "2"}]
        found = wrong(submitted(world, used, environmentVariables=more))
        assert found == {("environmentVariables.0", rule)}


def test_what_is_asked_for_must_be_filled_in(world: World) -> None:
    used = template(
        world,
        values=VALUES | {"worker.image": IMAGE},
        modes={"worker.args": "ask", "worker.numWorkers": "ask"},
    )
    missing = {("args", "required"), ("numWorkers", "required")}
    assert wrong(submitted(world, used)) == missing, "the product's default is no answer"
    assert submitted(world, used, args="--x", numWorkers=1).status_code == 202
    page = Filler(world).client.get(f"/templates/{used.pk}").content.decode()
    assert "Still to fill in: Arguments, Number of workers." in page
    assert "Cannot run now" not in page, "nothing is wrong with it"
    assert "Run now</button>" not in page


def test_the_policys_word_stands_on_card_list_and_api(filler: Filler, world: World) -> None:
    used = template(world, values=VALUES | {"worker.image": IMAGE, "worker.numWorkers": 3})
    text = "rules:\n  worker:\n    numWorkers: {max: 1}\n"
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=text)
    filler.post("setup", {"workload.name": "a", "worker.distributedFramework": "XGBoost"})
    cards = filler.get("setup").page.one(data_testid="f-workload.templateId")
    assert "set by project vision" in cards.text
    row = Page(filler.client.get("/templates").content.decode()).one(data_testid=f"row-{used.pk}")
    assert "set by project vision" in row.text
    client = ApiClient(world, "researcher-vision")
    (entry,) = client.get(LIST, complyToProject=world.vision.pk).json()["entries"]
    assert not entry["runnable"]["isRunnable"]
    assert [i["field"] for i in entry["complianceIssues"]] == ["numWorkers"]
    assert client.get(LIST, complyToProject=world.nlp.pk).status_code == 400


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"modes": {"worker.command": "ask"}}, "modes.spec.command"),
        ({"modes": {"worker.nothing": "fixed"}}, "modes.worker.nothing"),
        ({"links": {"worker.environment": "x"}}, "assets.environment"),
        ({"links": {"worker.data": "x"}}, "links.worker.data"),
        ({"values": {"worker.slotsPerWorker": 2}}, "spec.slotsPerWorker"),
        ({"values": {"master.command": "x"}}, "master.spec.command"),
        ({"values": {"command": "x"}}, "command"),
        ({"framework": "JAX"}, "configuration"),
    ],
)
def test_what_cannot_be_names_its_place(world: World, changes: Any, path: str) -> None:
    with pytest.raises(Refused) as refused:
        template(world, **changes)
    assert path in {p.path for p in refused.value.problems}


def test_a_value_of_the_linked_asset_is_not_said_twice(world: World, environment: Any) -> None:
    links = {"worker.environment": str(environment.pk)}
    with pytest.raises(Refused, match=r"spec\.image"):
        template(world, links=links, values=VALUES | {"worker.image": "other:1"})


def test_an_asset_of_another_project_cannot_be_linked(world: World) -> None:
    far = make("environment", scope=world.nlp.scope, name="far", values={"image": "a:1"})
    with pytest.raises(Refused, match=r"assets\.environment"):
        template(world, scope=world.vision.scope, links={"worker.environment": str(far.pk)})


def test_the_form_links_copies_and_keeps_what_was_typed(world: World, environment: Any) -> None:
    client = Filler(world, "administrator").client
    posted = {
        "name": "linked",
        "scope": str(world.department.scope_id),
        "framework": "XGBoost",
        "configuration": "workersAndMaster",
        "worker.environment": str(environment.pk),
        "worker.command": "python train.py",
        "worker.command~mode": "fixed",
        "worker.args~mode": "ask",
    }
    drawn = client.post("/templates/new", {**posted, "_go": "apply"}).content.decode()
    assert 'name="worker.image"' not in drawn, "linked fields are read-only"
    assert "explain:" not in drawn, "no button of the form does anything but what it says"
    assert "python train.py" in drawn
    copied = client.post(
        "/templates/new", {**posted, "_go": "unlink:worker.environment"}
    ).content.decode()
    assert f'value="{IMAGE}"' in copied
    assert client.post("/templates/new", posted).status_code == 302
    made = get("template").model.objects.get(name="linked")
    assert made.links == {"worker.environment": str(environment.pk)}
    assert made.values == {"worker.command": "python train.py"}
    assert made.modes == {"worker.command": "fixed", "worker.args": "ask"}
    copy = client.get(f"/templates/{made.pk}/copy").content.decode()
    assert "python train.py" in copy
    assert Page(copy).one(name="worker.command~mode").inside[1].attributes["selected"] == ""


def test_only_sections_that_hold_something_are_open(world: World) -> None:
    client = Filler(world, "administrator").client
    made = template(world, values={"worker.command": "python train.py"})
    found = client.get(f"/templates/{made.pk}/edit").context["sections"]
    assert {one.title for one in found if one.held} == {"Environment"}
    assert {one.title: one.is_open for one in found}["Volumes"] is False
    blank = client.get("/templates/new").context["sections"]
    assert {"Environment", "Compute"} <= {one.title for one in blank if one.held is None}


@pytest.mark.parametrize(("framework", "word"), [("MXNet", "Servers"), ("PyTorch", "Master")])
def test_form_and_page_call_the_master_as_the_framework_does(
    world: World, framework: str, word: str
) -> None:
    client = Filler(world, "administrator").client
    values = {**VALUES, "master.compute.cpuCoreRequest": 1}
    made = template(world, framework=framework, master="differences", values=values)
    drawn = Page(client.get(f"/templates/{made.pk}/edit").content.decode())
    titles = {e.text.partition(":")[0] for e in drawn.elements if e.tag == "h2" and ":" in e.text}
    assert titles == {word}
    assert f"set-up for the {word.lower()}" in drawn.html
    page = Page(client.get(f"/templates/{made.pk}").content.decode())
    assert {e.text for e in page.elements if e.tag == "h2"} > {"Workers", word}


def test_the_contracts_addresses(world: World) -> None:
    used = template(world, modes={"worker.command": "fixed"})
    client = ApiClient(world, "researcher-vision")
    listed = client.get("workload-templates").json()
    assert [one["meta"]["id"] for one in listed["entries"]] == [str(used.pk)]
    assert listed["pagination"]["offset"] == 0
    assert client.get("workload-templates/count").json() == {"count": 1}
    assert client.get(f"workload-templates/{used.pk}").json()["meta"]["name"] == "digits"
    asked = {"scopeType": "department", "scopeId": world.department.pk}
    free = "workload-templates/name-availability"
    client = ApiClient(world, "administrator")
    assert client.get(free, templateName="digits", **asked).status_code == 409
    assert client.get(free, templateName="other", **asked).status_code == 204
    assert client.get(free, **asked).status_code == 400
    body = json.dumps({"fieldsToClear": ["spec.command"], "spec": {"args": "--x"}})
    answer = client.request("PATCH", f"{LIST}/{used.pk}", body)
    assert answer.status_code == 200, answer.content
    used.refresh_from_db()
    assert used.values == {"worker.args": "--x", "worker.compute.cpuCoreRequest": 0.5}
    assert used.modes == {}
