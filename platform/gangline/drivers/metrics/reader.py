"""Reads what was recorded: figures of one replica, and of several together."""

import os
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from math import isnan
from typing import NamedTuple

from .declared import BY_NAME, NAMES
from .recorder import FILE, Row, coarser, decoded

HELD = 3
"""Buckets without a sample for which a replica's last figure stands."""


class Point(NamedTuple):
    """``at``: where its bucket begins, in seconds since 1970. Peak is the largest sample."""

    at: float
    mean: float
    peak: float


class Series:
    """Figures over time in buckets of ``width`` seconds; a gap is where nothing was measured."""

    def __init__(self, width: int, rows: Sequence[Row]) -> None:
        self.width, self.rows = width, rows

    def __bool__(self) -> bool:
        return bool(self.rows)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The metrics of which anything is known."""
        return tuple(name for name in NAMES if self._known(name))

    @property
    def begins(self) -> float:
        return self.rows[0][0] * self.width

    @property
    def ends(self) -> float:
        return (self.rows[-1][0] + 1) * self.width

    def points(self, name: str) -> list[Point]:
        at = _column(name)
        return [
            Point(row[0] * self.width, row[at], row[at + 1])
            for row in self.rows
            if not isnan(row[at])
        ]

    def mean(self, name: str) -> float | None:
        """Over the time in which it was measured."""
        spans = self._spans(name)
        covered = sum(span for span, _ in spans)
        return sum(span * mean for span, mean in spans) / covered if covered else None

    def peak(self, name: str) -> float | None:
        at = _column(name) + 1
        return max((row[at] for row in self.rows if not isnan(row[at])), default=None)

    def last(self, name: str) -> float | None:
        """The newest figure."""
        return next(iter(self._known(name)[-1:]), None)

    def total(self, name: str) -> float | None:
        """What a rate came to: core seconds, bytes."""
        spans = self._spans(name)
        return sum(span * mean for span, mean in spans) * self.width if spans else None

    def between(self, start: float, end: float) -> "Series":
        kept = [
            row
            for row in self.rows
            if row[0] * self.width < end and (row[0] + 1) * self.width > start
        ]
        return Series(self.width, kept)

    def at_most(self, count: int) -> "Series":
        """In so many buckets, or fewer."""
        width, rows = self.width, list(self.rows)
        while rows and rows[-1][0] - rows[0][0] >= count and len(rows) > 1:
            width, rows = width * 2, coarser(rows)
        return Series(width, rows)

    def in_width(self, width: int) -> "Series":
        """In buckets of ``width``: its own times a power of two."""
        own, rows = self.width, list(self.rows)
        while own < width:
            own, rows = own * 2, coarser(rows)
        return Series(own, rows)

    def _spans(self, name: str) -> list[tuple[int, float]]:
        """Each mean with the buckets that it covers: a sample tells of the time since the last."""
        at, spans, before = _column(name), list[tuple[int, float]](), -1
        for row in self.rows:
            if isnan(row[at]):
                continue
            number = int(row[0])
            span = number - before if before >= 0 else 1
            spans.append((span if span <= HELD + 1 else 1, row[at]))
            before = number
        return spans

    def _known(self, name: str) -> list[float]:
        at = _column(name)
        return [row[at] for row in self.rows if not isnan(row[at])]


NOTHING = Series(1, ())


def _column(name: str) -> int:
    return 2 + 2 * NAMES.index(name)


def read(folder: "str | os.PathLike[str]") -> Series:
    """What was recorded in the folder of a replica's log."""
    try:
        with open(f"{os.fspath(folder)}/{FILE}", "rb") as file:
            return Series(*decoded(file.read()))
    except OSError:
        return NOTHING


def together(several: Iterable[Series]) -> Series:
    """What replicas use at the same time: sums, and means of what they do not share out.

    A peak is the largest mean of a bucket: their own peaks were not at one moment.
    """
    parts = [one for one in several if one]
    if not parts:
        return NOTHING
    width = max(one.width for one in parts)
    parts = [one.in_width(width) for one in parts]
    first = int(min(one.rows[0][0] for one in parts))
    count = int(max(one.rows[-1][0] for one in parts)) - first + 1
    columns = {name: _summed(name, parts, first, count) for name in NAMES}
    rows: list[Row] = []
    for number in range(count):
        figures: list[float] = []
        for name in NAMES:
            value = columns[name][number]
            figures += [value, value]
        if not all(map(isnan, figures)):
            rows.append((first + number, 1, *figures))
    return Series(width, rows)


def _summed(name: str, parts: Sequence[Series], first: int, count: int) -> list[float]:
    sums, known = [0.0] * count, [0] * count
    for part in parts:
        if name not in part.names:
            continue
        at = _column(name)
        held, since = 0.0, -1
        for row in part.rows:
            value = row[at]
            if isnan(value):
                continue
            number = int(row[0]) - first
            if since >= 0 and number - since <= HELD:
                for missing in range(since + 1, number):
                    sums[missing] += held
                    known[missing] += 1
            sums[number] += value
            known[number] += 1
            held, since = value, number
    share: Callable[[float, int], float] = (
        (lambda total, parts: total / parts)
        if BY_NAME[name].is_shared
        else (lambda total, _: total)
    )
    return [share(s, k) if k else float("nan") for s, k in zip(sums, known, strict=True)]
