"""One replica's log on disk: CRI lines appended to segments, each line of a pod once (R4).

``<folder>/<offset>.log`` as `log_files` reads them; ``pod`` tells whose lines are being added, and
``ended`` that nothing more will come. A lock lets one process write, whoever else tries.
"""

import fcntl
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from gangline.clusters.drivers.log_files import segments

LINE = 16 * 1024
"""Longer lines are cut into pieces with the flag P; the last piece has the flag F."""
TAIL = 256 * 1024
SECOND = len("2026-01-01T00:00:00")
_STAMP = re.compile(rb"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(Z|[+-]\d\d:\d\d)$")


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes of one segment, and of all together; the first and the newest stay."""

    segment: int = 8 * 2**20
    cap: int = 2**30


DEFAULT = Limits()


class Archive:
    """The open log of one replica, to which the lines of one pod are added."""

    def __init__(self, folder: Path, pod_uid: str, limits: Limits = DEFAULT) -> None:
        self.folder, self.limits = folder, limits
        self._starts = [segment.start for segment in segments(folder)]
        self._file = self._opened(self._starts[-1] if self._starts else 0)
        try:
            self.offset = self._starts[-1] + self._mend()
            self.last, self._known = self._newest(self._begin(pod_uid))
            """Stamp of the pod's newest line here, and how many lines bear it: read on from there,
            they come once more."""
        except BaseException:
            self.close()
            raise

    def add(self, lines: list[bytes]) -> int:
        """Append lines ``<stamp> <text>`` in their order; those that are here already are not.

        Returns how many were new. Raises OSError where they cannot be stored.
        """
        block: list[bytes] = []
        for line in lines:
            raw, _, text = line.partition(b" ")
            stamp = normal(raw)
            if stamp is None:
                stamp, text = self.last or now(), line
            elif self._is_known(stamp):
                continue
            self.last = stamp
            block.append(cri(stamp, text))
        if block:
            self._append(b"".join(block))
        return len(block)

    def notice(self, text: str) -> None:
        """A line of ours, in the stream of errors."""
        self._append((self.last or now()) + b" stderr F " + text.encode() + b"\n")

    def end(self) -> None:
        """Nothing more will come."""
        (self.folder / "ended").touch(mode=0o600)

    def close(self) -> None:
        os.close(self._file)

    def _is_known(self, stamp: bytes) -> bool:
        """Whether this line came before. Not by its stamp alone: two streams may overtake."""
        if not self._known:
            return False
        if stamp == self.last:
            self._known -= 1
        elif stamp[:SECOND] > self.last[:SECOND]:
            self._known = 0  # what was known is gone from the node: everything is new
            return False
        return True

    def _append(self, block: bytes) -> None:
        if (filled := self.offset - self._starts[-1]) and filled + len(block) > self.limits.segment:
            fresh = self._opened(self.offset)
            os.close(self._file)
            self._file = fresh
            self._drop()
        view = memoryview(block)
        try:
            while view:
                view = view[os.write(self._file, view) :]
        except OSError:
            os.ftruncate(self._file, self.offset - self._starts[-1])
            raise
        self.offset += len(block)

    def _drop(self) -> None:
        """Forget segments between the first and the newest until the rest fits."""
        kept = segments(self.folder)
        size = sum(segment.size for segment in kept) + self.limits.segment
        while len(kept) > 2 and size > self.limits.cap:
            dropped = kept.pop(1)
            size -= dropped.size
            dropped.path.unlink(missing_ok=True)
            self._starts.remove(dropped.start)

    def _opened(self, start: int) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        file = os.open(self.folder / f"{start:020d}.log", flags, 0o600)
        if not self._starts or self._starts[-1] != start:
            self._starts.append(start)
        return file

    def _mend(self) -> int:
        """Cut off what a crash left of a line; returns the size."""
        size = os.fstat(self._file).st_size
        from_ = max(0, size - TAIL)
        tail = os.pread(self._file, size - from_, from_)
        whole = tail.rfind(b"\n") + 1
        while whole and not _is_finished(tail[:whole]):
            whole = tail.rfind(b"\n", 0, whole - 1) + 1
        if whole != len(tail) and (whole or not from_):
            os.ftruncate(self._file, from_ + whole)
            return from_ + whole
        return size

    def _begin(self, pod_uid: str) -> int:
        """Offset of the pod's first line; a new pod goes on where the one before ended."""
        known = self.folder / "pod"
        try:
            said = json.loads(known.read_text())
            if said["uid"] == pod_uid:
                return int(said["begin"])
        except (OSError, ValueError, KeyError, TypeError):
            pass
        (self.folder / "ended").unlink(missing_ok=True)
        written = known.with_suffix(".new")
        written.write_text(json.dumps({"uid": pod_uid, "begin": self.offset}))
        written.replace(known)
        return self.offset

    def _newest(self, begin: int) -> tuple[bytes, int]:
        start = self._starts[-1]
        first = max(begin, start, self.offset - TAIL)
        if first >= self.offset:
            return self._newest_before(begin) if begin < self.offset else (b"", 0)
        lines = os.pread(self._file, self.offset - first, first - start).split(b"\n")[:-1]
        own = [line for line in lines if b" stdout F " in line[:60]]
        if not own:
            return b"", 0
        last = own[-1].split(b" ", 1)[0]
        return last, sum(line.startswith(last) for line in own)

    def _newest_before(self, begin: int) -> tuple[bytes, int]:
        """A segment was begun and nothing written yet: the newest line is in the one before."""
        kept = [s for s in segments(self.folder) if s.size and s.end > begin]
        if not kept:
            return b"", 0
        data = kept[-1].path.read_bytes()[-TAIL:]
        own = [line for line in data.split(b"\n")[1:-1] if b" stdout F " in line[:60]]
        if not own:
            return b"", 0
        last = own[-1].split(b" ", 1)[0]
        return last, sum(line.startswith(last) for line in own)


