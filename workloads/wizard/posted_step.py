"""From a posted step to the draft: read what was typed, then carry out the pressed button."""

from dataclasses import dataclass, field, replace

from django.http import QueryDict

from gangline.access.actor import Actor
from gangline.audit import actions
from gangline.audit.services import record
from gangline.spec.problems import Role
from gangline.spec_forms.form_actions import EDITS, FormAction
from workloads.models import Draft
from workloads.wizard import form_actions, setup_page
from workloads.wizard.context import WizardContext
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
    form_action: FormAction
    wizard: WizardContext
    focus: str = ""
    ignored: list[str] = field(default_factory=list)

    def change(self, stored: DraftState) -> DraftState:
        """``stored`` with everything that this post says."""
        wizard = self.wizard if stored == self.wizard.state else replace(self.wizard, state=stored)
        state = self._read(wizard)
        if self.form_action.verb in EDITS:
            edited = form_actions.edit(replace(wizard, state=state), state, self.form_action)
            state, self.focus = edited.state, edited.focus
        return (
            form_actions.without_removed(state)
            if self.form_action.verb in form_actions.LEAVING
            else state
        )

    def _read(self, wizard: WizardContext) -> DraftState:
        state = wizard.state
        if self.step is Step.SETUP:
            return setup_page.read(self.data, state, wizard.choices)
        if self.step is Step.WORKERS:
            return self._read_role(wizard, Role.WORKER)
        if self.step is Step.MASTER:
            state = self._read_role(wizard, Role.MASTER)
            if DIFFERENT + ASKED in self.data:
                state = replace(state, different=DIFFERENT in self.data)
        return state

    def _read_role(self, wizard: WizardContext, role: Role) -> DraftState:
        reading = wizard.form(role).read(self.data, wizard.state.inputs(role))
        self._ignore(role, reading.ignored)
        state = wizard.state.with_inputs(role, reading.inputs)
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
        project = self.wizard.choices.project
        if self.ignored:
            record(
                actor=self.actor,
                action=actions.DENIED,
                object_type="draft",
                object_id=str(self.wizard.draft_id),
                object_name=self.wizard.choices.name,
                scope=project.scope if project else None,
                result="denied",
                reason="Values were posted for fields that a policy fixes; they were ignored.",
                detail={"fields": sorted(self.ignored)},
            )
