"""The one store of logs (R4): a folder per replica, and marks of what has ended and who reads.

    logs/<workload>/<attempt>/<replica>/<offset>.log      segments, as `segments` has them
    logs/<workload>/<attempt>/<replica>/ended             nothing more will come of this replica
    logs/<workload>/<attempt>/ended                       nor of any other
    logs-wanted/<workload>.<attempt>                      somebody reads

Whoever appends is the only one: the supervisor of a local process (`output`), or who holds the
lock: the collector of a Kubernetes cluster, or a `Copy` of files that grow elsewhere.
"""

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gangline.drivers.base import LogChunk

from .segments import DEFAULT, Appender, Limits, Segment, cri, segments, stamp

LONGEST_LINE = 17 * 1024
"""Bytes of a CRI line with its stamp, stream and flag."""
FRESH = 30.0
"""Seconds for which one reading counts: a page that follows a log reads every few."""
SLICE = 256 * 1024
"""Most bytes of a file that are copied at once."""
ENDED = "ended"


@dataclass(frozen=True, slots=True)
class LogStore:
    """All logs below one folder of data."""

    data_dir: Path
    limits: Limits = DEFAULT

    def folder(self, workload: str, attempt: int, replica: str) -> Path:
        return self.attempt_folder(workload, attempt) / replica

    def attempt_folder(self, workload: str, attempt: int) -> Path:
        return self.data_dir / "logs" / workload / str(attempt)

    def read(self, workload: str, attempt: int, replica: str, offset: int, limit: int) -> LogChunk:
        """As ``Driver.read_log``. The marks are looked at first: what came before them is read."""
        place = self.folder(workload, attempt, replica)
        ended = (place / ENDED).exists() or (place.parent / ENDED).exists()
        return read(place, offset, limit, ended=ended)

    @contextmanager
    def copying(self, workload: str, attempt: int, replica: str) -> Iterator["Copy | None"]:
        """The copy of what this replica prints into files; None while somebody else copies it."""
        place = self.folder(workload, attempt, replica)
        with locked(place) as is_ours:
            if not is_ours:
                yield None
                return
            with contextlib.closing(Copy(place, self.limits)) as copy:
                yield copy

    def end_attempt(self, workload: str, attempt: int) -> None:
        """Nothing more will come of any replica, not even of one that never began."""
        place = self.attempt_folder(workload, attempt)
        if not (place / ENDED).exists():
            mark_ended(place)

    def goes_on(self, workload: str, attempt: int) -> None:
        """What was said about the end of the whole attempt is void."""
        (self.attempt_folder(workload, attempt) / ENDED).unlink(missing_ok=True)

    def reopen(self, workload: str, attempt: int) -> None:
        """It will go on: more follows in every log."""
        self.goes_on(workload, attempt)
        for mark in self.attempt_folder(workload, attempt).glob(f"*/{ENDED}"):
            mark.unlink(missing_ok=True)

    def mark_read(self, workload: str, attempt: int) -> None:
        """Somebody reads a log of this attempt."""
        place = self._readers / f"{workload}.{attempt}"
        # Only haste is lost where this fails.
        with contextlib.suppress(OSError):
            try:
                os.utime(place)
            except FileNotFoundError:
                place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                place.touch(mode=0o600)

    def being_read(self) -> set[tuple[str, int]]:
        """Workload and number of the attempts that are read just now; others are forgotten."""
        found: set[tuple[str, int]] = set()
        with contextlib.suppress(OSError), os.scandir(self._readers) as marks:
            for mark in marks:
                workload, _, attempt = mark.name.rpartition(".")
                with contextlib.suppress(OSError):
                    if time.time() - mark.stat().st_mtime > FRESH:
                        Path(mark).unlink()
                    elif attempt.isdecimal():
                        found.add((workload, int(attempt)))
        return found

    @property
    def _readers(self) -> Path:
        return self.data_dir / "logs-wanted"


class Copy:
    """Appends to a replica's log what grows in files elsewhere, each byte of them once.

    How far each file is here is noted after what was appended: what a crash left behind the note
    is cut off, and copied again.
    """

    def __init__(self, folder: Path, limits: Limits = DEFAULT) -> None:
        self.folder, self._note = folder, folder / "copied"
        noted = self._noted()
        self._at: dict[str, int] = noted["at"]
        self._open: set[str] = set(noted["open"])
        """Streams whose last line has no end yet."""
        self._file = Appender(folder, limits, upto=noted["offset"])

    def position(self, stream: str) -> int:
        """How many bytes of the stream's file are here."""
        return self._at.get(stream, 0)

    def add(self, stream: str, data: bytes) -> None:
        """What follows there in the stream ``stdout`` or ``stderr``. Raises OSError where it
        cannot be kept; `position` tells what was."""
        for begin in range(0, len(data), SLICE):
            self._add(stream, data[begin : begin + SLICE])

    def end(self) -> None:
        """Nothing more will come."""
        now = stamp()
        for stream in sorted(self._open):
            self._file.append(cri(now, b"", stream=stream.encode()))
        self._open.clear()
        self._write_note()
        mark_ended(self.folder)

    def close(self) -> None:
        self._file.close()

    def _add(self, stream: str, data: bytes) -> None:
        now, name = stamp(), stream.encode()
        *whole, rest = data.split(b"\n")
        block = b"".join(cri(now, text, stream=name) for text in whole)
        if rest:
            block += cri(now, rest, stream=name, ends=False)
        self._file.append(block)
        self._at[stream] = self.position(stream) + len(data)
        (self._open.add if rest else self._open.discard)(stream)
        self._write_note()

    def _noted(self) -> dict[str, Any]:
        try:
            said = json.loads(self._note.read_text())
            at = {str(stream): int(place) for stream, place in said["at"].items()}
            return {"offset": int(said["offset"]), "at": at, "open": list(said["open"])}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {"offset": 0, "at": {}, "open": []}

    def _write_note(self) -> None:
        said = {"offset": self._file.offset, "at": self._at, "open": sorted(self._open)}
        draft = self._note.with_suffix(".new")
        draft.write_text(json.dumps(said))
        draft.replace(self._note)


@contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Whether nobody else, process or thread, writes the log in ``folder`` until this is left."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(lock)


def mark_ended(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / ENDED).touch(mode=0o600)


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
    with open(here.path, "rb") as file:
        file.seek(offset - here.start - 1)
        found = file.read(LONGEST_LINE + 1).find(b"\n")
    return offset + found if found >= 0 else here.end


def _over_hole(kept: list[Segment], offset: int, limit: int) -> LogChunk:
    """The line that stands for dropped segments, with the time of the line after them."""
    following = next(s for s in kept if s.start > offset)
    before = max((s.end for s in kept if s.end <= offset), default=kept[0].start)
    with open(following.path, "rb") as file:
        stamp = file.read(64).split(b" ", 1)[0]
    size = (following.start - before) / 1_000_000
    line = stamp + f" stderr F {size:.1f} MB of log were dropped here: the log is full.\n".encode()
    return LogChunk(line[:limit], following.start, end=False, first_offset=kept[0].start)
