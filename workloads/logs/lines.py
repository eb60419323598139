"""Lines as people read them: records of one stream joined, carriage returns carried out."""

import codecs
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .records import STEP, Record, Source

SHOWN = 8 * 1024
"""Bytes of a line that are shown at once; "show all" gives more."""
GAP = 48 * 1024
"""A record goes on with the line of the record before it only within this distance.

The rule is local, so every reader finds the same lines wherever it begins to read.
"""
SCANNED = 8 * 2**20
"""Most bytes read to find the end of one line."""


class Opened(NamedTuple):
    """A line that goes on across a place where reading stopped."""

    stream: bytes
    start: int
    size: int
    """Bytes of its text that were handed out."""
    last: int
    """Place of the last record that was handed out."""
    returns: bool
    """The text ended with a carriage return: what follows replaces it."""


@dataclass(slots=True)
class Line:
    """One line of one replica, named by the place of its first record."""

    source: str
    offset: int
    end: int
    """End of its first record: the next line starts there or later."""
    stamp: bytes
    stream: bytes
    text: bytes = b""
    last: int = -1
    reached: int = 0
    """End of its last known record."""
    is_open: bool = False
    is_cut: bool = False
    is_notice: bool = False
    size: int = 0
    """Bytes of the text before `text` that were handed out earlier."""
    is_replaced: bool = False
    """What was handed out earlier is void."""
    shown: int = SHOWN

    @property
    def id(self) -> str:
        return f"{self.source}:{self.offset}"

    def add(self, record: Record) -> None:
        """Put the text of one more record behind what is there."""
        if record.offset <= self.last:
            return
        self.last, self.reached, self.is_open = record.offset, record.end, record.partial
        self.stamp = self.stamp or record.stamp
        if not (self.text or self.size or b"\r" in record.text or len(record.text) > self.shown):
            self.text = record.text
            return
        raw = self.text + record.text
        begins = raw.rstrip(b"\r").rfind(b"\r") + 1
        if begins:
            raw, self.size, self.is_replaced = raw[begins:], 0, True
        room = max(self.shown - self.size, 0)
        self.is_cut = len(raw) > room or (self.is_cut and not begins)
        self.text = raw[:room]

    @property
    def words(self) -> str:
        """The text; bytes that are no UTF-8 become �."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        # A cut may fall into a character: that one is left out, not marked as broken.
        return decoder.decode(self.text.rstrip(b"\r"), final=not self.is_cut)

    def opened(self) -> Opened:
        size = self.size + len(self.text)
        return Opened(self.stream, self.offset, size, self.last, self.text.endswith(b"\r"))


class _Tail(NamedTuple):
    """The newest record of a stream that a joiner has seen."""

    offset: int
    partial: bool
    line: Line


class Joiner:
    """Joins the records of one replica, handed over in their order from ``begin`` on."""

    def __init__(self, source: str, begin: int, opened: Iterable[Opened] = ()) -> None:
        self.source = source
        self.begin = begin
        self.lines: list[Line] = []
        """Lines that begin here."""
        self.grown: dict[int, Line] = {}
        """Lines that began before, and of which more has come."""
        self._trail: list[tuple[bytes, _Tail]] = []
        self._tails: dict[bytes, _Tail] = {}
        self._carried: dict[bytes, Line] = {}
        for one in opened:
            line = Line(source, one.start, 0, b"", one.stream, last=one.last, size=one.size)
            line.text = b"\r" if one.returns else b""
            line.is_cut = one.size >= SHOWN
            self._carried[one.stream] = line
            self._tails[one.stream] = _Tail(one.last, True, line)

    def look_back(self, records: Sequence[Record]) -> None:
        """See what stands just before ``begin``: a line that goes on is handed out as a whole."""
        newest = {record.stream: record for record in records}
        if not any(record.partial for record in newest.values()):
            return
        self.feed(records)
        for stream, tail in self._tails.items():
            if tail.partial:
                tail.line.is_replaced = True
                self._carried[stream] = tail.line
        self.grown.clear()

    def feed(self, records: Iterable[Record]) -> list[Line]:
        """The lines that begin among ``records``."""
        first = len(self.lines)
        for record in records:
            tail = self._tails.get(record.stream)
            if tail is not None and _goes_on(tail, record):
                line = tail.line
                if line.offset < self.begin and record.offset > line.last:
                    self.grown[line.offset] = line
            else:
                line = Line(self.source, record.offset, record.end, record.stamp, record.stream)
                line.is_notice = record.is_notice
                if record.offset >= self.begin:
                    self.lines.append(line)
            line.add(record)
            tail = _Tail(record.offset, record.partial, line)
            self._tails[record.stream] = tail
            self._trail.append((record.stream, tail))
        return self.lines[first:]

    def opened_at(self, boundary: int) -> tuple[Opened, ...]:
        """The lines that go on across ``boundary``, as far as they have been read."""
        newest: dict[bytes, _Tail] = {}
        for stream, tail in self._trail:
            if tail.offset >= boundary:
                break
            newest[stream] = tail
        found = [tail.line.opened() for tail in newest.values() if tail.partial]
        carried = self._carried.items()
        found += [line.opened() for stream, line in carried if stream not in newest]
        return tuple(sorted(found))


def _goes_on(tail: _Tail, record: Record) -> bool:
    if record.is_notice:
        return False
    if record.offset <= tail.line.last:
        return True
    return tail.partial and record.offset - tail.offset <= GAP


def complete(source: Source, line: Line, scanned: int = SCANNED) -> None:
    """Read on until the end of ``line``, the newest byte, or as much of it as is shown."""
    at, limit = line.reached, line.reached + scanned
    while line.is_open and not line.is_cut and at < limit:
        records, after = source.step(at, STEP)
        if after == at:
            return
        for record in records:
            if record.stream != line.stream or record.offset <= line.last:
                continue
            if record.is_notice or record.offset - line.last > GAP:
                line.is_open = False
                return
            line.add(record)
            if not record.partial or line.is_cut:
                return
        at = after
        if at - line.last > GAP:
            line.is_open = False
