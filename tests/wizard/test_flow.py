"""From an empty form to a workload, as a browser without scripts does it."""

import uuid

import pytest

from gangline.policies.services import save as save_policy
from tests.support.forms import Filler
from tests.support.world import IMAGE, World
from workloads.models import Draft, Workload
from workloads.wizard.pages import StepLink


def test_the_new_address_writes_nothing_and_keeps_the_query(filler: Filler) -> None:
    answer = filler.client.get("/workloads/new?template=abc")
    assert answer.status_code == 302
    assert answer.headers["Location"].endswith("/setup?template=abc")
    filler.get("setup")
    assert not Draft.objects.exists()


def test_a_choice_of_one_is_a_line_and_is_sent_all_the_same(filler: Filler, world: World) -> None:
    page = filler.get("setup").page
    cluster = page.one(data_testid="f-workload.clusterId")
    assert "this-machine" in cluster.text
    controls = [e for e in cluster.inside if e.tag in ("select", "input")]
    assert {e.attributes.get("type") for e in controls} == {"hidden"}
    assert page.value("workload.clusterId") == str(world.cluster.pk)


def test_pages_of_the_form_are_never_kept_by_the_browser(filler: Filler) -> None:
    assert "no-store" in filler.get("setup").response.headers["Cache-Control"]


def test_the_first_continue_makes_the_draft_under_its_address(filler: Filler) -> None:
    answer = filler.post("setup", {"workload.name": "digits"})
    assert (answer.status, answer.location) == (303, filler.url("workers"))
    assert Draft.objects.get().pk == filler.draft


def test_steps_of_an_unknown_draft_lead_to_setup(filler: Filler) -> None:
    assert filler.get("review").location == filler.url("setup")


def test_the_draft_of_another_person_does_not_exist(filler: Filler, world: World) -> None:
    filler.post("setup", {"workload.name": "digits"})
    other = Filler(world, "researcher-nlp")
    other.draft = filler.draft
    assert other.get("setup").status == 404
    assert other.send("setup", [("workload.name", "mine")]).status == 404
    assert "mine" not in str(Draft.objects.get().inputs)


def test_create_makes_exactly_what_review_shows(filler: Filler) -> None:
    filler.fill()
    filler.post("master")
    review = filler.get("review").page
    pods = review.one(data_testid="summary-pods").text
    created = filler.post("review", go="create")
    assert (created.status, created.location) == (303, f"/workloads/{Workload.objects.get().pk}")
    workload = Workload.objects.get()
    assert workload.name == "digits"
    assert pods == "1 worker + 1 master"
    assert workload.pods_total == 2
    assert workload.given["worker.image"] == {"value": IMAGE, "source": {"kind": "you"}}
    assert workload.attempts.get().effective["worker.command"]["value"] == "python train.py"


def test_a_second_create_gives_the_same_workload(filler: Filler) -> None:
    filler.fill()
    page = filler.get("review").page
    filler.post("review", go="create", page=page)
    again = filler.post("review", {"worker.image": "other"}, go="create", page=page)
    workload = Workload.objects.get()
    assert (again.status, again.location) == (303, f"/workloads/{workload.pk}")


def test_a_submitted_draft_says_what_became_of_it(filler: Filler) -> None:
    filler.fill()
    filler.post("review", go="create")
    shown = filler.get("workers")
    assert shown.status == 200
    assert "digits" in shown.page.html
    assert not shown.page.has(id="wizard-form")


def test_create_shows_every_problem_and_makes_nothing(filler: Filler) -> None:
    filler.post("setup", {"workload.name": "digits"})
    answer = filler.post("review", go="create")
    assert answer.status == 422
    assert answer.page.title.startswith("Error: ")
    assert any("f-worker-command" in link for link in answer.page.links)
    assert not Workload.objects.exists()


def test_a_taken_name_is_said_at_the_name_and_nothing_is_lost(filler: Filler, world: World) -> None:
    filler.fill()
    filler.post("review", go="create")
    second = Filler(world)
    answer = second.post("setup", {"workload.name": "digits"})
    assert answer.status == 422
    assert answer.page.links == ["f-workload-name"]
    assert answer.page.value("workload.name") == "digits"


def test_workers_only_has_no_master(filler: Filler) -> None:
    filler.fill(configuration="workersOnly")
    assert filler.get("master").location == filler.url("review")
    assert not filler.get("workers").page.all(value="step:master")
    filler.post("review", go="create")
    assert (Workload.objects.get().master, Workload.objects.get().pods_total) == ("none", 1)


