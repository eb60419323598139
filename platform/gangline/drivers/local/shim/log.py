"""Writer of a replica's log: CRI lines in segments of 8 MiB, an index entry each 64 KiB, a cap.

Offsets are positions in the whole stream of CRI bytes; a segment is named after its first offset,
so they stay valid when the cap drops segments between the first and the newest.
"""

import os
import time
from typing import NamedTuple

LINE = 16 * 1024
"""Longer lines are cut into pieces with the flag P; the last piece has the flag F."""
IDLE = 1.0
"""Seconds after which text without a line end (a progress bar) is written as a piece."""


class Limits(NamedTuple):
    segment: int = 8 * 2**20
    index_every: int = 64 * 1024
    cap: int = 2**30


class LogWriter:
    """One log folder. ``write`` takes raw output, cuts it into lines and stamps them."""

    def __init__(self, folder: str, limits: Limits) -> None:
        self.folder = folder
        self.limits = limits
        self.lost = 0
        """Bytes that could not be stored because the disk was full."""
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self._starts = sorted(int(n[:-4]) for n in os.listdir(folder) if n.endswith(".log"))
        self._tails: dict[bytes, bytes] = {}
        self._tail_times: dict[bytes, float] = {}
        self._in_piece: set[bytes] = set()
        self._segment, self._index = -1, -1
        self._finished = sum(os.stat(f"{folder}/{s:020d}.log").st_size for s in self._starts[:-1])
        last = self._starts[-1] if self._starts else 0
        self._open(last)
        self.offset = last + os.fstat(self._segment).st_size
        self._next_index = self.offset

    def write(self, stream: bytes, data: bytes) -> None:
        """Add ``data``, which came out of ``stream`` (``stdout`` or ``stderr``) just now."""
        tail = self._tails.pop(stream, b"")
        if tail:
            data = tail + data
        cut = data.rfind(b"\n") + 1
        whole, rest = data[:cut], data[cut:]
        stamp = _stamp()
        if whole:
            self._write_lines(stream, stamp, whole)
        while len(rest) > LINE:
            self._append(self._piece(stream, stamp, rest[:LINE]), stamp)
            rest = rest[LINE:]
        if rest:
            self._tails[stream] = rest
            # Since when it waits: a progress bar that is redrawn all the time is to be seen too.
            if cut or not tail:
                self._tail_times[stream] = time.monotonic()

    def flush_idle(self) -> None:
        """Write text that has waited for its line end for a while."""
        now = time.monotonic()
        for stream in [s for s in self._tails if now - self._tail_times[s] >= IDLE]:
            stamp = _stamp()
            self._append(self._piece(stream, stamp, self._tails.pop(stream)), stamp)

    def notice(self, text: str) -> None:
        """A line of ours, in the stream of errors."""
        stamp = _stamp()
        self._append(stamp + b" stderr F " + text.encode() + b"\n", stamp)

    def tell_lost(self) -> None:
        """Say what was lost at the end. Raises OSError while the disk is still full."""
        if not self.lost:
            return
        line = self._lost_line(_stamp())
        try:
            self._write_all(line)
        except OSError:
            os.ftruncate(self._segment, self.offset - self._starts[-1])
            raise
        self.offset += len(line)
        self.lost = 0

    def close(self) -> None:
        """Finish open lines, so that every line in the log has its end."""
        stamp = _stamp()
        for stream in set(self._tails) | self._in_piece:
            rest = self._tails.pop(stream, b"")
            self._append(stamp + b" " + stream + b" F " + rest + b"\n", stamp)
        self._in_piece.clear()
        os.close(self._segment)
        os.close(self._index)

    def _write_lines(self, stream: bytes, stamp: bytes, whole: bytes) -> None:
        head = stamp + b" " + stream + b" F "
        at = 0
        while at < len(whole):
            # Blocks bound the size of one write and find lines that are too long.
            end = whole.rfind(b"\n", at, at + LINE) + 1
            if end <= 0:
                at = self._write_long(stream, stamp, whole, at)
                continue
            self._in_piece.discard(stream)
            self._append(head + whole[at : end - 1].replace(b"\n", b"\n" + head) + b"\n", stamp)
            at = end

    def _write_long(self, stream: bytes, stamp: bytes, whole: bytes, at: int) -> int:
        end = whole.index(b"\n", at)
        while end - at > LINE:
            self._append(self._piece(stream, stamp, whole[at : at + LINE]), stamp)
            at += LINE
        self._append(stamp + b" " + stream + b" F " + whole[at:end] + b"\n", stamp)
        self._in_piece.discard(stream)
        return end + 1

    def _piece(self, stream: bytes, stamp: bytes, text: bytes) -> bytes:
        self._in_piece.add(stream)
        return stamp + b" " + stream + b" P " + text + b"\n"

    def _append(self, lines: bytes, stamp: bytes) -> None:
        """Write whole lines; a block lies in one segment."""
        size = len(lines)
        filled = self.offset - self._starts[-1]
        if filled and filled + size > self.limits.segment:
            try:
                self._roll()
            except OSError:
                self.lost += size
                return
        if self.lost:
            lines = self._lost_line(stamp) + lines
        try:
            if self.offset >= self._next_index:
                os.write(self._index, b"%d %s\n" % (self.offset, stamp))
                self._next_index = self.offset + self.limits.index_every
            self._write_all(lines)
        except OSError:
            os.ftruncate(self._segment, self.offset - self._starts[-1])
            self.lost += size
            return
        self.offset += len(lines)
        self.lost = 0

    def _lost_line(self, stamp: bytes) -> bytes:
        told = b"%s stderr F %d bytes of log are missing here: the disk was full.\n"
        return told % (stamp, self.lost)

    def _write_all(self, lines: bytes) -> None:
        view = memoryview(lines)
        while view:
            view = view[os.write(self._segment, view) :]

    def _roll(self) -> None:
        # The new one first: on a full disk the old one stays in use.
        old, finished = (self._segment, self._index), self.offset - self._starts[-1]
        self._open(self.offset)
        for fd in old:
            os.close(fd)
        self._finished += finished
        self._next_index = self.offset
        while len(self._starts) > 2 and self._finished + self.limits.segment > self.limits.cap:
            name = f"{self.folder}/{self._starts.pop(1):020d}"
            self._finished -= os.stat(f"{name}.log").st_size
            os.unlink(f"{name}.log")
            os.unlink(f"{name}.index")

    def _open(self, start: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        name = f"{self.folder}/{start:020d}"
        segment = os.open(f"{name}.log", flags, 0o600)
        try:
            self._index = os.open(f"{name}.index", flags, 0o600)
        except OSError:
            # Readers know segments by their names: none may begin within the one in use.
            os.close(segment)
            if not os.stat(f"{name}.log").st_size:
                os.unlink(f"{name}.log")
            raise
        self._segment = segment
        if not self._starts or self._starts[-1] != start:
            self._starts.append(start)


def _stamp() -> bytes:
    seconds, rest = divmod(time.time_ns(), 1_000_000_000)
    return b"%s.%09dZ" % (time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)).encode(), rest)
