"""The whole log as bytes to keep: what the processes printed, not one byte changed."""

import heapq
from collections.abc import Iterator, Sequence

from .records import STEP, Record, Source

PENDING = 256 * 1024
"""Most bytes of one unfinished line that are held back until its end."""
PIECE = 64 * 1024
_WHOLE = frozenset((b" stdout F ", b" stderr F "))
"""Between the time, which has thirty characters, and the text of a whole line."""

_Item = tuple[bytes, int, int, bytes]
"""Time, number of the replica, place, text with its line end."""


def export(sources: Sequence[Source], *, with_prefix: bool = False) -> Iterator[bytes]:
    """All lines by time, up to what is there now.

    A line stands where its end came, so lines of other replicas or of the other stream never
    fall into it. ``with_prefix`` puts time and replica before each.
    """
    if len(sources) == 1 and not with_prefix:
        yield from _one(sources[0])
        return
    names = [source.name.encode() for source in sources]
    streams = [_lines(index, source, source.end()) for index, source in enumerate(sources)]
    pieces: list[bytes] = []
    size = 0
    for stamp, index, _, text in heapq.merge(*streams):
        if with_prefix:
            pieces.append(b"%s %s " % (stamp, names[index]))
            if not text.endswith(b"\n"):
                text += b"\n"
        pieces.append(text)
        size += len(text) + 48
        if size >= PIECE:
            yield b"".join(pieces)
            pieces, size = [], 0
    if pieces:
        yield b"".join(pieces)


def _one(source: Source) -> Iterator[bytes]:
    """One replica: most blocks hold whole lines only, and lose nothing but their heads."""
    at, end = source.first(), source.end()
    waiting = _Waiting(index=0)
    while at < end:
        chunk = source.read(at, min(STEP, max(end - at, PIECE)))
        is_plain = chunk.next_offset - at == len(chunk.data) and chunk.next_offset <= end
        if is_plain and waiting.is_empty and (texts := _texts(chunk.data)) is not None:
            yield texts
            after = chunk.next_offset
        else:
            records, after = source.step(at, STEP)
            kept = (record for record in records if record.offset < end)
            yield b"".join(item[3] for record in kept for item in waiting.add(record))
        if after <= at:
            break
        at = after
    yield b"".join(item[3] for item in waiting.rest(end))


def _texts(data: bytes) -> bytes | None:
    """The lines without their heads; None when one of them is only a part."""
    lines = data.split(b"\n")
    if any(line[30:40] not in _WHOLE for line in lines[:-1]):
        return None
    return b"\n".join([line[40:] for line in lines])


class _Waiting:
    """Lines of one replica whose end has not come yet."""

    def __init__(self, index: int) -> None:
        self.index = index
        self._parts: dict[bytes, list[bytes]] = {}

    @property
    def is_empty(self) -> bool:
        return not self._parts

    def add(self, record: Record) -> Iterator[_Item]:
        """The line that ``record`` ends, if it ends one."""
        parts = self._parts.pop(record.stream, [])
        parts.append(record.text)
        if not record.partial:
            parts.append(b"\n")
        elif sum(map(len, parts)) < PENDING:
            self._parts[record.stream] = parts
            return
        yield record.stamp, self.index, record.offset, b"".join(parts)

    def rest(self, end: int) -> Iterator[_Item]:
        """Unfinished lines come last; no record of this log is later."""
        for parts in self._parts.values():
            yield b"~", self.index, end, b"".join(parts)


def _lines(index: int, source: Source, end: int) -> Iterator[_Item]:
    waiting = _Waiting(index)
    at = source.first()
    while at < end:
        records, after = source.step(at, STEP)
        if after == at:
            break
        for record in records:
            if record.offset >= end:
                break
            if waiting.is_empty and not record.partial:
                yield record.stamp, index, record.offset, record.text + b"\n"
            else:
                yield from waiting.add(record)
        at = after
    yield from waiting.rest(end)