@contextmanager
def opened(folder: Path, pod_uid: str, limits: Limits = DEFAULT) -> Iterator[Archive | None]:
    """The archive of a replica for this pod; None while another process or thread writes it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
            return
        archive = Archive(folder, pod_uid, limits)
        try:
            yield archive
        finally:
            archive.close()
    finally:
        os.close(lock)


def has_ended(folder: Path, pod_uid: str) -> bool:
    """Whether all of this pod's lines are here."""
    try:
        return (folder / "ended").exists() and bool(
            json.loads((folder / "pod").read_text())["uid"] == pod_uid
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


def cri(stamp: bytes, text: bytes) -> bytes:
    """A line as CRI has it. The API server tells of both streams as one."""
    head = stamp + b" stdout "
    if len(text) <= LINE:
        return head + b"F " + text + b"\n"
    pieces = [text[at : at + LINE] for at in range(0, len(text), LINE)]
    return b"".join(head + b"P " + piece + b"\n" for piece in pieces[:-1]) + (
        head + b"F " + pieces[-1] + b"\n"
    )


def normal(stamp: bytes) -> bytes | None:
    """The stamp in UTC with nine decimals, so that stamps sort as bytes; None for what is none."""
    found = _STAMP.match(stamp)
    if found is None:
        return None
    seconds, decimals, zone = found[1], (found[2] or b"").ljust(9, b"0"), found[3]
    if zone != b"Z":
        try:
            at = datetime.fromisoformat((seconds + zone).decode()).astimezone(UTC)
        except (ValueError, OverflowError):
            return None
        seconds = at.strftime("%Y-%m-%dT%H:%M:%S").encode()
    return seconds + b"." + decimals + b"Z"


def now() -> bytes:
    """The present as a stamp."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z").encode()


def _is_finished(lines: bytes) -> bool:
    """Whether the last line ends a line of the program, and is not a piece of one."""
    begin = lines.rfind(b"\n", 0, len(lines) - 1) + 1
    parts = lines[begin : begin + 60].split(b" ", 3)
    return len(parts) < 3 or parts[2].strip() != b"P"
