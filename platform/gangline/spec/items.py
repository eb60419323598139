"""Items of a list, read and made by the paths of their attributes (``secret.name``)."""

from collections.abc import Mapping
from typing import Any

from .catalogue import SpecField


def attribute_of(item: Mapping[str, Any], path: str) -> Any:
    """The value at ``path``; None where there is none."""
    value: Any = item
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def set_attribute(item: dict[str, Any], path: str, value: Any) -> None:
    """Write ``value`` at ``path``, with the objects around it."""
    *groups, name = path.split(".")
    for group in groups:
        item = item.setdefault(group, {})
    item[name] = value


def chosen(field: SpecField, item: Mapping[str, Any]) -> list[str]:
    """Those of ``field.alternatives`` that ``item`` has: exactly one if it is right."""
    return [name for name in field.alternatives if item.get(name) is not None]


def merged(field: SpecField, base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` with what ``over`` says; another alternative takes the place of the one there."""
    gone = set(field.alternatives) if chosen(field, over) else set()
    return {**{name: value for name, value in base.items() if name not in gone}, **over}
