"""How values, bounds and choices are said to people."""

import difflib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from .catalogue import Bound, Kind, SpecField
from .types import size_in_words

DURATION_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86_400}
_DURATION_WORDS = {"s": "second", "min": "minute", "h": "hour", "d": "day"}


def split_duration(seconds: int) -> tuple[int, str]:
    """Number and unit in the largest unit that divides it: 300 → ``(5, "min")``."""
    for unit, size in reversed(DURATION_UNITS.items()):
        if seconds and seconds % size == 0:
            return seconds // size, unit
    return seconds, "s"


def plain_number(value: float) -> str:
    """A number without exponent and without needless zeros."""
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def in_words(field: SpecField, value: Any) -> str:
    """A valid ``value`` of ``field`` as a person would write it: 300 seconds are "5 minutes"."""
    if field.kind is Kind.DURATION:
        number, unit = split_duration(value)
        return f"{number} {_DURATION_WORDS[unit]}{'' if number == 1 else 's'}"
    if field.kind is Kind.QUANTITY:
        return size_in_words(str(value))
    if field.kind is Kind.CHOICE:
        return field.ui.words.get(value, str(value))
    if field.kind is Kind.BOOLEAN:
        return "true" if value else "false"
    if field.is_percent:
        return plain_number(round(value * 100, 6))
    if field.kind in (Kind.INTEGER, Kind.NUMBER):
        return plain_number(value)
    return str(value)


def with_unit(field: SpecField, value: Any) -> str:
    """The same with the unit that the field's label leaves out: "4 GPUs", "1 core"."""
    words = in_words(field, value)
    if not field.ui.unit or not field.kind.is_numeric:
        return words
    return f"{words} {singular(field.ui.unit) if words == '1' else field.ui.unit}"


def singular(unit: str) -> str:
    """ "retries" → "retry", "GPUs" → "GPU"."""
    if unit.endswith("ies"):
        return f"{unit[:-3]}y"
    return unit.removesuffix("s")


def lowered(label: str) -> str:
    """``label`` inside a sentence: "Memory request" loses its capital, "CPU request" does not."""
    return label if label[:2].isupper() else f"{label[:1].lower()}{label[1:]}"


def one_of(choices: Iterable[str]) -> str:
    """ "A, B or C"."""
    *first, last = choices
    return f"{', '.join(first)} or {last}" if first else last


def span(field: SpecField, low: Bound | None, high: Bound | None) -> str:
    """The bounds behind "must be"; a part of 1 as it is sent, and in percent."""
    bounds = [one for one in dict.fromkeys((low, high)) if one is not None]
    words = {n: _bound(field, n) if field.is_percent else in_words(field, n) for n in bounds}
    percent = " to ".join(in_words(field, one) for one in bounds)
    also = f", which is {percent} %" if field.is_percent else ""
    if low is not None and high is not None:
        between = f"between {words[low]} and {words[high]}"
        return f"{words[low] if low == high else between}{also}"
    return f"at {'most' if low is None else 'least'} {words[bounds[0]]}{also}"


def as_typed(field: SpecField, value: Any) -> Mapping[str, str]:
    """What a problem with a number adds: who typed 150 % would not know 1.5 again."""
    if not field.is_percent or not isinstance(value, int | float) or abs(value) >= _LARGEST_PART:
        return {}
    return {"also": f"which is {in_words(field, value)} %"}


_LARGEST_PART = 10**6
"""A number beyond it was no slip in percent."""
_NOUNS = {
    Kind.BOOLEAN: "true or false",
    Kind.INTEGER: "a whole number",
    Kind.NUMBER: "a number",
    Kind.DURATION: "a whole number of seconds",
}


def must_be(field: SpecField) -> str:
    """What kind of value the field takes, as the end of "must be …"."""
    if field.kind is Kind.CHOICE:
        return f"one of {one_of(field.choices)}"
    if field.kind is Kind.ITEMIZED:
        return "a list"
    return _NOUNS.get(field.kind, "text")


def accepted(field: SpecField, low: Bound | None = None, high: Bound | None = None) -> str:
    """What would be accepted, in words; ``low`` and ``high`` narrow the field's own bounds."""
    if field.format is not None and not field.kind.is_numeric:
        return field.format.accepted
    if field.kind.is_numeric:
        noun = field.format.accepted if field.format is not None else must_be(field)
        low = field.minimum if low is None else low
        high = field.maximum if high is None else high
        return f"{noun}{_from_to(field, low, high)}"
    if field.kind is Kind.ITEMIZED:
        return f"a list of at most {field.max_items} items"
    if field.kind is Kind.STRING:
        return f"text of at most {field.max_length} characters"
    return must_be(field)


def _from_to(field: SpecField, low: Bound | None, high: Bound | None) -> str:
    least = f" from {_bound(field, low)}" if low is not None else ""
    if field.exclusive_minimum is not None and low is None:
        least = f" above {_bound(field, field.exclusive_minimum)}"
    return f"{least} to {_bound(field, high)}"


def _bound(field: SpecField, value: Any) -> str:
    """A bound as it is written in JSON, for error responses."""
    return plain_number(value) if isinstance(value, int | float) else str(value)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The known name that was probably meant, or an empty text."""
    names = list(known)
    plain = name[:64].casefold().replace("_", "").replace("-", "").strip()
    for candidate in names:
        if candidate.casefold() == plain:
            return candidate
    return next(iter(difflib.get_close_matches(name[:64], names, n=1, cutoff=0.75)), "")
