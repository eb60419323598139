"""Log segments: what the writer keeps, and what the reader makes of it."""

import errno
import os
import re
from pathlib import Path

import pytest

from gangline.drivers.logs import segments, store
from gangline.drivers.logs.output import LogWriter
from gangline.drivers.logs.segments import Appender, Limits

SMALL = Limits(segment=1000, cap=3000)
LINE = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z (stdout|stderr) [FP] .*\n", re.DOTALL)


def written(folder: Path, count: int, limits: Limits = SMALL) -> Path:
    writer = LogWriter(str(folder), limits)
    for number in range(count):
        writer.write(b"stdout", b"line %d\n" % number)
    writer.close()
    return folder


def texts(data: bytes) -> list[bytes]:
    lines = data.splitlines(keepends=True)
    assert all(LINE.fullmatch(line) for line in lines)
    return [line[:-1].split(b" ", 3)[3] for line in lines]


def read_all(folder: Path, limit: int = 300) -> bytes:
    data, offset = b"", 0
    for _ in range(10_000):
        chunk = store.read(folder, offset, limit, ended=True)
        data += chunk.data
        if chunk.end:
            return data
        assert chunk.next_offset > offset
        offset = chunk.next_offset
    raise AssertionError("the log has no end")


def test_segments_are_named_after_their_first_byte(tmp_path: Path) -> None:
    written(tmp_path, 50, Limits(segment=1000, cap=2**20))
    found = segments.segments(tmp_path)
    assert len(found) > 2
    assert [s.start for s in found[1:]] == [s.end for s in found[:-1]]
    assert all(s.size <= 1000 for s in found)
    assert texts(read_all(tmp_path)) == [b"line %d" % n for n in range(50)]


def test_the_cap_keeps_the_first_segment_and_the_newest(tmp_path: Path) -> None:
    written(tmp_path, 500)
    found = segments.segments(tmp_path)
    assert found[0].start == 0
    assert sum(s.size for s in found) <= SMALL.cap
    read = texts(read_all(tmp_path))
    hole = next(i for i, text in enumerate(read) if b"were dropped here" in text)
    assert read[:hole] == [b"line %d" % n for n in range(hole)]
    rest = read[hole + 1 :]
    assert rest == [b"line %d" % n for n in range(500 - len(rest), 500)]
    assert hole > 10
    assert len(rest) > 10


def test_offsets_stay_valid_when_segments_are_dropped(tmp_path: Path) -> None:
    writer = LogWriter(str(tmp_path), SMALL)
    for number in range(500):
        at = writer.offset
        writer.write(b"stdout", b"line %d\n" % number)
        chunk = store.read(tmp_path, at, 300, ended=False)
        assert texts(chunk.data) == [b"line %d" % number]
    writer.close()


def test_a_writer_goes_on_where_another_stopped(tmp_path: Path) -> None:
    written(tmp_path, 5)
    written(tmp_path, 5)
    assert texts(read_all(tmp_path)) == [b"line %d" % n for n in range(5)] * 2


def test_reading_from_the_end_starts_with_a_whole_line(tmp_path: Path) -> None:
    written(tmp_path, 20, Limits())
    chunk = store.read(tmp_path, -100, 1000, ended=True)
    assert texts(chunk.data) == [b"line 18", b"line 19"]
    assert store.read(tmp_path, -(10**9), 10**6, ended=True).data.startswith(b"2")


def test_a_line_being_written_is_not_given_out(tmp_path: Path) -> None:
    written(tmp_path, 2, Limits())
    (segment,) = segments.segments(tmp_path)
    with Path(segment.path).open("ab") as file:
        file.write(b"2026-01-01T00:00:00.000000000Z stdout F half")
    chunk = store.read(tmp_path, 0, 1000, ended=False)
    assert texts(chunk.data) == [b"line 0", b"line 1"]
    assert chunk.next_offset == segment.size


def test_a_link_in_place_of_a_segment_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x" * 100)
    folder = tmp_path / "log"
    folder.mkdir()
    (folder / f"{0:020d}.log").symlink_to(secret)
    with pytest.raises(OSError, match="symbolic"):
        store.read(folder, 0, 100, ended=True)


@pytest.mark.parametrize("size", [1, 16_383, 16_384, 16_385, 50_000, 200_000])
def test_long_lines_come_back_whole(tmp_path: Path, size: int) -> None:
    writer = LogWriter(str(tmp_path), Limits())
    writer.write(b"stdout", b"before\n" + b"z" * size + b"\nafter\n")
    writer.close()
    pieces, whole = b"", []
    for line in read_all(tmp_path, 2**20).splitlines():
        _, _, flag, text = line.split(b" ", 3)
        assert len(text) <= segments.LINE
        pieces += text
        if flag == b"F":
            whole.append(pieces)
            pieces = b""
    assert whole == [b"before", b"z" * size, b"after"]


def test_a_full_disk_loses_log_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = LogWriter(str(tmp_path), Limits())
    writer.write(b"stdout", b"one\n")
    real = Appender._write_all
    monkeypatch.setattr(Appender, "_write_all", _no_room)
    writer.write(b"stdout", b"two\n")
    monkeypatch.setattr(Appender, "_write_all", real)
    writer.write(b"stdout", b"three\n")
    writer.close()
    one, notice, three = texts(read_all(tmp_path))
    assert (one, three) == (b"one", b"three")
    assert notice.endswith(b"bytes of log are missing here: the disk was full.")


def test_what_is_lost_at_the_end_is_told_once_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = LogWriter(str(tmp_path), Limits())
    writer.write(b"stdout", b"one\n")
    real = Appender._write_all
    monkeypatch.setattr(Appender, "_write_all", _no_room)
    writer.write(b"stdout", b"two\n")
    with pytest.raises(OSError, match="No space"):
        writer.tell_lost()
    monkeypatch.setattr(Appender, "_write_all", real)
    writer.tell_lost()
    writer.close()
    one, notice = texts(read_all(tmp_path))
    assert one == b"one"
    assert notice.endswith(b"bytes of log are missing here: the disk was full.")


def test_a_disk_without_room_for_a_new_segment_keeps_the_one_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = LogWriter(str(tmp_path), SMALL)
    line = b"x" * 400 + b"\n"
    writer.write(b"stdout", line * 2)
    real = os.open

    def no_new_file(path: str, *rest: int) -> int:
        if path.endswith(".log"):
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(path, *rest)

    with monkeypatch.context() as full:
        full.setattr(os, "open", no_new_file)
        writer.write(b"stdout", line)
    writer.write(b"stdout", b"short\n")
    writer.write(b"stdout", line)
    writer.close()
    first, second, notice, short, last = texts(read_all(tmp_path))
    assert (first, second, short, last) == (b"x" * 400, b"x" * 400, b"short", b"x" * 400)
    assert notice.endswith(b"bytes of log are missing here: the disk was full.")


def _no_room(file: Appender, lines: bytes) -> None:
    raise OSError(28, "No space left on device")
