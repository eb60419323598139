"""Copy & edit, templates, Run now: drafts that begin filled in."""

import uuid

import pytest

from assets.models import Template
from gangline.audit.models import AuditEntry
from gangline.lib.problems import Refused
from gangline.people.services import give
from gangline.policies.services import save
from gangline.resources.services import make
from tests.support.api import ApiClient
from tests.support.engine import new_workload
from tests.support.forms import Filler, Page
from tests.support.world import IMAGE, World
from workloads.models import Draft, Workload

VALUES = {
    "worker.image": IMAGE,
    "worker.command": "python train.py",
    "worker.numWorkers": 2,
    "worker.compute.cpuMemoryRequest": "512M",
    "worker.environmentVariables": [{"name": "SEED", "value": "1"}],
}


def template(world: World, name: str = "Digits, fast", **changes: object) -> Template:
    made: Template = make(
        "template",
        **{
            "scope": world.installation.scope,
            "name": name,
            "framework": "XGBoost",
            "configuration": "workersAndMaster",
            "values": VALUES,
            **changes,
        },  # type: ignore[arg-type]
    )
    return made


def page_of(filler: Filler, address: str) -> Page:
    return Page(filler.client.get(address).content.decode())


def test_a_template_fills_in_the_form_and_says_so(filler: Filler, world: World) -> None:
    chosen = template(world)
    filler.client.get(f"/workloads/new?template={chosen.pk}")
    page = filler.get("setup", template=str(chosen.pk)).page
    assert page.value("worker.distributedFramework") == "XGBoost"
    assert page.value("workload.templateId") == str(chosen.pk)
    answer = filler.client.post("/workloads/drafts", {"template": str(chosen.pk)})
    filler.draft = Draft.objects.get().pk
    assert answer.headers["Location"] == filler.url("setup")
    filler.post("setup", {"workload.name": "digits"})
    workers = filler.get("workers").page
    assert workers.value("worker.command") == "python train.py"
    assert "template" in workers.one(data_testid="f-worker.command").text
    filler.post("review", go="create")
    given, source = Workload.objects.get().given, {"kind": "template", "id": str(chosen.pk)}
    assert given["worker.command"] == {"value": "python train.py", "source": source}
    assert given["worker.distributedFramework"] == {"value": "XGBoost", "source": source}
    chosen.refresh_from_db()
    assert chosen.used_count == 1


def test_another_template_replaces_only_what_came_from_the_first(
    filler: Filler, world: World
) -> None:
    """R21."""
    first = template(world)
    second = template(world, "Slow", values=VALUES | {"worker.command": "python slow.py"})
    base = {"workload.name": "digits", "worker.distributedFramework": "XGBoost"}
    filler.post("setup", base, go="apply")
    filler.post("setup", {"workload.templateId": str(first.pk)})
    filler.post("workers", {"worker.numWorkers": "3"})
    filler.post("setup", {"workload.templateId": str(second.pk)})
    page = filler.get("workers").page
    assert page.value("worker.command") == "python slow.py"
    assert page.value("worker.numWorkers") == "3"
    filler.post("setup", {"workload.templateId": ""})
    page = filler.get("workers").page
    assert page.value("worker.command") == ""
    assert page.value("worker.numWorkers") == "3"


def test_a_template_of_another_project_is_unknown(filler: Filler, world: World) -> None:
    other = template(world, scope=world.nlp.scope)
    assert filler.get("setup", template=str(other.pk)).status == 404
    forged = filler.post("setup", {"workload.name": "a", "workload.templateId": str(other.pk)})
    assert forged.status == 422
    posted = filler.client.post("/workloads/drafts", {"template": str(other.pk)})
    assert posted.status_code == 404


