"""The store of logs: what ends, who reads, and files that are copied as they grow."""

import os
import random
import time
from pathlib import Path

import pytest

from gangline.drivers.logs import store as module
from gangline.drivers.logs.segments import Appender, Limits
from gangline.drivers.logs.store import Copy, LogStore

REPLICA = "w-1", 1, "worker-0"


@pytest.fixture
def store(tmp_path: Path) -> LogStore:
    return LogStore(tmp_path, Limits(segment=50_000))


def printed(store: LogStore) -> dict[str, bytes]:
    """What is here of each stream, as it was printed."""
    found: dict[str, bytes] = {"stdout": b"", "stderr": b""}
    at = 0
    while (chunk := store.read(*REPLICA, at, 1 << 20)).data:
        for line in chunk.data.split(b"\n")[:-1]:
            _, stream, flag, text = line.split(b" ", 3)
            found[stream.decode()] += text + (b"\n" if flag == b"F" else b"")
        at = chunk.next_offset
    return found


def copied(store: LogStore, stream: str, data: bytes) -> None:
    with store.copying(*REPLICA) as copy:
        assert copy is not None
        copy.add(stream, data)


def test_the_end_of_an_attempt_ends_the_logs_of_replicas_that_never_began(store: LogStore) -> None:
    assert not store.read(*REPLICA, 0, 100).end
    store.end_attempt("w-1", 1)
    assert store.read(*REPLICA, 0, 100).end
    store.reopen("w-1", 1)
    assert not store.read(*REPLICA, 0, 100).end


def test_files_are_copied_in_pieces_of_any_size(store: LogStore) -> None:
    """Over restarts, and with lines longer than a piece: each byte once, and in its order."""
    chance = random.Random(3)
    whole = {
        "stdout": b"".join(b"x" * chance.choice([0, 5, 40_000]) + b"\n" for _ in range(40)),
        "stderr": b"".join(b"warning %d\r\n" % n for n in range(300)) + b"no end",
    }
    while True:
        with store.copying(*REPLICA) as copy:
            assert copy is not None
            left = {s: data[copy.position(s) :] for s, data in whole.items()}
            if not any(left.values()):
                copy.end()
                break
            for stream, data in left.items():
                copy.add(stream, data[: chance.randrange(30_000)])
    whole["stderr"] += b"\n"  # every line has its end once nothing more comes
    assert printed(store) == whole
    assert store.read(*REPLICA, 1 << 40, 100).end


def test_what_was_not_noted_is_copied_again(
    store: LogStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after kill -9 between the two; in a new segment too."""
    copied(store, "stdout", b"one\ntwo")

    def killed(copy: Copy) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as crash:
        crash.setattr(Copy, "_write_note", killed)
        for lost in (b"2\nthree\n", b"2\n" + b"y" * 60_000 + b"\n"):
            with pytest.raises(KeyboardInterrupt):
                copied(store, "stdout", lost)
    with store.copying(*REPLICA) as copy:
        assert copy is not None
        assert copy.position("stdout") == len(b"one\ntwo")
        copy.add("stdout", b"2\nthree\n")
    assert printed(store)["stdout"] == b"one\ntwo2\nthree\n"


def test_a_full_disk_is_told_and_nothing_is_lost(
    store: LogStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Appender._write_all

    def half(file: Appender, lines: bytes) -> None:
        real(file, lines[: len(lines) // 2])
        raise OSError(28, "No space left on device")

    copied(store, "stdout", b"one\n")
    with monkeypatch.context() as full:
        full.setattr(Appender, "_write_all", half)
        with pytest.raises(OSError, match="No space"):
            copied(store, "stdout", b"two\nthree\n")
    with store.copying(*REPLICA) as copy:
        assert copy is not None
        assert copy.position("stdout") == 4
        copy.add("stdout", b"two\nthree\n")
    assert printed(store)["stdout"] == b"one\ntwo\nthree\n"


def test_two_do_not_copy_at_once(store: LogStore) -> None:
    with store.copying(*REPLICA) as first, store.copying(*REPLICA) as second:
        assert first is not None
        assert second is None


def test_who_reads_is_known_for_a_while(store: LogStore) -> None:
    assert store.being_read() == set()
    store.mark_read("one", 1)
    store.mark_read("one", 2)
    store.mark_read("one", 2)
    assert store.being_read() == {("one", 1), ("one", 2)}
    (mark,) = store.data_dir.glob("logs-wanted/one.2")
    long_ago = time.time() - module.FRESH - 1
    os.utime(mark, (long_ago, long_ago))
    assert store.being_read() == {("one", 1)}
    assert not mark.exists()
    store.mark_read("one", 2)
    assert ("one", 2) in store.being_read()


def test_what_else_lies_there_is_nobodys_wish(store: LogStore) -> None:
    store.mark_read("one", 1)
    (store.data_dir / "logs-wanted" / "stray").touch()
    assert store.being_read() == {("one", 1)}


def test_where_nothing_can_be_written_nobody_is_hindered(store: LogStore) -> None:
    (store.data_dir / "logs-wanted").touch()
    store.mark_read("one", 1)
    assert (store.data_dir / "logs-wanted").is_file()
    assert store.being_read() == set()
