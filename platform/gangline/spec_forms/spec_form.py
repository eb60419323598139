"""The form of one role, made from the catalogue and the effective policy.

There is no list of fields here: what the spec declares is what the form has. The form reads text
and draws it; whether a value may stand is judged by the spec and the policy engine alone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from django.http import QueryDict

from gangline.drivers.facts import Choice, FieldNote
from gangline.forms.fields import Card, Chip, FieldView, ItemView, Needs, Offer, SectionView
from gangline.policies.effective import SYSTEM, EffectivePolicy
from gangline.policies.rules import FieldRule
from gangline.spec.base import SECTIONS
from gangline.spec.catalogue import Kind, SpecField, catalogue
from gangline.spec.frameworks import framework_of, has_gpus
from gangline.spec.gpus import is_gpu_field
from gangline.spec.parse import show_text
from gangline.spec.problems import Advice, Problem, Role
from gangline.spec.sources import DEFAULT, WORKERS, SourceKind, Values
from gangline.spec.types import LONGEST_TEXT, split_command
from gangline.spec.values import field_path
from gangline.spec.workload import SPEC, SpecModels
from gangline.spec_forms import limits, posted, units
from gangline.spec_forms.controls import (
    INPUTMODES,
    control_of,
    fixed_switch,
    needs,
    options_of,
    switch_options,
    unit_options,
)
from gangline.spec_forms.dependent_rows import NO_NOTE
from gangline.spec_forms.inherit import inherited_from
from gangline.spec_forms.items import given_chip, item_views
from gangline.spec_forms.posted import Inherited, Reading
from gangline.spec_forms.raw import RoleInputs, Typed
from gangline.spec_forms.said import Said, said
from gangline.spec_forms.words import readable, source_in_words

_SECTIONS = tuple(SECTIONS)
SETUP = "setup"
"""Section of the fields that are asked for in the first step, not in a role's own."""


