"""Nothing typed is ever lost, and what is wrong is said where it is wrong (AC-F07, F11, F12)."""

import pytest

from gangline.clusters.models import Cluster
from gangline.people.services import give
from gangline.policies.services import save
from gangline.resources.services import make
from tests.support.forms import Filler
from tests.support.world import CAPACITY, FACTS, IMAGE, World
from workloads.models import Draft, Workload

REFUSED = [
    ("worker.numWorkers", "2.5"),
    ("worker.terminationGracePeriodSeconds", "301"),
    ("worker.autoDeletionTimeAfterCompletionSeconds", "-1"),
    ("worker.compute.cpuCoreRequest", "NaN"),
    ("worker.compute.cpuMemoryRequest", "lots"),
    ("worker.args", "'"),
    ("worker.command", "a\0b"),
]


@pytest.mark.parametrize(("name", "text"), REFUSED)
def test_a_wrong_value_is_named_and_kept(filler: Filler, name: str, text: str) -> None:
    filler.fill()
    answer = filler.post("workers", {name: text})
    assert answer.status == 422
    assert answer.page.title.startswith("Error: Workers")
    target = "f-" + name.replace(".", "-")
    assert target in answer.page.links
    assert answer.page.value(name) == text
    assert answer.page.has(id=f"{target}-e")
    assert not Workload.objects.exists()


@pytest.mark.parametrize("text", ["", "Abc", "a" * 52, "a\u200bb"])
def test_names_are_dns_labels(filler: Filler, text: str) -> None:
    answer = filler.post("setup", {"workload.name": text})
    assert answer.status == 422
    assert answer.page.links == ["f-workload-name"]
    assert answer.page.value("workload.name") == text


def test_a_name_of_51_letters_is_accepted(filler: Filler) -> None:
    assert filler.post("setup", {"workload.name": "a" * 51}).status == 303


def test_the_error_summary_has_the_focus_and_leads_to_existing_controls(filler: Filler) -> None:
    """AC-F07."""
    filler.fill()
    answer = filler.post("workers", {"worker.numWorkers": "x", "worker.command": ""})
    summary = answer.page.one(data_testid="problem-summary")
    assert "autofocus" in summary.attributes
    assert summary.attributes["tabindex"] == "-1"
    assert len(answer.page.links) == 2
    for link in answer.page.links:
        control = answer.page.one(id=link)
        assert control.attributes["aria-invalid"] == "true"
        described = control.attributes["aria-describedby"].split()
        assert all(answer.page.has(id=part) for part in described)
        assert f"{link}-e" in described


@pytest.mark.parametrize("path", ["worker.command", "worker.args", "worker.workingDir"])
def test_injected_text_is_shown_as_text(filler: Filler, path: str) -> None:
    filler.fill()
    evil = '"><script>alert(1)</script>{{ 700000000000|add:7 }}${x}'
    answer = filler.post("workers", {path: evil})
    assert "<script>alert" not in answer.page.html
    assert answer.page.value(path) == evil
    review = filler.get("review").page.html
    assert "<script>alert" not in review
    assert "700000000007" not in review


def test_every_control_keeps_its_text_when_one_is_wrong(filler: Filler) -> None:
    filler.fill()
    typed = {
        "worker.command": "python a.py",
        "worker.args": "--x 'y z'",
        "worker.numWorkers": "2",
        "worker.compute.cpuCoreRequest": "0.75",
        "worker.compute.cpuCoreLimit": "0.05",
        "worker.compute.cpuMemoryRequest": "1.5",
        "worker.compute.cpuMemoryRequest~unit": "Gi",
        "worker.terminationGracePeriodSeconds": "2",
        "worker.terminationGracePeriodSeconds~unit": "min",
    }
    answer = filler.post("workers", typed)
    assert answer.status == 422
    assert answer.page.links == ["f-worker-compute-cpuCoreLimit"]
    assert {name: answer.page.value(name) for name in typed} == typed
    shown = filler.get("workers").page
    assert {name: shown.value(name) for name in typed} == typed


