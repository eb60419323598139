"""Lines as values for scripts and as rows of HTML, from the same cleaned text."""

import re
from collections.abc import Iterable
from typing import Any

from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from .lines import Line
from .sanitizer import Part, clean

_ERROR = re.compile(
    r"^\W*(?:ERROR|FATAL|CRITICAL|PANIC)\b"
    r"|^.{0,60}\b(?:ERROR|FATAL|CRITICAL)\b"
    r"|^[\w.]*(?:Error|Exception|Interrupt)(?::|$)"
    r"|^Traceback \(most recent call last\)"
)
_TONES = 4


def tone(source: str) -> str:
    """The class for the name of a pod: four that the workers take in turn, and one for the rest."""
    role, _, index = source.rpartition("-")
    return "m" if role != "worker" else f"w{int(index) % _TONES}"


def row(line: Line) -> dict[str, Any]:
    """What a page needs to draw a line; `parts` are texts with classes, never HTML."""
    parts = clean(line.words)
    value: dict[str, Any] = {
        "id": line.id,
        "time": _time(line),
        "stamp": line.stamp.decode("ascii", "replace"),
        "pod": line.source,
        "tone": tone(line.source),
        "parts": parts,
    }
    if kind := _kind(line, parts):
        value["kind"] = kind
    if line.is_cut:
        value["cut"] = True
    return value


def growth(line: Line) -> dict[str, Any]:
    """What was added to a line that is there already, or what stands for it now."""
    return row(line) | {"replaces": line.is_replaced, "cut": line.is_cut}


def rows_html(
    lines: Iterable[Line], *, at: str = "", mark: str = "", whole: str = ""
) -> SafeString:
    """List items of a page; `whole` is the address that shows all of a line."""
    return mark_safe("".join(_row_html(line, at, mark, whole) for line in lines))  # noqa: S308


def _row_html(line: Line, at: str, mark: str, whole: str) -> SafeString:
    value = row(line)
    texts = format_html_join("", "{}", ((_part_html(part, mark),) for part in value["parts"]))
    more = SafeString("")
    if line.is_cut:
        more = format_html(
            '<a class="log-more" href="{}text=1&line={}" data-whole>show all</a>', whole, line.id
        )
    return format_html(
        '<li data-id="{}"{}{}><time title="{}">{}</time><span class="src {}">{}</span>'
        '<span class="log-text">{}{}</span></li>',
        line.id,
        format_html(' class="{}"', value["kind"]) if "kind" in value else "",
        SafeString(' aria-current="true"') if line.id == at else "",
        value["stamp"],
        value["time"],
        value["tone"],
        line.source,
        texts,
        more,
    )


def _part_html(part: Part, mark: str) -> SafeString:
    text, classes = part
    inside = _marked(text, mark) if mark else escape(text)
    return format_html('<span class="{}">{}</span>', classes, inside) if classes else inside


def _marked(text: str, mark: str) -> SafeString:
    pieces = re.split(f"({re.escape(mark)})", text, flags=re.IGNORECASE)
    return format_html_join(
        "",
        "{}",
        (
            (format_html("<mark>{}</mark>", piece) if number % 2 else piece,)
            for number, piece in enumerate(pieces)
        ),
    )


def _kind(line: Line, parts: list[Part]) -> str:
    if line.is_notice:
        return "notice"
    return "err" if _ERROR.search("".join(text for text, _ in parts[:4])) else ""


def _time(line: Line) -> str:
    return line.stamp[11:23].decode("ascii", "replace")
