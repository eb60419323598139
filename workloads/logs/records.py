"""One replica's log as records: read through its driver in whole CRI lines."""

from collections.abc import Callable
from typing import NamedTuple

from gangline.drivers.base import LogChunk

STEP = 256 * 1024
ROOM = 32 * 1024
"""More than any record: a smaller read might not hold a whole one."""
_STAMP = len("2026-01-01T00:00:00.000000000Z")
_NOTHING = b"0" * _STAMP

Read = Callable[[int, int], LogChunk]
"""Bytes from a logical offset on, at most so many (`Driver.read_log` of one replica)."""


class Record(NamedTuple):
    """One CRI line. ``partial``: the text goes on in a later record of the same stream."""

    offset: int
    end: int
    stamp: bytes
    stream: bytes
    partial: bool
    text: bytes
    is_notice: bool = False
    """Ours: it stands for what was dropped."""


class Source:
    """The log of one replica."""

    def __init__(self, name: str, read: Read) -> None:
        self.name = name
        self.read = read
        self.has_ended = False
        """The last read reached the end of a log that will not grow any more."""

    def step(
        self, at: int, limit: int = STEP, *, is_aligned: bool = True
    ) -> tuple[list[Record], int]:
        """Records from ``at`` on and where to go on; ``at`` itself when nothing more is there."""
        chunk = self.read(at, max(limit, ROOM))
        self.has_ended = chunk.end
        if not chunk.data:
            return [], at
        if at < chunk.first_offset:
            at, is_aligned = chunk.first_offset, True
        if chunk.next_offset - at != len(chunk.data):
            return [_notice(chunk)], chunk.next_offset
        data = chunk.data
        if not is_aligned:
            cut = data.find(b"\n") + 1
            data, at = data[cut:], at + cut
        return parse(data, at), chunk.next_offset

    def between(self, begin: int, end: int, *, is_aligned: bool = True) -> list[Record]:
        """The records that start in ``[begin, end)``."""
        found: list[Record] = []
        at = begin
        while at < end:
            records, after = self.step(at, min(end - at, 4 * STEP), is_aligned=is_aligned)
            if after == at:
                break
            found += records
            at, is_aligned = after, True
        while found and found[-1].offset >= end:
            found.pop()
        return found

    def end(self) -> int:
        """The place behind the newest byte."""
        return self.read(-1, ROOM).next_offset

    def first(self) -> int:
        """The place of the oldest byte that is kept."""
        return self.read(0, 1).first_offset

    def is_hole(self, at: int) -> bool:
        """Whether the text at this place was dropped."""
        chunk = self.read(at, ROOM)
        return bool(chunk.data) and chunk.next_offset - at != len(chunk.data)

    def before_hole(self, at: int) -> int:
        """The end of what is kept before the hole that ``at`` lies in."""
        kept, dropped = self.first(), at
        while dropped - kept > 1:
            middle = (kept + dropped) // 2
            if self.is_hole(middle):
                dropped = middle
            else:
                kept = middle
        return dropped


def parse(data: bytes, offset: int) -> list[Record]:
    """The records of whole CRI lines that begin at ``offset``."""
    found: list[Record] = []
    stamp = _NOTHING
    for line in data.split(b"\n")[:-1]:
        end = offset + len(line) + 1
        parts = line.split(b" ", 3)
        if len(parts) < 3 or parts[2] not in (b"F", b"P"):
            found.append(Record(offset, end, stamp, b"stdout", False, line))
        else:
            stamp = parts[0] if len(parts[0]) == _STAMP else _full(parts[0])
            text = parts[3] if len(parts) == 4 else b""
            found.append(Record(offset, end, stamp, parts[1], parts[2] == b"P", text))
        offset = end
    return found


def _full(stamp: bytes) -> bytes:
    """The same time with nine decimals, so that stamps sort as bytes."""
    whole, _, decimals = stamp.rstrip(b"Z").partition(b".")
    return whole + b"." + decimals[:9].ljust(9, b"0") + b"Z"


def _notice(chunk: LogChunk) -> Record:
    """The line for a hole; its place is the last byte of the hole, wherever reading began."""
    (record,) = parse(chunk.data.rstrip(b"\n") + b"\n", 0)
    place = chunk.next_offset - 1
    return record._replace(offset=place, end=chunk.next_offset, is_notice=True)
