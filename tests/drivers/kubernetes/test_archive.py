"""Archived logs: every line of a pod once, whatever restarts, breaks or comes twice."""

import os
import random
from pathlib import Path

import pytest

from gangline.drivers.kubernetes import archive
from gangline.drivers.logs import store
from gangline.drivers.logs.segments import Limits


def line(number: int, *, stamp: int | None = None) -> bytes:
    at = number if stamp is None else stamp
    return b"2026-11-22T10:%02d:%02d.%09dZ line %d" % (at // 60 % 60, at % 60, at, number)


def add(folder: Path, lines: list[bytes], *, uid: str = "a", limits: Limits | None = None) -> int:
    with archive.opened(folder, uid, limits or Limits()) as into:
        assert into is not None
        return into.add(lines)


def texts(folder: Path) -> list[bytes]:
    data, offset = b"", 0
    while True:
        chunk = store.read(folder, offset, 1000, ended=False)
        data += chunk.data
        if chunk.next_offset == offset:
            return [part.split(b" ", 3)[3] for part in data.splitlines()]
        offset = chunk.next_offset


def plain(count: int) -> list[bytes]:
    return [b"line %d" % number for number in range(count)]


def test_lines_become_cri_lines_of_one_stream(tmp_path: Path) -> None:
    add(tmp_path, [b"2026-11-22T10:00:00.5Z hello", b"2026-11-22T12:00:01.25+02:00 there"])
    assert store.read(tmp_path, 0, 1000, ended=False).data == (
        b"2026-11-22T10:00:00.500000000Z stdout F hello\n"
        b"2026-11-22T10:00:01.250000000Z stdout F there\n"
    )


def test_what_comes_again_is_not_written_again(tmp_path: Path) -> None:
    add(tmp_path, [line(n) for n in range(10)])
    assert add(tmp_path, [line(n) for n in range(7, 15)]) == 5
    assert texts(tmp_path) == plain(15)


def test_lines_of_one_moment_are_told_apart_by_their_number(tmp_path: Path) -> None:
    add(tmp_path, [line(n, stamp=5) for n in range(4)])
    assert add(tmp_path, [line(n, stamp=5) for n in range(6)]) == 2
    assert texts(tmp_path) == plain(6)


def test_every_way_of_cutting_and_repeating_gives_each_line_once(tmp_path: Path) -> None:
    """Stamps repeat; each fetch begins at the second of the last line that is there."""
    chance = random.Random(7)
    for trial in range(30):
        stamps = sorted(chance.choices(range(20), k=60))
        whole = [line(n, stamp=stamp) for n, stamp in enumerate(stamps)]
        folder, have = tmp_path / str(trial), 0
        while have < len(whole):
            first = next(n for n, s in enumerate(stamps) if not have or s == stamps[have - 1])
            upto = min(len(whole), have + chance.randrange(0, 9))
            add(folder, whole[first:upto])
            have = max(have, upto)
        assert texts(folder) == plain(60)


def test_what_a_crash_left_of_a_line_is_cut_off(tmp_path: Path) -> None:
    add(tmp_path, [line(0), line(1)])
    (segment,) = tmp_path.glob("*.log")
    with segment.open("ab") as file:
        file.write(b"2026-11-22T10:00:02.000000002Z stdout F lin")
    add(tmp_path, [line(1), line(2)])
    assert texts(tmp_path) == plain(3)


def test_pieces_of_a_long_line_that_a_crash_cut_are_written_anew(tmp_path: Path) -> None:
    long = line(1) + b"x" * 40_000
    add(tmp_path, [line(0), long])
    (segment,) = tmp_path.glob("*.log")
    data = segment.read_bytes()
    os.truncate(segment, data.rfind(b"\n", 0, -1) + 1)
    add(tmp_path, [line(0), long])
    assert segment.read_bytes() == data


def test_the_next_pod_goes_on_where_the_one_before_ended(tmp_path: Path) -> None:
    add(tmp_path, [line(n) for n in range(3)], uid="a")
    (tmp_path / "ended").touch()
    # Its clock may be behind: what is known of the first pod counts for nothing here.
    assert add(tmp_path, [line(0), line(1)], uid="b") == 2
    assert texts(tmp_path) == [*plain(3), *plain(2)]
    assert not (tmp_path / "ended").exists()


def test_a_log_that_cannot_be_begun_keeps_no_file_open(tmp_path: Path) -> None:
    """As on a full disk: nothing can be written beside the segment."""
    (tmp_path / "pod.new").mkdir()
    before = _open_files()
    for _ in range(5):
        with pytest.raises(IsADirectoryError):
            add(tmp_path, [line(0)])
    assert _open_files() == before


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_two_do_not_write_at_once(tmp_path: Path) -> None:
    with archive.opened(tmp_path, "a") as first, archive.opened(tmp_path, "a") as second:
        assert first is not None
        assert second is None


def test_a_full_log_keeps_its_begin_and_its_end(tmp_path: Path) -> None:
    limits = Limits(segment=1_000, cap=4_000)
    for start in range(0, 400, 10):
        add(tmp_path, [line(n) for n in range(start, start + 10)], limits=limits)
    kept = sorted(path.stat().st_size for path in tmp_path.glob("*.log"))
    assert sum(kept) <= limits.cap
    found = texts(tmp_path)
    assert (found[0], found[-1]) == (b"line 0", b"line 399")
    assert any(b"dropped here" in text for text in found)


def test_a_new_segment_that_is_still_empty_is_gone_on_with(tmp_path: Path) -> None:
    add(tmp_path, [line(n) for n in range(5)])
    with archive.opened(tmp_path, "a") as into:
        assert into is not None
        (tmp_path / f"{into.offset:020d}.log").touch()
    assert add(tmp_path, [line(n) for n in range(8)]) == 3
    assert texts(tmp_path) == plain(8)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (b"2026-11-22T10:00:00Z", b"2026-11-22T10:00:00.000000000Z"),
        (b"2026-11-22T10:00:00.123456789Z", b"2026-11-22T10:00:00.123456789Z"),
        (b"2026-11-21T23:30:00.1-05:30", b"2026-11-22T05:00:00.100000000Z"),
        (b"unable", None),
        (b"2026-11-22", None),
        (b"9999-12-31T23:59:59-10:00", None),
    ],
)
def test_stamps_are_made_comparable(said: bytes, told: bytes | None) -> None:
    assert archive.normal(said) == told
