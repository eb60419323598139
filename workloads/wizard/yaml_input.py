"""From YAML that somebody wrote to the draft: only what it says otherwise than the form changes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gangline.lib import yaml_text
from gangline.spec.catalogue import Kind, SpecField, catalogue
from gangline.spec.problems import Role
from gangline.spec.sources import Value, Values
from gangline.spec.workload import SPEC
from gangline.spec_forms.raw import RoleInputs, Typed
from gangline.spec_forms.said import typed_values
from workloads.services import bodies
from workloads.services.submission_types import SubmissionRequest
from workloads.wizard.context import WizardContext
from workloads.wizard.state import (
    CLUSTER,
    CONFIGURATION,
    FRAMEWORK,
    NAME,
    PROJECT,
    TEMPLATE,
    DraftState,
    Written,
)
from workloads.wizard.written import unheld

_PLACE = (PROJECT, CLUSTER)
_HELD = {Kind.BOOLEAN: bool, Kind.STRING: str, Kind.CHOICE: str, Kind.COMMAND: str}
"""What the control of a kind can hold; others hold every text and number."""
_ENVELOPE = (NAME, *_PLACE, CONFIGURATION)


@dataclass
class PostedYaml:
    """One text as it was posted. ``unreadable`` is known once it was read."""

    wizard: WizardContext
    text: str
    unreadable: yaml_text.UnreadableYaml | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.text = self.text.replace("\r\n", "\n")

    def change(self, stored: DraftState) -> DraftState:
        """``stored`` with what the text says; a text that cannot be read is kept beside it."""
        wizard = self.wizard if stored == self.wizard.state else replace(self.wizard, state=stored)
        written = stored.written
        if self.text == wizard.yaml:
            unread = replace(written, unread="") if written else None
            return replace(stored, written=unread)
        try:
            data = yaml_text.read(self.text).data
        except yaml_text.UnreadableYaml as error:
            self.unreadable = error
            return self._kept(stored)
        return _applied(wizard, self.text, data)

    def _kept(self, stored: DraftState) -> DraftState:
        if len(self.text.encode()) > yaml_text.LONGEST:
            return stored
        return replace(stored, written=replace(stored.written or Written(""), unread=self.text))


def _applied(wizard: WizardContext, text: str, data: Mapping[str, Any]) -> DraftState:
    user = wizard.actor.user
    old, new = bodies.read(user, wizard.body), bodies.read(user, data)
    state = _with_setup(wizard, data)
    changed = {p for p in {*old.given, *new.given} if _value(old, p) != _value(new, p)}
    state, freed = _without_assets(wizard, state, changed)
    changed |= freed
    worker = {p for p in changed if p.startswith(f"{Role.WORKER}.")}
    state = replace(state, worker=_inputs(Role.WORKER, state.worker, worker, new.given))
    if new.master != old.master or changed - worker:
        state = _with_master(state, new)
    now = WizardContext(wizard.actor, wizard.draft_id, replace(state, written=None), wizard.draft)
    body = _before(now.body, data)
    strange = bool(new.problems) or _differs(now, new)
    return replace(state, written=Written(text, body, is_strange=strange))


def _value(request: SubmissionRequest, path: str) -> Any:
    found = request.given.get(path)
    return found.value if found else None


def _with_setup(wizard: WizardContext, data: Mapping[str, Any]) -> DraftState:
    """What is said beside the specification, where it is said otherwise than the form does."""
    state, spec = wizard.state, data.get("spec")
    inside: Mapping[str, Any] = spec if isinstance(spec, Mapping) else {}
    was = {**wizard.body, FRAMEWORK: wizard.body.get("spec", {}).get(FRAMEWORK)}
    now = {**data, FRAMEWORK: inside.get(FRAMEWORK)}
    for name in (*_ENVELOPE, FRAMEWORK):
        value = now.get(name)
        if value == was.get(name):
            continue
        said = isinstance(value, str | int) and not isinstance(value, bool) and value != ""
        state = state.with_setup(name, str(value)) if said else state.without_setup(name)
    template = data.get(TEMPLATE)
    return state.with_setup(TEMPLATE, template) if isinstance(template, str) else state


def _without_assets(
    wizard: WizardContext, state: DraftState, changed: set[str]
) -> tuple[DraftState, set[str]]:
    """An asset that gives something else than the text is let go; its other values stay, typed."""
    freed: set[str] = set()
    for key, chosen in state.assets.items():
        role = key.partition(".")[0]
        gives = {
            path
            for path, value in wizard.assets.items()
            if value.source.id == chosen and path.startswith(f"{role}.")
        }
        if gives & changed:
            state = state.with_asset(key, "")
            freed |= gives
    return state, freed


def _with_master(state: DraftState, new: SubmissionRequest) -> DraftState:
    if new.master not in ("own", "differences"):
        return replace(state, different=False, is_own=False)
    paths = {p for p in new.given if p.startswith(f"{Role.MASTER}.")}
    inputs = _inputs(Role.MASTER, RoleInputs(), paths, new.given)
    return replace(state, different=True, is_own=new.master == "own", master=inputs)


def _inputs(role: Role, inputs: RoleInputs, changed: Iterable[str], given: Values) -> RoleInputs:
    """``inputs`` with the ``changed`` values as if they had been typed."""
    start = f"{role}."
    paths = {path.removeprefix(start) for path in changed}
    rest = RoleInputs(
        {p: t for p, t in inputs.scalars.items() if p not in paths},
        {p: r for p, r in inputs.lists.items() if p not in paths},
    )
    fields = catalogue(SPEC.master if role is Role.MASTER else SPEC.worker)
    for path in sorted(paths & fields.keys()):
        if (value := given.get(start + path)) is not None:
            rest = rest.under(_typed(fields[path], start + path, value))
    return rest


def _typed(spec: SpecField, qualified: str, value: Value) -> RoleInputs:
    """One value as typed; none for what no control can hold, which the text alone then says."""
    is_text = isinstance(value.value, _HELD.get(spec.kind, str | int | float))
    is_text = is_text and isinstance(value.value, bool) is (spec.kind is Kind.BOOLEAN)
    if spec.kind is not Kind.ITEMIZED and not is_text:
        return RoleInputs()
    try:
        worker, master = typed_values({qualified: value.value}, value.source)
        return master if qualified.startswith(f"{Role.MASTER}.") else worker
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
        text = Typed(str(value.value), "", value.source)
        return RoleInputs({spec.path: text}) if is_text else RoleInputs()


def _before(body: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """``body`` without what the text leaves to the form, so that the form's word is put into it."""
    before = {k: v for k, v in body.items() if k not in _PLACE or k in data}
    spec = data.get("spec")
    if not isinstance(spec, Mapping):
        return {k: v for k, v in before.items() if k != "spec"}
    inner = {k: v for k, v in before["spec"].items() if k != FRAMEWORK or k in spec}
    return {**before, "spec": inner}


def _differs(now: WizardContext, new: SubmissionRequest) -> bool:
    """Whether the form cannot say what the text says."""
    mine = now.request
    if mine is None or now.judged is None:
        return True
    given = {p: v.value for p, v in mine.everything.items()}
    wanted = {p: v.value for p, v in new.given.items()}
    framework = wanted.pop(f"{Role.WORKER}.{FRAMEWORK}", now.judged.framework)
    return (
        given != wanted
        or framework != now.judged.framework
        or bool(unheld(mine, new))
        or str(new.template_id or "") not in ("", str(mine.template_id))
    )