def test_an_asset_opens_the_form_with_it_chosen(world: World) -> None:
    """In a project where it holds, by whoever may create workloads there."""
    image = {"image": "torch:1"}
    made = make(
        "environment", scope=world.nlp.scope, name="torch", framework="PyTorch", values=image
    )
    administrator = Filler(world, "administrator")
    page = Page(administrator.client.get(f"/environments/{made.pk}").content.decode())
    href = f"/workloads/new?environment={made.pk}"
    assert page.has(href=href)
    viewer = Filler(world, "viewer-nlp").client.get(f"/environments/{made.pk}").content.decode()
    assert not Page(viewer).has(href=href)
    shown = administrator.get("setup", environment=str(made.pk)).page
    assert shown.value("workload.projectId") == str(world.nlp.pk)
    administrator.post("setup", {"workload.name": "a"}, page=shown)
    workers = administrator.get("workers").page
    assert workers.value("worker.environment~asset") == str(made.pk)
    assert Filler(world).get("setup", environment=str(made.pk)).status == 404
    draft = Draft.objects.get()
    assert draft.inputs["setup"]["distributedFramework"]["text"] == "PyTorch"


@pytest.mark.parametrize("value", ["x", "3d0c2c6e-8b1f-4c57-9c1f-2f7f0a5f0a11", "<script>"])
def test_what_does_not_exist_cannot_be_started_from(filler: Filler, value: str) -> None:
    for name in ("template", "from"):
        assert filler.client.post("/workloads/drafts", {name: value}).status_code == 404
        assert filler.get("setup", **{name: value}).status == 404
    for name in ("environment", "compute"):
        assert filler.get("setup", **{name: value}).status == 404
    assert not Draft.objects.exists()


def test_copy_and_edit_opens_review_under_a_free_name(filler: Filler, world: World) -> None:
    """AC-F20, R26."""
    filler.fill()
    filler.post("workers", {"worker.args": "--epochs 3"})
    filler.post("master", {"master.different": "on", "master.compute.cpuCoreRequest": "0.25"})
    filler.post("review", go="create")
    original = Workload.objects.get()
    save(
        actor=world.actor("administrator"),
        scope=world.vision.scope,
        text="defaults:\n  worker:\n    compute: {cpuMemoryRequest: 300M}\n",
    )
    went = filler.client.post("/workloads/drafts", {"from": str(original.pk)})
    copy = Filler(world)
    copy.draft = Draft.objects.exclude(workload=original).get().pk
    assert went.headers["Location"] == copy.url("review")
    page = copy.get("review").page
    differing = [e.text for e in page.elements if "data-differs" in e.attributes]
    assert len(differing) == 1
    assert "Memory request" in differing[0]
    assert "was 100 MB" in differing[0]
    assert copy.post("review", go="create").status == 303
    made = Workload.objects.get(name="digits-2")
    assert made.copied_from == original.pk
    (event,) = made.events.filter(kind="Submitted")
    assert event.message == "Submitted by researcher-vision as a copy of digits."
    shown = ApiClient(world, "researcher-vision").get(f"workloads/distributed/{made.pk}").json()
    assert shown["copiedFrom"] == str(original.pk)
    audit = AuditEntry.objects.get(action="workload.create", object_id=str(made.pk))
    assert audit.detail["copied_from"] == str(original.pk)
    assert made.given["worker.args"] == {
        "value": "--epochs 3",
        "source": {"kind": "copy", "id": str(original.pk)},
    }
    assert made.master == "differences"


def test_a_workload_of_another_project_cannot_be_copied(filler: Filler, world: World) -> None:
    filler.fill()
    filler.post("review", go="create")
    other = Filler(world, "researcher-nlp")
    answer = other.client.post("/workloads/drafts", {"from": str(Workload.objects.get().pk)})
    assert answer.status_code == 404


