"""What is due is handed out once, in time, whichever thread asks."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from gangline.drivers.kubernetes import labels, log_collector, pods
from gangline.drivers.kubernetes.client import Client
from gangline.drivers.kubernetes.log_collector import DelayQueue
from gangline.drivers.logs.store import LogStore


@dataclass(eq=False)
class Thing:
    name: str
    not_before: float = 0.0


class Takers:
    """Threads that take, note what and when, and may put back."""

    def __init__(self, turns: DelayQueue[Thing], count: int) -> None:
        self.turns, self.taken = turns, list[tuple[str, float]]()
        self._enough = threading.Semaphore(0)
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def wait(self, count: int) -> list[str]:
        for _ in range(count):
            assert self._enough.acquire(timeout=10)
        return [name for name, _ in self.taken]

    def end(self) -> None:
        with self.turns.changed:
            self.turns.end()
        for thread in self._threads:
            thread.join(10)
            assert not thread.is_alive()

    def _work(self) -> None:
        while (thing := self.turns.take()) is not None:
            self.taken.append((thing.name, time.monotonic()))
            self._enough.release()


def queue() -> DelayQueue[Thing]:
    return DelayQueue(threading.Condition())


def put(turns: DelayQueue[Thing], *things: Thing) -> None:
    with turns.changed:
        for thing in things:
            turns.put(thing)


def test_the_earliest_comes_first_and_each_once() -> None:
    turns, now = queue(), time.monotonic()
    put(turns, Thing("later", now - 1), Thing("first", now - 3), Thing("second", now - 2))
    takers = Takers(turns, 1)
    assert takers.wait(3) == ["first", "second", "later"]
    takers.end()
    assert len(takers.taken) == 3


def test_what_is_put_with_an_earlier_moment_does_not_wait_for_the_later_one() -> None:
    turns = queue()
    takers = Takers(turns, 4)
    slow = Thing("slow", time.monotonic() + 3600)
    put(turns, slow)
    put(turns, Thing("quick", time.monotonic() + 0.05))
    assert takers.wait(1) == ["quick"]
    with turns.changed:
        slow.not_before = 0.0
        turns.put(slow)
    assert takers.wait(1) == ["quick", "slow"]
    takers.end()
    assert len(takers.taken) == 2, "its first entry is void"


def test_nothing_is_handed_out_before_its_moment() -> None:
    turns, due = queue(), time.monotonic() + 0.2
    takers = Takers(turns, 3)
    put(turns, Thing("one", due), Thing("other", due))
    takers.wait(2)
    assert all(at >= due for _, at in takers.taken)
    takers.end()


def test_what_is_out_can_be_told() -> None:
    turns, thing = queue(), Thing("one")
    put(turns, thing)
    assert not turns.is_out(thing)
    assert turns.take() is thing
    assert turns.is_out(thing)
    thing.not_before = 0.0
    put(turns, thing)
    assert not turns.is_out(thing)


def test_many_things_and_many_threads() -> None:
    turns, now = queue(), time.monotonic()
    takers = Takers(turns, 8)
    put(turns, *(Thing(str(n), now + (n % 7) / 100) for n in range(500)))
    assert sorted(takers.wait(500)) == sorted(str(n) for n in range(500))
    takers.end()
    assert len(takers.taken) == 500


@pytest.mark.parametrize(
    ("pods", "silent_for", "seconds"),
    [
        (10, 0, 0.5),
        (400, 0, 8),
        (400, 30, 30),
        (400, 86_400, 60),
        (18_000, 0, 360),
        (18_000, 400, 400),
        (18_000, 86_400, 4 * 360),
    ],
)
def test_logs_that_stay_silent_are_read_more_seldom(
    pods: int, silent_for: float, seconds: float
) -> None:
    assert log_collector.pause(pods, silent_for) == seconds


@dataclass
class Refusing:
    """A cluster that answers every log with a status."""

    status: int
    rest_left: float = 0.0

    @contextmanager
    def stream(self, *_: object, **__: object) -> Iterator[tuple[int, Iterator[bytes]]]:
        yield self.status, iter(())


def refused(client: Refusing, folder: Path, count: int = 1) -> log_collector.Collector:
    """A collector of so many pods without a thread that reads."""
    made = log_collector.Collector(cast(Client, client), LogStore(folder), followers=0)
    for number in range(count):
        taken = log_collector._Followed(pod(number))
        made._pods[taken.pod.uid] = taken
    return made


def pod(number: int, phase: str = "Running") -> pods.Pod:
    role = {"training.kubeflow.org/replica-type": "worker"}
    marks = {labels.WORKLOAD: f"w{number}", labels.ATTEMPT: "1", **role}
    meta = {"name": f"pod-{number}", "namespace": "n", "uid": f"{number}", "labels": marks}
    return pods.read({"metadata": meta, "status": {"phase": phase}})


def test_a_log_is_not_given_up_while_the_cluster_rests(tmp_path: Path) -> None:
    collector = refused(Refusing(429, rest_left=7.0), tmp_path)
    taken = log_collector._Followed(pod(0, "Succeeded"))
    assert {collector._turn(taken) for _ in range(log_collector.LAST_TRIES + 1)} == {7.0}
    assert taken.failures == 0


def test_many_logs_that_are_refused_wait_for_each_other_but_not_one_that_is_read(
    tmp_path: Path,
) -> None:
    collector = refused(Refusing(500), tmp_path, count=400)
    collector.want([("w7", 1)])
    first, read = collector._pods["0"], collector._pods["7"]
    assert (collector._turn(first), collector._turn(read)) == (8.0, 3.0)
