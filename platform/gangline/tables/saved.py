"""Which page shows which table, and the addresses that saved views stand for."""

from typing import Any

from django.http import QueryDict
from django.urls import reverse

from gangline.tables.columns import Table
from gangline.tables.models import SavedView

_SHOWN = ("q", "sort", "cols", "density", "size")
"""What an address says of any table, beside its filters."""
_pages: dict[str, tuple[Table[Any], str]] = {}


def register(table: Table[Any], page: str) -> None:
    """The page called ``page`` shows ``table``; called in ``AppConfig.ready``."""
    _pages[table.name] = (table, page)


def names() -> list[str]:
    """Of all tables."""
    return sorted(_pages)


def table_of(name: str) -> Table[Any] | None:
    return _pages[name][0] if name in _pages else None


def page_of(name: str) -> str:
    return _pages[name][1]


def title_of(name: str) -> str:
    """How people call the table."""
    table = table_of(name)
    return (table.noun[1] if table else name).capitalize()


def parameters(table: Table[Any]) -> tuple[str, ...]:
    """What its addresses may say; the place in the list is not part of a view."""
    names = [name for one in table.filters if one.on_page for name in one.fields]
    return tuple(dict.fromkeys((*_SHOWN, *names, *table.kept)))


def text_of(table: Table[Any], address: QueryDict) -> str:
    """What of an address a view keeps, written alike whatever the address was."""
    query = QueryDict(mutable=True)
    for name in parameters(table):
        if any(values := address.getlist(name)):
            query.setlist(name, values)
    return query.urlencode(safe=",")


def address_of(view: SavedView) -> str:
    """The page that shows it; it names the view, so that the page knows which it is."""
    query = QueryDict(view.query, mutable=True)
    query["view"] = str(view.pk)
    return f"{reverse(page_of(view.table))}?{query.urlencode(safe=',')}"
