"""The list of a resource: columns, search, filters and sort keys of one declaration."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from django.db.models import Q, QuerySet
from django.http import HttpRequest, QueryDict
from django.utils.html import format_html
from django.utils.safestring import SafeString

from gangline.accounts.models import User
from gangline.tables.columns import Column, Header, Table

Kind = Literal["text", "integer", "uuid", "time", "number", "choice"]


@dataclass(frozen=True, kw_only=True)
class Filter:
    """A condition that page and API offer alike."""

    name: str
    """In the address of the page and in ``filterBy``."""
    column: str
    label: str = ""
    """Empty: the API alone offers it."""
    kind: Kind = "text"
    choices: Callable[[User], Sequence[tuple[str, str]]] | None = None
    """What the page offers."""


@dataclass(frozen=True, kw_only=True)
class ResourceTable(Table[Any]):
    """What a list shows and can be asked."""

    search: Sequence[str] = ("name",)
    filters: Sequence[Filter] = ()
    wire_sorts: Mapping[str, str] | None = None
    """API name → column; the filters' columns unless set."""

    def filter(self, name: str) -> Filter | None:
        return next((one for one in self.filters if one.name == name), None)


def table(name: str, columns: Sequence[Column[Any]], **more: Any) -> ResourceTable:
    """A table that begins sorted by its first sortable column."""
    first = next(one.name for one in columns if one.sort)
    more.setdefault("default_sort", first)
    return ResourceTable(name=name, columns=columns, fields=(), **more)


def name_link(row: Any, resource_key: str) -> SafeString:
    """The name of a row as the link to its page."""
    from .registry import get

    resource = get(resource_key)
    description = getattr(row, "description", "")
    sub = format_html('<span class="sub">{}</span>', description) if description else ""
    return format_html(
        '<a class="name" href="{}">{}</a>{}', resource.url(row), resource.name_of(row), sub
    )


@dataclass(frozen=True, slots=True)
class Listing:
    """One request of a list: what was given, and the rows that pass."""

    given: Mapping[str, list[str]]
    search: str
    sort: str
    rows: QuerySet[Any]
    is_narrowed: bool


def read(table: ResourceTable, rows: QuerySet[Any], query: QueryDict) -> Listing:
    """The rows that the address asks for. What is not known in it is ignored."""
    search = "".join(c for c in query.get("q", "").strip()[:100] if c.isprintable())
    if search:
        condition = Q()
        for column in table.search:
            condition |= Q(**{f"{column}__icontains": search})
        rows = rows.filter(condition)
    given: dict[str, list[str]] = {}
    for one in table.filters:
        values = [v for v in query.getlist(one.name) if v][:50]
        good = [v for v in values if _fits(one, v)]
        if good:
            given[one.name] = good
            rows = rows.filter(**{f"{one.column}__in": good})
        elif values:
            given[one.name] = values
            rows = rows.none()
    sort = query.get("sort", table.default_sort)
    columns = table.sorts()
    if sort.removeprefix("-") not in columns:
        sort = table.default_sort
    sign = "-" if sort.startswith("-") else ""
    rows = rows.order_by(f"{sign}{columns[sort.removeprefix('-')]}", f"{sign}pk")
    return Listing(given, search, sort, rows, bool(search or given))


def headers(table: ResourceTable, request: HttpRequest, sort: str) -> list[Header]:
    """The heads of the columns with the addresses that sort by them."""
    found = []
    for column in table.columns:
        url = aria = ""
        if column.sort:
            down = sort == column.name
            asked = request.GET.copy()
            asked["sort"] = f"-{column.name}" if down else column.name
            asked.pop("page", None)
            url = f"?{asked.urlencode()}"
            if sort.removeprefix("-") == column.name:
                aria = "descending" if sort.startswith("-") else "ascending"
        found.append(Header(column, url, aria))
    return found


def _fits(one: Filter, value: str) -> bool:
    if one.kind == "integer":
        return value.isascii() and value.isdigit() and len(value) < 16
    if one.kind == "uuid":
        return len(value) == 36 and value.count("-") == 4 and value.replace("-", "").isalnum()
    return "\x00" not in value and len(value) <= 200
