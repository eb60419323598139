"""The form follows the spec: what is declared there is here, and nothing else."""

from typing import Any

import pytest
from django.http import QueryDict

from gangline.policies.effective import Layer, effective_policy
from gangline.policies.engine import Request, inherited_values
from gangline.policies.parser import parse
from gangline.spec.base import Restricted
from gangline.spec.catalogue import catalogue
from gangline.spec.problems import Problem, Role
from gangline.spec.sources import YOU, Value, copy_source, template_source
from gangline.spec.workload import SPEC, SpecModels
from gangline.spec_forms.raw import RoleInputs, Row, Typed
from gangline.spec_forms.spec_form import RoleForm
from tests.spec.extra_field import EXTRA, LABEL, with_extra_field


def form(
    role: Role = Role.WORKER, *, policy: str = "", models: SpecModels = SPEC, **more: Any
) -> RoleForm:
    layers = [Layer("project", "vision", parse(policy, models))] if policy else []
    effective = effective_policy(layers, models)
    said = more.pop("said", {})
    request = Request(framework="PyTorch", given=said)
    standing = inherited_values(request, role, effective)
    return RoleForm(role=role, policy=effective, standing=standing, models=models, **more)


def posted(**fields: str | list[str]) -> QueryDict:
    data = QueryDict(mutable=True)
    for name, value in fields.items():
        data.setlist(name, value if isinstance(value, list) else [value])
    return data


def paths(made: RoleForm) -> list[str]:
    return [field.path for section in made.sections(RoleInputs()) for field in section.fields]


@pytest.mark.parametrize("role", [Role.WORKER, Role.MASTER])
def test_every_field_of_the_spec_is_in_the_form(role: Role) -> None:
    model = SPEC.worker if role is Role.WORKER else SPEC.master
    wanted = [
        f"{role}.{path}"
        for path, field in catalogue(model).items()
        if field.ui.section != "setup" and field.restricted != Restricted()
    ]
    assert sorted(paths(form(role))) == sorted(wanted)


@pytest.mark.parametrize("role", [Role.WORKER, Role.MASTER])
def test_one_more_field_in_the_spec_is_one_more_field_in_the_form(role: Role) -> None:
    models = with_extra_field()
    made = form(role, models=models, policy=f"rules:\n  {role}:\n    {EXTRA}: {{max: 5}}\n")
    (field,) = [
        field
        for section in made.sections(RoleInputs())
        for field in section.fields
        if field.path == f"{role}.{EXTRA}"
    ]
    assert field.label == LABEL
    assert field.lock == "limited"
    assert [(part.text, part.source) for part in field.limits] == [("at most 5", "project vision")]
    shown = field.text if role is Role.WORKER else field.placeholder
    assert shown == "3"
    reading = made.read(posted(**{f"{role}.{EXTRA}": "4"}), RoleInputs())
    assert made.said(reading.inputs).values == {f"{role}.{EXTRA}": Value(4)}


def test_sections_come_in_the_order_of_the_spec_and_workload_fields_first() -> None:
    sections = form().sections(RoleInputs())
    assert [s.title for s in sections] == [
        "Environment",
        "Compute",
        "Slurm",
        "Volumes",
        "Data sources",
        "General settings",
    ]
    assert sections[1].fields[0].path == "worker.numWorkers"


def test_the_fold_of_a_section_counts_what_is_set_in_it() -> None:
    """What few people need is folded: limits, grace, auto-deletion, labels, annotations."""
    typed = {
        "worker.terminationGracePeriodSeconds": "60",
        "worker.backoffLimit": "2",
        "worker.labels~rows": "1",
        "worker.labels~1.name": "stage",
        "worker.labels~1.value": "dev",
    }
    made = form()
    sections = {s.title: s for s in made.sections(made.read(posted(**typed), RoleInputs()).inputs)}
    compute, general = sections["Compute"], sections["General settings"]
    folded = {
        field.path.removeprefix("worker.")
        for section in (compute, general)
        for line in section.advanced_rows
        for field in line
    }
    assert {
        "compute.cpuCoreLimit",
        "compute.cpuMemoryLimit",
        "terminationGracePeriodSeconds",
        "autoDeletionTimeAfterCompletionSeconds",
        "labels",
        "annotations",
    } <= folded
    assert "backoffLimit" not in folded
    assert (compute.number_set, general.number_set) == (0, 2)


