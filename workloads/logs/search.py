"""Search of a text in the whole log of a gang, in a child process with limits (R4)."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from .finder import FRAME
from .records import Source

FINDER = Path(__file__).with_name("finder.py")
HITS = 1000
SECONDS = 6.0
BYTES = 2**30
AT_ONCE = 2
"""Searches that one process of the server runs at the same time."""
BLOCK = 1 << 20
TEXT = 200
"""Most characters of a text to search for."""

_running = threading.BoundedSemaphore(AT_ONCE)


class Busy(Exception):
    """Enough searches are running; this one can be tried again in a moment."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One line that has the text."""

    source: str
    offset: int
    stamp: str
    snippet: str

    @property
    def id(self) -> str:
        return f"{self.source}:{self.offset}"


@dataclass(frozen=True, slots=True)
class Found:
    hits: list[Hit]
    searched: int
    """Bytes."""
    reached: Mapping[str, int]
    """Place in each replica up to which all has been searched."""
    is_complete: bool


def search(
    sources: Sequence[Source],
    text: str,
    begins: Mapping[str, int] | None = None,
    *,
    seconds: float = SECONDS,
    most_bytes: int = BYTES,
    hits: int = HITS,
) -> Found:
    """Lines with ``text`` by time. Raises Busy."""
    if not _running.acquire(blocking=False):
        raise Busy
    try:
        return _search(sources, text, dict(begins or {}), seconds, most_bytes, hits)
    finally:
        _running.release()


def _search(
    sources: Sequence[Source],
    text: str,
    begins: dict[str, int],
    seconds: float,
    most_bytes: int,
    hits: int,
) -> Found:
    feed = _Feed(sources, begins, time.monotonic() + seconds, most_bytes)
    child = subprocess.Popen(
        [sys.executable, "-I", "-S", str(FINDER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"LANG": "C.UTF-8"},
        cwd="/",
    )
    watchdog = threading.Timer(seconds + 2, child.kill)
    watchdog.start()
    try:
        per_replica = max(hits // max(len(sources), 1), 20)
        answer = _talk(child, {"text": text, "hits": hits, "perReplica": per_replica}, feed)
    finally:
        watchdog.cancel()
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()
    found = [Hit(sources[r].name, place, stamp, words) for r, place, stamp, words in answer["hits"]]
    order = {source.name: number for number, source in enumerate(sources)}
    found.sort(key=lambda hit: (hit.stamp, order[hit.source], hit.offset))
    reached = begins | {sources[int(r)].name: place for r, place in answer["reached"].items()}
    return Found(found, feed.poured, reached, feed.has_all and reached == feed.reached)


def _talk(
    child: subprocess.Popen[bytes], question: Mapping[str, Any], feed: "_Feed"
) -> dict[str, Any]:
    """Ask, give the log to read, and take the answer; an empty one when the child was ended."""
    if child.stdin is None or child.stdout is None:
        raise TypeError("the finder was started without pipes")
    # The child ends early when it has enough: then nobody reads the rest.
    with suppress(BrokenPipeError):
        child.stdin.write(json.dumps(question).encode() + b"\n")
        feed.pour(child.stdin)
        child.stdin.close()
    data = child.stdout.read()
    answer: dict[str, Any] = json.loads(data) if data else {"hits": [], "reached": {}}
    return answer


class _Feed:
    """The blocks of all replicas in turn, until a limit."""

    def __init__(
        self, sources: Sequence[Source], begins: Mapping[str, int], deadline: float, most: int
    ) -> None:
        self.sources, self.deadline, self.most = sources, deadline, most
        self.reached = {source.name: begins.get(source.name, 0) for source in sources}
        self.poured = 0
        self.has_all = False

    def pour(self, pipe: IO[bytes]) -> None:
        waiting = dict(enumerate(self.sources))
        while waiting:
            for number, source in list(waiting.items()):
                if time.monotonic() > self.deadline or self.poured >= self.most:
                    return
                if not self._block(pipe, number, source):
                    del waiting[number]
        self.has_all = True

    def _block(self, pipe: IO[bytes], number: int, source: Source) -> bool:
        at = self.reached[source.name]
        chunk = source.read(at, BLOCK)
        at = max(at, chunk.first_offset)
        if not chunk.data or chunk.next_offset <= at:
            return False
        if chunk.next_offset - at == len(chunk.data):
            pipe.write(FRAME.pack(number, at, len(chunk.data)))
            pipe.write(chunk.data)
            self.poured += len(chunk.data)
        else:
            # A hole: its notice is no text of the log; an empty block moves the place on.
            pipe.write(FRAME.pack(number, chunk.next_offset, 0))
        self.reached[source.name] = chunk.next_offset
        return True