def test_blank_or_default_text_is_not_said(filler: Filler) -> None:
    """R21: what equals the inherited value or is blank follows the policy."""
    filler.fill()
    filler.post("workers", {"worker.numWorkers": "3"})
    assert "numWorkers" in str(Draft.objects.get().inputs)
    filler.post("workers", {"worker.numWorkers": ""})
    assert "numWorkers" not in str(Draft.objects.get().inputs)
    assert filler.get("workers").page.value("worker.numWorkers") == "1"
    filler.post("workers", {"worker.numWorkers": "1"})
    assert "numWorkers" not in str(Draft.objects.get().inputs)


def test_a_size_written_out_in_full_is_understood(filler: Filler) -> None:
    filler.fill()
    assert filler.post("workers", {"worker.compute.cpuMemoryRequest": "2Gi"}).status == 303
    page = filler.get("workers").page
    assert page.value("worker.compute.cpuMemoryRequest") == "2"
    assert page.value("worker.compute.cpuMemoryRequest~unit") == "Gi"
    assert "= 2 147 483 648 bytes" in page.html.replace("\N{NO-BREAK SPACE}", " ")


def test_another_framework_hides_nothing_for_ever(filler: Filler) -> None:
    """AC-F11: a choice that cannot hold stands aside and comes back."""
    filler.fill(configuration="workersOnly")
    filler.post("setup", {"worker.distributedFramework": "XGBoost"}, go="apply")
    page = filler.get("setup").page
    assert page.value("workload.configuration") == "workersAndMaster"
    card = page.one(value="workersOnly")
    assert card.attributes["aria-disabled"] == "true"
    back = [("worker.distributedFramework", "PyTorch"), ("_tab", "tab-1"), ("_go", "apply")]
    filler.send("setup", back)
    assert filler.get("setup").page.value("workload.configuration") == "workersOnly"


PORTION, SHARING = "worker.compute.gpuPortionRequest", "worker.compute.gpuRequestType"


def test_acf11_what_another_choice_rules_out_is_kept_and_not_said(filler: Filler) -> None:
    """Scripts send it under a name that says so; without them it is judged, and told why."""
    filler.fill()
    gpus = {"worker.compute.gpuDevicesRequest": "1", "worker.compute.gpuMemoryRequest": "500"}
    both = {**gpus, SHARING: "memory", PORTION: "25"}
    assert filler.post("workers", both).page.links == ["f-worker-compute-gpuPortionRequest"]
    aside = {**both, PORTION: None, f"{PORTION}~aside": "25"}
    assert filler.post("workers", aside).status == 303
    field = filler.get("workers").page.one(data_testid=f"f-{PORTION}")
    assert (field.attributes["data-needs"], field.attributes["data-values"]) == (SHARING, "portion")
    assert "data-aside" in field.attributes
    assert "Counts with GPU sharing: By portion." in field.text
    assert filler.get("workers").page.value(PORTION) == "25"
    memory = "worker.compute.gpuMemoryRequest"
    back = {SHARING: "portion", memory: None, f"{memory}~aside": "500"}
    assert filler.post("workers", back).status == 303
    field = filler.get("workers").page.one(data_testid=f"f-{PORTION}")
    assert "data-aside" not in field.attributes
    assert filler.get("workers").page.value(memory) == "500"


def test_a_configuration_that_the_framework_lacks_is_refused(filler: Filler) -> None:
    answer = filler.post(
        "setup",
        {
            "workload.name": "digits",
            "worker.distributedFramework": "XGBoost",
            "workload.configuration": "workersOnly",
        },
    )
    assert answer.status == 422
    assert "XGBoost needs a master" in answer.page.one(data_testid="problem-summary").text