@pytest.mark.parametrize(
    ("typed", "unit", "value"),
    [("256", "M", "256M"), ("1.5", "Gi", "1.5Gi"), ("2Gi", "M", "2Gi"), ("7T", "M", "7T")],
)
def test_a_size_is_a_number_and_a_unit(typed: str, unit: str, value: str) -> None:
    path = "worker.compute.cpuMemoryLimit"
    made = form()
    reading = made.read(posted(**{path: typed, f"{path}~unit": unit}), RoleInputs())
    assert made.said(reading.inputs).values[path].value == value


@pytest.mark.parametrize(
    ("typed", "unit", "value"), [("2", "min", 120), ("1.5", "h", 5400), ("90", "s", 90)]
)
def test_a_duration_is_a_number_and_a_unit(typed: str, unit: str, value: int) -> None:
    path = "worker.autoDeletionTimeAfterCompletionSeconds"
    made = form()
    reading = made.read(posted(**{path: typed, f"{path}~unit": unit}), RoleInputs())
    assert made.said(reading.inputs).values[path].value == value


@pytest.mark.parametrize("typed", ["abc", "1.5.2", "-", "1e3", "٣"])
def test_a_duration_that_is_none_is_a_problem_and_no_value(typed: str) -> None:
    path = "worker.terminationGracePeriodSeconds"
    made = form()
    reading = made.read(posted(**{path: typed, f"{path}~unit": "min"}), RoleInputs())
    said = made.said(reading.inputs)
    assert path not in said.values
    assert [p.path for p in said.problems] == ["terminationGracePeriodSeconds"]
    assert reading.inputs.scalars["terminationGracePeriodSeconds"] == Typed(typed, "min")


def test_an_unknown_unit_is_shown_beside_the_usual_ones() -> None:
    inputs = RoleInputs({"compute.cpuMemoryRequest": Typed("1", "T", copy_source("x"))})
    (field,) = [
        f for s in form().sections(inputs) for f in s.fields if f.path.endswith("cpuMemoryRequest")
    ]
    assert [(o.value, o.selected) for o in field.units if o.selected] == [("T", True)]
    assert field.chip is not None
    assert field.chip.word == "copied"


def test_what_was_not_posted_stays_as_it_was() -> None:
    stored = RoleInputs(
        {"args": Typed("--x")}, {"labels": (Row("r1", {"name": "a", "value": "b"}),)}
    )
    assert form().read(posted(), stored).inputs == stored


def test_equal_text_keeps_its_origin_and_other_text_is_the_persons() -> None:
    stored = RoleInputs({"args": Typed("--x", "", template_source(1))})
    made = form()
    same = made.read(posted(**{"worker.args": "--x"}), stored).inputs
    assert same.scalars["args"].source == template_source(1)
    other = made.read(posted(**{"worker.args": "--y"}), stored).inputs
    assert other.scalars["args"].source == YOU


def test_a_master_field_shows_the_workers_value_behind_an_empty_control() -> None:
    said = {"worker.args": Value("--x")}
    made = form(Role.MASTER, said=said)
    (field,) = [f for s in made.sections(RoleInputs()) for f in s.fields if f.path == "master.args"]
    assert (field.text, field.placeholder) == ("", "--x")
    assert field.chip is not None
    assert field.chip.word == "workers"


def test_a_problem_of_an_item_goes_to_the_row_that_was_sent() -> None:
    rows = (
        Row("r0"),
        Row("r1", {"name": "A", "value": "1"}),
        Row("r2", {"name": "!", "value": ""}),
    )
    inputs = RoleInputs({}, {"environmentVariables": rows})
    problem = Problem.of(Role.WORKER, "environmentVariables.1.name", "format:name")
    (field,) = [
        f
        for s in form().sections(inputs, [problem])
        for f in s.fields
        if f.path.endswith("environmentVariables")
    ]
    assert [bool(item.errors) for item in field.items] == [False, False, True]
    assert [c.wrong for c in field.items[2].alone if not c.chooses] == [True]


