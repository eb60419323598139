"""A table declared once: its columns give the page, the live cells, CSV and the sort keys."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Generic, Literal, TypeVar, cast

from django.db.models import QuerySet
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from gangline.api import filtering
from gangline.tables.filters import Filter

Row = TypeVar("Row")
Width = Literal["", "s", "m", "l"]
WIDTHS: Mapping[Width, float] = {"": 15, "s": 5, "m": 7.5, "l": 10.5}
"""In rem; those without one share what is left. The style sheet has the same numbers."""
MOST_REM = 76
"""Wider than this a table is scrolled sideways; its menu of the row stays in sight."""


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """One column. ``cell`` draws the inside of its ``td``; the same is sent when it changes."""

    name: str
    label: str
    cell: Callable[[Row], SafeString | str]
    needs: tuple[str, ...] = ()
    """Fields of the row that it reads beside those that every row has."""
    sort: str = ""
    """Database column to sort by; it must lead an index. Empty: not sortable."""
    orders: tuple[str, str] = ("", "")
    """Words for its ascending and its descending order; made from the label where empty."""
    descends_first: bool = False
    text: Callable[[Row], object] | None = None
    """Its plain value, for CSV; a column without one is not exported."""
    width: Width = ""
    drops: Literal[0, 1, 2, 3] = 0
    """3 goes first when the window gets narrow, 0 stays."""
    is_default: bool = True
    """False: hidden until it is chosen."""
    is_fixed: bool = False
    """Always shown, in its place: what names the row, and its menu."""
    is_named: bool = False
    """A card on a phone shows its label before its value."""
    right: bool = False
    hidden_label: bool = False

    @property
    def css(self) -> str:
        parts = ("right num" if self.right else "", f"drop-{self.drops}" if self.drops else "")
        return " ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Table(Generic[Row]):
    """Columns, filters and search of a list, and the fields that every row needs."""

    name: str
    columns: Sequence[Column[Row]]
    fields: Sequence[str]
    default_sort: str
    ties: tuple[str, ...] = ("created_at", "id")
    """What decides between rows that are equal in the order; the last one is unique."""
    filters: Sequence[Filter] = ()
    search: tuple[str, ...] = ()
    """Text columns; every word must stand in one of them."""
    search_hint: str = "Search"
    noun: tuple[str, str] = ("row", "rows")
    kept: tuple[str, ...] = ()
    """Further names of the address, which changes of filters leave as they are."""
    expressions: Mapping[str, Any] = field(default_factory=dict)
    """Fields that are no columns of the model, computed only where a shown column needs them."""

    def chosen(self, names: Sequence[str]) -> tuple[Column[Row], ...]:
        """The columns to show: the named ones in that order, or the usual ones; fixed always."""
        known = {column.name: column for column in self.columns if not column.is_fixed}
        wanted = [known[name] for name in dict.fromkeys(names) if name in known]
        free = iter(wanted or [column for column in known.values() if column.is_default])
        first = [c for c in self.columns if c.is_fixed and not c.hidden_label]
        last = [c for c in self.columns if c.is_fixed and c.hidden_label]
        return (*first, *free, *last)

    def fetch(
        self,
        rows: QuerySet[Any],
        columns: Sequence[Column[Row]] | None = None,
        also: Sequence[str] = (),
    ) -> list[Row]:
        """The rows with what ``columns`` need, without models: a page costs half as much."""
        needed = (name for column in columns or self.columns for name in column.needs)
        names = tuple(dict.fromkeys((*self.fields, *also, *needed)))
        extra = {name: self.expressions[name] for name in names if name in self.expressions}
        found = rows.annotate(**extra) if extra else rows
        return cast("list[Row]", list(found.values_list(*names, named=True)))

    def cells(self, row: Row, columns: Sequence[Column[Row]] | None = None) -> dict[str, str]:
        """Content of every cell of ``row`` by column."""
        shown = columns or self.columns
        return {column.name: str(conditional_escape(column.cell(row))) for column in shown}

    def tds(self, row: Row, columns: Sequence[Column[Row]] | None = None) -> SafeString:
        """The same cells with the ``td`` around each, as the page shows them."""
        drawn = (f"{_opened(column)}{conditional_escape(column.cell(row))}</td>"
                 for column in columns or self.columns)  # fmt: skip
        return mark_safe("".join(drawn))  # noqa: S308  each part is escaped

    def sorts(self) -> Mapping[str, str]:
        """Database column by the name that the address uses."""
        return {column.name: column.sort for column in self.columns if column.sort}

    def orders(self) -> Mapping[str, str]:
        """Words by the value of the address, the default first, then column by column."""
        found = {
            value: words
            for column in self.columns
            if column.sort
            for value, words in _in_words(column).items()
        }
        default = self.default_sort.lstrip("-")
        first = {k: v for k, v in found.items() if k.lstrip("-") == default}
        return first | found

    def column(self, name: str) -> Column[Row]:
        return next(column for column in self.columns if column.name == name)

    def filter(self, name: str) -> Filter:
        return next(one for one in self.filters if one.name == name)

    def for_clients(self) -> dict[str, filtering.Filter]:
        """Its filters by their names in ``filterBy``."""
        return {one.wire: one.for_clients() for one in self.filters if one.wire}


@lru_cache(maxsize=256)
def _opened(column: Column[Any]) -> SafeString:
    style = format_html(' class="{}"', column.css) if column.css else ""
    fact = format_html(' data-fact="{}"', column.label) if column.is_named else ""
    return format_html('<td data-col="{0}" data-testid="cell-{0}"{1}{2}>', column.name, style, fact)


def _in_words(column: Column[Any]) -> dict[str, str]:
    """Both orders of a column as the address has them, the usual one first."""
    label = column.label
    words = tuple(
        given or usual
        for given, usual in zip(column.orders, (f"{label}, ascending", f"{label}, descending"),
                                strict=True)
    )  # fmt: skip
    both = ((column.name, words[0]), (f"-{column.name}", words[1]))
    return dict(reversed(both) if column.descends_first else both)


def is_wide(columns: Sequence[Column[Any]]) -> bool:
    """Whether they need more room than a page has."""
    return sum(WIDTHS[column.width] for column in columns) > MOST_REM


def two_lines(first: SafeString | str, second: SafeString | str) -> SafeString:
    """Two lines per cell, not two columns."""
    return format_html('{}<span class="sub">{}</span>', first, second)
