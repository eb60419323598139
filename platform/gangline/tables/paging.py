"""Keyset paging: a page starts after a row, so the millionth costs what the first does."""

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from django.core.exceptions import ValidationError
from django.db.models import DateTimeField, Model, Q, QuerySet

from gangline.lib.texts import moment

Row = TypeVar("Row")


class BadCursor(ValueError):
    """A cursor that this list did not make."""


@dataclass(frozen=True, slots=True)
class Order:
    """Sort column and direction; ties go by date and id, in the same direction, as in the index."""

    column: str
    descending: bool

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.column, "created_at", "id")))


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    rows: list[Row]
    previous: str
    """Cursor for ``before=``; empty on the first page."""
    next: str
    """Cursor for ``after=``; empty on the last page."""


def page(
    rows: QuerySet[Any],
    order: Order,
    *,
    size: int,
    after: str = "",
    before: str = "",
    values: Callable[[QuerySet[Any]], Sequence[Any]] = list,
    key: Callable[[Any, str], Any] = getattr,
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
        rows = rows.filter(_beyond(order, _decode(cursor, order, rows.model), descending))
    prefix = "-" if descending else ""
    return rows.order_by(*(prefix + name for name in order.columns))[: size + 1]


def cut(
    fetched: Sequence[Any],
    order: Order,
    *,
    size: int,
    after: str = "",
    before: str = "",
    key: Callable[[Any, str], Any] = getattr,
) -> Page[Any]:
    """The page that the rows of `ordered` make."""
    backwards = bool(before)
    has_more, found = len(fetched) > size, list(fetched[:size])
    if backwards:
        found.reverse()
    if not found:
        return Page([], "", "")

    def mark(row: Any) -> str:
        return _encode([key(row, name) for name in order.columns])

    return Page(
        found,
        previous=mark(found[0]) if (has_more if backwards else after) else "",
        next=mark(found[-1]) if (backwards or has_more) else "",
    )


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


def _decode(cursor: str, order: Order, model: type[Model]) -> list[Any]:
    try:
        values = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if not isinstance(values, list) or len(values) != len(order.columns):
            raise BadCursor(cursor)
        fields = (model._meta.get_field(name) for name in order.columns)
        return [_value(field, value) for field, value in zip(fields, values, strict=True)]
    except (ValueError, RecursionError, ValidationError) as error:
        raise BadCursor(cursor) from error


def _value(field: Any, value: Any) -> Any:
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise BadCursor(field.name)
    if isinstance(value, str) and ("\x00" in value or len(value.encode()) > 800):
        raise BadCursor(field.name)
    if isinstance(field, DateTimeField):
        return moment(str(value), zoned=True)
    read = field.to_python(value)
    if isinstance(read, int) and abs(read) > 2**53:
        raise BadCursor(field.name)
    return read
