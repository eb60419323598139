"""A table as its page shows it: what the templates of `templates/tables` read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic

from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from gangline.tables import counts
from gangline.tables.columns import Row, is_wide
from gangline.tables.controls import Control, Header, Option, drawn_chooser, drawn_orders
from gangline.tables.filters import Choices, Filter
from gangline.tables.paging import Page
from gangline.tables.query import TableQuery


@dataclass(frozen=True, slots=True)
class ActiveFilter:
    """One filter in force, and the address without it."""

    label: str
    values: str
    url: str


@dataclass(frozen=True)
class TablePage(Generic[Row]):
    """One page of a table: the rows are drawn, everything else follows from the address."""

    query: TableQuery[Row]
    path: str
    found: Page[Row]
    rows: Sequence[SafeString]
    total: int
    """Rows that fit, counted up to `counts.CAP` + 1."""
    choices: Mapping[str, Choices] = field(default_factory=dict)
    """Choices of filters that depend on who looks, by name."""
    export_path: str = ""
    views_path: str = ""

    @property
    def heads(self) -> SafeString:
        return format_html_join("", "{}", ((one.drawn,) for one in self._headers()))

    def _headers(self) -> Iterator[Header]:
        name, descending = self.query.sort.removeprefix("-"), self.query.sort.startswith("-")
        for column in self.query.columns:
            is_current = column.name == name
            down = not descending if is_current else column.descends_first
            url = self._url(sort=("-" if down else "") + column.name) if column.sort else ""
            order = ("descending" if descending else "ascending") if is_current else ""
            yield Header(column, url, order)

    @cached_property
    def controls(self) -> list[Control]:
        """The filters of the page in their order."""
        return [self._control(one) for one in self.query.table.filters if one.on_page]

    @cached_property
    def main_controls(self) -> list[Control]:
        return [one for one in self.controls if one.filter.is_main]

    @cached_property
    def more_controls(self) -> list[Control]:
        return [one for one in self.controls if not one.filter.is_main]

    @property
    def more_count(self) -> int:
        """Filters in force among those that have no button of their own."""
        return sum(bool(one.count) for one in self.more_controls)

    @property
    def filter_count(self) -> int:
        return sum(bool(one.count) for one in self.controls)

    @property
    def active(self) -> Iterator[ActiveFilter]:
        """Search and filters in force, each with the address without it."""
        if self.query.search:
            yield ActiveFilter("Search", self.query.search, self._url(q=None))
        for control in self.controls:
            one = control.filter
            if values := self.query.values.get(one.name):
                words = one.in_words(values, [(o.value, o.label) for o in control.options])
                yield ActiveFilter(one.label, words, self._url(**dict.fromkeys(one.fields)))

    @property
    def orders(self) -> SafeString:
        orders = self.query.table.orders().items()
        return drawn_orders(tuple(Option(v, words, v == self.query.sort) for v, words in orders))

    @property
    def chooser(self) -> SafeString:
        """The columns that can be hidden: the shown ones in their order, then the others."""
        shown = [column for column in self.query.columns if not column.is_fixed]
        hideable = [column for column in self.query.table.columns if not column.is_fixed]
        rest = [column for column in hideable if column not in shown]
        choices = [(column, True) for column in shown] + [(column, False) for column in rest]
        return drawn_chooser(tuple(Option(one.name, one.label, is_on) for one, is_on in choices))

    @property
    def kept(self) -> list[tuple[str, str]]:
        """What the address has beside filters, for the form of the filters."""
        names = ("cols", "density", "size", "view", *self.query.table.kept)
        return [(name, value) for name in names if (value := self.query.address.get(name, ""))]

    @property
    def kept_by_chooser(self) -> list[tuple[str, str]]:
        """What the address has beside columns, for the form that chooses those."""
        return [
            (name, value)
            for name, values in self.query.address.lists()
            for value in values
            if value and name not in ("cols", "after", "before")
        ]

    @property
    def css(self) -> str:
        parts = ("compact" if self.query.is_compact else "", "wide" if self.is_wide else "")
        return " ".join(part for part in parts if part)

    @property
    def is_wide(self) -> bool:
        return is_wide(self.query.columns)

    @property
    def is_empty(self) -> bool:
        return not self.rows

    @property
    def is_new(self) -> bool:
        """Whether there is nothing at all, not only nothing that fits."""
        query = self.query
        return self.is_empty and not (query.is_filtered or query.after or query.before)

    @property
    def total_in_words(self) -> str:
        return counts.in_words(self.total)

    @property
    def range_in_words(self) -> str:
        """``1–50``; of a single row its place alone."""
        first = self.found.first
        return f"{first}" if first == self.last else f"{first}–{self.last}"

    @property
    def last(self) -> int:
        return self.found.last

    @property
    def has_more(self) -> bool:
        """Whether more rows fit than are on this page."""
        return bool(self.found.previous or self.found.next)

    @property
    def previous_url(self) -> str:
        return self._url(before=self.found.previous) if self.found.previous else ""

    @property
    def next_url(self) -> str:
        return self._url(after=self.found.next) if self.found.next else ""

    @cached_property
    def url(self) -> str:
        """The address without what is empty."""
        query = self.query
        return self._url(after=query.after, before=query.before)

    @property
    def first_url(self) -> str:
        return self._url()

    @property
    def clear_url(self) -> str:
        """Without search and filters; columns, order and density stay."""
        names = [name for one in self.query.table.filters for name in one.fields]
        return self._url(q=None, view=None, **dict.fromkeys(names))

    @property
    def density_url(self) -> str:
        return self._url(density=None if self.query.is_compact else "compact")

    @property
    def usual_columns_url(self) -> str:
        return self._url(cols=None)

    @property
    def export_url(self) -> str:
        return self.query.url(self.export_path) if self.export_path else ""

    @property
    def views_url(self) -> str:
        """The saved views, and a form to save this one."""
        return self.query.url(self.views_path) if self.views_path else ""

    @property
    def nothing_title(self) -> str:
        return f"No {self.query.table.noun[1]} match"

    @property
    def problems(self) -> Iterator[tuple[str, str]]:
        """Label and sentence of each filter whose value cannot be read."""
        for name, sentence in self.query.problems.items():
            yield self.query.table.filter(name).label, sentence

    @cached_property
    def swapped(self) -> str:
        """Ids of what a new filter changes beside the rows, for ``hx-select-oob``."""
        counted = [f"count-{one.filter.name}" for one in self.main_controls]
        ids = ["table-above", "table-tools", "table-kept", "count-more", "count-filters", *counted]
        return ",".join(f"#{one}" for one in ids)

    def _url(self, **changes: str | None) -> str:
        return self.query.url(self.path, **changes)

    def _control(self, one: Filter) -> Control:
        raw = one.given(self.query.address)
        values = self.query.values.get(one.name, ())
        chosen = {value.lower() for value in values}
        options = tuple(
            Option(value, label, bool(chosen) and bool({value.lower(), label.lower()} & chosen))
            for value, label in self.choices.get(one.name, one.choices)
        )
        return Control(one, options, raw, self.query.problems.get(one.name, ""))


def with_address(
    request: HttpRequest, page: TablePage[Any], response: HttpResponse
) -> HttpResponse:
    """``response`` of a filter that acts at once: what the address bar shows then.

    Typing on in the search replaces the step of the history that its first letters made.
    """
    if request.headers.get("HX-Request") != "true":
        return response
    there = request.headers.get("HX-Current-URL", "").partition("#")[0]
    before, after = (QueryDict(url.partition("?")[2], mutable=True) for url in (there, page.url))
    if before == after:
        response["HX-Push-Url"] = "false"
    elif before.pop("q", None) and after.pop("q", None) and before == after:
        response["HX-Replace-Url"] = page.url
    else:
        response["HX-Push-Url"] = page.url
    return response