def test_the_same_master_equals_the_workers_and_differences_change_only_themselves(
    filler: Filler, world: World
) -> None:
    """AC-F14."""
    filler.fill()
    filler.post("master")
    filler.post("review", go="create")
    same = Workload.objects.get().attempts.get().effective
    assert all(
        same[f"master.{path.removeprefix('worker.')}"]["value"] == entry["value"]
        for path, entry in same.items()
        if path.startswith("worker.") and f"master.{path.removeprefix('worker.')}" in same
    )
    other = Filler(world)
    other.fill(name="digits-2")
    other.post("master", {"master.different": "on", "master.compute.cpuCoreRequest": "0.25"})
    other.post("review", go="create")
    workload = Workload.objects.get(name="digits-2")
    effective = workload.attempts.get().effective
    differing = [
        path
        for path, entry in effective.items()
        if path.startswith("master.")
        and entry["value"] != effective[f"worker.{path.removeprefix('master.')}"]["value"]
    ]
    assert differing == ["master.compute.cpuCoreRequest"]
    assert workload.master == "differences"


def test_turning_the_master_off_and_on_brings_its_values_back(filler: Filler) -> None:
    """AC-F11: hidden values are neither checked nor sent, and are not lost."""
    filler.fill()
    filler.post("master", {"master.different": "on", "master.compute.cpuCoreRequest": "-5"})
    off = filler.post("master", {"master.different": None})
    assert off.status == 303
    assert filler.get("review").page.one(data_testid="summary-cpu").text == "0.2 cores"
    assert filler.get("master").page.value("master.compute.cpuCoreRequest") == "-5"


def test_a_rule_that_the_workers_break_forces_the_masters_own_setup(
    filler: Filler, world: World
) -> None:
    save_policy(
        actor=world.actor("administrator"),
        scope=world.vision.scope,
        text="rules:\n  master:\n    compute:\n      gpuDevicesRequest: {max: 0}\n",
    )
    filler.fill()
    filler.post("workers", {"worker.compute.gpuDevicesRequest": "1"})
    page = filler.get("master").page
    toggle = page.one(id="f-master-different")
    assert "disabled" in toggle.attributes
    assert "must be 0 (set by project vision)" in page.one(id="f-master-different-h").text or (
        "at most 0" in page.one(id="f-master-different-h").text
    )
    assert filler.post("master").status == 422
    assert filler.post("master", {"master.compute.gpuDevicesRequest": "0"}).status == 303


@pytest.mark.parametrize("step", ["setup", "workers", "master", "review"])
def test_every_step_has_one_heading_and_a_first_default_button(filler: Filler, step: str) -> None:
    filler.fill()
    page = filler.get(step).page
    assert [e.text for e in page.elements if e.tag == "h1"] == [
        {"setup": "Set-up", "workers": "Workers", "master": "Master", "review": "Review"}[step]
    ]
    first = next(e for e in page.one(id="wizard-form").inside if e.tag == "button")
    assert "name" not in first.attributes


@pytest.mark.parametrize("go", ["step:setup", "step:review", "leave", "explain:worker.image"])
def test_leaving_a_step_keeps_what_was_typed_without_judging_it(filler: Filler, go: str) -> None:
    filler.fill()
    answer = filler.post("workers", {"worker.numWorkers": "not a number"}, go=go)
    assert answer.status == 303
    assert filler.get("workers").page.value("worker.numWorkers") == "not a number"


def test_a_forged_step_is_no_address(filler: Filler) -> None:
    assert filler.client.get(f"/workloads/new/{uuid.uuid4()}/secrets").status_code == 404


def test_without_a_project_the_form_says_whom_to_ask(world: World) -> None:
    page = Filler(world, "stranger").get("setup").page
    assert not page.has(id="wizard-form")


def test_what_the_cluster_asks_for_is_marked_and_explained(filler: Filler) -> None:
    """The check and the marks come from one place: what is refused when empty says so before."""
    filler.post("setup", {"workload.name": "digits"})
    page = filler.get("workers").page
    for path in ("image", "command"):
        assert "(required)" in page.one(data_testid=f"f-worker.{path}").text
    assert "(required)" not in page.one(data_testid="f-worker.workingDir").text
    assert "a runtime of this machine" in page.one(id="f-worker-image-h").text.lower()
    assert "a folder in " in page.one(id="f-worker-workingDir-h").text
    refused = filler.post("workers", {"worker.workingDir": "/etc"})
    assert refused.status == 422
    assert {"f-worker-image", "f-worker-command", "f-worker-workingDir"} <= set(refused.page.links)


