"""Keyset paging: a page starts after a row, so the millionth costs what the first does."""

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any, Generic, TypeVar

from django.core.exceptions import ValidationError
from django.db.models import DateTimeField, Q, QuerySet

from gangline.lib.texts import moment

Row = TypeVar("Row")


class BadCursor(ValueError):
    """A cursor that this list did not make."""


@dataclass(frozen=True, slots=True)
class Order:
    """Sort column and direction; ties go by others, in the same direction, as in the index."""

    column: str
    descending: bool
    ties: tuple[str, ...] = ("created_at", "id")

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.column, *self.ties)))


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    rows: list[Row]
    previous: str
    """Cursor for ``before=``; empty on the first page."""
    next: str
    """Cursor for ``after=``; empty on the last page."""
    first: int = 0
    """Place of its first row in the list, from 1: as the cursors counted on the way here."""

    @property
    def last(self) -> int:
        return self.first + len(self.rows) - 1


def value_of(row: Any, column: str) -> Any:
    """Of a model object ``cluster__name`` too, which a query names so."""
    return attrgetter(column.replace("__", "."))(row)


def page(
    rows: QuerySet[Any],
    order: Order,
    *,
    size: int,
    after: str = "",
    before: str = "",
    values: Callable[[QuerySet[Any]], Sequence[Any]] = list,
    key: Callable[[Any, str], Any] = value_of,
) -> Page[Any]:
    """The ``size`` rows of ``rows`` after or before a cursor; raises BadCursor.

    ``values`` fetches the rows; ``key(row, column)`` reads a sort column of one.
    """
    found = values(ordered(rows, order, size=size, after=after, before=before))
    return cut(found, order, size=size, after=after, before=before, key=key)


def ordered(
    rows: QuerySet[Any], order: Order, *, size: int, after: str = "", before: str = ""
) -> QuerySet[Any]:
    """The rows to fetch for a page, one more than it holds; raises BadCursor."""
    descending = order.descending != bool(before)
    if cursor := before or after:
        rows = rows.filter(_beyond(order, _decode(cursor, order, rows)[0], descending))
    prefix = "-" if descending else ""
    return rows.order_by(*(prefix + name for name in order.columns))[: size + 1]


def cut(
    fetched: Sequence[Any],
    order: Order,
    *,
    size: int,
    after: str = "",
    before: str = "",
    key: Callable[[Any, str], Any] = value_of,
) -> Page[Any]:
    """The page that the rows of `ordered` make."""
    backwards = bool(before)
    has_more, found = len(fetched) > size, list(fetched[:size])
    if backwards:
        found.reverse()
    if not found:
        return Page([], "", "")
    first = _first(order, after, before, len(found), has_more)

    def mark(row: Any, place: int) -> str:
        return _encode([*(key(row, name) for name in order.columns), place])

    return Page(
        found,
        previous=mark(found[0], first) if (has_more if backwards else after) else "",
        next=mark(found[-1], first + len(found) - 1) if (backwards or has_more) else "",
        first=first,
    )


def _first(order: Order, after: str, before: str, count: int, has_more: bool) -> int:
    """Place of the first of ``count`` rows. Rows that came or went since may have shifted it."""
    if before:
        place = _decode(before, order)[1]
        return max(place - count, 2) if has_more else 1
    return (_decode(after, order)[1] if after else 0) + 1


def _beyond(order: Order, values: list[Any], descending: bool) -> Q:
    """Rows strictly beyond ``values``. The first condition alone lets the index find the place."""
    lookup = "lt" if descending else "gt"
    beyond, equal = Q(), Q()
    for name, value in zip(order.columns, values, strict=True):
        beyond |= equal & Q(**{f"{name}__{lookup}": value})
        equal &= Q(**{name: value})
    return Q(**{f"{order.column}__{lookup}e": values[0]}) & beyond


def _encode(values: list[Any]) -> str:
    text = json.dumps(
        [v.isoformat() if isinstance(v, datetime) else v for v in values],
        default=str,
        separators=(",", ":"),
    )
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def _decode(cursor: str, order: Order, rows: QuerySet[Any] | None = None) -> tuple[list[Any], int]:
    """The values of a row in the order, read as ``rows`` has them, and its place in the list."""
    try:
        values = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if not isinstance(values, list) or len(values) != len(order.columns) + 1:
            raise BadCursor(cursor)
        *values, place = values
        if type(place) is not int or not 0 <= place < 2**53:
            raise BadCursor(cursor)
        if rows is not None:
            # A column of the model or an annotation, such as a count.
            query = rows.query.chain()
            fields = [query.resolve_ref(name).output_field for name in order.columns]
            values = [_value(one, value) for one, value in zip(fields, values, strict=True)]
        return values, place
    except (ValueError, RecursionError, ValidationError) as error:
        raise BadCursor(cursor) from error


def _value(field: Any, value: Any) -> Any:
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise BadCursor(str(value)[:40])
    if isinstance(value, str) and ("\x00" in value or len(value.encode()) > 800):
        raise BadCursor(str(value)[:40])
    if isinstance(field, DateTimeField):
        return moment(str(value), zoned=True)
    read = field.to_python(value)
    if isinstance(read, int | float) and not abs(read) <= 2**53:
        raise BadCursor(str(value)[:40])
    return read
