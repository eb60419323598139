"""Which control a field gets, and the choices of a select."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gangline.drivers.facts import Choice
from gangline.forms.fields import Needs, Offer, Option
from gangline.policies.rules import FieldRule
from gangline.spec.base import When
from gangline.spec.catalogue import Kind, SpecField
from gangline.spec.parse import show_text
from gangline.spec.words import in_words, one_of
from gangline.spec_forms import units
from gangline.spec_forms.item_texts import text_of
from gangline.spec_forms.limits import displayed
from gangline.spec_forms.raw import Typed

INPUTMODES = {
    Kind.INTEGER: "numeric",
    Kind.NUMBER: "decimal",
    Kind.QUANTITY: "decimal",
    Kind.DURATION: "numeric",
}
_OFF_ON = {"false": "Off", "true": "On"}


def control_of(
    spec: SpecField, rule: FieldRule, offers: Sequence[Offer], choices: Sequence[Choice] = ()
) -> str:
    """Name of the template in `forms/controls/` that draws the field."""
    if offers:
        return "cards"
    if units.has_unit(spec):
        return "amount"
    if choices or rule.options or spec.kind in (Kind.CHOICE, Kind.BOOLEAN):
        return "select"
    return "textarea" if spec.ui.rows else "text"


def options_of(
    spec: SpecField,
    rule: FieldRule,
    text: str,
    standing: str,
    follows: bool,
    offered: Sequence[Choice] = (),
) -> tuple[Option, ...]:
    """The choices of a select. What is typed but not on offer stays, marked, so nothing is lost."""
    is_choice = bool(rule.options or offered) or spec.kind in (Kind.CHOICE, Kind.BOOLEAN)
    if units.has_unit(spec) or not is_choice:
        return ()
    words = displayed(rule) if rule.options else {}
    every = _OFF_ON if spec.kind is Kind.BOOLEAN else {c: in_words(spec, c) for c in spec.choices}
    every = every | {one.value: one.word or every.get(one.value, "") for one in offered}
    lacking = {one.value: one.reason.rstrip(".") for one in offered if one.reason}
    choices = {**{value: word or value for value, word in every.items()}, **words}
    allowed = set(words) if rule.options else set(choices)
    options = [
        Option(value, word, value == text, value != text, lacking[value])
        if value in allowed and value in lacking
        else Option(value, word, value == text, value not in allowed and value != text)
        for value, word in choices.items()
    ]
    if text and text not in choices:
        options.append(Option(text, f"{text} (not allowed)", True))
    blank = f"As the workers ({choices.get(standing, standing)})" if standing else "As the workers"
    if follows or not standing:
        options.insert(0, Option("", blank if follows else _unset(spec), not text))
    return tuple(options)


def fixed_switch(value: object) -> tuple[Option, ...]:
    """Both positions of a switch that a policy holds at ``value``."""
    return tuple(
        Option(text, word, text == ("true" if value is True else "false"), blocked=True)
        for text, word in _OFF_ON.items()
    )


def switch_options(
    spec: SpecField, text: str, standing: str, *, follows: bool
) -> tuple[Option, ...]:
    """Off and on. The position that holds anyway is sent as nothing: who leaves it there says
    nothing. ``text`` is what was said, if anything."""
    usual = standing or ("true" if spec.ui.placeholder == "on" else "false")
    why = "as the workers" if follows and standing else "default"
    return tuple(
        Option("", f"{word} ({why})", (text or usual) == value)
        if value == usual and text != value
        else Option(value, word, (text or usual) == value)
        for value, word in _OFF_ON.items()
    )


def needs(name: str, other: SpecField, note: When, said: str, standing: str = "") -> Needs:
    """What a control is shown with. ``said``: what the other one, called ``name``, says now."""
    values = tuple(show_text(other, value) for value in note.values)
    words = _OFF_ON if other.kind is Kind.BOOLEAN else {v: in_words(other, v) for v in values}
    some = f": {one_of(words[value] for value in values)}" if values else ""
    return Needs(
        name=name,
        values=values,
        words=f"{other.label}{some}",
        standing=standing,
        is_met=said in values if values else bool(said),
    )


def cell_needs(
    prefix: str, spec: SpecField, attribute: SpecField, texts: Mapping[str, str]
) -> Needs | None:
    """The choice that a cell is shown with. What is said without that choice keeps its place."""
    note = attribute.goes_with
    other = spec.attribute(note.name) if note else None
    if note is None or other is None:
        return None
    said = text_of(other, texts)
    if not said and texts.get(attribute.path):
        return None
    usual = show_text(attribute, attribute.default)
    return replace(needs(f"{prefix}.{other.path}", other, note, said), usual=usual)


def _unset(spec: SpecField) -> str:
    """What the choice is called that says nothing; of a switch, with what holds then."""
    if spec.kind is not Kind.BOOLEAN:
        return "Not set"
    return f"Default ({spec.ui.placeholder or 'off'})"


def unit_options(spec: SpecField, typed: Typed) -> tuple[Option, ...]:
    if not units.has_unit(spec):
        return ()
    chosen = typed.unit or units.first(spec) if not typed.text else typed.unit
    return tuple(Option(u, w, u == chosen) for u, w in units.units(spec, chosen))