@dataclass(frozen=True, kw_only=True)
class RoleForm:
    """The form of ``role``. ``standing``: what the role has where nothing is given for it."""

    role: Role
    policy: EffectivePolicy
    standing: Values
    framework: str = ""
    offers: Mapping[str, Sequence[Offer]] = field(default_factory=dict)
    unsupported: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, FieldNote] = field(default_factory=dict)
    """What the cluster says about fields, by path."""
    suggestions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Values that the cluster has, by path; others can be typed all the same."""
    models: SpecModels = SPEC
    galleries: Mapping[str, FieldView] = field(default_factory=dict)
    """Assets to choose from, by the section that they begin."""
    only: frozenset[str] | None = None
    """Paths of a part of the form; None: all of it."""
    is_author: bool = False
    """It is of an asset: instructions are written here, for those who use it."""
    has_switches: bool = False
    """It knows what holds where nothing is said, so that every boolean is on or off."""
    makers: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """By path of a list: the button that makes what its items name, and its words."""
    _heard: dict[int, tuple[RoleInputs, Said]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """What was read already: a request asks several times for the same."""

    @cached_property
    def fields(self) -> tuple[SpecField, ...]:
        """The fields of this role that this framework has, in the order of the form."""
        model = self.models.worker if self.role is Role.WORKER else self.models.master
        return tuple(
            _ruled(spec, self.rule(spec.path))
            for spec in catalogue(model).values()
            if spec.ui.section != SETUP
            and (self.only is None or spec.path in self.only)
            and (not spec.only or not self.framework or self.framework in spec.only)
            and spec.path not in framework_of(self.framework).without
            and (not is_gpu_field(spec.path) or has_gpus(self.framework, self.role))
        )

    @cached_property
    def inherited(self) -> Inherited:
        return inherited_from(self.role, self.fields, self.standing, self.policy)

    def rule(self, path: str) -> FieldRule:
        return self.policy.rule(self.role, path)

    def read(self, data: QueryDict, stored: RoleInputs) -> Reading:
        """``stored`` with what was posted."""
        return posted.read(
            self.role, self.fields, data,
            stored=stored, inherited=self.inherited, notes=self.notes,
        )  # fmt: skip

    def said(self, inputs: RoleInputs) -> Said:
        """What ``inputs`` say of the fields that are in the form now."""
        known = self._heard.get(id(inputs))
        if known is None:
            read = said(self.role, self.fields, inputs, self.inherited, self.notes)
            known = self._heard[id(inputs)] = (inputs, read)
        return known[1]

    def sections(
        self,
        inputs: RoleInputs,
        problems: Iterable[Problem] = (),
        advice: Iterable[Advice] = (),
        *,
        with_items: bool = True,
    ) -> tuple[SectionView, ...]:
        """Everything to draw. ``problems`` and ``advice`` of other roles are left alone.

        ``with_items``: with the rows of lists, which cost more than everything else.
        """
        mine = [p for p in problems if p.role in (self.role, self._workload_role)]
        by_path: dict[str, list[Problem]] = {}
        known = {spec.path: spec for spec in self.fields}
        for problem in mine:
            by_path.setdefault(field_path(problem.path, {**known, "": None}), []).append(problem)
        views: dict[str, list[FieldView]] = {s: [view] for s, view in self.galleries.items()}
        told = tuple(a for a in advice if a.role is self.role)
        drawing = _Drawing(self, inputs, self.inherited, self.said(inputs), told, with_items)
        for spec in _in_order(self.fields):
            hidden = spec.path in self.unsupported or self._is_closed(spec)
            if hidden and not self._is_told(spec, inputs, by_path):
                continue
            view = drawing.field(spec, by_path.get(spec.path, []))
            views.setdefault(spec.ui.section, []).append(view)
        return tuple(
            SectionView(f"{self.role}-{name}", SECTIONS[name], fields)
            for name, fields in sorted(views.items(), key=lambda one: _SECTIONS.index(one[0]))
        )

    def _is_closed(self, spec: SpecField) -> bool:
        """Whether nobody may give it a value, and no administrator has said so."""
        rule = self.rule(spec.path)
        closing = rule.can_add if spec.is_by_item else rule.fixed
        return bool(spec.restricted) and closing is not None and closing.source == SYSTEM

    def _is_told(
        self, spec: SpecField, inputs: RoleInputs, problems: Mapping[str, Sequence[Problem]]
    ) -> bool:
        """Whether a field that the cluster does not have must be shown so that it can be cleared.

        It holds a text of another cluster's time, or something is wrong with it.
        """
        typed = spec.path in inputs.scalars or spec.path in inputs.lists
        return typed or bool(problems.get(spec.path))

    @property
    def _workload_role(self) -> Role | None:
        return Role.WORKLOAD if self.role is Role.WORKER else None


def _ruled(spec: SpecField, rule: FieldRule) -> SpecField:
    """A list whose rows begin with the policy's defaults of their attributes."""
    stated = {path: of.fixed or of.default for path, of in rule.attributes.items()}
    if not any(stated.values()):
        return spec
    items = (
        replace(a, default=d.value, is_ruled=True) if (d := stated.get(a.path)) else a
        for a in spec.items
    )
    return replace(spec, items=tuple(items))


def _in_order(fields: Iterable[SpecField]) -> list[SpecField]:
    """Sections in order of declaration; in each, what holds for the whole workload comes first."""
    specs = list(fields)
    places = {s: n for n, s in enumerate(dict.fromkeys(s.ui.section for s in specs))}
    return sorted(specs, key=lambda s: (places[s.ui.section], not s.workload_level))


