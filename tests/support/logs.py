"""Logs as the shims write them, in a folder of their own."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from gangline.drivers.base import LogChunk
from gangline.drivers.logs import output, store
from gangline.drivers.logs.output import LogWriter
from gangline.drivers.logs.segments import Limits
from workloads.logs.records import Source


class WrittenLog:
    """The log of one replica: what the writer stored, read by the driver's reader."""

    def __init__(self, folder: Path, name: str, limits: Limits | None = None) -> None:
        self.name, self.folder = name, folder / name
        self.writer = LogWriter(str(self.folder), limits or Limits())
        self.has_ended = False
        self.source = Source(name, self.read)

    def read(self, offset: int, limit: int) -> LogChunk:
        return store.read(self.folder, offset, limit, ended=self.has_ended)

    def print(self, text: str | bytes, stream: bytes = b"stdout", at: float | None = None) -> None:
        """Write ``text`` as it came out of the process, at a time in seconds."""
        data = text.encode() if isinstance(text, str) else text
        with stamped(at):
            self.writer.write(stream, data)

    def pause(self, at: float | None = None) -> None:
        """Let so much time pass that text without a line end is written."""
        later = time.monotonic() + output.IDLE + 1
        with mock.patch("time.monotonic", return_value=later), stamped(at):
            self.writer.flush_idle()

    def end(self) -> None:
        self.writer.close()
        self.has_ended = True


@contextmanager
def stamped(at: float | None) -> Iterator[None]:
    """Everything inside is stamped with this second since 2026-01-01."""
    if at is None:
        yield
        return
    stamp, before = stamp_of(at), vars(output)["stamp"]
    vars(output)["stamp"] = lambda: stamp  # by hand: `mock.patch` costs more than the line
    try:
        yield
    finally:
        vars(output)["stamp"] = before


def stamp_of(at: float) -> bytes:
    hours, rest = divmod(round(at * 10**9), 3600 * 10**9)
    minutes, rest = divmod(rest, 60 * 10**9)
    seconds, nanoseconds = divmod(rest, 10**9)
    return b"2026-01-01T%02d:%02d:%02d.%09dZ" % (hours, minutes, seconds, nanoseconds)


def write_lines(folder: Path, count: int, text: bytes, *, at: float = 0.0) -> int:
    """Fill a log folder with ``count`` CRI lines in segments; returns the bytes. Fast."""
    folder.mkdir(parents=True, exist_ok=True)
    size = start = 0
    for numbers in _batches(count, 20_000):
        data = b"".join(
            b"%s stdout F %s %d\n" % (stamp_of(at + number / 1000), text, number)
            for number in numbers
        )
        path = folder / f"{start:020d}.log"
        with path.open("ab") as file:
            file.write(data)
        size += len(data)
        if path.stat().st_size > Limits().segment - len(data):
            start = size
    return size


def _batches(count: int, size: int) -> Iterator[Sequence[int]]:
    for begin in range(0, count, size):
        yield range(begin, min(begin + size, count))


def texts(lines: Sequence[object]) -> list[str]:
    return [line.words for line in lines]  # type: ignore[attr-defined]
