"""The small parts that are drawn many times per page, as functions; the tags call them too."""

import re
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Literal, Protocol

from django.conf import settings
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from gangline.web import formats

Tone = Literal["neutral", "info", "good", "warn", "bad"]
MOST_DOTS = 9


class Status(Protocol):
    """What a status needs to be drawn: `shape` is a symbol of the sprite without its `s-`."""

    @property
    def word(self) -> str: ...
    @property
    def tone(self) -> str: ...
    @property
    def shape(self) -> str: ...


def sprite() -> str:
    """Address of the icon sprite under the storage in use."""
    return _sprite(settings.STATIC_URL, settings.STORAGES["staticfiles"]["BACKEND"])


@lru_cache(maxsize=8)
def _sprite(url: str, backend: str) -> str:
    # One lookup per process: a table page draws hundreds of icons.
    return static("icons.svg")


def icon(name: str, label: str = "", css: str = "icon") -> SafeString:
    """One symbol of the sprite; without a label it is decoration and hidden from readers."""
    return _icon(sprite(), name, label, css)


# A table draws the same few hundreds of times: what repeats is drawn once and kept.
@lru_cache(maxsize=1024)
def _icon(sprite_url: str, name: str, label: str, css: str) -> SafeString:
    if label:
        return format_html(
            '<svg class="{}" role="img" aria-label="{}"><use href="{}#{}"/></svg>',
            css,
            label,
            sprite_url,
            name,
        )
    return format_html(
        '<svg class="{}" aria-hidden="true"><use href="{}#{}"/></svg>', css, sprite_url, name
    )


def status(value: Status, reason: str = "", *, badge: str = "", line: str = "") -> SafeString:
    """Shape, word and tone; the reason below; `badge` adds a word such as "No contact".

    ``line`` of a log stands in place of the reason; both are its title, for it may be cut.
    """
    head = _status(sprite(), value.tone, value.shape, value.word)
    below = SafeString("")
    if line:
        below = format_html(
            '<code class="sub status-reason status-line" title="{}">{}</code>',
            f"{line}\n{reason}".strip(),
            line,
        )
    elif reason:
        below = format_html('<span class="sub status-reason" title="{0}">{0}</span>', reason)
    if badge:
        # One element around both, so that a table can put them into one line below the status.
        below = format_html(
            ' <span class="status-below">'
            '<span class="status tone-warn" title="{1}">{0}<span>{1}</span></span>{2}</span>',
            icon("s-no-contact", css="status-shape"),
            badge,
            below,
        )
    return head + below


@lru_cache(maxsize=128)
def _status(sprite_url: str, tone: str, shape: str, word: str) -> SafeString:
    drawing = _icon(sprite_url, f"s-{shape}", "", "status-shape")
    return format_html('<span class="status tone-{}">{}{}</span>', tone, drawing, word)


def gang(
    pods: Sequence[bool] | None = None,
    *,
    ready: int | None = None,
    total: int | None = None,
    lead: bool = False,
    tone: str = "neutral",
) -> SafeString:
    """Pods as dots on a line, the lead a diamond in front; above nine pods a bar.

    Give `pods` (ready or not, in rank order, the lead first) or the counts alone.
    """
    if pods is None:
        ready, total = ready or 0, total or 0
        dots = tuple(number < ready for number in range(min(total, MOST_DOTS + 1)))
    else:
        ready, total = sum(pods), len(pods)
        dots = tuple(pods[: MOST_DOTS + 1])
    return _gang(dots, ready, total, lead, tone)


@lru_cache(maxsize=1024)
def _gang(pods: tuple[bool, ...], ready: int, total: int, lead: bool, tone: str) -> SafeString:
    line: SafeString
    if total > MOST_DOTS:
        line = format_html(
            '<progress class="progress" value="{}" max="{}"></progress>', ready, total
        )
    else:
        line = format_html_join(
            "",
            '<i class="gang-pod{}{}"></i>',
            (
                (" lead" if lead and number == 0 else "", " on" if is_ready else "")
                for number, is_ready in enumerate(pods)
            ),
        )
    return format_html(
        '<span class="gang tone-{}"><span class="gang-line" aria-hidden="true">{}</span>'
        '<span class="gang-count">{}/{}<span class="sr"> {} ready</span></span></span>',
        tone,
        line,
        ready,
        total,
        "pod" if total == 1 else "pods",
    )


def chip(text: str, kind: str = "", icon_name: str = "") -> SafeString:
    """A small word: where a value comes from. `kind` is `policy`, `own` or a tone."""
    css = f"chip {kind}" if kind in ("", "policy", "own") else f"chip tone-{kind}"
    mark = icon(icon_name, css="icon chip-icon") if icon_name else ""
    return format_html('<span class="{}">{}{}</span>', css.strip(), mark, text)


def command_line(text: str) -> SafeString:
    """What is typed in a terminal; a line never breaks behind the dashes of an option."""
    parts = re.split(r"(?<!\S)(-\S+)", text)
    words = (
        format_html('<span class="flag">{}</span>', part) if place % 2 else part
        for place, part in enumerate(parts)
    )
    return format_html("<code>{}</code>", format_html_join("", "{}", ((one,) for one in words)))


def time_ago(moment: datetime | None, *, now: datetime | None = None) -> SafeString:
    """A `time` element: relative within a day, the whole date and zone on hover."""
    if moment is None:
        return SafeString(formats.NOTHING)
    return format_html(
        '<time datetime="{}" title="{}" data-relative>{}</time>',
        moment.isoformat(timespec="seconds"),
        formats.absolute(moment),
        formats.relative(moment, now=now),
    )


def progress(value: float, maximum: float, label: str, tone: str = "") -> SafeString:
    """A bar over the whole width with its name."""
    return format_html(
        '<progress class="{}" value="{}" max="{}" aria-label="{}"></progress>',
        f"progress wide tone-{tone}" if tone else "progress wide",
        value,
        maximum,
        label,
    )


def quota_bar(used: float, quota: float, most: float | None, label: str) -> SafeString:
    """Use against a quota, drawn as far as ``most``: a mark stands where the quota ends."""
    end = max(used, quota, most or 0) or 1

    def at(value: float) -> str:
        return f"{100 * value / end:.2f}"

    over, mark = SafeString(""), SafeString("")
    if used > quota:
        over = format_html(
            '<rect class="over" x="{}" width="{}" height="8"/>', at(quota), at(used - quota)
        )
    if 0 < quota < end:
        mark = format_html('<path class="mark" d="M{0} 0V8"/>', at(quota))
    return format_html(
        '<svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" role="img"'
        ' aria-label="{}"><rect class="used" width="{}" height="8"/>{}{}</svg>',
        label,
        at(min(used, quota)),
        over,
        mark,
    )


def pod_grid(cells: Sequence[tuple[str, str, Status]]) -> SafeString:
    """One square per pod (name, address, status) in rank order, for gangs too long for a line."""
    squares = format_html_join(
        "",
        '<a class="pod-grid-cell tone-{}" href="{}" title="{}, {}">{}'
        '<span class="sr">{}, {}</span></a>',
        (
            (
                state.tone,
                url,
                name,
                state.word,
                icon(f"s-{state.shape}", css="pod-grid-shape"),
                name,
                state.word,
            )
            for name, url, state in cells
        ),
    )
    return format_html('<div class="pod-grid">{}</div>', squares or mark_safe(""))