def test_under_mpi_the_example_has_mpirun_and_a_command_without_it_is_refused(
    filler: Filler,
) -> None:
    filler.post("setup", {"workload.name": "digits", "worker.distributedFramework": "MPI"})
    command = filler.get("workers").page.one(id="f-worker-command").attributes
    assert command["placeholder"] == "mpirun python train.py"
    typed = {"worker.image": IMAGE, "worker.command": "python train.py"}
    refused = filler.post("workers", typed)
    assert refused.status == 422
    assert refused.page.links == ["f-worker-command"]
    assert "“mpirun python train.py”" in refused.page.one(data_testid="problem-summary").text
    mended = typed | {"worker.command": "mpirun python train.py"}
    assert filler.post("workers", mended).status == 303


def test_a_framework_s_card_gives_the_reason_and_its_why_the_way_out(
    filler: Filler, world: World
) -> None:
    offers = world.cluster.facts["frameworks"]
    (offer,) = [offer for offer in offers if offer["framework"] == "JAX"]
    offer["reason"] = "The only runtime here has no JAX."
    offer["remedy"] = "To add one, put it into /srv/runtimes."
    world.cluster.save()
    page = filler.get("setup").page
    card = next(e for e in page.elements if e.tag == "label" and "JAX" in e.text)
    assert card.text.endswith("The only runtime here has no JAX.")
    why = filler.get("setup", explain="worker.distributedFramework").page
    assert "To add one, put it into /srv/runtimes." in why.html


def test_no_start_is_promised_while_something_is_to_mend(filler: Filler) -> None:
    filler.ready()
    good = filler.get("review").page
    assert "Starts immediately." in good.one(data_testid="verdict").text
    filler.post("workers", {"worker.command": ""}, go="autosave")
    bad = filler.get("review", check="1").page
    assert "Starts immediately" not in bad.html
    verdict = bad.one(data_testid="verdict").text
    assert verdict == "Not ready. Still to fill in: Command."


@pytest.mark.parametrize("step", ["setup", "workers", "master", "review"])
def test_under_mpi_roles_are_called_the_same_on_every_page(filler: Filler, step: str) -> None:
    setup = {"workload.name": "digits", "worker.distributedFramework": "MPI"}
    filler.post("setup", setup)
    filler.post("workers", {"worker.image": IMAGE, "worker.command": "mpirun python a.py"})
    page = filler.get(step).page
    assert page.one(data_testid="summary-roles").text == "Workers & master"
    assert page.one(data_testid="summary-pods").text.endswith("1 master")
    assert "launcher &amp;" not in page.html.lower()
    if step == "setup":
        card = next(e for e in page.elements if e.tag == "label" and "Workers & master" in e.text)
        assert "The master is the launcher: it starts the ranks" in card.text


def test_where_room_is_not_known_the_summary_says_what_is_missing(
    filler: Filler, world: World
) -> None:
    world.cluster.capacity = {**world.cluster.capacity, "admission": "theirs"}
    world.cluster.save(update_fields=["capacity"])
    said = filler.get("setup").page.one(data_testid="verdict").text
    assert "Not ready. Still to fill in: Name" in said


def test_what_both_halves_lack_is_told_by_half(filler: Filler) -> None:
    filler.post("setup", {"workload.name": "digits"})
    filler.post("workers", {"worker.command": "python train.py", "worker.image": "a b"})
    filler.post("master", {"master.different": "on", "master.image": "a b"})
    page = filler.get("review", check="1").page
    told = [e.text for e in page.elements if e.tag == "a" and "Image" in e.text]
    assert any(text.startswith("Workers: Image") for text in told)
    assert any(text.startswith("Master: Image") for text in told)


@pytest.mark.parametrize(
    ("step", "wrong"),
    [
        ("setup", {"workload.name": "Bad Name"}),
        ("workers", {"worker.image": ""}),
        ("workers", {"worker.numWorkers": "-1"}),
        ("workers", {"worker.compute.cpuMemoryRequest": "much"}),
    ],
)
def test_a_step_with_a_problem_is_never_done(
    filler: Filler, step: str, wrong: dict[str, str]
) -> None:
    """Wherever one stands, and however often it was visited; Review is not done either."""
    filler.fill()
    filler.post("master")
    assert all(one.is_done for one in _steps(filler, "review") if one.value != "review")
    filler.post(step, wrong)
    for here in ("setup", "workers", "master", "review"):
        done = {one.value for one in _steps(filler, here) if one.is_done}
        assert not {step, "review"} & done, here
    (told,) = [one for one in _steps(filler, "review") if one.value == step]
    assert told.problems == 1


def _steps(filler: Filler, here: str) -> list[StepLink]:
    return list(filler.get(here).response.context["steps"])
