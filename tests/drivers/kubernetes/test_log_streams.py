"""Logs as a cluster hardly ever sends them: what is fetched of them, and when one is over."""

import random
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gangline.drivers.base import LogChunk
from gangline.drivers.kubernetes import archive, log_collector, pods
from gangline.drivers.kubernetes.client import Answer, Unreachable
from gangline.drivers.logs.segments import Limits
from gangline.drivers.logs.store import LogStore
from tests.drivers.kubernetes import raw
from tests.drivers.kubernetes.scripted import Say, ScriptedClient, page, status

Pieces = Callable[[Mapping[str, Any]], Iterator[bytes]]
POD = pods.read(raw.pod())


class Sending(ScriptedClient):
    """Sends the pieces of a log that ``pieces`` makes for a query; None: it has no log."""

    def __init__(self, pieces: Pieces | None, say: Say = lambda *_: page(raw.pod())) -> None:
        super().__init__(say)
        self.pieces = pieces

    @contextmanager
    def stream(self, path: str, **more: Any) -> Iterator[tuple[int, Iterator[bytes]]]:
        missing = b'{"kind": "Status", "code": 404, "reason": "NotFound"}'
        if self.pieces is None:
            yield 404, iter([missing])
        else:
            yield 200, self.pieces(more["query"])


def place(data_dir: Path, pod: pods.Pod = POD) -> Path:
    return LogStore(data_dir).folder(*pod.key, pod.replica)


def read(data_dir: Path, offset: int, limit: int) -> LogChunk:
    return LogStore(data_dir).read(*POD.key, POD.replica, offset, limit)


def turn(client: ScriptedClient, data_dir: Path, **meta: Any) -> float | None:
    """One turn of a collector with a pod; None: it counts as complete."""
    collector = log_collector.Collector(client, LogStore(data_dir), followers=0)
    return collector._turn(log_collector._Followed(pods.read(raw.pod(**meta))))


def cut_off(method: str, path: str, query: Mapping[str, Any]) -> Answer:
    raise Unreachable("It did not answer.")


@pytest.mark.parametrize(
    ("say", "is_complete"),
    [
        (lambda *_: page(raw.pod()), False),
        (lambda *_: status(403, "Forbidden"), False),
        (cut_off, False),
        (lambda *_: page(), True),
        (lambda *_: page(raw.pod(uid="another of its name")), True),
    ],
)
def test_a_log_that_is_missing_is_over_once_its_pod_is_gone(
    say: Say, is_complete: bool, tmp_path: Path
) -> None:
    client = Sending(None, say)
    assert (turn(client, tmp_path) is None) == is_complete
    assert archive.has_ended(place(tmp_path), POD.uid) == is_complete


def test_the_missing_log_of_a_pod_that_is_over_is_not_waited_for(tmp_path: Path) -> None:
    assert turn(Sending(None), tmp_path, phase="Succeeded") is None
    assert archive.has_ended(place(tmp_path), POD.uid)


def lines(*texts: bytes) -> Pieces:
    return lambda _: iter([b"2026-11-22T10:00:0%d.5Z %b\n" % one for one in enumerate(texts)])


def test_a_log_goes_on_while_its_pod_is_there_though_nobody_tells_of_it(
    tmp_path: Path,
) -> None:
    """Somebody took its label away, or what stands before the cluster lied."""
    client = Sending(lines(b"one"))
    collector = log_collector.Collector(client, LogStore(tmp_path), followers=0)
    collector.tell(POD)
    known = collector._pods[POD.uid]
    collector.gone(POD.uid)
    for _ in range(log_collector.LAST_TRIES + 1):
        assert collector._turn(known) == log_collector.AGAIN_AFTER_TROUBLE
    assert joined(tmp_path) == [b"one"]
    client.pieces = lines(b"one", b"two")
    collector.tell(POD)
    assert collector._turn(known) != log_collector.AGAIN_AFTER_TROUBLE, "as if nothing had been"
    assert joined(tmp_path) == [b"one", b"two"]
    collector.gone(POD.uid)
    client.say = lambda *_: page()
    assert collector._turn(known) is None
    assert archive.has_ended(place(tmp_path), POD.uid)


@pytest.mark.parametrize("say", [cut_off, lambda *_: status(403, "Forbidden")])
def test_a_log_whose_pod_is_told_of_by_nobody_is_left_and_taken_up_again(
    say: Say, tmp_path: Path
) -> None:
    client = Sending(lines(b"one"), say)
    collector = log_collector.Collector(client, LogStore(tmp_path), followers=0)
    known = log_collector._Followed(POD, is_gone=True)
    turns = [collector._turn(known) for _ in range(log_collector.LAST_TRIES)]
    assert turns == [log_collector.AGAIN_AFTER_TROUBLE] * (log_collector.LAST_TRIES - 1) + [None]
    client.pieces = lines(b"one", b"two")
    assert collector._turn(log_collector._Followed(POD)) is not None
    assert joined(tmp_path) == [b"one", b"two"]


# Lines without an end


def joined(data_dir: Path) -> list[bytes]:
    """The lines of a log, their pieces put together; what has no end yet comes last."""
    lines, rest, at = [], b"", 0
    while (chunk := read(data_dir, at, 1 << 16)).data:
        at = chunk.next_offset
        for record in chunk.data.split(b"\n")[:-1]:
            _, _, flag, text = record.split(b" ", 3)
            rest += text
            if flag == b"F":
                lines.append(rest)
                rest = b""
    return [*lines, rest] if rest else lines


