"""A table as CSV: every row that fits, page by page, so that no query and no answer is long."""

import csv
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.http.response import StreamingHttpResponse
from django.utils import timezone

from gangline.tables.paging import page
from gangline.tables.query import TableQuery
from gangline.web.streams import streamed

ROWS = 1000
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


class _Echo:
    """A file that hands back what is written to it."""

    def write(self, text: str) -> str:
        return text


def csv_response(
    request: HttpRequest, query: TableQuery[Any], rows: QuerySet[Any]
) -> StreamingHttpResponse:
    """The shown columns of all ``rows``, in the order of the page, as a file."""
    name = f"{query.table.name}_{timezone.now():%Y%m%dT%H%M%SZ}.csv"
    return streamed(
        request,
        lines(query, rows),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def lines(query: TableQuery[Any], rows: QuerySet[Any]) -> Iterator[str]:
    """A head, then a thousand rows at a time; what comes while it is written may be missing."""
    columns = [(column, column.text) for column in query.columns if column.text]
    writer = csv.writer(_Echo())
    yield "\ufeff" + writer.writerow([column.label for column, _ in columns])
    after = ""
    while True:
        found = page(rows, query.order, size=ROWS, after=after, values=query.fetch)
        yield "".join(
            writer.writerow([plain(text(row)) for _, text in columns]) for row in found.rows
        )
        if not found.next:
            return
        after = found.next


def plain(value: object) -> object:
    """A value as a cell holds it: times with their zone, and no text that a sheet would run."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value
