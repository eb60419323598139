"""``filterBy``: conditions on a fixed list of fields, never a lookup named by the caller."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q

from gangline.lib import texts

from .paging import BadQuery

MOST_CONDITIONS = 20
LONGEST_VALUE = 200
OPERATORS = ("==", "!=", "<=", ">=", "=@", "!@", "=^", "=$")
_CONDITION = rf"\s*[A-Za-z]+(?:{'|'.join(map(re.escape, OPERATORS))})[^,]+"
PATTERN = f"^(?:{_CONDITION})?(?:,(?:{_CONDITION})?)*$"
"""Of ``filterBy``, for the description."""
_TEXT = {"=@": "icontains", "!@": "icontains", "=^": "istartswith", "=$": "iendswith"}
_ORDERED = {"<=": "lte", ">=": "gte"}


class NotAValue(ValueError):
    """The text is no value of the field; the message says what would be."""


def text(value: str) -> str:
    return value


def uuid(value: str) -> UUID:
    try:
        return UUID(value)
    except ValueError as error:
        raise NotAValue("a UUID") from error


def whole(value: str) -> int:
    size = texts.whole(value.removeprefix("-"))
    if size is None:
        raise NotAValue("a whole number")
    return -size if value.startswith("-") else size


def moment(value: str) -> datetime:
    """ISO 8601; without a zone it is UTC."""
    try:
        return texts.moment(value.replace(" ", "+"))
    except ValueError as error:
        raise NotAValue("a time such as 2026-03-02T09:15:04Z") from error


@dataclass(frozen=True, slots=True)
class Filter:
    """One field that may be filtered: its column and how its values are read."""

    column: str
    read: Callable[[str], Any] = text
    is_text: bool = True
    where: Callable[[Any], Q] | None = None
    """What holds for rows with the value, where it is more than a comparison with the column."""


def number(column: str) -> Filter:
    return Filter(column, whole, is_text=False)


def identifier(column: str) -> Filter:
    return Filter(column, uuid, is_text=False)


def time(column: str) -> Filter:
    return Filter(column, moment, is_text=False)


def conditions(given: Sequence[str], fields: Mapping[str, Filter]) -> Q:
    """All conditions of every ``filterBy`` of the query, joined by AND; raises BadQuery."""
    result = Q()
    parts = [part for item in given for part in item.split(",") if part.strip()]
    if len(parts) > MOST_CONDITIONS:
        raise BadQuery(f"filterBy takes at most {MOST_CONDITIONS} conditions.")
    for part in parts:
        for condition in _condition(part.strip(), fields):
            result &= condition
    return result


def _condition(part: str, fields: Mapping[str, Filter]) -> Iterator[Q]:
    # Longest name first: projectName before a shorter name that begins it.
    name = next((n for n in sorted(fields, key=len, reverse=True) if _names(part, n)), None)
    if name is None:
        raise BadQuery(
            f"filterBy cannot read {part[:60]!r}. Write a field, one of "
            f"{' '.join(OPERATORS)} and a value. Fields: {', '.join(fields)}."
        )
    operator, value = part[len(name) : len(name) + 2], part[len(name) + 2 :]
    known = fields[name]
    if not value or len(value) > LONGEST_VALUE or "\x00" in value:
        raise BadQuery(f"filterBy needs a value of 1 to {LONGEST_VALUE} characters for {name}.")
    if operator in _TEXT and not known.is_text:
        raise BadQuery(f"filterBy can compare {name} with ==, !=, <= and >= only.")
    try:
        wanted = known.read(value)
    except NotAValue as error:
        raise BadQuery(f"filterBy needs {error} for {name}, not {value[:60]!r}.") from error
    if known.where is not None:
        if operator not in ("==", "!="):
            raise BadQuery(f"filterBy can compare {name} with == and != only.")
        yield ~known.where(wanted) if operator == "!=" else known.where(wanted)
        return
    lookup = _TEXT.get(operator) or _ORDERED.get(operator)
    condition = Q(**{f"{known.column}__{lookup}" if lookup else known.column: wanted})
    yield ~condition if operator.startswith("!") else condition


def _names(part: str, name: str) -> bool:
    return part.startswith(name) and part[len(name) : len(name) + 2] in OPERATORS
