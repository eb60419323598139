"""From a posted form back to what was typed (R21).

A posted text that equals the stored one changes nothing; one that is blank or equals the inherited
value takes the field back to what it inherits; anything else was said by the person.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TypeVar

from django.http import QueryDict

from gangline.drivers.facts import FieldNote
from gangline.spec.catalogue import Kind, SpecField
from gangline.spec.problems import Role
from gangline.spec.sources import YOU, Source
from gangline.spec_forms import units
from gangline.spec_forms.dependent_rows import NO_NOTE, fit_of, fitted
from gangline.spec_forms.item_texts import alike, names, posted_texts
from gangline.spec_forms.raw import ASIDE, UNIT, RoleInputs, Row, Typed, inherited_row_id

V = TypeVar("V")
ROWS = "~rows"
DRAWN = "~drawn"
"""Of a script: the mark of the one that the page was drawn with."""
MOST_ROWS = 500
"""Rows read from one post: beyond the limit of any list, and still quick."""


@dataclass(frozen=True, slots=True)
class InheritedItem:
    """An item that is in a list without being given: from a policy, or from the workers."""

    key: str
    texts: Mapping[str, str]
    source: Source
    locked_by: str = ""


@dataclass(frozen=True, slots=True)
class Inherited:
    """What holds where nothing is said, as controls show it, and what nobody may change."""

    scalars: Mapping[str, Typed] = field(default_factory=dict)
    items: Mapping[str, tuple[InheritedItem, ...]] = field(default_factory=dict)
    fixed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Reading:
    """The typed texts after a post, and the fixed fields it tried to set."""

    inputs: RoleInputs
    ignored: tuple[str, ...] = ()


def read(
    role: Role,
    fields: Iterable[SpecField],
    data: QueryDict,
    *,
    stored: RoleInputs,
    inherited: Inherited,
    notes: Mapping[str, FieldNote] = MappingProxyType({}),
) -> Reading:
    """``stored`` with what ``data`` changes. Fields that were not posted stay as they are."""
    scalars, lists, ignored = dict(stored.scalars), dict(stored.lists), []
    fields = list(fields)
    is_outdated = any(_is_outdated(role, spec, data, stored, inherited) for spec in fields)
    for spec in fields:
        name = f"{role}.{spec.path}"
        is_aside = name + ASIDE in data
        if not is_aside and name not in data and name + ROWS not in data:
            continue
        if spec.path in inherited.fixed:
            ignored.append(spec.path)
        elif spec.kind is Kind.ITEMIZED:
            note = notes.get(spec.path, NO_NOTE)
            rows, forged = _rows(name, spec, data, stored, inherited, note)
            _put(lists, spec.path, tuple(rows) or None)
            ignored += forged
        elif is_outdated and not spec.ui.from_file and spec.path not in stored.scalars:
            continue
        else:
            text = _text(data, "", name + ASIDE if is_aside else name)
            typed = _scalar(name, text, spec, data, stored, inherited)
            said, aside = (None, typed) if is_aside else (typed, None)
            _put(scalars, spec.path, said)
            _put(scalars, spec.path + ASIDE, aside)
    return Reading(RoleInputs(scalars, lists), tuple(ignored))


def _put(into: dict[str, V], path: str, said: V | None) -> None:
    """What is said, or nothing any more."""
    if said is None:
        into.pop(path, None)
    else:
        into[path] = said


def mark_of(text: str) -> str:
    """What tells one script from another."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]


def _is_outdated(
    role: Role, spec: SpecField, data: QueryDict, stored: RoleInputs, inherited: Inherited
) -> bool:
    """Whether the page shows what held before the script that is stored now.

    A script gives values to other fields: what the page still shows of them is nobody's word.
    """
    drawn = data.get(f"{role}.{spec.path}{DRAWN}")
    if not spec.ui.from_file or drawn is None:
        return False
    now = stored.scalars.get(spec.path) or inherited.scalars.get(spec.path)
    return drawn != mark_of(now.text if now else "")


def _scalar(
    name: str,
    text: str,
    spec: SpecField,
    data: QueryDict,
    stored: RoleInputs,
    inherited: Inherited,
) -> Typed | None:
    typed = Typed(text, data.get(name + UNIT, "") if units.has_unit(spec) else "")
    before = stored.shown(spec.path)
    if before and typed.same_text(units.shown(spec, before) if units.has_unit(spec) else before):
        return before
    if not typed.text.strip() or typed.same_text(inherited.scalars.get(spec.path)):
        return None
    return typed


def _rows(
    name: str,
    spec: SpecField,
    data: QueryDict,
    stored: RoleInputs,
    inherited: Inherited,
    note: FieldNote,
) -> tuple[list[Row], list[str]]:
    before = {row.id: row for row in stored.lists.get(spec.path, ())}
    standing = {item_row_id(item): item for item in inherited.items.get(spec.path, ())}
    rows, ignored, seen = [], [], set()
    for row_id in data.getlist(name + ROWS)[:MOST_ROWS]:
        if not row_id or row_id in seen:
            continue
        seen.add(row_id)
        prefix = f"{name}~{row_id}."
        texts = posted_texts(spec, partial(_text, data, prefix), note)
        item = standing.get(row_id)
        if spec.is_array and item is not None and row_id not in before:
            # Where the order counts, a row that stands by itself says where.
            rows.append(Row(row_id, {**texts, spec.item_key: item.key}, of=item.key))
            continue
        if item is not None and item.locked_by:
            if any(prefix + part in data for part in names(spec)):
                ignored.append(f"{spec.path}.{item.key}")
            continue
        now = fitted(spec, fit_of(note, texts))
        row = _row(row_id, texts, now, before.get(row_id), item)
        if row is not None:
            rows.append(row)
    for place, row in enumerate(before.values()):
        if row.removed and row.id not in seen:
            rows.insert(place, row)
    as_it_stands = spec.is_array and [row.of for row in rows] == [i.key for i in standing.values()]
    if as_it_stands and not any(row.removed for row in rows):
        return [], ignored
    return rows, ignored


def _text(data: QueryDict, prefix: str, name: str) -> str:
    """The last of the texts: before a checkbox stands what holds when it is not ticked.

    Browsers send the lines of a text as CRLF, whatever they were.
    """
    return data.get(prefix + name, "").replace("\r\n", "\n")


def _row(
    row_id: str,
    texts: dict[str, str],
    spec: SpecField,
    before: Row | None,
    item: InheritedItem | None,
) -> Row | None:
    if item is not None:
        texts[spec.item_key] = item.key
        if alike(spec, texts, item.texts) and not spec.is_array:
            return None
    if before is not None and before.removed:
        return before
    if before is not None and alike(spec, texts, before.texts):
        return before
    if before is not None:
        return replace(before, texts=texts, source=YOU)
    return Row(row_id, texts, of=item.key if item else "")


def item_row_id(item: InheritedItem) -> str:
    """Id of the row that shows ``item``."""
    return inherited_row_id(item.key)
