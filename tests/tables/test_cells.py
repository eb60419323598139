"""Cells that are drawn many times: what is kept between rows must never show in another row."""

from dataclasses import dataclass

from django.utils.html import format_html

from gangline.tables.cells import RowAction, row_menu
from gangline.tables.columns import Column, Table

STOP = RowAction("stop", "Stop", "player-stop", asks=True)
COPY = RowAction("copy", "Copy", "copy", sends_to="/drafts", sends_as="from")


@dataclass(frozen=True)
class Thing:
    name: str


THINGS: Table[Thing] = Table(
    name="things",
    fields=("name",),
    default_sort="name",
    columns=(
        Column("name", "Name", lambda thing: thing.name),
        Column("bold", "Bold", lambda thing: format_html("<b>{}</b>", thing.name), right=True),
    ),
)


def test_every_row_gets_its_own_menu() -> None:
    first = row_menu("/things", "id-1", "one", [STOP, COPY])
    second = row_menu("/things", "id-2", "two", [STOP, COPY])
    assert second == first.replace("id-1", "id-2").replace("one", "two")
    assert 'href="/things/id-1/stop"' in first
    assert 'name="from" value="id-1"' in first


def test_rows_with_other_actions_get_other_menus() -> None:
    assert "Copy" not in row_menu("/things", "id-1", "one", [STOP])
    assert "Copy" in row_menu("/things", "id-1", "one", [COPY])


def test_a_title_stays_text_whatever_it_holds() -> None:
    drawn = row_menu("/things", "id-1", '<b>"\ufffcid\ufffctitle{}', [STOP])
    assert "<b>" not in drawn
    assert "Actions for &lt;b&gt;&quot;\ufffcid\ufffctitle{}" in drawn
    assert 'popovertarget="m-id-1"' in drawn


def test_cells_that_are_plain_text_are_escaped() -> None:
    evil = Thing("<script>")
    assert THINGS.cells(evil)["name"] == "&lt;script&gt;"
    assert THINGS.cells(evil)["bold"] == "<b>&lt;script&gt;</b>"
    assert "<script>" not in THINGS.tds(evil)


def test_the_page_shows_the_cells_that_live_updates_send() -> None:
    thing = Thing("one")
    drawn = THINGS.tds(thing)
    for name, html in THINGS.cells(thing).items():
        assert f'<td data-col="{name}"' in drawn
        assert f">{html}</td>" in drawn
    assert 'data-testid="cell-bold" class="right num"' in drawn
