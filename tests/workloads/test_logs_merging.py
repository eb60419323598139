"""Merged windows: the order, and boundaries that neither lose a line nor show one twice."""

import random
import threading
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gangline.drivers.logs.segments import Limits
from tests.support.logs import WrittenLog
from workloads.logs import merge
from workloads.logs.cursors import BadCursor, decode, encode
from workloads.logs.lines import Line
from workloads.logs.merge import Mark
from workloads.logs.records import Source

LONG_AGO = datetime(2026, 2, 1, tzinfo=UTC)


def gang(folder: Path, workers: int, limits: Limits | None = None) -> list[WrittenLog]:
    names = ["master-0", *(f"worker-{index}" for index in range(workers))]
    return [WrittenLog(folder, name, limits) for name in names]


def sources(logs: Sequence[WrittenLog]) -> list[Source]:
    return [log.source for log in logs]


def key(line: Line, order: Sequence[str]) -> tuple[bytes, int, int]:
    return line.stamp, order.index(line.source), line.offset


def all_forwards(read: list[Source], limit: int) -> list[Line]:
    names = [source.name for source in read]
    boundary: merge.Boundary = tuple(Mark(0, ()) for _ in read)
    found: list[Line] = []
    while True:
        window = merge.newer(read, boundary, limit)
        assert len(window.lines) <= limit
        found += window.lines
        boundary = decode(names, encode(names, window.after))
        if not window.has_newer:
            return found


def all_backwards(read: list[Source], limit: int) -> list[Line]:
    names = [source.name for source in read]
    window = merge.tail(read, limit)
    found = window.lines
    while window.has_older:
        boundary = decode(names, encode(names, window.before))
        window = merge.older(read, boundary, limit)
        found = window.lines + found
    return found


@pytest.fixture(scope="module")
def interleaved(tmp_path_factory: pytest.TempPathFactory) -> list[WrittenLog]:
    """8 pods × 3000 lines with random times, some of them equal."""
    logs = gang(tmp_path_factory.mktemp("logs"), 7)
    chance = random.Random(7)
    for log in logs:
        at = 0.0
        for number in range(3_000):
            at += chance.choice((0, 0, 0.001, 0.002))
            log.print(f"{log.name} line {number}\n", at=at)
        log.end()
    return logs


@pytest.fixture(scope="module")
def everything(interleaved: list[WrittenLog]) -> list[Line]:
    """All lines in order, read in windows."""
    return all_forwards(sources(interleaved), 2000)


def test_l01_lines_are_in_order_of_time_then_pod_then_place(
    interleaved: list[WrittenLog], everything: list[Line]
) -> None:
    names = [log.name for log in interleaved]
    assert len(everything) == 24_000
    keys = [key(line, names) for line in everything]
    assert keys == sorted(keys)
    assert len({line.id for line in everything}) == 24_000


def test_windows_backwards_are_the_same_lines(
    interleaved: list[WrittenLog], everything: list[Line]
) -> None:
    backwards = all_backwards(sources(interleaved), 1777)
    assert [line.id for line in backwards] == [line.id for line in everything]


def test_l01_a_role_leaves_the_other_lines_out(interleaved: list[WrittenLog]) -> None:
    workers = [s for s in sources(interleaved) if s.name.startswith("worker")]
    window = merge.tail(workers, 500)
    assert {line.source.rpartition("-")[0] for line in window.lines} == {"worker"}
    assert len(window.lines) == 500


def test_the_lines_around_a_place_are_those_before_and_after_it(
    interleaved: list[WrittenLog], everything: list[Line]
) -> None:
    read = sources(interleaved)
    asked = next(line.id for line in everything[12_000:] if line.source == "worker-3")
    offset = int(asked.partition(":")[2])
    index = [source.name for source in read].index("worker-3")
    window, at = merge.around(read, (index, offset), 400)
    ids = [line.id for line in everything]
    place = ids.index(asked)
    assert at == asked
    assert [line.id for line in window.lines] == ids[place - 200 : place + 200]


def test_a_place_inside_a_line_finds_that_line(interleaved: list[WrittenLog]) -> None:
    read = sources(interleaved)
    line = merge.tail(read, 100).lines[50]
    index = [source.name for source in read].index(line.source)
    assert merge.around(read, (index, line.offset + 7), 10)[1] == line.id


def test_a_cursor_goes_on_from_the_middle_in_both_directions(
    interleaved: list[WrittenLog], everything: list[Line]
) -> None:
    read = sources(interleaved)
    window, _ = merge.around(read, (0, 50_000), 300)
    below = merge.newer(read, window.after, 300)
    above = merge.older(read, window.before, 300)
    ids = [line.id for line in above.lines + window.lines + below.lines]
    expected = [line.id for line in everything]
    begin = expected.index(ids[0])
    assert ids == expected[begin : begin + 900]
    # A window that was left and is read again has the same lines.
    again = merge.newer(read, above.before, 300)
    assert [line.id for line in again.lines] == ids[:300]


