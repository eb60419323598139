"""The program that searches: blocks of CRI lines come in, places of a text go out.

It runs as a process of its own with `python -I -S`, so it imports nothing of Gangline: a long
search takes no time from the server's own threads, and ends when the pipe or the time ends.
"""

import json
import os
import re
import struct
import sys
from typing import BinaryIO

FRAME = struct.Struct(">IQI")
"""Number of the replica, place of the block, bytes of the block."""
SNIPPET = 240
_COLOURS = re.compile(rb"\x1b\[[0-9;:]*m")
_HEAD = re.compile(rb"^[-0-9TZ:.]+ std(?:out|err) [FP] ?", re.MULTILINE)
_LIKE_HEAD = re.compile(rb"[-0-9tz:.stdouerfp ]+")


class Search:
    """What was found so far, and how far each replica has been searched."""

    def __init__(self, text: bytes, hits: int, per_replica: int) -> None:
        self.wanted = text.lower()
        self.hits, self.per_replica = hits, per_replica
        self.found: list[tuple[int, int, str, str]] = []
        self.counts: dict[int, int] = {}
        self.reached: dict[int, int] = {}
        self._full: set[int] = set()

    def run(self, stream: BinaryIO) -> None:
        """Read frames until there are no more, or enough was found."""
        while len(self.found) < self.hits:
            head = stream.read(FRAME.size)
            if len(head) < FRAME.size:
                return
            replica, offset, size = FRAME.unpack(head)
            data = stream.read(size)
            if len(data) < size:
                return
            if replica not in self._full:
                self._block(replica, offset, data)

    def _block(self, replica: int, offset: int, data: bytes) -> None:
        room = min(self.per_replica - self.counts.get(replica, 0), self.hits - len(self.found))
        lines, until = in_block(data, self.wanted, room)
        for place, line in lines:
            parts = line.split(b" ", 3)
            stamp = parts[0].decode("ascii", "replace")
            self.found.append((replica, offset + place, stamp, snippet(parts[-1], self.wanted)))
        self.counts[replica] = self.counts.get(replica, 0) + len(lines)
        self.reached[replica] = offset + until
        if until < len(data) or self.counts[replica] >= self.per_replica:
            self._full.add(replica)


def in_block(data: bytes, wanted: bytes, room: int) -> tuple[list[tuple[int, bytes]], int]:
    """Place and content of the lines whose text has ``wanted``, in any case and colours.

    Also how far the block has been searched when there was no room for more.
    """
    bare = _COLOURS.sub(b"", data) if b"\x1b" in data else data
    has_heads = not _LIKE_HEAD.fullmatch(wanted)
    if not has_heads:
        # Nearly every line would be a false hit: times and streams are taken out first.
        bare = _HEAD.sub(b"", bare)
    low = bare.lower()
    found: list[tuple[int, bytes]] = []
    at = counted = place = 0
    while (hit := low.find(wanted, at)) >= 0:
        begin = low.rfind(b"\n", 0, hit) + 1
        end = low.find(b"\n", hit)
        at = text_begin(low, begin) if has_heads else begin
        if hit < at and low.find(wanted, at, end) < 0:
            at = end  # only the time or the stream looks like it
            continue
        if bare is data:
            place = begin
        else:
            # What was taken out changed places but not the number of lines.
            for _ in range(bare.count(b"\n", counted, begin)):
                place = data.index(b"\n", place) + 1
            counted = begin
        if len(found) == room:
            return found, place
        found.append((place, data[place : data.find(b"\n", place)]))
        at = end
    return found, len(data)


def text_begin(line: bytes, begin: int) -> int:
    """Where the text of the line that starts at ``begin`` starts: behind three words of ours."""
    at = begin
    for _ in range(3):
        at = line.find(b" ", at) + 1
        if not at:
            return len(line)
    return at


def snippet(text: bytes, wanted: bytes) -> str:
    """The part of a long text that the hit is in."""
    text = _COLOURS.sub(b"", text)
    begin = max(text.lower().find(wanted) - SNIPPET // 4, 0)
    return ("…" if begin else "") + text[begin : begin + SNIPPET].decode("utf-8", "replace")


def main() -> None:
    first = json.loads(sys.stdin.buffer.readline())
    search = Search(first["text"].encode(), first["hits"], first["perReplica"])
    search.run(sys.stdin.buffer)
    # Whoever still writes learns that nobody reads; else both would wait for each other.
    os.close(sys.stdin.fileno())
    sys.stdout.write(json.dumps({"hits": search.found, "reached": search.reached}))


if __name__ == "__main__":
    main()
