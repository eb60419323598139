"""The contract of every list: what is asked of page, CSV and API is shown, and nothing else."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Any
from urllib.parse import quote

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from gangline.tables.filters import Kind

from .contract import NOT_DRAWN, Context, check, lines_of, no_wire


@check(no_wire)
def asked_lists(c: Context) -> None:
    """Search, sort and pages; what is not known of a query is refused by the API."""
    for number in range(3):
        c.sample.make(c.world, f"listed-{number}")
    table, wire = c.resource.table, c.resource.wire
    assert wire is not None
    everything = len(c.api_rows(""))
    for one in table.filters:
        for order in ("asc", "desc") if one.wire else ():
            assert len(c.api_rows(f"?sortBy={one.wire}&sortOrder={order}")) == everything
    if wire.is_paged and wire.envelope:
        first = c.api("administrator", "GET", "?limit=2").json()
        assert len(first[wire.envelope]) == 2
        assert first["next"] == 2
    for query in (
        "?colour=red",
        "?sortBy=colour",
        "?limit=0",
        "?filterBy=colour==red",
        "?offset=-1",
    ):
        assert c.api("administrator", "GET", query).status_code == 400, query


@check()
def what_is_searched_is_found(c: Context) -> None:
    """Page and API show what has the words, and leave out what has not; so does each filter."""
    found, other = c.sample.make(c.world, "kestrel"), c.sample.make(c.world, "osprey")
    name = c.resource.name_of(found)
    words = "kestrel" if "kestrel" in name else name
    for text, expected in ((words, True), (f"{words} no-such-word", False)):
        page = c.page("administrator").get(c.resource.list_url(), {"q": text})
        shown = {c.resource.id_of(row) for row in page.context["page"].found.rows}
        assert (c.resource.id_of(found) in shown) == expected, text
        assert c.resource.id_of(other) not in shown, text
        if c.resource.wire:
            assert len(c.api_rows(f"?search={quote(text)}")) == len(shown), text
    rows = c.resource.rows(c.world.people["administrator"])
    for one in c.resource.table.filters if c.resource.wire else ():
        if not one.wire or one.wire_where or not one.column:
            continue
        value = rows.filter(pk=found.pk).values_list(one.column, flat=True).first()
        text = value.isoformat() if isinstance(value, datetime) else str(value)
        if value in (None, "") or "," in text:
            continue
        count = rows.filter(**{one.column: value}).count()
        alike = c.api_rows(f"?filterBy={quote(f'{one.wire}=={text}')}")
        assert len(alike) == count, (one.wire, text)
        if one.kind in (Kind.TEXT, Kind.CHOICE):
            unlike = c.api_rows(f"?filterBy={quote(f'{one.wire}!={text}')}")
            assert len(unlike) == rows.exclude(**{one.column: value}).count(), (one.wire, text)


@check()
def list_pages(c: Context) -> None:
    """Every order, filter and page of the list; what it cannot read does no harm."""
    page = c.page("administrator")
    assert page.get(c.resource.list_url(), {"q": "no such thing"}).status_code == 200
    with NOT_DRAWN:
        _every_order_and_page(c, page)


def _every_order_and_page(c: Context, page: Client) -> None:
    table = c.resource.table
    for sort in table.sorts():
        for sign in ("", "-"):
            answer = page.get(c.resource.list_url(), {"sort": f"{sign}{sort}", "q": "listed"})
            assert answer.status_code == 200
    for one in table.filters:
        for name in one.fields:
            assert page.get(c.resource.list_url(), {name: "no such"}).status_code == 200, name
    short = page.get(c.resource.list_url(), {"size": "25", "sort": "x", "cols": "x"})
    assert short.status_code == 200
    for number in range(26 - c.count()):
        c.sample.make(c.world, f"more-{number}")
    for sort in table.sorts():
        first_page = page.get(c.resource.list_url(), {"size": "25", "sort": sort})
        rest = page.get(first_page.context["page"].next_url)
        assert rest.context["page"].found.first == 26, sort
    bad = page.get(c.resource.list_url(), {"after": "bm8"})
    assert bad.status_code == 302


@check()
def statements_do_not_grow(c: Context) -> None:
    """Page, CSV and API ask as many statements for many rows as for a few, whoever asks."""
    few, many = 3, 9
    people = ("administrator", "head")
    sent: list[dict[str, list[str]]] = []
    for size in (few, many):
        while c.resource.visible(c.world.people["administrator"]).count() < size:
            made = c.sample.make(c.world, f"row-{c.count()}")
            if c.sample.used:
                c.sample.used(c.world, made)
        sent.append({})
        for person in people:
            for way, ask in _ways_to_list(c, person).items():
                if size == few:
                    ask()  # what is read once per process is read now
                with CaptureQueriesContext(connection) as captured:
                    ask()
                sent[-1][f"{way} of {person}"] = [q["sql"][:200] for q in captured]
    for way, of_few in sent[0].items():
        of_many = sent[1][way]
        more = Counter(of_many) - Counter(of_few)
        assert len(of_many) <= len(of_few), (way, *more)


def _ways_to_list(c: Context, person: str) -> dict[str, Callable[[], Any]]:
    page, url = c.page(person), c.resource.list_url()
    ways: dict[str, Callable[[], Any]] = {
        "page": lambda: page.get(url),
        "csv": lambda: lines_of(page.get(f"{url}.csv")),
    }
    return ways | ({"api": lambda: c.api_rows("", person)} if c.resource.wire else {})
