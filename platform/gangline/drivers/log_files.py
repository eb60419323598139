"""Reader of archived logs: CRI lines in segments, each named after its first logical offset (R4).

Written by the shims of the local cluster, and by the collector of a Kubernetes cluster.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from gangline.drivers.base import LogChunk

LONGEST_LINE = 17 * 1024
"""Bytes of a CRI line with its stamp, stream and flag."""


@dataclass(frozen=True, slots=True)
class Segment:
    start: int
    size: int
    path: Path

    @property
    def end(self) -> int:
        return self.start + self.size


def segments(folder: Path) -> list[Segment]:
    """The kept segments in order. One that is dropped meanwhile is left out."""
    try:
        paths = sorted(folder.glob("*.log"))
    except FileNotFoundError:
        return []
    found: list[Segment] = []
    for path in paths:
        try:
            found.append(Segment(int(path.stem), path.stat().st_size, path))
        except FileNotFoundError:
            continue
    return found


def read(folder: Path, offset: int, limit: int, *, ended: bool) -> LogChunk:
    """Whole lines from ``offset`` on, at most ``limit`` bytes.

    A negative offset counts from the end and moves on to the next line. In the hole that the cap
    left, one line of notice stands for what is missing; ``next_offset`` is then behind the hole.
    ``ended`` says that nothing was being written any more before this call.
    """
    kept = segments(folder)
    if not kept:
        return LogChunk(b"", 0, ended)
    first, last = kept[0].start, kept[-1].end
    if offset < 0:
        offset = _line_start(kept, max(first, last + offset))
    if offset >= last:
        return LogChunk(b"", last, ended, first)
    offset = max(offset, first)
    here = next((s for s in kept if s.start <= offset < s.end), None)
    if here is None:
        return _over_hole(kept, offset, limit)
    data = _piece(here, offset, limit)
    after = offset + len(data)
    return LogChunk(data, after, ended and after >= last, first)


def _piece(segment: Segment, offset: int, limit: int) -> bytes:
    try:
        fd = os.open(segment.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return b""
    try:
        data = os.pread(fd, min(limit, segment.end - offset), offset - segment.start)
    finally:
        os.close(fd)
    cut = data.rfind(b"\n") + 1
    # Without a line end the limit is smaller than the line, or its end is just being written.
    return data[:cut] if cut or len(data) < limit else data


def _line_start(kept: list[Segment], offset: int) -> int:
    """The first start of a line at or after ``offset``."""
    here = next((s for s in kept if s.start <= offset < s.end), None)
    if here is None or offset == here.start:
        return offset
    with here.path.open("rb") as file:
        file.seek(offset - here.start - 1)
        found = file.read(LONGEST_LINE + 1).find(b"\n")
    return offset + found if found >= 0 else here.end


def _over_hole(kept: list[Segment], offset: int, limit: int) -> LogChunk:
    """The line that stands for dropped segments, with the time of the line after them."""
    following = next(s for s in kept if s.start > offset)
    before = max((s.end for s in kept if s.end <= offset), default=kept[0].start)
    with following.path.open("rb") as file:
        stamp = file.read(64).split(b" ", 1)[0]
    size = (following.start - before) / 1_000_000
    line = stamp + f" stderr F {size:.1f} MB of log were dropped here: the log is full.\n".encode()
    return LogChunk(line[:limit], following.start, end=False, first_offset=kept[0].start)
