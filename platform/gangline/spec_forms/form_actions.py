"""What a pressed button of a form means (R27): ``<button name="_go" value="verb:what">``."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from gangline.spec.catalogue import Kind
from gangline.spec_forms.item_texts import key_of
from gangline.spec_forms.posted import InheritedItem, item_row_id
from gangline.spec_forms.raw import WHOLE, RoleInputs, Row, new_row_id
from gangline.spec_forms.said import in_order
from gangline.spec_forms.spec_form import RoleForm

CONTINUE = "continue"
UP, DOWN = "up", "down"
EDITS = frozenset({"add", "remove", "restore", "reset", UP, DOWN})


@dataclass(frozen=True, slots=True)
class FormAction:
    """A verb and what it is about."""

    verb: str
    what: str = ""

    @classmethod
    def of(cls, text: str) -> "FormAction":
        verb, _, what = text.partition(":")
        return cls(verb or CONTINUE, what)

    @property
    def role(self) -> str:
        return self.what.partition(".")[0]


def edited(form: RoleForm, inputs: RoleInputs, form_action: FormAction) -> tuple[RoleInputs, str]:
    """``inputs`` after one of `EDITS`, and the id of the control to focus.

    A name that the form does not have changes nothing.
    """
    path, _, row_id = form_action.what.partition("~")
    field = path.partition(".")[2]
    spec = next((one for one in form.fields if one.path == field), None)
    anchor = "f-" + path.replace(".", "-")
    if spec is None:
        return inputs, ""
    if form_action.verb == "reset" and spec.kind is Kind.ITEMIZED:
        return inputs.with_rows(field, ()), f"{anchor}-add"
    if form_action.verb == "reset":
        return inputs.with_scalar(field, None), anchor
    if spec.kind is not Kind.ITEMIZED:
        return inputs, ""
    rows = list(inputs.lists.get(field, ()))
    standing = {item_row_id(i): i for i in form.inherited.items.get(field, ())}
    if form_action.verb == "add":
        row = Row(new_row_id())
        rows.append(row)
        focus = f"{anchor}-{row.id}-{spec.items[0].path}"
    elif form_action.verb in (UP, DOWN):
        if not spec.is_array or form.rule(field).fixed:
            return inputs, ""
        is_all = any(row.id == WHOLE for row in rows)
        inherited = () if is_all else form.inherited.items.get(field, ())
        every = in_order(inherited, rows, partial(key_of, spec))
        rows, focus = (
            _moved(every, row_id, form_action.verb),
            f"{anchor}-{row_id}-{form_action.verb}",
        )
    elif form_action.verb == "remove":
        rows, focus = _removed(rows, row_id, standing, anchor)
    else:
        rows = [_back(r) if r.id == row_id else r for r in rows if r.id != row_id or not r.of]
        focus = f"{anchor}-{row_id}-remove"
    return inputs.with_rows(field, rows), focus


def settled(inputs: RoleInputs) -> RoleInputs:
    """``inputs`` once their page is left: removed rows of the person cannot be brought back."""
    for path, rows in inputs.lists.items():
        kept = [row for row in rows if row.of or not row.removed or row.id == WHOLE]
        if len(kept) < len(rows):
            inputs = inputs.with_rows(path, kept)
    return inputs


def _moved(rows: list[Row], row_id: str, verb: str) -> list[Row]:
    """The row one place further, past those that were removed."""
    here = next((n for n, row in enumerate(rows) if row.id == row_id), None)
    there = [n for n, row in enumerate(rows) if not row.removed]
    if here not in there:
        return rows
    place = there.index(here) + (-1 if verb == UP else 1)
    if 0 <= place < len(there):
        rows.insert(there[place], rows.pop(here))
    return rows


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