@dataclass(frozen=True)
class _Drawing:
    """One rendering: the form, what was typed, what stands without it."""

    form: RoleForm
    inputs: RoleInputs
    inherited: Inherited
    told: Said
    advice: tuple[Advice, ...]
    with_items: bool

    def field(self, spec: SpecField, problems: list[Problem]) -> FieldView:
        rule = self.form.rule(spec.path)
        note = self.form.notes.get(spec.path, NO_NOTE)
        path = f"{self.form.role}.{spec.path}"
        common: dict[str, Any] = {
            "path": path,
            "label": spec.label,
            "name": path,
            "is_advanced": spec.ui.advanced,
            "help": note.help or spec.ui.help,
            "limits": () if rule.fixed else tuple(limits.hint_parts(spec, rule)),
            "lock": "fixed" if rule.fixed else "limited" if limits.is_limited(rule) else "",
            "required": rule.required is not None or (note.is_required and not self._stands(spec)),
            "unavailable": self.form.unsupported.get(spec.path, ""),
            # Of a text with several lines, a problem may be with one of them.
            "errors": tuple(p.sentence for p in problems if p.path == spec.path or spec.ui.rows),
        }
        if spec.kind is Kind.ITEMIZED:
            return self._list(common, spec, rule, problems)
        return self._scalar(common, spec, rule)

    def _list(
        self, common: dict[str, Any], spec: SpecField, rule: FieldRule, problems: list[Problem]
    ) -> FieldView:
        items = tuple(self._items(common["path"], spec, rule, problems) if self.with_items else ())
        add, add_label = self.form.makers.get(spec.path, ("", ""))
        return FieldView(
            **common,
            control="rows",
            items=items,
            is_set=spec.ui.advanced and bool(items),
            attributes=tuple(a.label for a in spec.items),
            item_word=spec.ui.item or "item",
            add=add,
            add_label=add_label,
            can_add=rule.can_add is None and rule.fixed is None,
            is_ordered=spec.is_array and rule.fixed is None,
            can_reset=spec.is_array and bool(self.inputs.lists.get(spec.path)),
            fixed_by=rule.fixed.source if rule.fixed else "",
        )

    def _items(
        self, path: str, spec: SpecField, rule: FieldRule, problems: list[Problem]
    ) -> Iterator[ItemView]:
        return item_views(
            path,
            spec,
            rows=self.inputs.lists.get(spec.path, ()),
            standing=self.inherited.items.get(spec.path, ()),
            sent=self.told.sent.get(spec.path, ()),
            problems=problems,
            unsupported=[
                n for n in spec.alternatives if f"{spec.path}.{n}" in self.form.unsupported
            ],
            choices=self._choices(spec, rule),
            note=self.form.notes.get(spec.path, NO_NOTE),
            advice=self.advice,
            is_author=self.form.is_author,
        )

    def _choices(self, spec: SpecField, rule: FieldRule) -> Mapping[str, Sequence[Choice]]:
        """What the cluster offers for each attribute, or what a policy leaves of it."""
        rules = {spec.item_key: rule} if spec.is_array else rule.attributes
        return {
            **self.form.notes.get(spec.path, NO_NOTE).choices,
            **{
                path: [Choice(value, word) for value, word in limits.displayed(one).items()]
                for path, one in rules.items()
                if one.options is not None
            },
        }

    def _scalar(self, common: dict[str, Any], spec: SpecField, rule: FieldRule) -> FieldView:
        if rule.fixed:
            text = readable(spec, rule.fixed.value, limits.displayed(rule))
            is_switch = spec.kind is Kind.BOOLEAN
            return FieldView(
                **{**common, "name": ""},
                control="switch" if is_switch else "fixed",
                text=text,
                is_set=spec.ui.advanced and bool(text),
                options=fixed_switch(rule.fixed.value) if is_switch else (),
                fixed_by=rule.fixed.source,
            )
        said_text = self.inputs.shown(spec.path)
        standing = self.inherited.scalars.get(spec.path)
        follows, stands = self.form.role is Role.MASTER, standing.text if standing else ""
        typed = said_text or (Typed("", standing.unit if standing else "") if follows else standing)
        typed = typed or Typed("", units.first(spec))
        if units.has_unit(spec):
            typed = units.shown(spec, typed)
        offers = self.form.offers.get(spec.path, ())
        choices = self.form.notes.get(spec.path, NO_NOTE).choices.get("", ())
        control, lines = control_of(spec, rule, offers, choices), typed.text.count("\n") + 1
        chip = self._chip(spec, said_text)
        is_switch = spec.kind is Kind.BOOLEAN and self._is_switch(rule, typed.text, standing)
        return FieldView(
            **common,
            # Programs send texts of several lines; a control of one would lose them.
            control="textarea"
            if control == "text" and lines > 1
            else "switch"
            if is_switch
            else control,
            text=typed.text,
            # What the product takes by itself is set by nobody.
            is_set=spec.ui.advanced and bool(typed.text) and bool(said_text or chip),
            unit="" if units.has_unit(spec) else spec.ui.unit,
            units=unit_options(spec, typed),
            options=switch_options(
                spec, said_text.text if said_text else "", stands, follows=follows
            )
            if is_switch
            else options_of(spec, rule, typed.text, stands, follows, choices),
            cards=_cards(offers, rule, typed, standing if follows else None, common["path"]),
            placeholder=(standing.text if follows and standing else "")
            or self.form.notes.get(spec.path, NO_NOTE).placeholder
            or spec.ui.placeholder,
            rows=spec.ui.rows or min(lines, 8),
            longest_file=LONGEST_TEXT if spec.ui.from_file else 0,
            applies=spec.ui.from_file or spec.ui.redraws,
            mark=posted.mark_of(typed.text) if spec.ui.from_file else "",
            mono=spec.kind in (Kind.COMMAND, Kind.STRING),
            roomy=spec.kind in (Kind.COMMAND, Kind.STRING),
            inputmode=INPUTMODES.get(spec.kind, ""),
            chip=chip,
            can_reset=said_text is not None and (bool(stands) or is_switch),
            echo=units.echo(spec, typed) if units.has_unit(spec) and typed.text else "",
            words=_words(spec, typed.text),
            suggestions=tuple(self.form.suggestions.get(spec.path, ())),
            advice=tuple(a.sentence for a in self.advice if a.path == spec.path),
            needs=self._needs(spec),
            is_computed=rule.computed is not None and said_text is None,
        )

    def _is_switch(self, rule: FieldRule, text: str, standing: Typed | None) -> bool:
        """Whether off and on are all that can be said: nobody must choose, nothing is closed."""
        is_free = rule.options is None and (rule.required is None or standing is not None)
        return self.form.has_switches and is_free and text in ("", "false", "true")

    def _stands(self, spec: SpecField) -> bool:
        """Whether there is a value where nothing is said."""
        standing = self.inherited.scalars.get(spec.path)
        return standing is not None and bool(standing.text)

    def _needs(self, spec: SpecField) -> Needs | None:
        """The choice of another field that this one is shown with."""
        note = spec.shown_with
        if note is None:
            return None
        other = next((one for one in self.form.fields if one.path == note.name), None)
        if other is None:
            return None
        fixed = self.form.rule(other.path).fixed
        typed = self.inputs.scalars.get(other.path) or self.inherited.scalars.get(other.path)
        said = show_text(other, fixed.value) if fixed else typed.text if typed else ""
        # A control that is not empty shows what stands; an empty one follows the workers, and a
        # switch says nothing where it stays as it is.
        follows = self.form.role is Role.MASTER or other.kind is Kind.BOOLEAN
        before = self.inherited.scalars.get(other.path)
        standing = said if fixed else before.text if before and follows else ""
        return needs(f"{self.form.role}.{other.path}", other, note, said, standing)

    def _chip(self, spec: SpecField, typed: Typed | None) -> Chip | None:
        if typed is not None:
            return given_chip(typed.source)
        effective = self.form.standing.get(spec.path)
        if effective is None or effective.value is None:
            return Chip("workers") if self.form.role is Role.MASTER else None
        source = effective.source
        if source == WORKERS or (self.form.role is Role.MASTER and source == DEFAULT):
            return Chip("workers")
        if source.kind is SourceKind.POLICY:
            return Chip(f"Default of {source.name}", "policy")
        if source.kind in (SourceKind.ASSET, SourceKind.TEMPLATE, SourceKind.SCRIPT):
            return Chip(source_in_words(source))
        return None