def test_inputs_survive_being_stored() -> None:
    inputs = RoleInputs(
        {"args": Typed("--x", "", copy_source(1)), "compute.cpuMemoryLimit": Typed("1", "Gi")},
        {"labels": (Row("r1", {"name": "a"}, YOU, "a", removed=True),)},
    )
    assert RoleInputs.from_json(inputs.to_json()) == inputs


class TestWhatTheClusterDoesNotHave:
    """Fields of other kinds of clusters are in the way, until they hold something."""

    REASON = "Nothing is pulled here."
    PULL = "worker.imagePullPolicy"

    def shown(self, inputs: RoleInputs, problems: list[Problem]) -> dict[str, Any]:
        made = form(unsupported={"imagePullPolicy": self.REASON, "labels": self.REASON})
        sections = made.sections(inputs, problems)
        return {field.path: field for section in sections for field in section.fields}

    def test_they_are_left_out(self) -> None:
        found = self.shown(RoleInputs(), [])
        assert self.PULL not in found
        assert "worker.labels" not in found
        assert "worker.image" in found

    def test_what_was_typed_for_another_cluster_is_shown_with_the_reason(self) -> None:
        inputs = RoleInputs({"imagePullPolicy": Typed("Always")}, {"labels": (Row("r1", {}),)})
        found = self.shown(inputs, [])
        assert found[self.PULL].unavailable == self.REASON
        assert found[self.PULL].text == "Always"
        assert found["worker.labels"].unavailable == self.REASON

    def test_a_problem_is_never_hidden(self) -> None:
        problem = Problem.of(Role.WORKER, "imagePullPolicy", "required")
        assert self.shown(RoleInputs(), [problem])[self.PULL].errors


class TestItemsWithChoices:
    """A list whose items have more than a name and a value: choices, and what may stay empty."""

    ROW = "worker.tolerations~r1"
    TYPED = {
        f"{ROW}.name": "gpus",
        f"{ROW}.key": "nvidia.com/gpu",
        f"{ROW}.operator": "Exists",
        f"{ROW}.value": "",
        f"{ROW}.effect": "NoSchedule",
        f"{ROW}.seconds": "",
    }

    def row(self, inputs: RoleInputs) -> Any:
        sections = form().sections(inputs)
        (field,) = [f for s in sections for f in s.fields if f.path == "worker.tolerations"]
        (item,) = field.items
        return item

    def test_what_was_left_empty_is_not_said(self) -> None:
        made = form()
        data = posted(**{"worker.tolerations~rows": ["", "r1"]}, **self.TYPED)
        said = made.said(made.read(data, RoleInputs()).inputs)
        assert said.problems == []
        assert said.values["worker.tolerations"].value == [
            {
                "name": "gpus",
                "key": "nvidia.com/gpu",
                "operator": "Exists",
                "effect": "NoSchedule",
            }
        ]

    def test_seconds_are_a_number(self) -> None:
        made = form()
        data = posted(
            **{"worker.tolerations~rows": ["", "r1"]},
            **self.TYPED | {f"{self.ROW}.effect": "NoExecute", f"{self.ROW}.seconds": "soon"},
        )
        (problem,) = made.said(made.read(data, RoleInputs()).inputs).problems
        assert problem.path == "tolerations.0.seconds"

    def test_choices_are_offered_and_nothing_typed_is_lost(self) -> None:
        item = self.row(RoleInputs(lists={"tolerations": (Row("r1", {"operator": "Lt"}),)}))
        cells = {cell.id.rpartition("-")[2]: cell for cell in item.cells}
        assert item.layout == "many"
        assert [(o.value, o.selected) for o in cells["operator"].options] == [
            ("Equal", False), ("Exists", False), ("Lt", True),
        ]  # fmt: skip
        assert next((o.word, o.selected) for o in cells["effect"].options) == ("Effect", True)
        assert cells["key"].options == ()


def test_no_gpus_are_offered_to_a_launcher() -> None:
    gpus = "compute.gpuDevicesRequest"
    assert f"master.{gpus}" in paths(form(Role.MASTER, framework="TF"))
    assert not [path for path in paths(form(Role.MASTER, framework="MPI")) if "gpu" in path]
    assert f"worker.{gpus}" in paths(form(framework="MPI"))
