"""From what was typed to what is said: values by qualified path, and what could not be read."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any

from gangline.drivers.facts import FieldNote
from gangline.spec.catalogue import Kind, SpecField, catalogue
from gangline.spec.parse import Unparsable, parse_text, show_text
from gangline.spec.problems import Problem, Role
from gangline.spec.sources import WORKERS, YOU, Source, Value
from gangline.spec.words import in_words
from gangline.spec.workload import SPEC, SpecModels
from gangline.spec_forms import units
from gangline.spec_forms.dependent_rows import NO_NOTE, fit_of, fitted
from gangline.spec_forms.item_texts import item_of, item_texts, key_of
from gangline.spec_forms.posted import Inherited, InheritedItem, item_row_id
from gangline.spec_forms.raw import WHOLE, RoleInputs, Row, Typed, new_row_id


@dataclass(slots=True)
class Said:
    """What one role says. ``sent`` tells which row each item of a list came from."""

    values: dict[str, Value] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    sent: dict[str, list[str]] = field(default_factory=dict)


def said(
    role: Role,
    fields: Iterable[SpecField],
    inputs: RoleInputs,
    inherited: Inherited,
    notes: Mapping[str, FieldNote] = MappingProxyType({}),
) -> Said:
    """The values of ``inputs``; texts that are no value become problems at their field or row."""
    found = Said()
    for spec in fields:
        if spec.kind is Kind.ITEMIZED:
            rows = inputs.lists.get(spec.path, ())
            note = notes.get(spec.path, NO_NOTE)
            _list(found, role, spec, rows, inherited.items.get(spec.path, ()), note)
        elif (typed := inputs.scalars.get(spec.path)) is not None:
            _scalar(found, role, spec, typed)
    return found


def _scalar(found: Said, role: Role, spec: SpecField, typed: Typed) -> None:
    text = units.joined(spec, typed)
    try:
        value = parse_text(spec, text)
    except Unparsable as error:
        found.problems.append(
            Problem.of(
                role,
                spec.path,
                "type:kind",
                kind=error.kind,
                value=text,
                accepted=error.accepted,
                label=spec.label,
            )
        )
    else:
        found.values[f"{role}.{spec.path}"] = Value(value, typed.source)


def _list(
    found: Said,
    role: Role,
    spec: SpecField,
    rows: tuple[Row, ...],
    standing: tuple[InheritedItem, ...],
    note: FieldNote,
) -> None:
    told = [row for row in rows if (row.of if row.removed else not row.blank)]
    if any(row.id == WHOLE for row in rows):
        standing = ()
    elif not told:
        return
    items: list[dict[str, Any]] = []
    sent: list[str] = []
    if not spec.is_by_item:
        told = _whole(spec, standing, told)
    names = {item.key for item in standing}
    for row in _followed(spec, standing, told) if spec.is_by_item else ():
        items.append(_item(found, role, spec, row, len(items), note, stands=True))
        sent.append(row.id)
    for row in told:
        if row.removed:
            items.append({spec.item_key: row.of, "exclude": True})
        else:
            stands = key_of(spec, row) in names
            items.append(_item(found, role, spec, row, len(items), note, stands=stands))
        sent.append(row.id)
    sources = {row.source for row in told}
    source = sources.pop() if len(sources) == 1 else YOU
    found.values[f"{role}.{spec.path}"] = Value(spec.canonical(items), source)
    found.sent[spec.path] = sent


def _whole(spec: SpecField, standing: tuple[InheritedItem, ...], told: list[Row]) -> list[Row]:
    """A list that is given as a whole: what stands, without what was removed, and what is new."""
    every = in_order(standing, told, partial(key_of, spec))
    return [row for row in every if not row.removed]


def in_order(
    standing: tuple[InheritedItem, ...], rows: Iterable[Row], key_of: Callable[[Row], str]
) -> list[Row]:
    """Every row of a list whose order counts: as a person ordered them, or what stands first."""
    told = list(rows)
    names = {item.key for item in standing}
    if names <= {key_of(row) for row in told}:
        return told  # the person has a row for each, so theirs is the order
    rest, kept = told, []
    for item in standing:
        stays = Row(item_row_id(item), item.texts, of=item.key)
        found = next((row for row in rest if key_of(row) == item.key), None)
        rest = [row for row in rest if row is not found]
        kept.append(found or stays)
    return [*kept, *rest]


def _followed(spec: SpecField, standing: tuple[InheritedItem, ...], told: list[Row]) -> list[Row]:
    """The workers' items that the master keeps: saying one item of a list says all of it."""
    own = {key_of(spec, row) for row in told}
    return [
        Row(item_row_id(item), item.texts, of=item.key)
        for item in standing
        if item.source == WORKERS and item.key not in own
    ]


def _item(
    found: Said,
    role: Role,
    spec: SpecField,
    row: Row,
    index: int,
    note: FieldNote,
    *,
    stands: bool,
) -> dict[str, Any]:
    def wrong(attribute: SpecField, text: str, error: Unparsable) -> None:
        path = f"{spec.path}.{index}.{attribute.path}"
        key = row.texts.get(spec.item_key, "")
        found.problems.append(
            Problem.of(
                role, path, "type:kind", kind=error.kind, value=text, accepted=error.accepted,
                key=key, label=attribute.label,
            )
        )  # fmt: skip

    own = fitted(spec, fit_of(note, row.texts))
    return item_of(own, row.texts, wrong, stands=stands)


def typed_of(spec: SpecField, value: Any, source: Source = YOU) -> Typed:
    """``value`` as if it had been typed."""
    if units.has_unit(spec):
        amount = units.split(spec, value)
        return Typed(amount.text, amount.unit, source)
    text = in_words(spec, value) if spec.is_percent else show_text(spec, value)
    return Typed(text, "", source)


def typed_values(
    values: Mapping[str, Any], source: Source = YOU, models: SpecModels = SPEC
) -> tuple[RoleInputs, RoleInputs]:
    """Values by qualified path as what a person would have typed. Unknown paths are left out."""
    halves = {Role.WORKER: RoleInputs(), Role.MASTER: RoleInputs()}
    known = {Role.WORKER: catalogue(models.worker), Role.MASTER: catalogue(models.master)}
    for qualified, value in values.items():
        role_name, _, path = qualified.partition(".")
        role = Role.MASTER if role_name == Role.MASTER else Role.WORKER
        spec = known[role].get(path)
        if spec is None or value is None or path == "distributedFramework":
            continue
        if spec.kind is Kind.ITEMIZED:
            rows = _rows(spec, value, source)
            if not spec.is_by_item:
                rows = [Row(WHOLE, source=source, removed=True), *rows]
            halves[role] = halves[role].with_rows(path, rows)
        else:
            halves[role] = halves[role].with_scalar(path, typed_of(spec, value, source))
    return halves[Role.WORKER], halves[Role.MASTER]


def _rows(spec: SpecField, items: Iterable[Mapping[str, Any]], source: Source) -> Iterable[Row]:
    for item in items:
        key = str(item.get(spec.item_key, ""))
        if item.get("exclude"):
            yield Row(new_row_id(), {}, source, of=key, removed=True)
        else:
            yield Row(new_row_id(), item_texts(spec, item), source)