def _words(spec: SpecField, text: str) -> tuple[str, ...]:
    if spec.kind is not Kind.COMMAND or not text.strip():
        return ()
    try:
        return tuple(split_command(text))
    except ValueError:
        return ()


def _cards(
    offers: Sequence[Offer],
    rule: FieldRule,
    typed: Typed,
    standing: Typed | None,
    path: str,
) -> tuple[Card, ...]:
    if not offers:
        return ()
    allowed = {str(o.value) for o in rule.options.value} if rule.options else None
    cards = [
        Card(
            value=offer.value,
            title=offer.title,
            facts=tuple(filter(None, (offer.detail,))),
            checked=offer.value == typed.text,
            blocked=not offer.available or (allowed is not None and offer.value not in allowed),
            reason=offer.reason if not offer.available else _not_allowed(offer, allowed),
            by_policy=offer.available,
            explain=path if offer.available and _not_allowed(offer, allowed) else "",
        )
        for offer in offers
    ]
    if standing is not None:
        title = next((o.title for o in offers if o.value == standing.text), standing.text)
        fact = (title,) if title else ()
        cards.insert(0, Card(value="", title="As the workers", facts=fact, checked=not typed.text))
    if typed.text and typed.text not in {offer.value for offer in offers}:
        cards.append(
            Card(value=typed.text, title=typed.text, facts=("Not offered here",), checked=True)
        )
    return tuple(cards)


def _not_allowed(offer: Offer, allowed: set[str] | None) -> str:
    return "" if allowed is None or offer.value in allowed else "Not allowed by policy."