def test_run_now_makes_one_workload_however_often_it_is_pressed(
    filler: Filler, world: World
) -> None:
    chosen = template(world)
    page = page_of(filler, "/templates")
    key = page.one(name="key").attributes["value"]
    address = f"/templates/{chosen.pk}/run"
    first = filler.client.post(address, {"key": key})
    second = filler.client.post(address, {"key": key})
    workload = Workload.objects.get()
    assert workload.name == "digits-fast"
    assert first.headers["Location"] == second.headers["Location"] == f"/workloads/{workload.pk}"
    third = filler.client.post(address, {"key": str(uuid.uuid4())})
    assert third.status_code == 303
    assert sorted(Workload.objects.values_list("name", flat=True)) == [
        "digits-fast",
        "digits-fast-2",
    ]


def test_run_now_that_the_policy_refuses_leads_to_review(filler: Filler, world: World) -> None:
    chosen = template(world)
    save(
        actor=world.actor("administrator"),
        scope=world.vision.scope,
        text="rules:\n  worker:\n    numWorkers: {max: 1}\n",
    )
    answer = filler.client.post(f"/templates/{chosen.pk}/run", {"key": str(filler.draft)})
    assert answer.headers["Location"] == filler.url("review") + "?check=1"
    assert not Workload.objects.exists()
    page = filler.get("review", check="1").page
    assert any("f-worker-numWorkers" in link for link in page.links)


def test_run_now_that_is_refused_again_leaves_one_draft(filler: Filler, world: World) -> None:
    chosen = template(world)
    text = "rules:\n  worker:\n    numWorkers: {max: 1}\n"
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=text)
    keys = [uuid.uuid4() for _ in range(3)]
    for key in keys[:2]:
        filler.client.post(f"/templates/{chosen.pk}/run", {"key": str(key)})
    assert [draft.pk for draft in Draft.objects.all()] == keys[1:2]
    filler.draft = keys[1]
    filler.post("review", go="leave")
    filler.post("workers", {"worker.numWorkers": "1"})
    filler.client.post(f"/templates/{chosen.pk}/run", {"key": str(keys[2])})
    assert {draft.pk for draft in Draft.objects.all()} == {*keys[1:]}, "what was edited stays"


def test_a_template_begins_where_a_cluster_can_run_it(filler: Filler, world: World) -> None:
    chosen = template(world)
    offer = {"framework": "XGBoost", "available": True, "runtimes": []}
    lab = make("cluster", actor=None, name="lab", kind="local", host_id="far")
    lab.facts = {"version": "v1", "frameworks": [offer], "runtimes": []}
    lab.save(update_fields=["facts"])
    department = make("department", cluster=lab, name="lab-research")
    speech = make("project", department=department, name="speech")
    person = world.people[filler.person]
    give(actor=None, user=person, role="researcher", scope=speech.scope)
    new_workload(name="last", project=speech, owner=person, values={"command": "x"})
    filler.client.post(f"/templates/{chosen.pk}/run", {"key": str(filler.draft)})
    assert Workload.objects.get(name="digits-fast").project == world.vision


def test_a_template_begins_in_the_project_that_the_link_names(world: World) -> None:
    filler = Filler(world)
    chosen = template(world)
    give(actor=None, user=world.people[filler.person], role="researcher", scope=world.nlp.scope)
    for project in (world.vision, world.nlp):
        page = filler.get("setup", template=str(chosen.pk), project=str(project.pk)).page
        assert page.value("workload.projectId") == str(project.pk)


def test_the_page_of_templates_shows_what_may_be_used(filler: Filler, world: World) -> None:
    mine, hidden = template(world), template(world, "Hidden", scope=world.nlp.scope)
    page = page_of(filler, "/templates")
    assert page.has(data_testid=f"row-{mine.pk}")
    assert not page.has(data_testid=f"row-{hidden.pk}")
    assert "2 workers + master" in page.one(data_testid=f"row-{mine.pk}").text


def test_a_template_of_fields_that_do_not_exist_is_refused(world: World) -> None:
    with pytest.raises(Refused, match=r"spec\.nothing"):
        template(world, values={"worker.nothing": 1})
