"""Values as people read them on a page."""

from collections.abc import Mapping
from typing import Any

from gangline.spec.catalogue import SpecField
from gangline.spec.items import attribute_of
from gangline.spec.words import with_unit
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
    return with_unit(field, value)


def count(number: int, one: str, several: str = "") -> str:
    """``1 worker``, ``4 workers``."""
    return f"{number} {one}" if number == 1 else f"{number} {several or one + 's'}"


def item_words(field: SpecField, item: Mapping[str, Any]) -> str:
    """An item of a list without its key: ``INFO``, or ``Secret wandb / api-key``."""
    words: list[str] = []
    groups: dict[str, list[str]] = {}
    for attribute in field.items:
        value = attribute_of(item, attribute.path)
        if value is None or attribute.path == field.item_key:
            continue
        if attribute.alternative and "." in attribute.path:
            groups.setdefault(attribute.alternative, []).append(str(value))
        else:
            words.append(str(value))
    return " ".join([*words, *(f"{name} {' / '.join(said)}" for name, said in groups.items())])
