"""Results as a table, JSON or YAML."""

import json
import re
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click

Column = tuple[str, Any]
"""Heading, and the path in the row (``meta.name``) or a function of the row."""
COLOURS = {
    "Running": "green", "Completed": "green", "Failed": "red", "Cannot start": "red",
    "Degraded": "yellow", "Pending": "yellow", "Preempted": "yellow", "Connected": "green",
}  # fmt: skip
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def show(rows: Iterable[Mapping[str, Any]], columns: Sequence[Column], form: str) -> None:
    """Print rows. As JSON or YAML they are whole, whatever the columns."""
    if form in ("json", "yaml"):
        data(list(rows), form)
        return
    lines = [[cell(row, source) for _, source in columns] for row in rows]
    table([heading for heading, _ in columns], lines)


def data(value: Any, form: str) -> None:
    """Print one value as JSON or YAML."""
    if form == "yaml":
        import yaml

        text = yaml.safe_dump(value, allow_unicode=True, sort_keys=False, width=100)
        click.echo(text.rstrip("\n"))
    else:
        click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as their widest cell, with nothing behind the last."""
    widths = [max(map(_width, column)) for column in zip(headings, *rows, strict=True)]
    click.echo(_joined(headings, widths))
    for row in rows:
        click.echo(_joined(row, widths))


def facts(pairs: Iterable[tuple[str, str]]) -> None:
    """Label and value, one a line; without a value no line."""
    told = [(label, value) for label, value in pairs if value]
    width = max((len(label) for label, _ in told), default=0) + 1
    for label, value in told:
        click.echo(f"{label + ':':{width}} {_styled(value)}")


def _joined(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [
        _styled(cell) + " " * (width - _width(cell))
        for cell, width in zip(cells, widths, strict=True)
    ]
    return "  ".join(padded).rstrip()


def _styled(cell: str) -> str:
    colour = COLOURS.get(cell)
    return click.style(cell, fg=colour) if colour and sys.stdout.isatty() else cell


def _width(text: str) -> int:
    """Columns of a terminal that the text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def cell(row: Mapping[str, Any], source: Any) -> str:
    return text_of(source(row) if callable(source) else value_at(row, source))


def value_at(row: Mapping[str, Any], path: str) -> Any:
    found: Any = row
    for step in path.split("."):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found


def text_of(value: Any) -> str:
    """A value in a cell: on one line, and without what a terminal would obey."""
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return _CONTROL.sub("�", text).replace("\n", " ").replace("\t", " ")


def age(moment: str | None) -> str:
    """``3h``: since a time of the API."""
    if not moment:
        return "-"
    try:
        began = datetime.fromisoformat(moment.replace("Z", "+00:00"))
    except ValueError:
        return "-"
    seconds = max(0, int((datetime.now(UTC) - began).total_seconds()))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
