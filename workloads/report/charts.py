"""Lines over time as geometry: the pages, the downloads and the PDF draw the same.

Coordinates grow to the right and downwards, as in SVG.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from gangline.drivers.metrics.declared import BY_NAME, BYTES, CORES, PERCENT, RATE
from gangline.drivers.metrics.reader import HELD, Point, Series

from .words import figure

WIDTH, HEIGHT = 640.0, 150.0
"""Of the area of lines."""
MOST = 160
"""Points of one line."""
SPARK_WIDTH, SPARK_HEIGHT, SPARK_MOST = 120.0, 24.0, 60


@dataclass(frozen=True, slots=True)
class Line:
    """Pieces of a line: where nothing was measured, one ends.

    ``kind`` is `chart-mean`, `chart-pod` or `chart-asked`.
    """

    kind: str
    pieces: Sequence[Sequence[tuple[float, float]]]
    title: str = ""

    @property
    def paths(self) -> str:
        """As the ``d`` of a path."""
        return "".join(_path(piece) for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class Tick:
    at: float
    word: str


@dataclass(frozen=True, slots=True)
class Row:
    """One moment of a chart's table."""

    at: datetime
    least: str
    mean: str
    most: str


@dataclass(frozen=True, slots=True)
class Chart:
    """One metric of several pods: each pod's line, and the mean of all; ``asked`` by each."""

    name: str
    label: str
    lines: Sequence[Line]
    marks: Sequence[Tick]
    """Of the vertical axis."""
    begins: datetime
    ends: datetime
    words: str
    """What it shows, for whoever does not see it."""
    rows: Sequence[Row] = field(default_factory=tuple)
    width: float = WIDTH
    height: float = HEIGHT

    @property
    def has_pods(self) -> bool:
        return any(line.kind == "chart-pod" for line in self.lines)

    @property
    def asked(self) -> Line | None:
        return next((line for line in self.lines if line.kind == "chart-asked"), None)


MOST_LINES, FEW = 32, 60
"""Pods that are drawn each; of more, only the mean, of so many points."""
ROWS = 12


def drawable(pods: Sequence[tuple[str, Series]]) -> list[tuple[str, Series]]:
    """The same in no more buckets than a chart shows: done once for all metrics."""
    most = MOST if len(pods) <= MOST_LINES else FEW
    return [(pod, series.at_most(most)) for pod, series in pods]


def chart(name: str, pods: Sequence[tuple[str, Series]], asked: float | None) -> Chart | None:
    """Of what `drawable` gave; None where nothing is known of the metric."""
    metric = BY_NAME[name]
    known = [(pod, series) for pod, series in pods if name in series.names]
    if not known:
        return None
    begins = min(series.begins for _, series in known)
    ends = max(series.ends for _, series in known)
    points = [(pod, series.points(name), series.width) for pod, series in known]
    top = max(point.mean for _, several, _ in points for point in several)
    # What was asked stands as a line where it is near; far above it would press the rest flat.
    shown_asked = asked if asked is not None and asked <= top * 3 else None
    scale = nice(max(top, shown_asked or 0.0), metric.unit)
    span = max(ends - begins, 1.0)

    def placed(point: Point, width: float) -> tuple[float, float]:
        x = (point.at + width / 2 - begins) / span * WIDTH
        return min(max(x, 0.0), WIDTH), HEIGHT - point.mean / scale * HEIGHT

    lines: list[Line] = []
    if 1 < len(points) <= MOST_LINES:
        lines += [
            Line(
                "chart-pod",
                [[placed(p, width) for p in piece] for piece in _pieces(several, width)],
                pod,
            )
            for pod, several, width in points
        ]
    averaged, width = _averaged(points)
    lines.append(
        Line(
            "chart-mean", [[placed(p, width) for p in piece] for piece in _pieces(averaged, width)]
        )
    )
    if shown_asked is not None:
        y = HEIGHT - shown_asked / scale * HEIGHT
        lines.append(Line("chart-asked", [[(0.0, y), (WIDTH, y)]], figure(name, asked)))
    mean = sum(point.mean for point in averaged) / len(averaged)
    words = (
        f"{metric.label} of {_pods(len(known))}: {figure(name, mean)} on average,"
        f" {figure(name, top)} at most."
    )
    return Chart(
        name,
        metric.label,
        lines,
        [Tick(HEIGHT - part * HEIGHT, figure(name, part * scale)) for part in (0.0, 0.5, 1.0)],
        datetime.fromtimestamp(begins, UTC),
        datetime.fromtimestamp(ends, UTC),
        words,
        list(_rows(name, [several for _, several, _ in points], begins, span)),
    )


