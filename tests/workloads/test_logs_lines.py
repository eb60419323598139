"""Lines as people read them: pieces joined, progress bars one line, long ones cut, live growth."""

from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import pytest

from gangline.drivers.logs.segments import Limits
from tests.support.logs import WrittenLog
from workloads.logs import merge
from workloads.logs.cursors import decode, encode
from workloads.logs.lines import GAP, SHOWN
from workloads.logs.merge import Boundary, Mark, Window

LATER = datetime(2026, 2, 1, tzinfo=UTC)


@pytest.fixture
def log(tmp_path: Path) -> WrittenLog:
    return WrittenLog(tmp_path, "worker-0")


def shown(log: WrittenLog) -> list[str]:
    return [line.words for line in merge.tail([log.source], 500).lines]


def follow(log: WrittenLog, after: Boundary) -> Window:
    boundary = decode([log.name], encode([log.name], after))
    return merge.newer([log.source], boundary, 500, LATER)


def test_l06_ten_thousand_progress_updates_are_one_line(log: WrittenLog) -> None:
    for number in range(10_000):
        log.print(f"\r{number / 100:6.2f}% {'#' * (number // 500)}", stream=b"stderr")
    log.print("\r100.00% done\n", stream=b"stderr")
    log.print("next\n")
    assert shown(log) == ["100.00% done", "next"]


def test_the_end_of_a_windows_line_is_no_rewrite(log: WrittenLog) -> None:
    log.print("first\r\nsecond\r\n")
    assert shown(log) == ["first", "second"]


def test_text_without_a_line_end_is_shown_and_grows(log: WrittenLog) -> None:
    log.print("begun ")
    log.pause()
    window = merge.tail([log.source], 500)
    (line,) = window.lines
    assert (line.words, line.is_open) == ("begun ", True)
    log.print("and done\n")
    log.print("another\n")
    window = follow(log, window.after)
    (grown,) = window.grown
    assert (grown.id, grown.words, grown.is_replaced) == (line.id, "and done", False)
    assert [one.words for one in window.lines] == ["another"]
    assert shown(log) == ["begun and done", "another"]
    assert follow(log, window.after).grown == []


def test_a_progress_bar_that_grows_replaces_itself(log: WrittenLog) -> None:
    log.print("\r10%")
    log.pause()
    window = merge.tail([log.source], 500)
    for text in ("\r20%", "\r30%", "\r40%\n"):
        log.print(text)
        log.pause()
        window = follow(log, window.after)
        (grown,) = window.grown
        assert (grown.words, grown.is_replaced) == (text.strip(), True)
        assert window.lines == []
    assert shown(log) == ["40%"]


def test_a_bar_that_returns_at_its_end_replaces_itself_too(log: WrittenLog) -> None:
    log.print("10%\r")
    log.pause()
    window = merge.tail([log.source], 500)
    assert [line.words for line in window.lines] == ["10%"]
    log.print("20%\r")
    log.pause()
    (grown,) = follow(log, window.after).grown
    assert (grown.words, grown.is_replaced) == ("20%", True)


def test_a_bar_that_is_redrawn_all_the_time_is_written_after_a_second(log: WrittenLog) -> None:
    for tenth in range(25):
        with mock.patch("time.monotonic", return_value=100 + tenth / 10):
            log.writer.write(b"stderr", b"\r%d%%" % tenth)
            log.writer.flush_idle()
    assert shown(log) == ["21%"]


def test_lines_of_the_other_stream_do_not_fall_into_a_line(log: WrittenLog) -> None:
    log.print("half ")
    log.pause()
    log.print("warning\n", stream=b"stderr")
    log.print("whole\n")
    assert shown(log) == ["half whole", "warning"]


def test_a_line_that_goes_on_across_a_window_is_told_once(log: WrittenLog) -> None:
    for number in range(20):
        log.print(f"line {number}\n")
        log.print("progress ", stream=b"stderr")
        log.pause()
    log.end()
    everything = shown(log)
    assert everything.count("progress " * 20) == 1
    boundary: Boundary = (Mark(0, ()),)
    found: list[str] = []
    grown: dict[str, str] = {}
    while True:
        window = merge.newer([log.source], boundary, 3)
        for line in window.lines:
            found.append(line.words)
            grown[line.id] = line.words
        for line in window.grown:
            grown[line.id] = line.words if line.is_replaced else grown[line.id] + line.words
        boundary = decode([log.name], encode([log.name], window.after))
        if not window.has_newer:
            break
    assert len(found) == 21
    assert sorted(grown.values()) == sorted(everything)


def test_long_lines_are_cut_and_the_whole_can_be_had(log: WrittenLog) -> None:
    log.print("a" * 100_000 + "\n")
    log.print("after\n")
    first, second = merge.tail([log.source], 10).lines
    assert (len(first.words), first.is_cut) == (SHOWN, True)
    assert (second.words, second.is_cut) == ("after", False)


def test_a_cut_inside_a_character_shows_no_broken_one(log: WrittenLog) -> None:
    log.print("x" + "ä" * 10_000 + "\n")
    (line,) = merge.tail([log.source], 10).lines
    assert "\ufffd" not in line.words
    assert line.words.endswith("ä")


def test_a_hundred_megabytes_without_a_line_end_are_read_in_bounds(tmp_path: Path) -> None:
    log = WrittenLog(tmp_path, "worker-0", Limits())
    for _ in range(100):
        log.print(b"z" * 1_000_000)
    log.print("\nlast\n")
    log.end()
    read = 0
    give = log.source.read

    def counting(offset: int, limit: int) -> object:
        nonlocal read
        chunk = give(offset, limit)
        read += len(chunk.data)
        return chunk

    log.source.read = counting  # type: ignore[assignment]
    window = merge.tail([log.source], 500)
    assert [line.words for line in window.lines][-1] == "last"
    assert read < 10_000_000
    boundary: Boundary = (Mark(0, ()),)
    first = merge.newer([log.source], boundary, 500)
    assert first.has_newer
    assert [len(line.words) for line in first.lines] == [SHOWN]
    for _ in range(60):
        window = merge.newer([log.source], first.after, 500)
        if window.lines:
            break
        assert window.has_newer
        first = window
    assert [line.words for line in window.lines] == ["last"]


def test_text_that_goes_on_much_later_is_a_line_of_its_own(log: WrittenLog) -> None:
    log.print("waits ", stream=b"stderr")
    log.pause()
    for number in range(3 * GAP // 100):
        log.print(f"{number:06d} {'y' * 90}\n")
    log.print("at last\n", stream=b"stderr")
    words = [line.words for line in merge.tail([log.source], 5000).lines]
    assert words[0] == "waits "
    assert words[-1] == "at last"


def test_broken_utf8_and_nul_are_one_character_each(log: WrittenLog) -> None:
    log.print(b"caf\xe9 \xff\xfe \x00 ok\n")
    (line,) = merge.tail([log.source], 10).lines
    assert line.words == "caf\ufffd \ufffd\ufffd \x00 ok"
