"""Cells that every table of running things needs: a menu of actions, a duration that goes on."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from django.utils import timezone
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from gangline.web import components, formats

NONE = format_html('<span class="none">{}</span>', formats.NOTHING)
"""Nothing to say: a dash in a table, nothing on the card that a row is on a phone."""


@dataclass(frozen=True, slots=True)
class RowAction:
    """One entry of a row's menu: a button of the form around the table, or a page that asks."""

    name: str
    label: str
    icon: str
    asks: bool = False
    is_harmful: bool = False
    sends_to: str = ""
    """Address that takes the row's id in the field ``sends_as``, not one of the row's own."""
    sends_as: str = ""
    opens: str = ""
    """Address of a page that begins with the row, to which its id is added."""


_ID, _TITLE = "\N{OBJECT REPLACEMENT CHARACTER}id", "\N{OBJECT REPLACEMENT CHARACTER}title"


def row_menu(base: str, row_id: str, title: str, actions: Sequence[RowAction]) -> SafeString:
    """The menu of the row ``title``; ``base``/<id>/<action> is where its entries lead."""
    menu = _menu(base, tuple(actions), components.sprite())
    # The title last: it may hold anything, even the mark of the id.
    filled = menu.replace(_ID, escape(row_id)).replace(_TITLE, escape(title))
    return mark_safe(filled)  # noqa: S308  both are escaped


@lru_cache(maxsize=256)
def _menu(base: str, actions: tuple[RowAction, ...], sprite_url: str) -> SafeString:
    """The menu of any row with these actions, with marks for what differs."""
    entries = format_html_join(
        "", "{}", ((_entry(f"{base}/{_ID}/{action.name}", _ID, action),) for action in actions)
    )
    return format_html(
        '<button type="button" class="button ghost small icon-only" popovertarget="m-{}"'
        ' aria-haspopup="true" aria-label="Actions for {}">{}</button>'
        '<div class="menu-list" id="m-{}" popover data-menu>{}</div>',
        _ID,
        _TITLE,
        components.icon("dots"),
        _ID,
        entries,
    )


def running_for(since: datetime) -> SafeString:
    """Time since ``since``; the page's script makes it grow."""
    seconds = (timezone.now() - since).total_seconds()
    return format_html(
        '<span data-running="{}">{}</span>',
        since.isoformat(timespec="seconds"),
        formats.duration(seconds, coarse=True),
    )


def _entry(url: str, row_id: str, action: RowAction) -> SafeString:
    css = "menu-item danger" if action.is_harmful else "menu-item"
    inside = format_html("{}{}", components.icon(action.icon), action.label)
    if action.asks:
        return format_html('<a class="{}" href="{}" data-dialog>{}</a>', css, url, inside)
    if action.opens:
        return format_html('<a class="{}" href="{}{}">{}</a>', css, action.opens, row_id, inside)
    if action.sends_to:
        return format_html(
            '<button class="{}" formaction="{}" name="{}" value="{}">{}</button>',
            css,
            action.sends_to,
            action.sends_as,
            row_id,
            inside,
        )
    return format_html('<button class="{}" formaction="{}">{}</button>', css, url, inside)
