"""Buttons of a step that change what was typed."""

from dataclasses import dataclass, replace

from assets.kinds import kind_of_asset
from assets.selectors.data import item_name
from gangline.spec.problems import Role
from gangline.spec_forms.form_actions import CONTINUE, FormAction, edited, settled
from gangline.spec_forms.posted import item_row_id
from workloads.wizard.context import WizardContext
from workloads.wizard.galleries import DATA, with_picks
from workloads.wizard.state import DraftState

AS_YAML, AS_FORM, REMOVE = "yaml", "form", "remove"
LEAVING = frozenset({CONTINUE, "step", "leave", AS_YAML})


@dataclass(frozen=True, slots=True)
class Edited:
    """The draft after an edit, and the id of the control that gets the focus."""

    state: DraftState
    focus: str


def edit(wizard: WizardContext, state: DraftState, form_action: FormAction) -> Edited:
    """Carry out add, remove, restore or reset; what it names wrongly changes nothing."""
    if form_action.role not in (Role.WORKER, Role.MASTER):
        return Edited(state, "")
    role = Role(form_action.role)
    if (
        form_action.verb == REMOVE
        and (rest := _unpicked(wizard, state, role, form_action)) is not None
    ):
        wizard, state = replace(wizard, state=rest), rest
        path, _, row_id = form_action.what.partition("~")
        if _standing(wizard, role, path, row_id) is None:
            return Edited(state, f"f-{path.replace('.', '-')}-add")
    inputs, focus = edited(wizard.form(role), state.inputs(role), form_action)
    return Edited(state.with_inputs(role, inputs), focus)


def _unpicked(
    wizard: WizardContext, state: DraftState, role: Role, form_action: FormAction
) -> DraftState | None:
    """The draft in which the data source of a row is not chosen any more; None: nobody chose it.

    What a template or a policy gives can only be left out, and so can what the workers have.
    """
    path, _, row_id = form_action.what.partition("~")
    key, field = _standing(wizard, role, path, row_id), path.partition(".")[2]
    picked = wizard.galleries.picked(role)
    others = [a for a in picked if (kind_of_asset(a).item, item_name(a)) != (field, key)]
    if key is None or len(others) == len(picked) or f"{role}.{DATA}" not in state.assets:
        return None
    inputs = state.inputs(role)
    rows = [row for row in inputs.lists.get(field, ()) if row.id != row_id]
    state = state.with_inputs(role, inputs.with_rows(field, rows))
    return with_picks(state, role, [str(one.pk) for one in others])


def _standing(wizard: WizardContext, role: Role, path: str, row_id: str) -> str | None:
    """Key of the item that stands in the list without being typed there."""
    items = wizard.form(role).inherited.items.get(path.partition(".")[2], ())
    return next((item.key for item in items if item_row_id(item) == row_id), None)


def without_removed(state: DraftState) -> DraftState:
    """The draft once its step is left: the person's own removed rows cannot be brought back."""
    return replace(state, worker=settled(state.worker), master=settled(state.master))
