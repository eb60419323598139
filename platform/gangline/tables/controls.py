"""What stands around the rows of a table and is drawn for every page: heads, filters, choices.

In Python, because a template takes four times as long; what repeats is drawn once and kept.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from gangline.tables.columns import Column
from gangline.tables.filters import Filter, Kind
from gangline.web import components

_ARROWS = {"ascending": "arrow-up", "descending": "arrow-down"}


@dataclass(frozen=True, slots=True)
class Header:
    """Head of one column."""

    column: Column[Any]
    url: str
    """Address that sorts by this column; empty: not sortable."""
    aria_sort: str
    """``ascending``, ``descending`` or empty."""

    @property
    def drawn(self) -> SafeString:
        css = f"{self.column.css} col-{self.column.width or 'free'}".strip()
        order = format_html(' aria-sort="{}"', self.aria_sort) if self.aria_sort else ""
        return format_html(
            '<th scope="col" data-col="{}" class="{}"{}>{}</th>\n',
            self.column.name,
            css,
            order,
            self._label(),
        )

    def _label(self) -> SafeString | str:
        label = self.column.label
        if self.url:
            arrow = _ARROWS.get(self.aria_sort)
            shown = components.icon(arrow) if arrow else ""
            return format_html('<a href="{}">{}\n{}</a>', self.url, label, shown)
        if self.column.hidden_label:
            return format_html('<span class="sr">{}</span>', label)
        return label


@dataclass(frozen=True, slots=True)
class Option:
    """One value of a choice: its words, and whether it is chosen."""

    value: str
    label: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Control:
    """One filter of the toolbar with what is chosen in it."""

    filter: Filter
    options: tuple[Option, ...]
    values: tuple[str, ...]
    problem: str = ""

    @property
    def count(self) -> int:
        """Values that are chosen."""
        return sum(one.is_chosen for one in self.options) or sum(map(bool, self.values))

    @property
    def boxes(self) -> SafeString:
        return _boxes(self.filter.name, self.options)

    @property
    def inputs(self) -> Iterator[tuple[str, str, str]]:
        """Name, label and value of each field of a filter that is typed."""
        labels = ("From", "To") if self.filter.is_range else (self.filter.label,)
        yield from zip(self.filter.fields, labels, self.values or ("", ""), strict=False)

    @property
    def input_type(self) -> str:
        return {Kind.DATES: "date", Kind.NUMBERS: "number"}.get(self.filter.kind, "text")


@lru_cache(maxsize=512)
def _boxes(name: str, options: tuple[Option, ...]) -> SafeString:
    """A checkbox for each value of the filter ``name``."""
    return format_html_join(
        "\n",
        '<label class="pick-option"><input type="checkbox" name="{}" value="{}"{}>'
        "<span>{}</span></label>",
        ((name, one.value, _if(one, "checked"), one.label) for one in options),
    )


@lru_cache(maxsize=512)
def drawn_orders(options: tuple[Option, ...]) -> SafeString:
    """The choices of the select that sorts."""
    return format_html_join(
        "\n",
        '<option value="{}"{}>{}</option>',
        ((one.value, _if(one, "selected"), one.label) for one in options),
    )


def drawn_chooser(options: tuple[Option, ...]) -> SafeString:
    """The columns that can be hidden or moved."""
    return _chooser(options, components.sprite())


@lru_cache(maxsize=512)
def _chooser(options: tuple[Option, ...], sprite_url: str) -> SafeString:
    return format_html_join("\n", "{}", ((_chooser_item(one),) for one in options))


def _chooser_item(one: Option) -> SafeString:
    return format_html(
        '<li class="chooser-item"><label class="pick-option">'
        '<input type="checkbox" name="cols" value="{}"{}><span>{}</span></label>{}</li>',
        one.value,
        _if(one, "checked"),
        one.label,
        format_html_join(
            "",
            '<button class="button ghost small icon-only" name="{}" value="{}"'
            ' aria-label="Move {} {}">{}</button>',
            (
                (way, one.value, one.label, way, components.icon(f"arrow-{way}"))
                for way in ("up", "down")
            ),
        ),
    )


def _if(one: Option, attribute: str) -> SafeString:
    return format_html(" {}", attribute) if one.is_chosen else SafeString()
