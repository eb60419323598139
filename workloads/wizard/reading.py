"""From a posted step to the draft: read what was typed, then carry out the pressed button."""

from dataclasses import dataclass, field, replace

from django.http import QueryDict

from gangline.access.actor import Actor
from gangline.audit import actions
from gangline.audit.services import record
from gangline.spec.problems import Role
from gangline.spec_forms.gestures import EDITS, Gesture
from workloads.models import Draft
from workloads.wizard import gestures, setup_page
from workloads.wizard.desk import Desk
from workloads.wizard.galleries import DATA, PARTS, asset_field, with_picks
from workloads.wizard.state import DraftState
from workloads.wizard.steps import Step

DIFFERENT = "master.different"
ASKED = "~asked"
"""Marks that a page held the toggle, as a toggle that is off posts nothing."""


@dataclass
class PostedStep:
    """One post of one step. ``focus`` and ``ignored`` are known once it was read."""

    actor: Actor
    draft: Draft | None
    step: Step
    data: QueryDict
    gesture: Gesture
    desk: Desk
    focus: str = ""
    ignored: list[str] = field(default_factory=list)

    def change(self, stored: DraftState) -> DraftState:
        """``stored`` with everything that this post says."""
        desk = self.desk if stored == self.desk.state else replace(self.desk, state=stored)
        state = self._read(desk)
        if self.gesture.verb in EDITS:
            edited = gestures.edit(replace(desk, state=state), state, self.gesture)
            state, self.focus = edited.state, edited.focus
        return gestures.without_removed(state) if self.gesture.verb in gestures.LEAVING else state

    def _read(self, desk: Desk) -> DraftState:
        state = desk.state
        if self.step is Step.SETUP:
            return setup_page.read(self.data, state, desk.choices)
        if self.step is Step.WORKERS:
            return self._read_role(desk, Role.WORKER)
        if self.step is Step.MASTER:
            state = self._read_role(desk, Role.MASTER)
            if DIFFERENT + ASKED in self.data:
                state = replace(state, different=DIFFERENT in self.data)
        return state

    def _read_role(self, desk: Desk, role: Role) -> DraftState:
        reading = desk.form(role).read(self.data, desk.state.inputs(role))
        self._ignore(role, reading.ignored)
        state = desk.state.with_inputs(role, reading.inputs)
        for kind in PARTS:
            key = f"{role}.{kind.key}"
            if asset_field(key) in self.data:
                state = state.with_asset(key, self.data.get(asset_field(key), ""))
        key = f"{role}.{DATA}"
        if asset_field(key) in self.data:
            state = with_picks(state, role, self.data.getlist(asset_field(key)))
        return state

    def _ignore(self, role: Role, paths: tuple[str, ...]) -> None:
        self.ignored += [f"{role}.{path}" for path in paths]

    def audit(self) -> None:
        """Write down that values were posted for fields which a policy fixes (R32)."""
        project = self.desk.choices.project
        if self.ignored:
            record(
                actor=self.actor,
                action=actions.DENIED,
                object_type="draft",
                object_id=str(self.desk.draft_id),
                object_name=self.desk.choices.name,
                scope=project.scope if project else None,
                result="denied",
                reason="Values were posted for fields that a policy fixes; they were ignored.",
                detail={"fields": sorted(self.ignored)},
            )
