"""Search of the whole log in a process of its own."""

import threading
from pathlib import Path

import pytest

from gangline.drivers.logs.segments import Limits
from tests.support.logs import WrittenLog, write_lines
from workloads.logs import merge, search
from workloads.logs.records import Source


@pytest.fixture
def logs(tmp_path: Path) -> list[WrittenLog]:
    """Three pods with 20 000 lines each, and a needle in a pod that no window holds."""
    made = [WrittenLog(tmp_path, name) for name in ("master-0", "worker-0", "worker-1")]
    for log in made:
        for block in range(20):
            text = "".join(f"epoch {block * 1000 + n} loss 0.5\n" for n in range(1000))
            log.print(text, at=block)
            if log.name == "worker-1" and block == 7:
                log.print("\x1b[31mNeedle\x1b[0m: found <here>\n", at=7.5)
        log.end()
    return made


def sources(logs: list[WrittenLog]) -> list[Source]:
    return [log.source for log in logs]


def test_l02_a_line_in_a_pod_that_is_not_loaded_is_found(logs: list[WrittenLog]) -> None:
    read = sources(logs)
    assert not any("Needle" in line.words for line in merge.tail(read, 500).lines)
    found = search.search(read, "needle: FOUND")
    (hit,) = found.hits
    assert (hit.source, hit.snippet) == ("worker-1", "Needle: found <here>")
    assert found.is_complete
    window, at = merge.around(read, (2, hit.offset), 500)
    assert at == hit.id
    assert window.lines[250].id == hit.id
    assert "Needle" in window.lines[250].words


def test_hits_of_all_pods_come_in_the_order_of_the_log(logs: list[WrittenLog]) -> None:
    found = search.search(sources(logs), "epoch 12345 ")
    assert [hit.source for hit in found.hits] == ["master-0", "worker-0", "worker-1"]


def test_time_and_stream_are_not_searched(logs: list[WrittenLog]) -> None:
    for text in ("2026-01-01", "stdout", "stdout F epoch"):
        assert search.search(sources(logs), text).hits == []


def test_136_a_text_is_no_pattern(tmp_path: Path) -> None:
    log = WrittenLog(tmp_path, "worker-0")
    log.print("aaaa\n(a+)+$ literal\n")
    log.end()
    assert [h.snippet for h in search.search([log.source], "(a+)+$").hits] == ["(a+)+$ literal"]


def test_too_many_hits_are_given_in_parts_without_loss(logs: list[WrittenLog]) -> None:
    read = sources(logs)
    seen: list[str] = []
    reached: dict[str, int] = {}
    for _ in range(100):
        found = search.search(read, "loss", reached, hits=1500)
        seen += [hit.id for hit in found.hits]
        reached = dict(found.reached)
        if found.is_complete:
            break
    assert len(seen) == len(set(seen)) == 60_000


def test_a_limit_of_bytes_ends_the_search_and_says_so(logs: list[WrittenLog]) -> None:
    read = sources(logs)
    found = search.search(read, "needle", most_bytes=1)
    assert (found.hits, found.is_complete) == ([], False)
    again = search.search(read, "needle", found.reached)
    assert len(again.hits) == 1
    assert again.is_complete


def test_a_limit_of_time_ends_the_search(logs: list[WrittenLog]) -> None:
    found = search.search(sources(logs), "needle", seconds=0)
    assert (found.hits, found.searched, found.is_complete) == ([], 0, False)


def test_what_the_cap_dropped_is_passed_over(tmp_path: Path) -> None:
    log = WrittenLog(tmp_path, "worker-0", Limits(segment=40_000, cap=120_000))
    for number in range(10_000):
        log.print(f"line {number} {'x' * 20}\n")
    log.end()
    found = search.search([log.source], "line 9999 ")
    assert len(found.hits) == 1
    assert found.is_complete


def test_two_hundred_megabytes_are_searched_to_the_end(tmp_path: Path) -> None:
    size = write_lines(tmp_path / "worker-0", 2_000_000, b"epoch loss 0.1234 accuracy 0.98 samples")
    log = WrittenLog(tmp_path, "worker-0")
    log.has_ended = True
    assert size > 150_000_000
    found = search.search([log.source], "samples 1999999", seconds=60)
    assert [hit.snippet[-7:] for hit in found.hits] == ["1999999"]
    assert found.searched == size


def test_only_a_few_searches_run_at_once(logs: list[WrittenLog]) -> None:
    log = logs[0]
    go, inside = threading.Event(), threading.Semaphore(0)

    def slow(offset: int, limit: int) -> object:
        inside.release()
        go.wait(20)
        return log.read(offset, limit)

    source = Source("master-0", slow)  # type: ignore[arg-type]
    threads = [
        threading.Thread(target=search.search, args=([source], "needle"))
        for _ in range(search.AT_ONCE)
    ]
    for thread in threads:
        thread.start()
    for _ in threads:
        inside.acquire(timeout=20)
    with pytest.raises(search.Busy):
        search.search(sources(logs), "needle")
    go.set()
    for thread in threads:
        thread.join()
    assert search.search(sources(logs), "needle").hits
