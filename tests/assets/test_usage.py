"""What uses an asset, what a workload was made of, and what is saved as a template."""

from typing import Any

import pytest

from assets.models import Template
from gangline.policies.services import save
from gangline.resources.registry import get
from gangline.resources.services import make, update
from tests.support.api import ApiClient
from tests.support.forms import Filler, Page
from tests.support.world import IMAGE, World
from workloads.models import Workload

pytestmark = pytest.mark.django_db


@pytest.fixture
def environment(world: World) -> Any:
    values = {"image": IMAGE, "command": "python train.py"}
    return make("environment", scope=world.department.scope, name="digits", values=values)


@pytest.fixture
def filler(world: World) -> Filler:
    return Filler(world)


def made(filler: Filler, environment: Any) -> Workload:
    base = {"workload.name": "run", "worker.distributedFramework": "XGBoost"}
    filler.post("setup", base)
    filler.post("workers", {"worker.environment~asset": str(environment.pk)})
    filler.post("workers", {"worker.args": "--x"})
    filler.post("review", go="create")
    return Workload.objects.get()


def changed(environment: Any) -> None:
    values = {**environment.values, "command": "python other.py"}
    update(get("environment"), actor=None, obj=environment, values={"values": values})


def test_a_workload_says_which_version_it_was_made_of(
    filler: Filler, world: World, environment: Any
) -> None:
    """AC-A02."""
    workload = made(filler, environment)
    page = Page(filler.client.get(f"/workloads/{workload.pk}").content.decode())
    assert page.one(data_testid="made-of").text == "Environment digits v1"
    changed(environment)
    page = Page(filler.client.get(f"/workloads/{workload.pk}/spec").content.decode())
    assert page.one(data_testid="made-of").text == "Environment digits v1 (now v2)"
    attempt = workload.attempts.get()
    assert attempt.value("worker.command") == "python train.py"
    administrator = Filler(world, "administrator").client
    assert administrator.post(f"/environments/{environment.pk}/delete").status_code == 302
    page = Page(filler.client.get(f"/workloads/{workload.pk}/spec").content.decode())
    assert page.one(data_testid="made-of").text == "Environment digits v1 (deleted)"


def test_who_uses_an_asset_is_named_to_those_who_may_see_it(
    filler: Filler, world: World, environment: Any
) -> None:
    workload = made(filler, environment)
    page = filler.client.get(f"/environments/{environment.pk}").content.decode()
    assert f'href="/workloads/{workload.pk}"' in page
    other = Filler(world, "researcher-nlp").client
    page = other.get(f"/environments/{environment.pk}").content.decode()
    assert str(workload.pk) not in page
    assert "1 more that is not listed" in page


def test_what_a_template_links_is_not_deleted(world: World, environment: Any) -> None:
    """AC-A03."""
    make(
        "template",
        scope=world.vision.scope,
        name="linking",
        framework="XGBoost",
        configuration="workersAndMaster",
        links={"worker.environment": str(environment.pk)},
    )
    client = Filler(world, "administrator").client
    answer = client.post(f"/environments/{environment.pk}/delete")
    assert answer.status_code == 409
    assert "linking" in answer.content.decode()
    answer = ApiClient(world, "administrator").delete(f"asset/environment/{environment.pk}")
    assert answer.status_code == 409
    assert "linking" in answer.json()["details"]


def test_a_workload_is_saved_as_a_template(filler: Filler, world: World, environment: Any) -> None:
    workload = made(filler, environment)
    page = filler.client.get(f"/workloads/{workload.pk}").content.decode()
    address = f"/templates/new?workload={workload.pk}"
    assert address in page
    assert address in filler.client.get("/workloads").content.decode()
    form = filler.client.get(address)
    assert form.status_code == 200
    fields = Page(form.content.decode())
    assert fields.one(name="worker.command").attributes["value"] == "python train.py"
    assert fields.one(name="worker.args").attributes["value"] == "--x"
    assert fields.one(name="name").attributes["value"] == "run"
    other = Filler(world, "researcher-nlp").client
    assert other.get(address).status_code == 404
    assert filler.client.get("/templates/new?workload=x").status_code == 404


def test_review_is_saved_as_a_template_that_links_what_was_chosen(
    filler: Filler, world: World, environment: Any
) -> None:
    base = {"workload.name": "run", "worker.distributedFramework": "XGBoost"}
    filler.post("setup", base)
    filler.post("workers", {"worker.environment~asset": str(environment.pk)})
    filler.post("workers", {"worker.args": "--x"})
    address = f"/templates/new?draft={filler.draft}"
    review = filler.url("review")
    back = f"{address}&amp;next={review}"
    assert back in filler.get("review").page.html
    address = back.replace("&amp;", "&")
    fields = Page(filler.client.get(address).content.decode())
    assert fields.one(name="worker.args").attributes["value"] == "--x"
    posted = {
        "name": "saved",
        "scope": str(world.vision.scope_id),
        "framework": "XGBoost",
        "configuration": "workersAndMaster",
        "worker.environment": str(environment.pk),
        "worker.args": "--x",
    }
    answer = filler.client.post(address, posted)
    assert (answer.status_code, answer.headers["Location"]) == (302, review)
    saved = Template.objects.get()
    assert saved.links == {"worker.environment": str(environment.pk)}
    assert saved.values == {"worker.args": "--x"}
    assert Filler(world, "researcher-nlp").client.get(address).status_code == 404


def test_flags_of_the_api(filler: Filler, world: World, environment: Any) -> None:
    workload = made(filler, environment)
    near = make("environment", scope=world.vision.scope, name="near", values={"image": "bad:1"})
    text = "rules:\n  worker:\n    image: {options: [{value: 'local://examples'}]}\n"
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=text)
    client = ApiClient(world, "researcher-vision")

    def listed(**query: Any) -> dict[str, Any]:
        answer = client.get("asset/environment", **query)
        assert answer.status_code == 200, answer.content
        return {one["meta"]["name"]: one for one in answer.json()["entries"]}

    project = world.vision.pk
    assert set(listed(projectId=project)) == {"digits", "near"}
    assert set(listed(projectId=project, scope="project")) == {"near"}
    everything = ApiClient(world, "administrator").get(
        "asset/environment", departmentId=world.department.pk, includeDescendants="true"
    )
    assert len(everything.json()["entries"]) == 2
    assert set(listed(name="near")) == {"near"}
    assert listed(isTraining="true") == {}
    found = listed(usageInfo="true", statusInfo="true", complyToProject=project)
    digits = found["digits"]
    (used,) = digits["usedBy"]["distributed"]
    assert (used["id"], used["name"]) == (str(workload.pk), "run")
    assert digits["usageTimes"]["lastUsedByWorkload"]
    assert digits["compliance"] == {"imposed": False, "compliance": True, "reason": []}
    assert not found["near"]["compliance"]["compliance"]
    assert [r["field"] for r in found["near"]["compliance"]["reason"]] == ["image"]
    one = client.get(f"asset/environment/{near.pk}", usageInfo="true").json()
    assert one["usedBy"] == {"distributed": [], "templates": []}
    for query in (
        {"complyToProject": world.nlp.pk},
        {"scope": "moon"},
        {"scope": "project", "includeDescendants": "true"},
        {"projectId": "x"},
        {"usageInfo": "maybe"},
        {"distributedFramework": "Caffe"},
    ):
        assert client.get("asset/environment", **query).status_code == 400, query
