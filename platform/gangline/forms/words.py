"""Values as people read them on a page."""

from collections.abc import Mapping
from typing import Any

from gangline.forms import units
from gangline.spec.catalogue import Kind, SpecField
from gangline.spec.words import in_words
from gangline.web import formats

_YES_NO = {True: "Yes", False: "No"}


def readable(field: SpecField, value: Any, displayed: Mapping[str, str] | None = None) -> str:
    """``value`` with its unit: ``256 MB``, ``4 GPUs``. ``displayed`` are the policy's words."""
    if value is None or value == "":
        return formats.NOTHING
    if displayed and str(value) in displayed:
        return displayed[str(value)]
    if isinstance(value, bool):
        return _YES_NO[value]
    if field.kind is Kind.DURATION:
        return in_words(field, value)
    if field.kind is Kind.QUANTITY:
        amount = units.split(field, value)
        return f"{amount.text} {dict(units.units(field, amount.unit))[amount.unit]}"
    if isinstance(value, float):
        value = f"{value:g}"
    return f"{value} {_unit(field.ui.unit, value)}".strip() if field.kind.is_numeric else str(value)


def _unit(unit: str, value: object) -> str:
    """The unit for one: "1 core", not "1 cores"."""
    return unit[:-1] if str(value) == "1" and unit.endswith("s") else unit


def count(number: int, one: str, several: str = "") -> str:
    """``1 worker``, ``4 workers``."""
    return f"{number} {one}" if number == 1 else f"{number} {several or one + 's'}"
