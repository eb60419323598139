"""Lists whose order counts: moved by a row's buttons, kept by every post, put back by a reset."""

import pytest

from gangline.forms.fields import FieldView
from gangline.spec_forms.form_actions import FormAction, edited
from gangline.spec_forms.raw import RoleInputs
from gangline.spec_forms.spec_form import RoleForm
from tests.forms.test_spec_form import form, posted

LIST = "worker.nodePools"
POLICY = "defaults: {worker: {nodePools: [h100, a100, default]}}"


def pools(made: RoleForm, inputs: RoleInputs) -> FieldView:
    fields = (field for section in made.sections(inputs) for field in section.fields)
    return next(field for field in fields if field.path == LIST)


def names(made: RoleForm, inputs: RoleInputs) -> list[str]:
    return [item.key for item in pools(made, inputs).items if not item.removed]


def said(made: RoleForm, inputs: RoleInputs) -> list[str] | None:
    value = made.said(inputs).values.get(LIST)
    return [one["name"] for one in value.value] if value else None


def press(made: RoleForm, inputs: RoleInputs, verb: str, name: str) -> RoleInputs:
    row = next(item.row_id for item in pools(made, inputs).items if item.key == name)
    return edited(made, inputs, FormAction(verb, f"{LIST}~{row}"))[0]


def sent(made: RoleForm, inputs: RoleInputs) -> RoleInputs:
    """As a browser sends the page back that shows ``inputs``."""
    items = [item for item in pools(made, inputs).items if not item.removed]
    texts = {f"{LIST}~{item.row_id}.name": item.key for item in items}
    rows = ["", *(item.row_id for item in items)]
    return made.read(posted(**{f"{LIST}~rows": rows}, **texts), inputs).inputs


@pytest.mark.parametrize(
    ("verb", "name", "order"),
    [
        ("up", "a100", ["a100", "h100", "default"]),
        ("down", "a100", ["h100", "default", "a100"]),
        ("up", "h100", ["h100", "a100", "default"]),
        ("down", "default", ["h100", "a100", "default"]),
    ],
)
def test_a_row_moves_and_what_is_sent_keeps_its_place(
    verb: str, name: str, order: list[str]
) -> None:
    made = form(policy=POLICY)
    moved = press(made, RoleInputs(), verb, name)
    assert names(made, moved) == order
    again = sent(made, moved)
    assert names(made, again) == order
    assert said(made, again) in (order, None)
    assert (said(made, again) is None) == (order == ["h100", "a100", "default"])


def test_untouched_nothing_is_said() -> None:
    made = form(policy=POLICY)
    assert sent(made, RoleInputs()).lists == {}


def test_one_that_was_left_out_comes_back_to_its_place() -> None:
    made = form(policy=POLICY)
    without = sent(made, press(made, RoleInputs(), "remove", "h100"))
    assert said(made, without) == ["a100", "default"]
    row = next(item.row_id for item in pools(made, without).items if item.removed)
    back, _ = edited(made, without, FormAction("restore", f"{LIST}~{row}"))
    assert set(names(made, back)) == {"h100", "a100", "default"}


def test_a_reset_gives_the_order_of_the_project_back() -> None:
    made = form(policy=POLICY)
    moved = press(made, RoleInputs(), "up", "default")
    assert pools(made, moved).can_reset
    reset, _ = edited(made, moved, FormAction("reset", LIST))
    assert names(made, reset) == ["h100", "a100", "default"]
    assert not pools(made, reset).can_reset


def test_a_list_that_is_fixed_has_no_buttons() -> None:
    made = form(policy=f"{POLICY}\nrules: {{worker: {{nodePools: {{canEdit: false}}}}}}")
    assert not pools(made, RoleInputs()).is_ordered
