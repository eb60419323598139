"""Filters declared once on a table: the fields of its page and the API's ``filterBy`` read them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

from django.db.models import F, Lookup, Q
from django.db.models.lookups import GreaterThanOrEqual, In, LessThan, LessThanOrEqual
from django.http import QueryDict
from django.utils import timezone

from gangline.api import filtering
from gangline.db.expressions import Unindexed
from gangline.lib import texts

if TYPE_CHECKING:
    from gangline.tables.query import TableQuery

MOST_VALUES = 50
LONGEST = 200

Condition: TypeAlias = "Q | Lookup[Any]"
Where = Callable[[tuple[str, ...], "TableQuery[Any]"], Condition]
Choices = Sequence[tuple[str, str]]


class Kind(Enum):
    """What the values of a filter are: it decides the controls and the comparisons."""

    CHOICE = "choice"
    """Any number of values out of a list."""
    TEXT = "text"
    """A part of the text, in either case."""
    DATES = "dates"
    """From a day or moment to another, both included."""
    NUMBERS = "numbers"
    """From a whole number to another, both included."""
    ID = "id"
    """Exactly one UUID."""


_ENDS = {Kind.DATES: ("from", "to"), Kind.NUMBERS: ("min", "max")}
_WIRE: Mapping[Kind, Callable[[str], Any]] = {
    Kind.CHOICE: filtering.text,
    Kind.TEXT: filtering.text,
    Kind.DATES: filtering.moment,
    Kind.NUMBERS: filtering.whole,
    Kind.ID: filtering.uuid,
}


class BadValue(ValueError):
    """A value that the filter cannot read; the message says what it takes."""


@dataclass(frozen=True, slots=True)
class Filter:
    """One filter: ``name`` in addresses, ``wire`` in ``filterBy`` (empty: not for clients)."""

    name: str
    label: str
    column: str = ""
    kind: Kind = Kind.CHOICE
    wire: str = ""
    choices: Choices = ()
    """Value and words of each; a page may give its own, for example the projects one sees."""
    hint: str = ""
    on_page: bool = True
    """False: for clients alone."""
    is_main: bool = True
    """Has a button of its own in the toolbar; the others share "More filters"."""
    is_scanned: bool = False
    """Checked row by row, so that SQLite follows the index of the order on long tables."""
    where: Where | None = None
    """The condition, where it is more than a comparison with ``column``."""
    expands: Callable[[tuple[str, ...]], tuple[str, ...]] | None = None
    """The choices that the values of an address stand for, where one may stand for several."""
    wire_where: Callable[[str], Q] | None = None
    """The same for one value of ``filterBy``."""

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of its fields in the address."""
        ends = _ENDS.get(self.kind)
        return tuple(f"{self.name}_{end}" for end in ends) if ends else (self.name,)

    @property
    def is_range(self) -> bool:
        return self.kind in _ENDS

    def given(self, address: QueryDict) -> tuple[str, ...]:
        """Its values in an address: several, or one per field; empty where there are none."""
        if self.kind is Kind.CHOICE:
            parts = ",".join(address.getlist(self.name)).split(",")
            found = tuple(dict.fromkeys(p for part in parts if (p := _clean(part))))[:MOST_VALUES]
            return (self.expands(found) or found) if self.expands else found
        values = tuple(_clean(address.get(name, "")) for name in self.fields)
        return values if any(values) else ()

    def check(self, values: tuple[str, ...]) -> None:
        """Raises BadValue for what cannot be compared."""
        if self.kind is Kind.DATES:
            _day(values[0])
            _day(values[1], is_end=True)
        elif self.kind is Kind.NUMBERS:
            _number(values[0])
            _number(values[1])
        elif self.kind is Kind.ID:
            _uuid(values[0])

    def condition(self, values: tuple[str, ...], query: "TableQuery[Any]") -> Condition:
        """What rows must fulfil for these values, which `check` has let through."""
        if self.where is not None:
            return self.where(values, query)
        if self.kind is Kind.TEXT:
            return Q(**{f"{self.column}__icontains": values[0]})
        if self.kind is Kind.ID:
            return Q(**{self.column: _uuid(values[0])})
        column = Unindexed(F(self.column)) if self._is_scanned(query) else F(self.column)
        if self.kind is Kind.CHOICE:
            return In(column, list(values))
        if self.kind is Kind.NUMBERS:
            least, most = _number(values[0]), _number(values[1])
            return _both(
                None if least is None else GreaterThanOrEqual(column, least),
                None if most is None else LessThanOrEqual(column, most),
            )
        start, end = _day(values[0]), _day(values[1], is_end=True)
        return _both(
            None if start is None else GreaterThanOrEqual(column, start),
            None if end is None else LessThan(column, end),
        )

    def in_words(self, values: tuple[str, ...], choices: Choices) -> str:
        """Its values as a person reads them; what is no choice (any more) is unavailable."""
        if self.is_range:
            words = zip(("from", "to"), values, strict=True)
            return " ".join(f"{word} {value}" for word, value in words if value)
        if self.kind is not Kind.CHOICE or not choices:
            return ", ".join(values)
        known = {key.lower(): label for choice in choices for key, label in _keys(choice)}
        return ", ".join(known.get(value.lower(), "unavailable") for value in values)

    def for_clients(self) -> filtering.Filter:
        is_text = self.kind in (Kind.CHOICE, Kind.TEXT) and self.wire_where is None
        return filtering.Filter(self.column, _WIRE[self.kind], is_text, self.wire_where)

    def _is_scanned(self, query: "TableQuery[Any]") -> bool:
        return self.is_scanned and query.order.column != self.column


def choice(name: str, label: str, column: str = "", **more: Any) -> Filter:
    return Filter(name, label, column, Kind.CHOICE, **more)


def text(name: str, label: str, column: str = "", **more: Any) -> Filter:
    return Filter(name, label, column, Kind.TEXT, **more)


def dates(name: str, label: str, column: str, **more: Any) -> Filter:
    return Filter(name, label, column, Kind.DATES, **more)


def numbers(name: str, label: str, column: str, **more: Any) -> Filter:
    return Filter(name, label, column, Kind.NUMBERS, **more)


def identifier(name: str, label: str, column: str, **more: Any) -> Filter:
    return Filter(name, label, column, Kind.ID, **more)


def for_clients(wire: str, column: str, kind: Kind = Kind.TEXT) -> Filter:
    """A field of ``filterBy`` that the page does not offer."""
    return Filter(wire, wire, column, kind, wire=wire, on_page=False)


def _keys(choice: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """A choice is known by its value, and by its words as other pages and people write them."""
    value, label = choice
    yield label, label
    yield value, label


def _clean(text: str) -> str:
    return "".join(c for c in text if c.isprintable()).strip()[:LONGEST]


def _both(*conditions: "Lookup[Any] | None") -> Q:
    result = Q()
    for condition in conditions:
        if condition is not None:
            result &= Q(condition)
    return result


def _day(text: str, *, is_end: bool = False) -> datetime | None:
    """A day in the current time zone, or a moment; the end of a day is the next one's start."""
    if not text:
        return None
    try:
        if len(text) > len("2026-01-31"):
            return texts.moment(text.replace(" ", "+"))
        day = date.fromisoformat(text) + timedelta(days=is_end)
        return timezone.make_aware(datetime.combine(day, time())).astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadValue("a day such as 2026-01-31") from None


def _number(text: str) -> int | None:
    if not text:
        return None
    if (found := texts.whole(text)) is None:
        raise BadValue("a whole number, 0 or more")
    return found


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise BadValue("a UUID") from None
