"""What an address asks of a table: filters, search, order, columns, density and place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic
from urllib.parse import quote, urlencode
from uuid import UUID

from django.contrib.auth.base_user import AbstractBaseUser
from django.db.models import Q, QuerySet
from django.http import QueryDict

from gangline.tables.columns import Column, Row, Table
from gangline.tables.filters import BadValue
from gangline.tables.paging import Order

PAGE_SIZES = (25, 50, 100, 200)
DEFAULT_PAGE = 50
MAX_SEARCH = 100
_PLACE = ("after", "before", "up", "down")


@dataclass(frozen=True, slots=True)
class TableQuery(Generic[Row]):
    """One address as a table understands it. Unknown names are ignored, so are unknown orders."""

    table: Table[Row]
    user: AbstractBaseUser
    address: QueryDict
    search: str = ""
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What is filtered by, by name of the filter; the values that it can read."""
    problems: Mapping[str, str] = field(default_factory=dict)
    """Sentences about values that could not be read, by name of the filter."""
    columns: Sequence[Column[Row]] = ()
    sort: str = ""
    is_compact: bool = False
    after: str = ""
    before: str = ""
    size: int = DEFAULT_PAGE

    @property
    def is_filtered(self) -> bool:
        return bool(self.search or self.values or self.problems)

    @property
    def order(self) -> Order:
        name = self.sort.removeprefix("-")
        descending = self.sort.startswith("-")
        return Order(self.table.sorts()[name], descending, self.table.ties)

    def fetch(self, rows: QuerySet[Any]) -> list[Row]:
        """The rows with what the shown columns and the cursors need."""
        return self.table.fetch(rows, self.columns, self.order.columns)

    def filtered(self, rows: QuerySet[Any], *, without: Sequence[str] = ()) -> QuerySet[Any]:
        """The rows that pass the search and every filter but those in ``without``."""
        for one in self.table.filters:
            if (values := self.values.get(one.name)) and one.name not in without:
                rows = rows.filter(one.condition(values, self))
        return rows.filter(search_in(self.table.search, self.search)) if self.search else rows

    def url(self, path: str, **changes: str | Sequence[str] | None) -> str:
        """``path`` with this address, some parameters changed; every change goes to page one."""
        query = {name: values for name, values in self.address.lists() if any(values)}
        if "cols" in query:
            query["cols"] = [",".join(c.name for c in self.columns if not c.is_fixed)]
        for name, value in {**dict.fromkeys(_PLACE), **changes}.items():
            query.pop(name, None)
            if value:
                query[name] = [value if isinstance(value, str) else ",".join(value)]
        if query.get("sort", [""])[-1] == self.table.default_sort:
            del query["sort"]
        encoded = urlencode(query, doseq=True, safe=",", quote_via=quote)
        return f"{path}?{encoded}" if encoded else path


def read(table: Table[Row], address: QueryDict, user: AbstractBaseUser) -> TableQuery[Row]:
    """Read an address; what makes no sense falls back to the default or becomes a problem."""
    values, problems = {}, {}
    for one in table.filters:
        if one.on_page and (given := one.given(address)):
            try:
                one.check(given)
            except BadValue as error:
                problems[one.name] = f"{_quoted(given)} cannot be read: use {error}."
            else:
                values[one.name] = given
    sort, size = address.get("sort", ""), address.get("size", "")
    return TableQuery(
        table=table,
        user=user,
        address=address,
        search=printable(address.get("q", ""))[:MAX_SEARCH],
        values=values,
        problems=problems,
        columns=table.chosen(_columns(address)),
        sort=sort if sort.removeprefix("-") in table.sorts() else table.default_sort,
        is_compact=address.get("density") == "compact",
        after=address.get("after", ""),
        before=address.get("before", ""),
        size=int(size) if size in map(str, PAGE_SIZES) else DEFAULT_PAGE,
    )


def _columns(address: QueryDict) -> list[str]:
    """Names of the chosen columns; ``up`` and ``down`` move one of them by one place."""
    names = ",".join(address.getlist("cols")).split(",")
    for direction, step in (("up", -1), ("down", 1)):
        name = address.get(direction, "")
        if name in names:
            place = names.index(name)
            names.insert(max(place + step, 0), names.pop(place))
    return names


def search_in(columns: Sequence[str], text: str) -> Q:
    """Rows in which every word of ``text`` stands, or the one whose id it is."""
    found = Q()
    for word in text.split():
        any_column = Q()
        for column in columns:
            any_column |= Q(**{f"{column}__icontains": word})
        found &= any_column
    try:
        return found | Q(pk=UUID(text))
    except ValueError:
        return found


def printable(text: str) -> str:
    return "".join(c for c in text if c.isprintable()).strip()


def _quoted(values: Sequence[str]) -> str:
    return " and ".join(f"“{value[:40]}”" for value in values if value)
