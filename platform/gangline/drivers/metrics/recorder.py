"""The one writer of a replica's figures: samples into buckets of one width, in one small file.

The file lies beside the replica's log (``metrics``) and goes when the log goes. It has a head of
eight bytes (mark and width in seconds), then one record of `RECORD` for each bucket that has
samples: its number since 1970 in widths, how many samples, then mean and maximum of each metric,
NaN where it is unknown. With `MOST` buckets the width doubles, so a run of a month is as small as
one of an hour, and what several replicas have at one time lies in buckets of one number.

Standard library only: the supervisors of local processes record with it.
"""

import os
import struct
from collections.abc import Mapping
from math import isnan, nan

from .declared import NAMES

FILE = "metrics"
HEAD = struct.Struct("<4sI")
MARK = b"GLM1"
RECORD = struct.Struct(f"<II{2 * len(NAMES)}f")
MOST = 240
Row = tuple[float, ...]
"""As `RECORD` has it."""
_EMPTY: Row = (0, 0, *(nan,) * (2 * len(NAMES)))
FINEST = 1
"""Seconds of a bucket at first."""


def decoded(data: bytes) -> tuple[int, list[Row]]:
    """Width and rows; none of what is no such file. A record that is not whole is left out."""
    if len(data) < HEAD.size:
        return FINEST, []
    mark, width = HEAD.unpack_from(data)
    if mark != MARK or not width:
        return FINEST, []
    whole = (len(data) - HEAD.size) // RECORD.size * RECORD.size
    return width, list(RECORD.iter_unpack(data[HEAD.size : HEAD.size + whole]))


def coarser(rows: list[Row]) -> list[Row]:
    """The same in buckets of twice the width."""
    made: list[Row] = []
    for row in rows:
        number = int(row[0]) // 2
        if made and made[-1][0] == number:
            made[-1] = _merged(number, made[-1], row)
        else:
            made.append((number, *row[1:]))
    return made


def _merged(number: int, one: Row, other: Row) -> Row:
    samples = int(one[1] + other[1])
    row: list[float] = [number, samples]
    for at in range(2, len(one), 2):
        mean, top, mean_2, top_2 = one[at], one[at + 1], other[at], other[at + 1]
        if isnan(mean):
            row += [mean_2, top_2]
        elif isnan(mean_2):
            row += [mean, top]
        else:
            row += [(mean * one[1] + mean_2 * other[1]) / samples, max(top, top_2)]
    return tuple(row)


class Recorder:
    """Of one replica, opened at its end by the only one who writes it.

    It remembers the newest bucket alone: thousands of pods of a cluster have one each.
    """

    def __init__(
        self, folder: "str | os.PathLike[str]", *, finest: int = FINEST, most: int = MOST
    ) -> None:
        self._path, self._most, self._file = f"{os.fspath(folder)}/{FILE}", most, -1
        self.width, self._count, self._row = finest, 0, _EMPTY
        try:
            with open(self._path, "rb") as file:
                head = file.read(HEAD.size)
                count = (os.fstat(file.fileno()).st_size - HEAD.size) // RECORD.size
                if len(head) == HEAD.size and count > 0:
                    file.seek(HEAD.size + (count - 1) * RECORD.size)
                    width, rows = decoded(head + file.read(RECORD.size))
                    if rows:
                        self.width, self._count, self._row = width, count, rows[0]
        except OSError:
            pass  # there is none yet; what else is wrong shows when it is written
        self._known = [0] * len(NAMES)
        """How many samples of the newest bucket told of each metric."""

    @property
    def newest(self) -> float:
        """From when on samples are new, in seconds since 1970; 0.0: nothing was recorded."""
        return (self._row[0] + 1) * self.width if self._count else 0.0

    def add(self, at: float, values: Mapping[str, float]) -> None:
        """One sample, taken ``at`` seconds since 1970. Raises OSError; the next one may do."""
        if self._is_new(at) and self._count >= self._most:
            self._coarsen()
        if self._is_new(at):
            self._row = (int(at // self.width), *_EMPTY[1:])
            self._count += 1
            self._known = [0] * len(NAMES)
        # A clock that was set back adds to the newest.
        self._row = self._with(values)
        self._write()

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _is_new(self, at: float) -> bool:
        return not self._count or at // self.width > self._row[0]

    def _with(self, values: Mapping[str, float]) -> Row:
        row = list(self._row)
        row[1] += 1
        for place, name in enumerate(NAMES):
            value = values.get(name)
            if value is None:
                continue
            at, known = 2 + 2 * place, self._known[place]
            if not known and not isnan(row[at]):
                known = int(row[1]) - 1  # of a bucket that was read, or made of two
            row[at] = value if not known else row[at] + (value - row[at]) / (known + 1)
            row[at + 1] = value if isnan(row[at + 1]) else max(row[at + 1], value)
            self._known[place] = known + 1
        return tuple(row)

    def _coarsen(self) -> None:
        """Buckets of twice the width, until half of them are free."""
        self.close()
        with open(self._path, "rb") as file:
            width, rows = decoded(file.read())
        while len(rows) > self._most // 2:
            rows, width = coarser(rows), width * 2
        draft = f"{self._path}.new"
        with open(draft, "wb") as file:
            file.write(HEAD.pack(MARK, width))
            file.writelines(_packed(row) for row in rows)
        os.rename(draft, self._path)
        self.width, self._count, self._row = width, len(rows), rows[-1]
        self._known = [0] * len(NAMES)

    def _write(self) -> None:
        """The newest record in its place."""
        if self._file < 0:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self._file = os.open(self._path, flags, 0o600)
            os.pwrite(self._file, HEAD.pack(MARK, self.width), 0)
        place = HEAD.size + (self._count - 1) * RECORD.size
        os.pwrite(self._file, _packed(self._row), place)


def _packed(row: Row) -> bytes:
    return RECORD.pack(int(row[0]), int(row[1]), *row[2:])


class Rates:
    """What counters that only grow come to in a second."""

    def __init__(self) -> None:
        self._at = 0.0
        self._before: dict[str, float] = {}

    def of(self, at: float, counters: Mapping[str, float]) -> dict[str, float]:
        """From the last call until this one; without those that were unknown or set back."""
        seconds, before = at - self._at, self._before
        self._at, self._before = at, dict(counters)
        if seconds <= 0.0:
            return {}
        return {
            name: (count - before[name]) / seconds
            for name, count in counters.items()
            if name in before and count >= before[name]
        }