def spark(name: str, series: Series, *, top: float | None = None, label: str = "") -> SafeString:
    """A small line of one metric; its words say the same. Empty where nothing is known."""
    drawn = series.at_most(SPARK_MOST)
    points = drawn.points(name)
    if not points:
        return SafeString("")
    scale = max(top or 0.0, max(point.mean for point in points)) or 1.0
    begins, ends = drawn.begins, max(drawn.ends, drawn.begins + 1)
    span = max(ends - drawn.width - begins, 1.0)
    pieces = [
        [
            ((p.at - begins) / span * SPARK_WIDTH, 1 + (1 - p.mean / scale) * (SPARK_HEIGHT - 2))
            for p in piece
        ]
        for piece in _pieces(points, drawn.width)
    ]
    line = "".join(_path(piece) for piece in pieces)
    below = "".join(
        f"{_path(piece)}L{piece[-1][0]:.1f} {SPARK_HEIGHT:g}L{piece[0][0]:.1f} {SPARK_HEIGHT:g}Z"
        for piece in pieces
    )
    peak = series.peak(name)
    words = f"{label or BY_NAME[name].label}, {figure(name, peak)} at most"
    return format_html(
        '<svg class="spark" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img"'
        ' aria-label="{}"><path class="spark-area" d="{}"/><path class="spark-line" d="{}"/></svg>',
        f"{SPARK_WIDTH:g}",
        f"{SPARK_HEIGHT:g}",
        words,
        below,
        line,
    )


def nice(top: float, unit: str) -> float:
    """The end of an axis: a round number not below ``top``."""
    if unit == PERCENT:
        return 100.0
    if top <= 0:
        return {CORES: 1.0, BYTES: 1e6, RATE: 1e3}[unit]
    size = 1.0
    while size * 10 <= top:
        size *= 10
    while size > top:
        size /= 10
    return next(
        size * step for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if size * step >= top * 0.999
    )


def _pieces(points: Sequence[Point], width: float) -> list[list[Point]]:
    """Cut where nothing was measured for a while."""
    pieces: list[list[Point]] = [[]]
    for before, point in pairwise([points[0], *points]):
        if point.at - before.at > (HELD + 1) * width:
            pieces.append([])
        pieces[-1].append(point)
    return pieces


def _averaged(
    pods: Sequence[tuple[str, Sequence[Point], int]],
) -> tuple[list[Point], float]:
    """The mean of the pods that were measured in each bucket of the widest."""
    width = max(width for _, _, width in pods)
    buckets: dict[int, list[float]] = {}
    for _, points, _ in pods:
        for point in points:
            buckets.setdefault(int(point.at // width), []).append(point.mean)
    means = (
        Point(number * width, sum(found) / len(found), max(found))
        for number, found in sorted(buckets.items())
    )
    return list(means), width


def _rows(name: str, pods: Sequence[Sequence[Point]], begins: float, span: float) -> Iterator[Row]:
    """The chart as a table of a few moments."""
    parts: dict[int, list[float]] = {}
    for points in pods:
        for point in points:
            number = min(int(max(point.at - begins, 0.0) / span * ROWS), ROWS - 1)
            parts.setdefault(number, []).append(point.mean)
    for number, found in sorted(parts.items()):
        at = timezone.localtime(datetime.fromtimestamp(begins + number * span / ROWS, UTC))
        mean = sum(found) / len(found)
        yield Row(at, figure(name, min(found)), figure(name, mean), figure(name, max(found)))


def _pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"


def _path(piece: Sequence[tuple[float, float]]) -> str:
    head, *rest = piece
    # A line of one point has no length: a short stroke shows it.
    rest = rest or [(head[0] + 1.0, head[1])]
    return f"M{head[0]:.1f} {head[1]:.1f}" + "".join(f"L{x:.1f} {y:.1f}" for x, y in rest)
