"""Rows with amounts, checkboxes and attributes inside of others: volumes, from and to texts."""

from typing import Any

import pytest

from gangline.drivers import classes
from gangline.drivers.facts import Choice, FieldNote
from gangline.forms.fields import Cell, ItemView
from gangline.spec.problems import Advice, Problem, Role
from gangline.spec_forms.raw import RoleInputs, Row
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
    "claimInfo.addedAttrValues": "",
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
            "existingPvc": False,
            "claimInfo": {
                "size": "500Gi",
                "accessModes": {
                    "readWriteOnce": False,
                    "readOnlyMany": False,
                    "readWriteMany": True,
                },
                "volumeMode": "Filesystem",
            },
            "ephemeral": True,
            "readOnly": False,
        }
    ]


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
    problem = Problem.of(Role.WORKER, f"{PATH}.0.claimInfo.size", "required", "is required")
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
    size = Problem.of(Role.WORKER, f"{PATH}.0.claimInfo.size", "required", "is required")
    whole = Problem.of(Role.WORKER, f"{PATH}.0", "locked", "is locked")
    item = drawn(made, read(made, TYPED), problems=[size, whole])
    cell = cells(item)["claimInfo.size"]
    assert cell.errors == (size.sentence,)
    assert cell.described_by.split()[0] == f"{cell.id}-e"
    assert item.errors_below == (whole.sentence,)
    assert item.errors == (size.sentence, whole.sentence)


CLASSES = {
    "storageClasses": [{"name": "fast", "default": True}, {"name": "shared", "default": False}],
    "storageRules": {
        "fast": {"size": "10Gi", "max": "50Gi", "units": ["Gi"], "Block": False},
        "shared": {
            "readWriteOnce": False,
            "readOnlyMany": False,
            "ephemeral": False,
            "attributes": [
                {"key": "tier", "display": "Tier", "defaultValue": "gold"},
                {"key": "a.b", "format": "boolean"},
            ],
        },
    },
}
OF_CLASSES = {PATH: classes.note(CLASSES)}
AT = "claimInfo.addedAttrValues"


def posted_back(item: ItemView) -> dict[str, str]:
    """What a browser sends of a row as it was drawn."""
    start = len(f"{LIST}~{item.row_id}.")
    found = {}
    for cell in (*item.cells, *item.carried):
        chosen = next((o.value for o in cell.options if o.selected), cell.text)
        found[cell.name[start:]] = chosen
        if cell.units:
            found[cell.name[start:] + "~unit"] = next(o.value for o in cell.units if o.selected)
    return found


def test_a_row_shows_what_its_class_allows_and_what_it_gives() -> None:
    made = form(notes=OF_CLASSES)
    fresh = drawn(made, RoleInputs(lists={PATH: (Row("r1"),)}))
    found = cells(fresh)
    size = found["claimInfo.size"]
    assert (size.text, [o.value for o in size.units], size.hint) == (
        "10",
        ["Gi"],
        "At most 50 GiB.",
    )
    assert found["claimInfo.storageClass"].applies
    assert "claimInfo.volumeMode" not in found
    assert said(made, read(made, posted_back(fresh))) is None
    row = posted_back(fresh) | {"path": "/d"}
    (item,) = said(made, read(made, row))
    assert item["claimInfo"]["size"] == "10Gi"


def test_another_class_brings_its_own_fields_and_takes_those_of_the_first() -> None:
    made = form(notes=OF_CLASSES)
    row = posted_back(drawn(made, RoleInputs(lists={PATH: (Row("r1"),)})))
    now = drawn(made, read(made, row | {"path": "/d", "claimInfo.storageClass": "shared"}))
    found = cells(now)
    assert found["claimInfo.size"].text == ""  # that of the other class was typed by nobody
    assert f"{MODES}.readWriteOnce" not in found
    assert found[f"{MODES}.readWriteMany"].text == "true"
    assert "ephemeral" not in found
    assert found[f"{AT}~tier"].text == "gold"
    assert [o.word for o in found[f"{AT}~a.b"].options] == ["Not set", "Yes", "No"]
    again = posted_back(now) | {"claimInfo.size": "5", f"{AT}~tier": "a,b %", f"{AT}~a.b": "true"}
    inputs = RoleInputs.from_json(read(made, again).to_json())
    (item,) = said(made, inputs)
    assert item["claimInfo"] == {
        "size": "5Gi",
        "storageClass": "shared",
        "accessModes": {"readWriteOnce": False, "readOnlyMany": False, "readWriteMany": True},
        "volumeMode": "Filesystem",
        AT.rpartition(".")[2]: "tier=a%2Cb %25, a.b=true",
    }
    assert cells(drawn(made, inputs))[f"{AT}~tier"].text == "a,b %"
    wrong = Problem.of(Role.WORKER, f"{PATH}.0.{AT}.tier", "format", "must be gold")
    told = cells(drawn(made, inputs, problems=[wrong]))[f"{AT}~tier"]
    assert told.wrong
    assert told.errors


def test_what_a_class_does_not_allow_stays_until_it_is_taken_back() -> None:
    made = form(notes=OF_CLASSES)
    row = TYPED | {f"{MODES}.readOnlyMany": "true", "claimInfo.storageClass": "shared"}
    found = cells(drawn(made, read(made, row)))
    assert found[f"{MODES}.readOnlyMany"].text == "true"
    assert found["ephemeral"].text == "true"


def test_an_existing_claim_has_nothing_of_a_class() -> None:
    made = form(notes=OF_CLASSES)
    row = posted_back(drawn(made, RoleInputs(lists={PATH: (Row("r1"),)})))
    (item,) = said(made, read(made, row | {"path": "/d", "existingPvc": "true", "claimName": "a"}))
    assert "size" not in item["claimInfo"]
