"""A boundary as an opaque word for addresses and clients, and back."""

import binascii
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence

from .lines import Opened
from .merge import Boundary, Mark

_VERSION = 1
_STREAMS = (b"stdout", b"stderr")
_LARGEST = 2**60


class BadCursor(ValueError):
    """Not a cursor, or one of other replicas."""


def encode(names: Sequence[str], boundary: Boundary) -> str:
    """``names`` are the replicas of the boundary, in its order."""
    out = bytearray([_VERSION])
    out += _sum_of(names)
    for mark in boundary:
        _put(out, mark.offset)
        if mark.opened is None:
            _put(out, 0)
            continue
        opened = [one for one in mark.opened if one.stream in _STREAMS]
        _put(out, len(opened) + 1)
        for one in opened:
            _put(out, _STREAMS.index(one.stream) * 2 + one.returns)
            for number in (one.start, one.size, one.last):
                _put(out, number)
    return urlsafe_b64encode(bytes(out)).rstrip(b"=").decode()


def decode(names: Sequence[str], word: str) -> Boundary:
    """The boundary; raises BadCursor for anything that `encode` did not write for ``names``."""
    try:
        data = urlsafe_b64decode(word.encode("ascii") + b"=" * (-len(word) % 4))
    except (binascii.Error, UnicodeEncodeError):
        raise BadCursor(word) from None
    if data[:1] != bytes([_VERSION]) or data[1:5] != _sum_of(names):
        raise BadCursor(word)
    reader = _Reader(data, 5)
    marks = []
    for _ in names:
        offset, count = reader.number(), reader.number()
        if count > 1 + len(_STREAMS):
            raise BadCursor(word)
        marks.append(
            Mark(offset, tuple(_opened(reader) for _ in range(count - 1)) if count else None)
        )
    if reader.at != len(data):
        raise BadCursor(word)
    return tuple(marks)


def _opened(reader: "_Reader") -> Opened:
    kind = reader.number()
    if kind >= 2 * len(_STREAMS):
        raise BadCursor(kind)
    start, size, last = reader.number(), reader.number(), reader.number()
    return Opened(_STREAMS[kind // 2], start, size, last, bool(kind % 2))


def _sum_of(names: Sequence[str]) -> bytes:
    return zlib.crc32("\n".join(names).encode()).to_bytes(4, "big")


def _put(out: bytearray, number: int) -> None:
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


class _Reader:
    """Numbers of seven bits a byte."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at

    def number(self) -> int:
        value = shift = 0
        while True:
            if self.at >= len(self.data) or shift > 63:
                raise BadCursor("short")
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
        if value > _LARGEST:
            raise BadCursor("large")
        return value
