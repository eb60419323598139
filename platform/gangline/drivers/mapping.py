"""Tables that say where each spec field goes in a native object."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gangline.spec.base import SpecModel
from gangline.spec.environment import EnvironmentVariable
from gangline.spec.replica import Annotation, Label
from gangline.spec.typed import value_at


def _unchanged(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class To:
    """Write a field at ``target``, groups separated by ``|``, after ``convert``."""

    target: str
    convert: Callable[[Any], Any] = _unchanged


OURS = frozenset(
    {
        "backoffLimit",
        "autoDeletionTimeAfterCompletionSeconds",
        "interactive",
        "sessionTimeLimitSeconds",
        "sessionIdleLimitSeconds",
        "terminateAfterPreemption",
        "relatedUrls",
        "storage.dataVolume",
    }
)
"""Fields that Gangline acts on by itself, alike on every kind of cluster: no driver maps them."""

Table = Mapping[str, To]
"""Places by field path of the catalogue (``compute.cpuCoreRequest``)."""


def apply(
    table: Table, spec: SpecModel, into: dict[str, Any], without: Collection[str] = ()
) -> dict[str, Any]:
    """Write every field of ``spec`` that has a value into ``into`` as ``table`` says."""
    for path, to in table.items():
        value = None if path in without else value_at(spec, path)
        if value is None or value == []:
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


def pairs(items: Sequence[Label | Annotation]) -> list[list[str]]:
    """Name and value of each, as a native form of ours holds them."""
    return [[item.name, item.value] for item in items]


def plain_variables(items: Sequence[EnvironmentVariable]) -> list[list[str]]:
    """Name and value of those whose value is written down; the others come from credentials."""
    return [[item.name, item.value or ""] for item in items if item.secret is None]


def late_variables(items: Sequence[EnvironmentVariable] | None) -> list[list[str]]:
    """Variable, credential and key of those whose value is known only when processes start."""
    given = items or ()
    return [[one.name, one.secret.name, one.secret.key] for one in given if one.secret is not None]
