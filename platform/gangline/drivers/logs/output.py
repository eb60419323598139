"""Writer of what a process prints: cut into lines, stamped, appended to its log.

Standard library only: the supervisors of local processes run it.
"""

import time

from .segments import LINE, Appender, Limits, cri, stamp

IDLE = 1.0
"""Seconds after which text without a line end (a progress bar) is written as a piece."""


class LogWriter:
    """One log folder. ``write`` takes raw output, cuts it into lines and stamps them."""

    def __init__(self, folder: str, limits: Limits) -> None:
        self._file = Appender(folder, limits)
        self.lost = 0
        """Bytes that could not be stored because the disk was full."""
        self._tails: dict[bytes, bytes] = {}
        self._tail_times: dict[bytes, float] = {}
        self._in_piece: set[bytes] = set()

    @property
    def offset(self) -> int:
        return self._file.offset

    def write(self, stream: bytes, data: bytes) -> None:
        """Add ``data``, which came out of ``stream`` (``stdout`` or ``stderr``) just now."""
        tail = self._tails.pop(stream, b"")
        if tail:
            data = tail + data
        cut = data.rfind(b"\n") + 1
        whole, rest = data[:cut], data[cut:]
        now = stamp()
        if whole:
            self._write_lines(stream, now, whole)
        while len(rest) > LINE:
            self._append(self._piece(stream, now, rest[:LINE]), now)
            rest = rest[LINE:]
        if rest:
            self._tails[stream] = rest
            # Since when it waits: a progress bar that is redrawn all the time is to be seen too.
            if cut or not tail:
                self._tail_times[stream] = time.monotonic()

    def flush_idle(self) -> None:
        """Write text that has waited for its line end for a while."""
        since = time.monotonic() - IDLE
        for stream in [s for s in self._tails if self._tail_times[s] <= since]:
            now = stamp()
            self._append(self._piece(stream, now, self._tails.pop(stream)), now)

    def notice(self, text: str) -> None:
        """A line of ours, in the stream of errors."""
        now = stamp()
        self._append(cri(now, text.encode(), stream=b"stderr"), now)

    def tell_lost(self) -> None:
        """Say what was lost at the end. Raises OSError while the disk is still full."""
        if self.lost:
            self._file.append(self._lost_line(stamp()))
            self.lost = 0

    def close(self) -> None:
        """Finish open lines, so that every line in the log has its end."""
        now = stamp()
        for stream in set(self._tails) | self._in_piece:
            rest = self._tails.pop(stream, b"")
            self._append(now + b" " + stream + b" F " + rest + b"\n", now)
        self._in_piece.clear()
        self._file.close()

    def _write_lines(self, stream: bytes, now: bytes, whole: bytes) -> None:
        head = now + b" " + stream + b" F "
        at = 0
        while at < len(whole):
            # Blocks bound the size of one write and find lines that are too long.
            end = whole.rfind(b"\n", at, at + LINE) + 1
            if end <= 0:
                at = self._write_long(stream, now, whole, at)
                continue
            self._in_piece.discard(stream)
            self._append(head + whole[at : end - 1].replace(b"\n", b"\n" + head) + b"\n", now)
            at = end

    def _write_long(self, stream: bytes, now: bytes, whole: bytes, at: int) -> int:
        end = whole.index(b"\n", at)
        while end - at > LINE:
            self._append(self._piece(stream, now, whole[at : at + LINE]), now)
            at += LINE
        self._append(now + b" " + stream + b" F " + whole[at:end] + b"\n", now)
        self._in_piece.discard(stream)
        return end + 1

    def _piece(self, stream: bytes, now: bytes, text: bytes) -> bytes:
        self._in_piece.add(stream)
        return now + b" " + stream + b" P " + text + b"\n"

    def _append(self, lines: bytes, now: bytes) -> None:
        """Whole lines; on a full disk they are lost, and counted."""
        size = len(lines)
        try:
            self._file.append(self._lost_line(now) + lines if self.lost else lines)
        except OSError:
            self.lost += size
        else:
            self.lost = 0

    def _lost_line(self, now: bytes) -> bytes:
        told = b"%s stderr F %d bytes of log are missing here: the disk was full.\n"
        return told % (now, self.lost)
