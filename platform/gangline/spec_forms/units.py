"""Numbers with a unit: how they are taken apart for two controls and put together again (R29)."""

import re
from decimal import Decimal

from gangline.spec.catalogue import Kind, SpecField
from gangline.spec.types import quantity_bytes, split_quantity
from gangline.spec.words import DURATION_UNITS, split_duration
from gangline.spec_forms.raw import Typed
from gangline.web import formats

DURATIONS: tuple[tuple[str, str], ...] = (("s", "s"), ("min", "min"), ("h", "h"), ("d", "days"))
_AMOUNT = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,6})?")


def has_unit(field: SpecField) -> bool:
    """Whether the field is edited as a number and a unit."""
    return field.kind in (Kind.QUANTITY, Kind.DURATION)


def units(field: SpecField, current: str) -> tuple[tuple[str, str], ...]:
    """Values and words of the unit select; an unusual unit joins when it is in use."""
    usual = DURATIONS
    if field.kind is Kind.QUANTITY:
        usual = tuple((unit, f"{unit}B") for unit in field.units)
    if current in {unit for unit, _ in usual}:
        return usual
    word = {"": "bytes"}.get(current, f"{current}B")
    return (*usual, (current, word))


def first(field: SpecField) -> str:
    """The unit that is chosen while nobody has chosen one; empty for a field without units."""
    if field.kind is Kind.QUANTITY:
        return field.units[0]
    if not has_unit(field):
        return ""
    return split_duration(int(field.minimum or 1))[1]


def split(field: SpecField, value: object) -> Typed:
    """``value`` of a field with a unit as the two texts of its controls."""
    if field.kind is Kind.QUANTITY:
        number, unit = split_quantity(str(value)) or (str(value), "M")
        return Typed(number, unit)
    seconds, unit = split_duration(int(str(value)))
    return Typed(str(seconds), unit)


def shown(field: SpecField, typed: Typed) -> Typed:
    """``typed`` as its controls show it: a size written out in full, "2Gi", is taken apart."""
    if field.kind is Kind.QUANTITY and (parts := split_quantity(typed.text.strip())) and parts[1]:
        return Typed(*parts, typed.source)
    return typed


def joined(field: SpecField, typed: Typed) -> str:
    """The one text that the spec reads: ``256`` and ``M`` are ``256M``, 2 minutes are ``120``."""
    text = typed.text.strip()
    if field.is_percent:
        percent = text.removesuffix("%").strip()
        return f"{Decimal(percent) / 100:f}" if _AMOUNT.fullmatch(percent) else text
    if not has_unit(field):
        return typed.text
    if field.kind is Kind.QUANTITY:
        parts = split_quantity(text)
        return text if parts and parts[1] else f"{text}{typed.unit}"
    if _AMOUNT.fullmatch(text):
        seconds = Decimal(text) * DURATION_UNITS.get(typed.unit, 1)
        if seconds == int(seconds):
            return str(int(seconds))
    return f"{text} {typed.unit}"


def echo(field: SpecField, typed: Typed) -> str:
    """What the two controls mean together, in words that leave no doubt; empty while unclear."""
    text = joined(field, typed)
    if field.kind is Kind.QUANTITY and split_quantity(text):
        return f"= {formats.size(quantity_bytes(text), exact=True)}"
    return ""
