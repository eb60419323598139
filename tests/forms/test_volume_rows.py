"""Rows with amounts, checkboxes and attributes inside of others: volumes, from and to texts."""

from typing import Any

import pytest

from gangline.drivers.facts import Choice, FieldNote
from gangline.forms.fields import Cell, ItemView
from gangline.spec.problems import Advice, Problem, Role
from gangline.spec_forms.raw import RoleInputs, Row
from gangline.spec_forms.said import typed_values
from gangline.spec_forms.spec_form import RoleForm
from tests.forms.test_spec_form import form, posted

PATH = "storage.pvc"
LIST = f"worker.{PATH}"
MODES = "claimInfo.accessModes"
UNTOUCHED = {
    "name": "",
    "path": "",
    "existingPvc": "false",
    "claimName": "",
    "claimInfo.size": "",
    "claimInfo.size~unit": "G",
    "claimInfo.storageClass": "",
    f"{MODES}.readWriteOnce": ["false", "true"],
    f"{MODES}.readOnlyMany": "false",
    f"{MODES}.readWriteMany": "false",
    "claimInfo.volumeMode": "Filesystem",
    "ephemeral": "false",
    "readOnly": "false",
}
"""What a browser sends of a row that was added and left as it is."""
TYPED = UNTOUCHED | {
    "name": "data",
    "path": "/data",
    "claimInfo.size": "500",
    "claimInfo.size~unit": "Gi",
    f"{MODES}.readWriteOnce": "false",
    f"{MODES}.readWriteMany": ["false", "true"],
    "ephemeral": ["false", "true"],
}
NOTES = {
    PATH: FieldNote(
        choices={"claimInfo.storageClass": (Choice("", "Cluster’s default (fast)"), Choice("slow"))}
    )
}
POLICY = """
defaults:
  worker:
    storage:
      pvc:
        instances:
          - {name: data, path: /data, ephemeral: true, claimInfo: {size: 5G}}
"""


def read(made: RoleForm, row: dict[str, Any], row_id: str = "r1") -> RoleInputs:
    fields = {f"{LIST}~{row_id}.{name}": text for name, text in row.items()}
    return made.read(posted(**{f"{LIST}~rows": ["", row_id]}, **fields), RoleInputs()).inputs


def said(made: RoleForm, inputs: RoleInputs) -> Any:
    told = made.said(inputs)
    assert told.problems == []
    return told.values[LIST].value if LIST in told.values else None


def drawn(made: RoleForm, inputs: RoleInputs, **told: Any) -> ItemView:
    sections = made.sections(inputs, **told)
    (field,) = [f for s in sections for f in s.fields if f.path == LIST]
    return field.items[-1]


def cells(item: ItemView) -> dict[str, Cell]:
    start = len(f"{LIST}~{item.row_id}.")
    return {cell.name[start:]: cell for cell in item.cells}


def test_a_row_becomes_an_item_with_objects_inside() -> None:
    made = form()
    assert said(made, read(made, TYPED)) == [
        {
            "name": "data",
            "path": "/data",
            "claimInfo": {
                "size": "500Gi",
                "accessModes": {"readWriteOnce": False, "readWriteMany": True},
            },
            "ephemeral": True,
        }
    ]


RULED = """
defaults:
  worker:
    storage:
      pvc:
        attributes: {readOnly: true, claimInfo: {size: 7G}}
"""


def test_a_row_begins_with_the_policys_defaults_and_the_person_may_differ() -> None:
    made = form(policy=RULED)
    fresh = cells(drawn(made, RoleInputs(lists={PATH: (Row("r1"),)})))
    assert fresh["readOnly"].text == "true"
    assert fresh["claimInfo.size"].text == "7"
    left = TYPED | {
        "readOnly": ["false", "true"],
        "claimInfo.size": "7",
        "claimInfo.size~unit": "G",
    }
    (item,) = said(made, read(made, left))
    assert "readOnly" not in item, "the policy gives it"
    (item,) = said(made, read(made, left | {"readOnly": "false"}))
    assert item["readOnly"] is False


def test_what_is_copied_stays_as_it_was_under_another_default() -> None:
    made = form(policy=RULED)
    inputs, _ = typed_values({LIST: [{"name": "data", "path": "/data", "readOnly": False}]})
    assert cells(drawn(made, inputs))["readOnly"].text == "false"
    (item,) = said(made, inputs)
    assert item["readOnly"] is False


