"""Rules between fields of one replica: what goes with what."""

from collections.abc import Container, Iterator, Mapping
from typing import Any

from .base import Limits, When
from .catalogue import SpecField
from .problems import Problem, Role
from .words import accepted, lowered, one_of, span


def condition_problems(
    fields: Mapping[str, SpecField], role: Role, values: Mapping[str, Any], wrong: Container[str]
) -> Iterator[Problem]:
    """Every broken `When` and `Limits`. ``values`` by path are right each for itself.

    What is said of a field in ``wrong`` counts as said, with a value that nobody knows.
    """
    for field in fields.values():
        for rule in field.conditions:
            other = fields[rule.name]
            if other.path in wrong or field.path in wrong:
                continue
            said, value = values.get(other.path), values.get(field.path)
            if isinstance(rule, When):
                yield from _when(role, field, other, rule, value, said)
            elif value is not None and said is not None:
                yield from _limits(role, field, other, rule, value, said)


def _when(
    role: Role, field: SpecField, other: SpecField, rule: When, value: Any, said: Any
) -> Iterator[Problem]:
    is_fit = said is not None and (not rule.values or said in rule.values)
    if value is None:
        if is_fit and rule.is_required:
            yield Problem.of(
                role, field.path, "required:with", other=lowered(other.label), said=said,
                accepted=accepted(field), label=field.label,
            )  # fmt: skip
    elif not rule.values and not is_fit:
        yield Problem.of(
            role, other.path, "required:with", other=lowered(field.label), said=value,
            accepted=accepted(other), label=other.label,
        )  # fmt: skip
    elif not is_fit:
        wanted = one_of("true" if each is True else str(each) for each in rule.values)
        yield Problem.of(
            role, field.path, "when", value=value, other=lowered(other.label), wanted=wanted,
            accepted=f"no value, or {wanted} as {other.path}", label=field.label,
        )  # fmt: skip


def _limits(
    role: Role, field: SpecField, other: SpecField, rule: Limits, value: Any, said: Any
) -> Iterator[Problem]:
    low, high = rule.by.get(said, (value, value))
    if low <= value <= high:
        return
    words = accepted(field, low, high) if low < high else str(low)
    kind = "min" if value < low else "max"
    yield Problem.of(
        role, field.path, f"{kind}With", value=value, range=span(field, low, high),
        other=lowered(other.label), said=said, accepted=words, label=field.label,
    )  # fmt: skip
