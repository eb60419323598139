"""A table declared once: its columns give the page, the live cells and the sort keys."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """One column. ``cell`` draws the inside of its ``td``; the same is sent when it changes."""

    name: str
    label: str
    cell: Callable[[Row], SafeString | str]
    sort: str = ""
    """Database column to sort by; it must lead an index. Empty: not sortable."""
    orders: tuple[str, str] = ("", "")
    """What people read of its ascending and its descending order, where it can be sorted by."""
    descends_first: bool = False
    right: bool = False
    hidden_label: bool = False

    @property
    def css(self) -> str:
        return "right num" if self.right else ""


@dataclass(frozen=True, slots=True)
class Table(Generic[Row]):
    """Columns in order, and the fields that a row needs from the database."""

    name: str
    columns: Sequence[Column[Row]]
    fields: Sequence[str]
    default_sort: str

    def cells(self, row: Row) -> dict[str, str]:
        """Content of every cell of ``row`` by column."""
        return {column.name: str(conditional_escape(column.cell(row))) for column in self.columns}

    def tds(self, row: Row) -> SafeString:
        """The same cells with the ``td`` around each, as the page shows them."""
        drawn = (f"{_opened(column)}{conditional_escape(column.cell(row))}</td>"
                 for column in self.columns)  # fmt: skip
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
            for value, words in in_words(column.name, column.orders, column.descends_first).items()
        }
        default = self.default_sort.lstrip("-")
        first = {k: v for k, v in found.items() if k.lstrip("-") == default}
        return first | found

    def column(self, name: str) -> Column[Row]:
        return next(column for column in self.columns if column.name == name)


@lru_cache(maxsize=128)
def _opened(column: Column[Any]) -> SafeString:
    style = format_html(' class="{}"', column.css) if column.css else ""
    return format_html('<td data-col="{0}" data-testid="cell-{0}"{1}>', column.name, style)


@dataclass(frozen=True, slots=True)
class Header:
    """Head of one column as a page shows it."""

    column: Column[Any]
    url: str
    """Address that sorts by this column; empty: not sortable."""
    aria_sort: str
    """``ascending``, ``descending`` or empty."""


def in_words(name: str, orders: tuple[str, str], descends_first: bool = False) -> dict[str, str]:
    """Both orders by ``name`` as the address has them, the usual one first."""
    both = ((name, orders[0]), (f"-{name}", orders[1]))
    return dict(reversed(both) if descends_first else both)


def two_lines(first: SafeString | str, second: SafeString | str) -> SafeString:
    """Two lines per cell, not two columns."""
    return format_html('{}<span class="sub">{}</span>', first, second)
