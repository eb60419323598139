"""Windows of the merged log: lines of all replicas by time, then replica, then place.

A boundary is a place in every replica. What stands above and below it is fixed, so windows that
share a boundary neither lose a line nor show one twice, whatever the clocks did.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from .lines import GAP, Joiner, Line, Opened, complete
from .records import ROOM, STEP, Record, Source

BLOCK = 64 * 1024
SCANNED = 4 * 2**20
"""Most bytes of one replica read for one window."""
HOLD = timedelta(milliseconds=100)
"""A line this young waits: another replica may still be writing an earlier one."""
_SKEW = timedelta(seconds=1)


class Mark(NamedTuple):
    """A place in one replica; ``opened`` None: whether a line crosses it is not known."""

    offset: int
    opened: tuple[Opened, ...] | None = None


Boundary = tuple[Mark, ...]
_Key = tuple[bytes, int, int]


@dataclass(slots=True)
class Window:
    """Lines between two boundaries."""

    lines: list[Line]
    before: Boundary
    after: Boundary
    grown: list[Line] = field(default_factory=list)
    """Lines above the window that have become longer."""
    has_older: bool = False
    has_newer: bool = False
    has_ended: bool = False
    """Nothing will ever come after it."""


def tail(sources: Sequence[Source], limit: int, now: datetime | None = None) -> Window:
    """The newest lines."""
    ends = [_end_of_lines(source) for source in sources]
    boundary = tuple(Mark(offset) for offset, _ in ends)
    has_ended = all(ended for _, ended in ends)
    window = _backwards(sources, boundary, limit, None if has_ended else _held(now))
    window.has_ended = has_ended and window.after == boundary
    window.after = tuple(
        _mark(source, mark.offset, window.lines)
        for source, mark in zip(sources, window.after, strict=True)
    )
    return window


def older(sources: Sequence[Source], boundary: Boundary, limit: int) -> Window:
    """The lines just above ``boundary``."""
    window = _backwards(sources, boundary, limit, None)
    window.has_newer = True
    return window


def newer(
    sources: Sequence[Source], boundary: Boundary, limit: int, now: datetime | None = None
) -> Window:
    """The lines just below ``boundary``, and what was added to lines above it."""
    step = min(STEP, ROOM + limit * 256 // max(len(sources), 1))
    readings = [
        _Reading(index, source, mark, step)
        for index, (source, mark) in enumerate(zip(sources, boundary, strict=True))
    ]
    held = _held(now)
    lines: list[Line] = []
    has_newer = False
    for key, line in heapq.merge(*(reading.lines() for reading in readings), key=_first):
        if line is None or len(lines) == limit:
            has_newer = True
            break
        if held and held(key[0]) and not all(reading.has_ended for reading in readings):
            break
        readings[key[1]].taken += 1
        lines.append(line)
        complete(sources[key[1]], line)
    grown = [line for reading in readings for line in reading.grown()]
    is_done = all(reading.is_done for reading in readings)
    return Window(
        lines,
        boundary,
        tuple(reading.mark() for reading in readings),
        grown=grown,
        has_older=True,
        has_newer=has_newer,
        has_ended=is_done and all(reading.has_ended for reading in readings),
    )


def around(
    sources: Sequence[Source], place: tuple[int, int], limit: int, now: datetime | None = None
) -> tuple[Window, str]:
    """The lines around a place (replica, offset), and the id of the line that is there."""
    index, offset = place
    anchor = _line_at(sources[index], offset)
    if anchor is None:
        window = tail(sources, limit, now)
        return window, ""
    marks = tuple(
        Mark(anchor.offset)
        if number == index
        else Mark(_place_of(source, (anchor.stamp, index, anchor.offset), number))
        for number, source in enumerate(sources)
    )
    above = older(sources, marks, limit // 2)
    below = newer(sources, marks, limit - limit // 2, now)
    below.lines[:0] = above.lines
    below.before, below.has_older = above.before, above.has_older
    below.grown = []
    return below, anchor.id


class _Reading:
    """One replica read forwards from a mark."""

    def __init__(self, index: int, source: Source, mark: Mark, step: int) -> None:
        self.index, self.source, self.at, self._step = index, source, mark.offset, step
        self.joiner = Joiner(source.name, mark.offset, mark.opened or ())
        if mark.opened is None:
            self.joiner.look_back(_just_before(source, mark.offset))
        self.taken = 0
        self.has_ended = False
        self._is_exhausted = False

    def lines(self) -> Iterator[tuple[_Key, Line | None]]:
        """Its lines in order; None at the end when there is more than one window may read."""
        limit = self.at + SCANNED
        stamp = b""
        while self.at < limit:
            records, after = self.source.step(self.at, self._step)
            self.has_ended = self.source.has_ended
            if after == self.at:
                self._is_exhausted = True
                return
            self.at = after
            for line in self.joiner.feed(records):
                yield (line.stamp, self.index, line.offset), line
            stamp = records[-1].stamp if records else stamp
        yield (stamp, self.index, self.at), None

    def grown(self) -> list[Line]:
        """Lines that began above the mark, with what was added."""
        found = list(self.joiner.grown.values())
        for line in found:
            complete(self.source, line)
        return [line for line in found if line.is_replaced or line.text.strip(b"\r")]

    @property
    def is_done(self) -> bool:
        return self._is_exhausted and self.taken == len(self.joiner.lines)

    def mark(self) -> Mark:
        begun = self.joiner.lines
        offset = begun[self.taken].offset if self.taken < len(begun) else self.at
        return Mark(offset, self.joiner.opened_at(offset))


def _first(item: tuple[_Key, Line | None]) -> _Key:
    return item[0]


def _backwards(
    sources: Sequence[Source], boundary: Boundary, limit: int, held: "_Held | None"
) -> Window:
    upper = [mark.offset for mark in boundary]
    lower = list(upper)
    block = min(BLOCK, max(ROOM, limit * 256 // max(len(sources), 1)))
    streams = (
        _lines_before(index, source, upper[index], block) for index, source in enumerate(sources)
    )
    lines: list[Line] = []
    has_older = False
    for (stamp, index, offset), line in heapq.merge(*streams, key=_first, reverse=True):
        if line is None:
            lower[index] = offset
        if line is None or len(lines) == limit:
            has_older = True
            break
        if held is not None and lower[index] == upper[index] and held(stamp):
            upper[index] = lower[index] = offset
            continue
        lower[index] = offset
        lines.append(line)
        complete(sources[index], line)
    lines.reverse()
    before, after = tuple(Mark(o) for o in lower), tuple(Mark(o) for o in upper)
    return Window(lines, before, after, has_older=has_older)


def _lines_before(
    index: int, source: Source, end: int, block: int
) -> Iterator[tuple[_Key, Line | None]]:
    """The lines that begin before ``end``, newest first; None where one window stops to read."""
    limit, stamp, first = end - SCANNED, b"~", source.first()
    while end > 0:
        if end <= limit:
            yield (stamp, index, end), None
            return
        if end <= first:
            return
        begin = max(end - block, 0)
        records = source.between(max(begin - 1, 0), end, is_aligned=begin == 0)
        if records and records[0].is_notice and source.is_hole(begin):
            begin = source.before_hole(begin)
        else:
            begin = records[0].offset if records else begin
        joiner = Joiner(source.name, begin)
        joiner.look_back(_just_before(source, begin))
        for line in reversed(joiner.feed(records)):
            yield (line.stamp, index, line.offset), line
        stamp = records[0].stamp if records else stamp
        end = begin


def _just_before(source: Source, begin: int) -> list[Record]:
    """The records whose lines may go on behind ``begin``."""
    if begin <= 0:
        return []
    start = max(begin - GAP - 1, 0)
    return source.between(start, begin, is_aligned=start == 0)


def _mark(source: Source, offset: int, lines: Sequence[Line]) -> Mark:
    """The place with the lines that cross it; those of the window above know where they begin."""
    joiner = Joiner(source.name, 0)
    joiner.feed(_just_before(source, offset))
    opened = {one.stream: one for one in joiner.opened_at(offset)}
    for line in lines:
        if line.source == source.name and line.stream in opened and line.is_open:
            opened[line.stream] = line.opened()
    return Mark(offset, tuple(opened.values()))


def _end_of_lines(source: Source) -> tuple[int, bool]:
    """The end of the newest whole record, and whether nothing will ever come behind it."""
    last = source.end()
    start = max(last - ROOM, 0)
    records = source.between(start, last, is_aligned=start == 0)
    at = records[-1].end if records else last
    more, _ = source.step(at)
    return at, source.has_ended and not more


class _Held:
    """Which stamps are too young to be told yet; far ones belong to another clock."""

    def __init__(self, now: datetime) -> None:
        self.since, self.until = _stamp(now - HOLD), _stamp(now + _SKEW)

    def __call__(self, stamp: bytes) -> bool:
        return self.since < stamp < self.until


def _held(now: datetime | None) -> _Held | None:
    return _Held(now) if now else None


def _stamp(moment: datetime) -> bytes:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}000Z".encode()


def _line_at(source: Source, offset: int) -> Line | None:
    """The line that the record at or before ``offset`` belongs to."""
    if offset < 0 or offset >= source.end():
        return None
    begin = max(offset - GAP - BLOCK, 0)
    joiner = Joiner(source.name, 0)
    records = source.between(begin, offset + 1, is_aligned=begin == 0)
    found = None
    if records:
        joiner.feed(records)
        found = next((line for line in joiner.lines if line.last >= records[-1].offset), None)
    if found is None:
        following, _ = source.step(offset, is_aligned=False)
        joiner.feed(following[:1])
        found = joiner.lines[-1] if joiner.lines else None
    return found


def _place_of(source: Source, key: _Key, index: int) -> int:
    """The place in ``source`` behind every record that sorts before ``key``."""
    low, high = source.first(), source.end()
    while high - low > BLOCK:
        middle = (low + high) // 2
        records, _ = source.step(middle, is_aligned=False)
        if records and (records[0].stamp, index, records[0].offset) < key:
            low = records[0].offset
        else:
            high = middle
    at = low
    while True:
        records, after = source.step(at)
        for record in records:
            if (record.stamp, index, record.offset) >= key:
                return record.offset
        if after == at:
            return at
        at = after
