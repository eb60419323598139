"""The bell: a change is known at once, and without it at the next look."""

import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from gangline.drivers.base import Observation, ObservedState
from gangline.drivers.local import watcher as module
from gangline.drivers.local.driver import LocalDriver, Options
from gangline.drivers.local.run_folder import RunFolder
from tests.support.local_cluster import LocalCluster
from tests.support.waiting import wait_for


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LocalCluster]:
    deep = tmp_path / ("a" * 60) / ("b" * 60)  # longer than a socket address may be
    cluster = LocalCluster(LocalDriver(deep, "host-a", Options(use_sandbox=False)))
    yield cluster
    cluster.close()


class Watcher(threading.Thread):
    def __init__(self, driver: LocalDriver) -> None:
        super().__init__()
        self.batches = driver.watch("install-a", "")
        self.told: list[tuple[float, Observation]] = []
        self.over = threading.Event()
        assert next(self.batches) == []
        self.start()

    def run(self) -> None:
        for batch in self.batches:
            self.told += [(time.time(), seen) for seen in batch]
            if self.over.is_set():
                break
        self.batches.close()  # type: ignore[attr-defined]

    def heard(self, state: ObservedState) -> float:
        """When ``state`` was told first."""
        return wait_for(lambda: next((at for at, s in self.told if s.state is state), 0.0))

    def __enter__(self) -> "Watcher":
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.join(10)
        assert not self.is_alive()


def test_start_and_end_ring_within_a_fraction_of_a_second(cluster: LocalCluster) -> None:
    with Watcher(cluster.driver) as watcher:
        ref = cluster.start("sleep 0.4", replicas=2)
        watcher.heard(ObservedState.RUNNING)
        heard = watcher.heard(ObservedState.SUCCEEDED)
    ended = cluster.driver.observe(ref).ended_at
    assert ended is not None
    assert heard - ended.timestamp() < 0.5


def test_a_lost_bell_costs_one_look(cluster: LocalCluster) -> None:
    with Watcher(cluster.driver) as watcher:
        (cluster.driver.data_dir / "runs/bell").unlink()
        ref = cluster.start("true")
        heard = watcher.heard(ObservedState.SUCCEEDED)
    ended = cluster.driver.observe(ref).ended_at
    assert ended is not None
    assert heard - ended.timestamp() < module.SCAN_EVERY + 1


def test_an_end_is_told_twice_in_case_the_first_telling_was_overtaken(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "REPEAT_EVERY", 0.1)
    with Watcher(cluster.driver) as watcher:
        cluster.start("true")
        wait_for(lambda: _ends(watcher) == 2)
        cluster.start("true")
        wait_for(lambda: _ends(watcher) == 4)
        workloads = [s.workload for _, s in watcher.told if s.state is ObservedState.SUCCEEDED]
    assert sorted(workloads) == sorted(2 * [ref.workload for ref in cluster.refs])
    assert all(seen.read_monotonic is not None for _, seen in watcher.told)


def _ends(watcher: Watcher) -> int:
    return len([1 for _, seen in watcher.told if seen.state is ObservedState.SUCCEEDED])


def test_strange_messages_do_not_stop_the_watcher(cluster: LocalCluster) -> None:
    with Watcher(cluster.driver) as watcher:
        folder = os.open(cluster.driver.data_dir / "runs", os.O_RDONLY)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stranger:
            for message in (b"", b"\xff/\xff/\xff", b"../../etc/1/x claim", b"a/b/c", b"/" * 300):
                stranger.sendto(message, f"/proc/self/fd/{folder}/bell")
        os.close(folder)
        ref = cluster.start("true")
        watcher.heard(ObservedState.SUCCEEDED)
    assert {seen.workload for _, seen in watcher.told} == {ref.workload}


def test_a_newer_watcher_takes_the_bell_and_both_see_everything(cluster: LocalCluster) -> None:
    with Watcher(cluster.driver) as first, Watcher(cluster.driver) as second:
        ref = cluster.start("true")
        second.heard(ObservedState.SUCCEEDED)
        first.heard(ObservedState.SUCCEEDED)
    for watcher in (first, second):
        assert {seen.workload for _, seen in watcher.told} == {ref.workload}


def test_many_attempts_are_told_as_they_are_found(tmp_path: Path) -> None:
    """Whoever watches holds a lease, and must not wait for a look at all of them."""
    for number in range(2 * module.BATCH + 50):
        (tmp_path / "runs" / str(uuid.UUID(int=number)) / "1").mkdir(parents=True)
    looks: list[str] = []
    told_all: list[int] = []

    def look(folder: RunFolder) -> Observation:
        looks.append(folder.workload)
        return Observation(folder.workload, folder.attempt, ObservedState.RUNNING)

    def all_told() -> None:
        told_all.append(len(looks))

    batches = module.watch(tmp_path, lambda folder: True, look, all_told)
    assert len(next(batches)) == len(looks) == module.BATCH
    assert len(next(batches)) == module.BATCH
    assert len(next(batches)) == 50
    assert told_all == []
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    assert told_all == [2 * module.BATCH + 50]
