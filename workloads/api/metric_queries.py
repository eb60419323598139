"""What every endpoint of metrics shares: its query, its slots, and how it answers."""

import csv
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from io import StringIO
from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request
from rest_framework.response import Response

from gangline.api.paging import BadQuery, known_only, whole_number
from gangline.lib.texts import moment
from workloads.api import shapes

_NO_TIME = "{} must be a time such as 2026-11-03T14:00:00Z."
_NAMES = frozenset({"metricType", "start", "end", "numberOfSamples"})


@dataclass(frozen=True, slots=True)
class Span:
    """Two times in seconds since 1970, and how many slots are between them."""

    start: float
    end: float
    samples: int

    def slots(self, width: int) -> Iterator[tuple[float, float]]:
        """Begin and end of each; ``width`` is that of what was recorded."""
        count = self.samples or min(shapes.MOST_SAMPLES, int((self.end - self.start) // width) + 1)
        length = (self.end - self.start) / count
        for number in range(count):
            yield self.start + number * length, self.start + (number + 1) * length


@dataclass(frozen=True, slots=True)
class Asked(Span):
    """The query, with types in their order."""

    types: Sequence[str]


def span_of(request: Request) -> Span | None:
    """The times of the query; None: it has none. Raises BadQuery."""
    query = request.query_params
    if "start" not in query and "end" not in query:
        return None
    start, end = (_time(query.get(name, ""), name) for name in ("start", "end"))
    if start >= end:
        raise BadQuery("end must be later than start.")
    count = query.get("numberOfSamples")
    samples = whole_number(count, "numberOfSamples", shapes.DEFAULT_SAMPLES, 0, shapes.MOST_SAMPLES)
    return Span(start.timestamp(), end.timestamp(), samples)


def read_query(request: Request, types: Sequence[str], also: Collection[str] = ()) -> Asked:
    """The query; ``also``: further names that it may have. Raises BadQuery."""
    known_only(request, _NAMES | frozenset(also))
    query = request.query_params
    # Clients send an enumeration's Python name: WorkloadMetricType.GPU_UTILIZATION.
    given = [name.strip().rpartition(".")[2] for name in query.get("metricType", "").split(",")]
    names = list(dict.fromkeys(name.upper() for name in given if name))
    if not names:
        raise BadQuery(f"metricType is missing. Accepted: {', '.join(types)}.")
    for name in names:
        if name not in types:
            listed = ", ".join(types)
            raise BadQuery(f"There is no metricType {name[:60]!r} here. Accepted: {listed}.")
    span = span_of(request)
    if span is None:
        raise BadQuery(_NO_TIME.format("start"))
    return Asked(span.start, span.end, span.samples, names)


def _time(text: str, name: str) -> datetime:
    try:
        return moment(text.replace(" ", "+"))  # a plus that nobody has quoted
    except ValueError:
        raise BadQuery(_NO_TIME.format(name)) from None


def answered(request: Request, found: Sequence[dict[str, Any]]) -> Response | HttpResponse:
    """Measurements as JSON, or as CSV for who asks for that."""
    if request.headers.get("Accept", "").startswith("text/csv"):
        return HttpResponse(_as_csv(found), content_type="text/csv; charset=utf-8")
    return Response({"measurements": found})


def _as_csv(found: Sequence[dict[str, Any]]) -> str:
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow(["type", "timestamp", "value"])
    for one in found:
        for sample in one["values"]:
            writer.writerow([one["type"], sample["timestamp"].isoformat(), sample["value"]])
    return text.getvalue()


def plain(value: float, *, is_whole: bool) -> str:
    """A number without exponent: bytes whole, others to four places."""
    return str(round(value)) if is_whole else f"{value:.4f}".rstrip("0").rstrip(".")
