"""Tables that say where each spec field goes in a native object."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


def _unchanged(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class To:
    """Write a field at ``target``, groups separated by ``|``, after ``convert``."""

    target: str
    convert: Callable[[Any], Any] = _unchanged


OURS = frozenset({"backoffLimit", "autoDeletionTimeAfterCompletionSeconds"})
"""Fields that Gangline acts on by itself, alike on every kind of cluster: no driver maps them."""

Table = Mapping[str, To]
"""Places by field path of the catalogue (``compute.cpuCoreRequest``)."""


def apply(table: Table, values: Mapping[str, Any], into: dict[str, Any]) -> dict[str, Any]:
    """Write every field of ``values`` that has a value into ``into`` as ``table`` says."""
    for path, to in table.items():
        value = values.get(path)
        if value is None or value == [] or value == {}:
            continue
        group = into
        *names, last = to.target.split("|")
        for name in names:
            group = group.setdefault(name, {})
        group[last] = to.convert(value)
    return into


def paths(*tables: Table) -> frozenset[str]:
    """Every field path the tables know."""
    return frozenset(path for table in tables for path in table)
