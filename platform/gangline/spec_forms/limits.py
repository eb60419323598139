"""What a policy says about one field, in the words of a hint and of the page that explains it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from gangline.forms.fields import Part
from gangline.policies.rules import FieldRule, Sourced
from gangline.spec.catalogue import Kind, SpecField
from gangline.spec.problems import Role
from gangline.spec.words import in_words, one_of
from gangline.spec_forms.words import readable


@dataclass(frozen=True, slots=True)
class TraceLine:
    """One scope's word about a field, in the table of the explanation."""

    scope: str
    rule: str
    value: str
    wins: bool


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a field is as it is."""

    title: str
    sentences: tuple[str, ...]
    lines: tuple[TraceLine, ...]
    path: str


_RULE_WORDS = {
    "min": "at least",
    "max": "at most",
    "step": "in steps of",
    "options": "only",
    "registries": "only from",
    "digestRequired": "digest required",
    "maxTotal": "in all pods at most",
    "canEdit": "Editable",
    "canAdd": "may be added to",
    "locked": "locked",
    "required": "required",
    "blocked": "blocked",
    "defaultFrom": "default from",
    "imposed": "imposes",
}


def is_limited(rule: FieldRule) -> bool:
    """Whether a policy narrows what may be said, so that "Why" has an answer."""
    return any(
        (
            rule.fixed,
            rule.minimum,
            rule.maximum,
            rule.steps,
            rule.options,
            rule.required,
            rule.registries,
            rule.digest,
            rule.total,
        )
    ) or (rule.can_add is not None or bool(rule.locked) or bool(rule.attributes))


def displayed(rule: FieldRule) -> Mapping[str, str]:
    """The words a policy gives to the options of a field."""
    options = rule.options.value if rule.options else ()
    return {str(option.value): str(option.displayed or option.value) for option in options}


def hint_parts(field: SpecField, rule: FieldRule) -> list[Part]:
    """What is accepted, each part with the scope that says so."""
    parts = [*_range(field, rule)]
    parts += [Part(f"in steps of {readable(field, s.value)}", s.source) for s in rule.steps]
    if rule.options and field.kind is not Kind.CHOICE:
        parts.append(Part(f"only {one_of(displayed(rule).values())}", rule.options.source))
    if rule.registries:
        parts.append(Part(f"only from {one_of(rule.registries.value)}", rule.registries.source))
    if rule.digest:
        parts.append(Part("with a digest", rule.digest.source))
    if rule.total:
        parts.append(Part(f"at most {rule.total.value} in all pods together", rule.total.source))
    if rule.can_add is not None:
        parts.append(Part("nothing can be added", rule.can_add.source))
    for attribute in field.items:
        if inside := rule.attributes.get(attribute.path):
            label = attribute.label
            parts += [Part(f"{label} {p.text}", p.source) for p in _of_attribute(attribute, inside)]
    return _merged(parts)


def _of_attribute(attribute: SpecField, rule: FieldRule) -> Iterator[Part]:
    if rule.fixed:
        words = readable(attribute, rule.fixed.value) if rule.fixed.value is not None else "empty"
        yield Part(f"always {words}", rule.fixed.source)
        return
    if rule.required:
        yield Part("required", rule.required.source)
    yield from (part for part in hint_parts(attribute, rule) if part.source)


def _range(field: SpecField, rule: FieldRule) -> Iterator[Part]:
    low, high = rule.minimum, rule.maximum
    if low and high and low.source == high.source:
        plain = field.kind in (Kind.INTEGER, Kind.NUMBER)
        least = in_words(field, low.value) if plain else readable(field, low.value)
        yield Part(f"{least} to {readable(field, high.value)}", low.source)
        return
    if not low and not high:
        if field.kind in (Kind.INTEGER, Kind.DURATION) and field.minimum is not None:
            yield Part(f"{in_words(field, field.minimum)} to {in_words(field, field.maximum)}")
        return
    if low:
        yield Part(f"at least {readable(field, low.value)}", low.source)
    if high:
        yield Part(f"at most {readable(field, high.value)}", high.source)


def _merged(parts: list[Part]) -> list[Part]:
    """Neighbours of one source said as one: "1 to 8, in steps of 2"."""
    merged: list[Part] = []
    for part in parts:
        if merged and merged[-1].source == part.source:
            merged[-1] = Part(f"{merged[-1].text}, {part.text}", part.source)
        else:
            merged.append(part)
    return merged


def explain(field: SpecField, rule: FieldRule, role: Role) -> Explanation:
    """The explanation of everything that policies say about ``field`` for ``role``."""
    state = "fixed" if rule.fixed else "limited" if is_limited(rule) else "set as it is"
    return Explanation(
        title=f"Why is {field.label} {state}?",
        sentences=tuple(_sentences(field, rule)),
        lines=tuple(
            TraceLine(capital(row.scope), _RULE_WORDS.get(row.rule, row.rule), text, row.wins)
            for row in reversed(rule.trace)
            for text in (_value(field, row.value),)
        ),
        path=f"{role}.{field.path}",
    )


def _sentences(field: SpecField, rule: FieldRule) -> Iterator[str]:
    if rule.fixed:
        yield _fixed(field, rule, rule.fixed)
    yield from _bounds(field, rule)
    if rule.options:
        yield f"{capital(rule.options.source)} allows only {one_of(displayed(rule).values())}."
    if rule.registries:
        places = one_of(rule.registries.value)
        yield f"{capital(rule.registries.source)} allows only images from {places}."
    if rule.digest:
        yield f"{capital(rule.digest.source)} requires an image with a digest (name@sha256:…)."
    if rule.total:
        most = rule.total.value
        yield f"{capital(rule.total.source)} allows at most {most} in all pods together."
    if rule.required:
        yield f"{capital(rule.required.source)} requires a value."
    if rule.conflict:
        yield f"No value is allowed: the value {rule.conflict}."
    yield from _of_items(field, rule)
    if rule.computed:
        yield f"{capital(rule.computed.source)} sets the default to {rule.computed.value}."
    elif rule.default and not rule.fixed:
        yield f"Default: {_default(field, rule.default)}."
    yield from (f"{capital(scope)}: “{said}”" for scope, said in rule.messages.items())


def _fixed(field: SpecField, rule: FieldRule, fixed: Sourced) -> str:
    scope = capital(fixed.source)
    if rule.is_blocked:
        return f"{scope} does not allow a value."
    if fixed.value is None:
        return f"{scope} leaves it without a value; it cannot be changed here."
    words = _items(field, fixed.value) if field.kind is Kind.ITEMIZED else None
    words = readable(field, fixed.value) if words is None else words
    return f"{scope} sets the value to {words}; it cannot be changed here."


def _of_items(field: SpecField, rule: FieldRule) -> Iterator[str]:
    if rule.can_add:
        yield f"{capital(rule.can_add.source)} allows nothing to be added."
    for key, source in rule.locked.items():
        yield f"{capital(source)} has locked {key}."
    for attribute in field.items:
        if inside := rule.attributes.get(attribute.path):
            yield from (f"{attribute.label}: {one}" for one in _sentences(attribute, inside))


def _bounds(field: SpecField, rule: FieldRule) -> Iterator[str]:
    if rule.minimum:
        least = readable(field, rule.minimum.value)
        yield f"{capital(rule.minimum.source)} requires at least {least}."
    if rule.maximum:
        most = readable(field, rule.maximum.value)
        yield f"{capital(rule.maximum.source)} allows at most {most}."
    for step in rule.steps:
        yield f"{capital(step.source)} allows steps of {readable(field, step.value)}."


def _default(field: SpecField, default: Sourced) -> str:
    if field.kind is Kind.ITEMIZED:
        return f"{_items(field, default.value)} ({default.source})"
    if default.note:
        return default.note
    return f"{readable(field, default.value)} ({default.source})"


def _items(field: SpecField, items: Iterable[Mapping[str, object]]) -> str:
    return ", ".join(str(item.get(field.item_key)) for item in items) or "an empty list"


def _value(field: SpecField, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(_item(field, item) for item in value)
    if isinstance(value, int | float | str):
        return readable(field, value)
    return str(value)


def _item(field: SpecField, item: object) -> str:
    if isinstance(item, dict):
        return str(item.get(field.item_key, ""))
    shown = getattr(item, "displayed", "") or getattr(item, "value", item)
    return str(shown)


def capital(text: str) -> str:
    """``text`` at the start of a sentence."""
    return text[:1].upper() + text[1:]