def test_a_row_that_nobody_touched_says_nothing() -> None:
    made = form()
    assert said(made, read(made, UNTOUCHED)) is None


@pytest.mark.parametrize("row", [UNTOUCHED, TYPED, TYPED | {"claimInfo.size": "a lot"}])
def test_what_was_typed_is_drawn_again(row: dict[str, Any]) -> None:
    made = form()
    item = drawn(made, RoleInputs.from_json(read(made, row).to_json()))
    found = cells(item)
    last = {name: text[-1] if isinstance(text, list) else text for name, text in row.items()}
    for name, cell in found.items():
        shown = next((o.value for o in cell.options if o.selected), cell.text)
        assert (shown or "false" if cell.control == "check" else shown) == last[name], name
    size = found["claimInfo.size"]
    assert [o.value for o in size.units if o.selected] == [last["claimInfo.size~unit"]]
    assert [o.word for o in size.units] == ["GB", "GiB", "TB", "TiB", "MB", "MiB"]


def test_its_controls_have_labels_and_stand_in_groups() -> None:
    item = drawn(form(), RoleInputs(lists={PATH: (Row("r1"),)}))
    assert item.layout == "sheet"
    assert [len(group) for word, group in item.groups if word == "Access modes"] == [3]
    assert cells(item)[f"{MODES}.readWriteOnce"].control == "check"


def test_storage_classes_of_the_cluster_are_offered_and_another_stays() -> None:
    made = form(notes=NOTES)
    row = TYPED | {"claimInfo.storageClass": "gone"}
    options = cells(drawn(made, read(made, row)))["claimInfo.storageClass"].options
    assert [(o.value, o.word, o.selected) for o in options] == [
        ("", "Cluster’s default (fast)", False),
        ("slow", "slow", False),
        ("gone", "gone", True),
    ]


def test_a_class_is_typed_where_nobody_knows_them() -> None:
    item = drawn(form(), RoleInputs(lists={PATH: (Row("r1"),)}))
    assert cells(item)["claimInfo.storageClass"].control == "text"


def test_a_problem_marks_the_control_that_it_is_about() -> None:
    made = form()
    problem = Problem.of(Role.WORKER, f"{PATH}.0.claimInfo.size", "required")
    item = drawn(made, read(made, TYPED), problems=[problem])
    assert [name for name, cell in cells(item).items() if cell.wrong] == ["claimInfo.size"]
    assert item.errors == (problem.sentence,)


def test_advice_stands_at_its_row_and_marks_nothing() -> None:
    made = form()
    told = [
        Advice(Role.WORKER, f"{PATH}.0", "Think twice."),
        Advice(Role.MASTER, f"{PATH}.0", "Not here."),
    ]
    item = drawn(made, read(made, TYPED), advice=told)
    assert item.advice == ("Think twice.",)
    assert not any(cell.wrong for cell in item.cells)
    assert all(cell.described_by.endswith("-a") for cell in item.cells)


def test_a_default_of_a_policy_is_drawn_and_stays_unsaid() -> None:
    made = form(policy=POLICY)
    item = drawn(made, RoleInputs())
    assert cells(item)["ephemeral"].text == "true"
    assert cells(item)["claimInfo.size"].text == "5"
    row = UNTOUCHED | {
        "name": "data", "path": "/data", "claimInfo.size": "5", "ephemeral": ["false", "true"],
    }  # fmt: skip
    assert said(made, read(made, row, item.row_id)) is None


def test_a_tick_of_a_policy_is_taken_away() -> None:
    made = form(policy=POLICY)
    row = UNTOUCHED | {"name": "data", "path": "/data", "claimInfo.size": "5"}
    (item,) = said(made, read(made, row, drawn(made, RoleInputs()).row_id))
    assert item["ephemeral"] is False


def test_what_is_wrong_is_told_under_its_control_and_the_rest_below() -> None:
    made = form()
    size = Problem.of(Role.WORKER, f"{PATH}.0.claimInfo.size", "required")
    whole = Problem.of(Role.WORKER, f"{PATH}.0", "locked:removed")
    item = drawn(made, read(made, TYPED), problems=[size, whole])
    cell = cells(item)["claimInfo.size"]
    assert cell.errors == (size.sentence,)
    assert cell.described_by.split()[0] == f"{cell.id}-e"
    assert item.errors_below == (whole.sentence,)
    assert item.errors == (size.sentence, whole.sentence)
