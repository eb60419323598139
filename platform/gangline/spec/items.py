"""Items of a list of which each is one of several alternatives, and items laid over others."""

from collections.abc import Mapping
from typing import Any

from .catalogue import SpecField


def chosen(field: SpecField, item: Mapping[str, Any]) -> list[str]:
    """Those of ``field.alternatives`` that ``item`` has: exactly one if it is right."""
    return [name for name in field.alternatives if item.get(name) is not None]


def merged(field: SpecField, base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` overridden by ``over``; objects inside are merged likewise.

    Another alternative takes the place of the one there.
    """
    gone = set(field.alternatives) if chosen(field, over) else set()
    return _over({name: value for name, value in base.items() if name not in gone}, over)


def _over(base: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(base)
    for name, value in said.items():
        below = found.get(name)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            value = _over(below, value)
        found[name] = value
    return found
