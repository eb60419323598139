"""What a pressed button of a step means (R27): ``<button name="_go" value="verb:what">``."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gangline.spec.catalogue import Kind
from gangline.spec.problems import Role
from gangline.spec_forms.posted import InheritedItem, item_row_id
from gangline.spec_forms.raw import RoleInputs, Row, new_row_id
from gangline.spec_forms.spec_form import RoleForm
from workloads.wizard.desk import Desk
from workloads.wizard.state import DraftState

CONTINUE = "continue"
EDITS = frozenset({"add", "remove", "restore", "reset"})
LEAVING = frozenset({CONTINUE, "step", "leave"})


@dataclass(frozen=True, slots=True)
class Gesture:
    """A verb and what it is about."""

    verb: str
    what: str = ""

    @classmethod
    def of(cls, text: str) -> "Gesture":
        verb, _, what = text.partition(":")
        return cls(verb or CONTINUE, what)


@dataclass(frozen=True, slots=True)
class Edited:
    """The draft after an edit, and the id of the control that gets the focus."""

    state: DraftState
    focus: str


def edit(desk: Desk, state: DraftState, gesture: Gesture) -> Edited:
    """Carry out add, remove, restore or reset; what it names wrongly changes nothing."""
    path, _, row_id = gesture.what.partition("~")
    role_name, _, field = path.partition(".")
    if role_name not in (Role.WORKER, Role.MASTER):
        return Edited(state, "")
    role = Role(role_name)
    form = desk.form(role)
    if field not in {spec.path for spec in form.fields}:
        return Edited(state, "")
    anchor = "f-" + path.replace(".", "-")
    if gesture.verb == "reset":
        return Edited(_with_scalar_gone(state, role, field), anchor)
    return _edit_rows(form, state, field, gesture.verb, row_id, anchor)


def _inputs(state: DraftState, role: Role) -> RoleInputs:
    return state.master if role is Role.MASTER else state.worker


def _with_scalar_gone(state: DraftState, role: Role, field: str) -> DraftState:
    return _put(state, role, _inputs(state, role).with_scalar(field, None))


def _put(state: DraftState, role: Role, inputs: RoleInputs) -> DraftState:
    return replace(state, master=inputs) if role is Role.MASTER else replace(state, worker=inputs)


def _edit_rows(
    form: RoleForm, state: DraftState, field: str, verb: str, row_id: str, anchor: str
) -> Edited:
    spec = next(s for s in form.fields if s.path == field)
    if spec.kind is not Kind.ITEMIZED:
        return Edited(state, "")
    rows = list(_inputs(state, form.role).lists.get(field, ()))
    standing = {item_row_id(i): i for i in form.inherited.items.get(field, ())}
    if verb == "add":
        row = Row(new_row_id())
        rows.append(row)
        focus = f"{anchor}-{row.id}-{spec.items[0].path}"
    elif verb == "remove":
        rows, focus = _removed(rows, row_id, standing, anchor)
    else:
        rows = [_back(r) if r.id == row_id else r for r in rows if r.id != row_id or not r.of]
        focus = f"{anchor}-{row_id}-remove"
    return Edited(_put(state, form.role, _inputs(state, form.role).with_rows(field, rows)), focus)


def _back(row: Row) -> Row:
    return replace(row, removed=False)


def _removed(
    rows: list[Row], row_id: str, standing: Mapping[str, InheritedItem], anchor: str
) -> tuple[list[Row], str]:
    """A removed row leaves a mark, so that it can be brought back; an empty one just goes."""
    item = standing.get(row_id)
    if item is not None:
        if item.locked_by:
            return rows, ""
        rest = [row for row in rows if row.id != row_id]
        rest.append(Row(row_id, dict(item.texts), of=item.key, removed=True))
        return rest, f"{anchor}-{row_id}-back"
    if any(row.id == row_id and row.blank for row in rows):
        return [row for row in rows if row.id != row_id], f"{anchor}-add"
    marked = [replace(row, removed=True) if row.id == row_id else row for row in rows]
    return marked, f"{anchor}-{row_id}-back"


def without_removed(state: DraftState) -> DraftState:
    """The draft once its step is left: the person's own removed rows cannot be brought back."""
    return replace(state, worker=_settled(state.worker), master=_settled(state.master))


def _settled(inputs: RoleInputs) -> RoleInputs:
    for path, rows in inputs.lists.items():
        kept = [row for row in rows if row.of or not row.removed]
        if len(kept) < len(rows):
            inputs = inputs.with_rows(path, kept)
    return inputs
