"""The contract of lists: search, filters, orders and pages."""

from datetime import datetime
from urllib.parse import quote

from django.test import Client

from gangline.tables.filters import Kind

from .contract import NOT_DRAWN, Context, check


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