def test_a_framework_that_the_cluster_lacks_is_refused_with_its_reason(filler: Filler) -> None:
    page = filler.get("setup").page
    card = page.one(value="JAX")
    assert card.attributes["aria-disabled"] == "true"
    why = page.one(aria_label="Why is JAX not available?")
    assert why.attributes["value"] == "explain:worker.distributedFramework"
    forged = filler.post("setup", {"workload.name": "digits", "worker.distributedFramework": "JAX"})
    assert forged.status == 422
    assert "jax cannot be imported" in forged.page.one(data_testid="problem-summary").text


def test_acf08_changing_the_project_keeps_values_and_lists_what_no_longer_fits(
    filler: Filler, world: World
) -> None:
    save(
        actor=world.actor("administrator"),
        scope=world.nlp.scope,
        text="rules:\n  worker:\n    numWorkers: {max: 2}\n",
    )
    give(
        actor=None,
        user=world.people["researcher-vision"],
        role="researcher",
        scope=world.nlp.scope,
    )
    filler.fill()
    filler.post("workers", {"worker.numWorkers": "4"})
    filler.post("setup", {"workload.projectId": str(world.nlp.pk)})
    page = filler.get("review", check="1").page
    assert any("f-worker-numWorkers" in link for link in page.links)
    assert filler.get("workers").page.value("worker.numWorkers") == "4"
    filler.post("setup", {"workload.projectId": str(world.vision.pk)})
    links = filler.get("review", check="1").page.links
    assert not any("f-worker-numWorkers" in link for link in links)


def test_acf08_changing_the_cluster_keeps_values_and_lists_what_no_longer_fits(
    filler: Filler, world: World
) -> None:
    lab = make("cluster", actor=None, name="lab", kind="local", host_id="far")
    facts = {**FACTS, "runtimes": [{**FACTS["runtimes"][0], "reference": "local://other"}]}
    Cluster.objects.filter(pk=lab.pk).update(facts=facts, capacity=CAPACITY)
    department = make("department", cluster=lab, name="far-research")
    speech = make("project", department=department, name="speech")
    person = world.people["researcher-vision"]
    give(actor=None, user=person, role="researcher", scope=speech.scope)
    filler.fill(clusterId=str(world.cluster.pk))
    filler.post("workers", {"worker.numWorkers": "2"})

    def wrong(cluster: object, project: object) -> bool:
        places = {"workload.clusterId": str(cluster), "workload.projectId": str(project)}
        for name, text in places.items():
            filler.post("setup", {name: text}, go="apply")
        page = filler.get("workers").page
        assert page.value("worker.image") == IMAGE
        assert page.value("worker.numWorkers") == "2"
        links = filler.get("review", check="1").page.links
        return any("f-worker-image" in link for link in links)

    assert wrong(lab.pk, speech.pk)
    assert not wrong(world.cluster.pk, world.vision.pk)


def test_a_taken_name_is_told_while_it_is_typed(filler: Filler) -> None:
    filler.ready()
    filler.post("review", go="create")
    other = Filler(filler.world)

    def told(name: str) -> str:
        saved = other.post("setup", {"workload.name": name}, go="autosave")
        return str(saved.response.json()["errors"]["workload.name"])

    assert "is already used in project vision; try “digits-2”" in told("digits")
    shown = other.get("setup").page
    assert "already used" in shown.one(data_errors="workload.name").text
    assert shown.links == []
    assert told("digits-2") == ""


def test_the_hint_of_the_name_holds_the_whole_rule(filler: Filler) -> None:
    """Whoever follows the hint is not refused by a rule that it does not tell."""
    hint = filler.get("setup").page.one(id="f-workload-name-h").text
    refused = filler.post("setup", {"workload.name": "digits-"})
    assert "end with a letter or digit" in refused.page.one(data_testid="problem-summary").text
    assert "ends with a letter or digit" in hint
    assert "1 to 51 lowercase letters, digits or “-”; starts with a letter" in hint
