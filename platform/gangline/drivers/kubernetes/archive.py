"""One pod's log as the API server tells it: lines with stamps, each appended once (R4).

``pod``, beside the segments, tells whose lines are being added. A line that goes on and on, such as
a progress bar without a line end, is kept as far as it came, in pieces with the flag P. Its stamp
is that of its begin, the only one that the API server tells: who reads on from there gets the whole
of it once more, and of that what is here is left out.
"""

import json
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from gangline.drivers.logs.segments import (
    DEFAULT,
    LINE,
    Appender,
    Limits,
    cri,
    segments,
)
from gangline.drivers.logs.segments import (
    stamp as now,
)
from gangline.drivers.logs.store import ENDED, locked, mark_ended

TAIL = 256 * 1024
LONGEST = 64 * 2**20
"""Bytes within which the begin of a line without an end is looked for: a node keeps less of a log
(https://kubernetes.io/docs/concepts/cluster-administration/logging/#log-rotation), so the line does
not come from there again."""
SECOND = len("2026-01-01T00:00:00")
_STAMP = re.compile(rb"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(Z|[+-]\d\d:\d\d)$")


class Archive:
    """The open log of one replica, to which the lines of one pod are added."""

    def __init__(self, folder: Path, pod_uid: str, limits: Limits = DEFAULT) -> None:
        self.folder, self._file = folder, Appender(folder, limits)
        try:
            self.last, self._known, self._held = self._newest(self._begin(pod_uid))
            """Stamp of the pod's newest line here, and how many whole lines bear it: read on from
            there, they come once more. And the bytes that are here of a line without an end."""
            self._place: int | None = None
            """Bytes that came, in this stream, of the line that is not at its end yet."""
            self._is_dropped = False
            """That line is here already."""
        except BaseException:
            self.close()
            raise

    @property
    def offset(self) -> int:
        return self._file.offset

    def add(self, lines: list[bytes], part: bytes = b"") -> int:
        """Append lines ``<stamp> <text>`` in their order; those that are here already are not.

        ``part``: what came of the line after them, whose end did not come yet. What follows, or the
        first of the next lines, is more of it. Returns how many were new. Raises OSError where they
        cannot be stored.
        """
        block: list[bytes] = []
        if self._place is not None and lines:
            first, *lines = lines
            self._go_on(block, first, ends=True)
        for line in lines:
            raw, _, text = line.partition(b" ")
            stamp = normal(raw)
            if stamp is None:
                if self._known or self._held:
                    continue  # the end of a line that began before the moment read from
                stamp, text = self.last or now(), line
            elif self._is_known(stamp):
                continue
            elif self._held:
                self._meet(block, stamp)
                text, self._held = text[self._held :], 0
            self.last = stamp
            block.append(cri(stamp, text))
        if part:
            self._begin_or_go_on(block, part)
        if block:
            self._file.append(b"".join(block))
        return len(block)

    def end(self) -> None:
        """Nothing more will come."""
        if self._held:
            self._file.append(cri(self.last, b""))
            self._held = 0
        mark_ended(self.folder)

    def close(self) -> None:
        self._file.close()

    def _is_known(self, stamp: bytes) -> bool:
        """Whether this line came before. Not by its stamp alone: two streams may overtake."""
        if not self._known and not self._held:
            return False
        if stamp == self.last:
            self._known -= 1
            return self._known >= 0  # after those that are whole comes the one that is not
        if stamp[:SECOND] > self.last[:SECOND]:
            self._known = 0  # what was known is gone from the node: everything is new
            return False
        return True

    def _meet(self, block: list[bytes], stamp: bytes) -> None:
        """A line that is new, while one is here without its end: that one, or one behind it."""
        self._known = 0
        if stamp != self.last:
            block.append(cri(self.last, b""))
            self._held = 0

    def _begin_or_go_on(self, block: list[bytes], part: bytes) -> None:
        if self._place is None:
            raw, blank, text = part.partition(b" ")
            stamp = normal(raw)
            if not blank and len(part) < LINE:
                return  # not even its stamp is whole: it comes again
            if stamp is None:
                self._is_dropped = bool(self._known or self._held)
                stamp, text = self.last or now(), part
            else:
                self._is_dropped = self._is_known(stamp)
            if not self._is_dropped:
                if self._held:
                    self._meet(block, stamp)
                self.last = stamp
            self._place, part = 0, text
        self._go_on(block, part, ends=False)

    def _go_on(self, block: list[bytes], text: bytes, *, ends: bool) -> None:
        """More of the line that has no end yet, as far as it is not here."""
        place = self._place or 0
        self._place = None if ends else place + len(text)
        if self._is_dropped:
            self._is_dropped = not ends
            return
        fresh = text[max(0, self._held - place) :]
        self._held = 0 if ends else max(self._held, place + len(text))
        if fresh or ends:
            block.append(cri(self.last, fresh, ends=ends))

    def _begin(self, pod_uid: str) -> int:
        """Offset of the pod's first line; a new pod goes on where the one before ended."""
        known = self.folder / "pod"
        try:
            said = json.loads(known.read_text())
            if said["uid"] == pod_uid:
                return int(said["begin"])
        except (OSError, ValueError, KeyError, TypeError):
            pass
        (self.folder / ENDED).unlink(missing_ok=True)
        before, _, held = self._newest(0)
        if held:
            self._file.append(cri(before, b""))  # no more of the line of the pod before will come
        written = known.with_suffix(".new")
        written.write_text(json.dumps({"uid": pod_uid, "begin": self.offset}))
        written.replace(known)
        return self.offset

    def _newest(self, begin: int) -> tuple[bytes, int, int]:
        """Of the lines from ``begin`` on: the newest stamp, how many whole ones bear it, and how
        many bytes of a line without an end are here."""
        stamp, whole, held, seen, is_open = b"", 0, 0, 0, True
        for line in self._backwards(begin):
            seen += len(line) + 1
            if seen > (LONGEST if is_open else TAIL):
                break
            if stamp and not line.startswith(stamp):
                is_open = False
                continue
            head, stream, flag, text = (*line.split(b" ", 3), b"", b"", b"")[:4]
            if stream != b"stdout":
                continue
            stamp = head
            is_open = is_open and flag == b"P"
            if is_open:
                held += len(text)
            whole += flag == b"F"
        return stamp, whole, held

    def _backwards(self, begin: int) -> Iterator[bytes]:
        """The records from ``begin`` on, the newest first."""
        for segment in reversed(segments(self.folder)):
            floor, at, rest = max(0, begin - segment.start), segment.size, b""
            with Path(segment.path).open("rb") as file:
                while at > floor:
                    upto, at = at, max(floor, at - TAIL)
                    file.seek(at)
                    first, *lines = (file.read(upto - at) + rest).split(b"\n")
                    yield from filter(None, reversed(lines))
                    rest = first
            if rest:
                yield rest
            if segment.start <= begin:
                return


@contextmanager
def opened(folder: Path, pod_uid: str, limits: Limits = DEFAULT) -> Iterator[Archive | None]:
    """The archive of a replica for this pod; None while another process or thread writes it."""
    with locked(folder) as is_ours:
        if not is_ours:
            yield None
            return
        with closing(Archive(folder, pod_uid, limits)) as archive:
            yield archive


def has_ended(folder: Path, pod_uid: str) -> bool:
    """Whether all of this pod's lines are here."""
    try:
        return (folder / ENDED).exists() and bool(
            json.loads((folder / "pod").read_text())["uid"] == pod_uid
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


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
