"""The list of a resource: a table whose rows are objects of the model."""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from django.db.models import QuerySet
from django.utils.html import format_html
from django.utils.safestring import SafeString

from gangline.tables.cells import NONE
from gangline.tables.columns import Column, Table
from gangline.tables.filters import Choices, Kind
from gangline.tables.query import TableQuery
from gangline.web import components


class ResourceTable(Table[Any]):
    """Columns read the objects that `Resource.rows` gives."""

    def fetch(
        self,
        rows: QuerySet[Any],
        columns: Sequence[Column[Any]] | None = None,
        also: Sequence[str] = (),
    ) -> list[Any]:
        return list(by_key(rows))


def by_key(page: QuerySet[Any]) -> QuerySet[Any]:
    """The rows of a page, their keys found first: annotations are computed for these alone.

    In one statement a database computes them for every row that it sorts.
    """
    whole = page.all()
    whole.query.clear_limits()
    return whole.filter(pk__in=page.values("pk"))


def table(
    name: str,
    *columns: Column[Any],
    noun: tuple[str, str],
    of: type[ResourceTable] = ResourceTable,
    **more: Any,
) -> ResourceTable:
    """A table that begins sorted by its first sortable column. Sort columns must not be NULL."""
    more.setdefault("default_sort", next(one.name for one in columns if one.sort))
    more.setdefault("ties", ("pk",))
    more.setdefault("search", ("name",))
    return of(name=name, columns=columns, fields=(), noun=noun, **more)


def name_column(resource: str, label: str, *, sort: str = "name", **more: Any) -> Column[Any]:
    """The name as a link to the object's page, its description below."""

    def cell(row: Any) -> SafeString:
        from .registry import get

        own = get(resource)
        sub = getattr(row, "description", "")
        below = format_html('<span class="sub">{}</span>', sub) if sub else ""
        name = own.name_of(row)
        return format_html('<a class="name" href="{}">{}</a>{}', own.url(row), name, below)

    def text(row: Any) -> str:
        from .registry import get

        return get(resource).name_of(row)

    return Column("name", label, cell, sort=sort, text=text, is_fixed=True, **more)


def column(
    name: str,
    label: str,
    attribute: str = "",
    *,
    cell: Callable[[Any], SafeString | str] | None = None,
    **more: Any,
) -> Column[Any]:
    """A column of an attribute (``cluster.name``); ``cell`` draws what is more than its text."""
    read = attrgetter(attribute or name)

    def shown(row: Any) -> SafeString | str:
        value = read(row)
        return NONE if value in (None, "") else str(value)

    more = {"text": read, "is_named": True, **more}
    return Column(name, label, cell or shown, **more)


def time_column(name: str, label: str, attribute: str, **more: Any) -> Column[Any]:
    """A moment, told relative to now."""
    read = attrgetter(attribute)
    more.setdefault("width", "m")
    return Column(
        name,
        label,
        lambda row: components.time_ago(read(row)),
        text=read,
        descends_first=True,
        is_named=True,
        **more,
    )


def filtered(
    query: TableQuery[Any], rows: QuerySet[Any], choices: Mapping[str, Choices]
) -> QuerySet[Any]:
    """The rows that pass; a value that is not on offer lets nothing pass."""
    for one in query.table.filters:
        values = query.values.get(one.name, ())
        offered = {value for value, _ in choices.get(one.name, one.choices)}
        if one.kind is Kind.CHOICE and not offered.issuperset(values):
            return rows.none()
    return query.filtered(rows)
