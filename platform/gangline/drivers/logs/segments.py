"""A log on disk: CRI lines (`<RFC 3339> <stream> <P|F> <text>`) in segments, with a cap.

Offsets are positions in the whole stream of CRI bytes; a segment is named after its first offset,
so they stay valid when the cap drops segments between the first and the newest.

Standard library only, as `output`: the supervisors of local processes write with them.
"""

import os
import time
from typing import NamedTuple

LINE = 16 * 1024
"""Longer lines are cut into pieces with the flag P; the last piece has the flag F."""
_TAIL = 256 * 1024


class Limits(NamedTuple):
    """Bytes of one segment, and of all together; the first and the newest stay."""

    segment: int = 8 * 2**20
    cap: int = 2**30


DEFAULT = Limits()


class Segment(NamedTuple):
    start: int
    size: int
    path: str

    @property
    def end(self) -> int:
        return self.start + self.size


def segments(folder: "str | os.PathLike[str]") -> list[Segment]:
    """The kept segments in order. One that is dropped meanwhile is left out."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".log"))
    except FileNotFoundError:
        return []
    found: list[Segment] = []
    for name in names:
        path = os.path.join(folder, name)
        try:
            found.append(Segment(int(name[:-4]), os.stat(path).st_size, path))
        except FileNotFoundError:
            continue
    return found


class Appender:
    """The log of one replica, opened at its end by the only one who writes it."""

    def __init__(
        self, folder: "str | os.PathLike[str]", limits: Limits = DEFAULT, upto: "int | None" = None
    ) -> None:
        """``upto``: what lies behind this offset is cut off."""
        self.folder, self.limits = os.fspath(folder), limits
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        if upto is not None:
            _cut(segments(self.folder), upto)
        self._starts = [segment.start for segment in segments(self.folder)]
        self._file = self._opened(self._starts[-1] if self._starts else 0)
        try:
            self.offset = self._starts[-1] + _mended(self._file)
        except BaseException:
            self.close()
            raise

    def append(self, lines: bytes) -> None:
        """Whole lines, which will lie in one segment. Raises OSError, with nothing written."""
        if (filled := self.offset - self._starts[-1]) and filled + len(lines) > self.limits.segment:
            fresh = self._opened(self.offset)  # first: on a full disk the old one stays in use
            os.close(self._file)
            self._file = fresh
            self._drop()
        try:
            self._write_all(lines)
        except OSError:
            os.ftruncate(self._file, self.offset - self._starts[-1])
            raise
        self.offset += len(lines)

    def close(self) -> None:
        os.close(self._file)

    def _write_all(self, lines: bytes) -> None:
        view = memoryview(lines)
        while view:
            view = view[os.write(self._file, view) :]

    def _drop(self) -> None:
        """Forget segments between the first and the newest until the rest fits."""
        if len(self._starts) <= 2 or self._starts[-1] + self.limits.segment <= self.limits.cap:
            return
        kept = segments(self.folder)
        size = sum(segment.size for segment in kept) + self.limits.segment
        while len(kept) > 2 and size > self.limits.cap:
            dropped = kept.pop(1)
            size -= dropped.size
            try:
                os.unlink(dropped.path)
            except FileNotFoundError:
                pass
            self._starts.remove(dropped.start)

    def _opened(self, start: int) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        file = os.open(f"{self.folder}/{start:020d}.log", flags, 0o600)
        if not self._starts or self._starts[-1] != start:
            self._starts.append(start)
        return file


def _mended(file: int) -> int:
    """Cut off what a crash left of a line; returns the size."""
    size = os.fstat(file).st_size
    begin = max(0, size - _TAIL)
    tail = os.pread(file, size - begin, begin)
    whole = tail.rfind(b"\n") + 1
    if whole != len(tail) and (whole or not begin):
        os.ftruncate(file, begin + whole)
        return begin + whole
    return size


def _cut(kept: list[Segment], upto: int) -> None:
    for segment in reversed(kept):
        if segment.start >= upto:
            os.unlink(segment.path)
        elif segment.end > upto:
            os.truncate(segment.path, upto - segment.start)


def cri(stamp: bytes, text: bytes, *, stream: bytes = b"stdout", ends: bool = True) -> bytes:
    """A line as CRI has it, or a part of one."""
    head, flag = stamp + b" " + stream + b" ", b"F " if ends else b"P "
    if len(text) <= LINE:
        return head + flag + text + b"\n"
    pieces = [text[at : at + LINE] for at in range(0, len(text), LINE)]
    return b"".join(head + b"P " + piece + b"\n" for piece in pieces[:-1]) + (
        head + flag + pieces[-1] + b"\n"
    )


def stamp() -> bytes:
    """The present, with nine decimals: stamps sort as bytes."""
    seconds, rest = divmod(time.time_ns(), 1_000_000_000)
    return b"%s.%09dZ" % (time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)).encode(), rest)