def test_clocks_that_go_back_lose_and_double_nothing(tmp_path: Path) -> None:
    logs = gang(tmp_path, 2)
    chance = random.Random(3)
    for log in logs:
        for number in range(2_000):
            log.print(f"{number}\n", at=chance.uniform(0, 100))
        log.end()
    read = sources(logs)
    forwards = Counter(line.id for line in all_forwards(read, 113))
    assert len(forwards) == 6_000
    assert set(forwards.values()) == {1}
    assert Counter(line.id for line in all_backwards(read, 97)) == forwards


def test_following_while_eight_pods_write_loses_and_doubles_nothing(tmp_path: Path) -> None:
    logs = gang(tmp_path, 7)
    every = 1_500

    def write(log: WrittenLog) -> None:
        for number in range(every):
            log.print(f"{log.name} {number}\n", stream=b"stderr" if number % 3 else b"stdout")
        log.end()

    read = sources(logs)
    names = [log.name for log in logs]
    window = merge.tail(read, 10)
    found = [line.words for line in window.lines]
    writers = [threading.Thread(target=write, args=(log,)) for log in logs]
    for writer in writers:
        writer.start()
    rounds = 0
    while not window.has_ended:
        boundary = decode(names, encode(names, window.after))
        window = merge.newer(read, boundary, 300, datetime.now(UTC))
        found += [line.words for line in window.lines]
        rounds += 1
        assert rounds < 100_000
    for writer in writers:
        writer.join()
    assert Counter(found) == Counter(f"{name} {n}" for name in names for n in range(every))


def test_young_lines_wait_for_earlier_ones_of_other_pods(tmp_path: Path) -> None:
    master, worker = gang(tmp_path, 1)
    now = datetime(2026, 1, 1, 0, 0, 10, tzinfo=UTC)
    master.print("old\n", at=5)
    master.print("just now\n", at=9.99)
    read = sources([master, worker])
    window = merge.tail(read, 10, now)
    assert [line.words for line in window.lines] == ["old"]
    worker.print("a little earlier\n", at=9.98)
    later = now.replace(second=11)
    window = merge.newer(read, window.after, 10, later)
    assert [line.words for line in window.lines] == ["a little earlier", "just now"]


def test_lines_of_a_clock_that_is_ahead_do_not_wait(tmp_path: Path) -> None:
    (log,) = gang(tmp_path, 0)
    log.print("from the future\n", at=3600)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert [line.words for line in merge.tail([log.source], 10, now).lines] == ["from the future"]


def test_what_the_cap_dropped_is_one_line_in_every_direction(tmp_path: Path) -> None:
    log = WrittenLog(tmp_path, "worker-0", Limits(segment=40_000, cap=120_000))
    for number in range(10_000):
        log.print(f"line {number} {'x' * 20}\n", at=number / 100)
    log.end()
    forwards = all_forwards([log.source], 150)
    notices = [line for line in forwards if line.is_notice]
    assert len(notices) == 1
    assert notices[0].words.endswith("MB of log were dropped here: the log is full.")
    assert forwards[0].words.startswith("line 0 ")
    assert forwards[-1].words.startswith("line 9999 ")
    assert [line.id for line in all_backwards([log.source], 90)] == [line.id for line in forwards]
    window, _ = merge.around([log.source], (0, notices[0].offset), 20)
    assert [line.is_notice for line in window.lines].count(True) == 1


def test_an_empty_log_has_no_lines_and_goes_on(tmp_path: Path) -> None:
    (log,) = gang(tmp_path, 0)
    window = merge.tail([log.source], 10)
    assert (window.lines, window.has_older, window.has_ended) == ([], False, False)
    log.print("first\n", at=1)
    window = merge.newer([log.source], window.after, 10, LONG_AGO)
    assert [line.words for line in window.lines] == ["first"]


def test_a_log_without_a_folder_is_empty(tmp_path: Path) -> None:
    (log,) = gang(tmp_path, 0)
    for path in log.folder.iterdir():
        path.unlink()
    log.folder.rmdir()
    assert merge.tail([log.source], 10).lines == []
    assert merge.around([log.source], (0, 400), 10)[0].lines == []


@pytest.mark.parametrize(
    "word",
    ["", "x", "AQ", "=" * 50, "ü", "AQAAAAAA", "A" * 4000, "AQ" + "_" * 40],
)
def test_a_word_that_is_no_cursor_is_refused(word: str) -> None:
    with pytest.raises(BadCursor):
        decode(["worker-0"], word)


def test_a_cursor_of_other_pods_is_refused() -> None:
    word = encode(["worker-0"], (Mark(17, ()),))
    assert decode(["worker-0"], word) == (Mark(17, ()),)
    with pytest.raises(BadCursor):
        decode(["worker-1"], word)