def test_a_progress_bar_without_a_line_end_is_shown_and_not_kept_in_memory(tmp_path: Path) -> None:
    said = 0

    def bar(query: Mapping[str, Any]) -> Iterator[bytes]:
        nonlocal said
        yield b"2026-11-22T10:00:00.5Z "
        while True:
            time.sleep(0.01)
            said += 50_000
            yield b"\r 10%" * 10_000

    def catch_up() -> None:
        log_collector.catch_up(Sending(bar), LogStore(tmp_path), [POD], seconds=0.5)

    tracemalloc.start()
    try:
        thread = threading.Thread(target=catch_up, daemon=True)
        thread.start()
        thread.join(4)
        assert not thread.is_alive()
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()
    (text,) = joined(tmp_path)
    assert len(text) == said > 500_000
    assert set(text.split(b"\r")) == {b"", b" 10%"}


class Kubelet:
    """Entries of a container's log file as a kubelet tells them with their stamps.

    A stamp stands before the first entry of a line only, and what is older than the moment asked
    for is left out, also in the middle of a line (``ReadLogs`` in k8s.io/cri-client/pkg/logs).
    """

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.entries: list[tuple[int, bytes, bool]] = []
        """Hundredth of a second, text, and whether its line ends there."""
        self.breaks = True
        at = 0
        for _ in range(40):
            for left in reversed(range(chance.choice((1, 1, 1, 2, 5, 9)))):
                at += chance.choice((0, 1, 30, 130))
                text = b"%d of " % len(self.entries) + b"." * chance.randrange(30)
                self.entries.append((at, text, not left))
        self.written = 0

    @property
    def lines(self) -> list[bytes]:
        """The whole log."""
        said = b"".join(text + b"\n" * ends for _, text, ends in self.entries)
        return said.splitlines()

    def pieces(self, query: Mapping[str, Any]) -> Iterator[bytes]:
        since, told, begins = query.get("sinceTime", ""), b"", True
        for at, text, ends in self.entries[: self.written]:
            minutes, seconds = divmod(at // 100, 60)
            stamp = f"2026-11-22T10:{minutes:02d}:{seconds:02d}.{at % 100:02d}Z"
            if stamp >= since.rstrip("Z"):
                told += (stamp.encode() + b" ") * begins + text + b"\n" * ends
            begins = ends
        if self.breaks and self.chance.random() < 0.5:
            told = told[: self.chance.randrange(len(told) + 1)]
        while told:
            size = self.chance.randrange(1, 60)
            yield told[:size]
            told = told[size:]


@pytest.mark.parametrize("seed", range(8))
def test_every_way_of_cutting_long_lines_gives_each_byte_once(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "LINE", 24)
    chance = random.Random(seed)
    kubelet = Kubelet(chance)
    # Followed, read to the end of what is there, or left in the middle.
    monkeypatch.setattr(log_collector.Collector, "_is_followed", lambda *_: chance.random() < 0.6)
    client = Sending(kubelet.pieces)
    whole = kubelet.lines
    while kubelet.written < len(kubelet.entries):
        kubelet.written += chance.randrange(8)
        assert turn(client, tmp_path) is not None
        seen = joined(tmp_path)
        assert seen[:-1] == whole[: max(0, len(seen) - 1)]
        assert not seen or whole[len(seen) - 1].startswith(seen[-1])
    kubelet.breaks = False
    assert turn(client, tmp_path, phase="Succeeded") is None
    assert joined(tmp_path) == whole


def test_a_line_that_never_ended_ends_with_its_pod(tmp_path: Path) -> None:
    def bar(query: Mapping[str, Any]) -> Iterator[bytes]:
        yield b"2026-11-22T10:00:00.5Z " + b"x" * 500_000

    assert turn(Sending(bar), tmp_path) is not None
    assert read(tmp_path, 0, 1 << 20).data.count(b" stdout F ") == 0
    hello = Sending(lambda _: iter([b"2026-11-22T10:00:07Z hello\n"]))
    assert turn(hello, tmp_path, phase="Succeeded", uid="the next") is None
    assert joined(tmp_path) == [b"x" * 500_000, b"hello"]
    assert turn(Sending(bar), tmp_path, uid="one more") is not None
    assert turn(Sending(None), tmp_path, uid="one more", phase="Failed") is None
    assert read(tmp_path, 0, 1 << 21).data.endswith(b" stdout F \n")


def test_a_line_whose_end_the_node_has_dropped_does_not_take_in_the_next(tmp_path: Path) -> None:
    bar = b"2026-11-22T10:00:00.5Z " + b"x" * 40_000
    assert turn(Sending(lambda _: iter([bar])), tmp_path) is not None
    new = [b"2026-11-22T10:00:09Z one\n2026-11-22T10:00:09Z two\n"]
    assert turn(Sending(lambda _: iter(new)), tmp_path) is not None
    assert joined(tmp_path) == [b"x" * 40_000, b"one", b"two"]


def test_a_line_over_several_segments_goes_on_where_it_was_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "TAIL", 1_000)
    limits = Limits(segment=100_000)
    first, second = b"2026-11-22T10:00:00.5Z first", b"2026-11-22T10:00:01.5Z " + b"x" * 400_000
    for upto in range(100_000, 400_001, 50_000):
        with archive.opened(place(tmp_path), "a", limits) as into:
            assert into is not None
            into.add([first], second[:upto])
    with archive.opened(place(tmp_path), "a", limits) as into:
        assert into is not None
        into.add([second + b" end", b"2026-11-22T10:00:02Z last"])
    assert joined(tmp_path) == [b"first", b"x" * 400_000 + b" end", b"last"]
