"""Buttons of a step that change what was typed."""

from dataclasses import dataclass, replace

from gangline.spec.problems import Role
from gangline.spec_forms.gestures import CONTINUE, Gesture, edited, settled
from workloads.wizard.desk import Desk
from workloads.wizard.state import DraftState

AS_YAML, AS_FORM = "yaml", "form"
LEAVING = frozenset({CONTINUE, "step", "leave", AS_YAML})


@dataclass(frozen=True, slots=True)
class Edited:
    """The draft after an edit, and the id of the control that gets the focus."""

    state: DraftState
    focus: str


def edit(desk: Desk, state: DraftState, gesture: Gesture) -> Edited:
    """Carry out add, remove, restore or reset; what it names wrongly changes nothing."""
    if gesture.role not in (Role.WORKER, Role.MASTER):
        return Edited(state, "")
    role = Role(gesture.role)
    inputs, focus = edited(desk.form(role), state.inputs(role), gesture)
    return Edited(state.with_inputs(role, inputs), focus)


def without_removed(state: DraftState) -> DraftState:
    """The draft once its step is left: the person's own removed rows cannot be brought back."""
    return replace(state, worker=settled(state.worker), master=settled(state.master))
