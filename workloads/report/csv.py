"""The figures of a report as a table for programs and sheets."""

import csv
from collections.abc import Iterator
from datetime import UTC, datetime
from io import StringIO

from gangline.drivers.metrics.declared import BY_NAME, BYTES, CORES, PERCENT, RATE
from gangline.tables.export import plain

from .summary import Report

_UNITS = {CORES: "cores", BYTES: "bytes", PERCENT: "percent", RATE: "bytes_per_second"}


def lines(report: Report) -> Iterator[str]:
    """A row for each pod and moment: mean and peak of each metric of which anything is known."""
    text = StringIO()
    writer = csv.writer(text)
    names = report.names
    head = ["time", "seconds", "pod", "node"]
    for name in names:
        unit = _UNITS[BY_NAME[name].unit]
        head += [f"{name}_mean_{unit}", f"{name}_peak_{unit}"]
    writer.writerow(head)
    yield "\ufeff" + _taken(text)
    for line in report.pods:
        series, node = line.series, line.replica.node if line.replica else ""
        points = {name: {p.at: p for p in series.points(name)} for name in names}
        for at in sorted({at for found in points.values() for at in found}):
            row: list[object] = [datetime.fromtimestamp(at, UTC).isoformat(), series.width]
            row += [plain(line.name), plain(node)]
            for name in names:
                point = points[name].get(at)
                row += ["", ""] if point is None else [f"{point.mean:.6g}", f"{point.peak:.6g}"]
            writer.writerow(row)
        yield _taken(text)


def _taken(text: StringIO) -> str:
    value = text.getvalue()
    text.seek(0)
    text.truncate()
    return value
