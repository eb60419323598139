"""Logs fetched from a real API server: every line once, and before the pods go."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gangline.drivers.base import AttemptRef, ObservedState
from gangline.drivers.kubernetes import log_collector, pods
from gangline.drivers.kubernetes.access import Options
from gangline.drivers.kubernetes.driver import KubernetesDriver
from gangline.drivers.kubernetes.log_collector import Collecting, Collector
from gangline.drivers.kubernetes.resources import PODS
from gangline.drivers.logs.segments import Limits
from gangline.drivers.logs.store import LogStore
from tests.beds.kubernetes.bed import Bed
from tests.drivers.kubernetes.harness import Ground, ground
from tests.support.waiting import wait_for

pytestmark = pytest.mark.needs_kubernetes


@pytest.fixture
def place(bed: Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ground]:
    # The bed's kubelet, unlike a real one, does not end the stream of a pod that has ended.
    monkeypatch.setattr(log_collector, "SILENCE", 1.0)
    with ground(bed, tmp_path) as made:
        yield made


@contextlib.contextmanager
def followed(place: Ground) -> Iterator[None]:
    """A watch with its collector, for a while."""
    over = threading.Event()

    def follow() -> None:
        batches = place.driver.watch(place.install, "")
        for _ in batches:
            if over.is_set():
                break
        batches.close()  # type: ignore[attr-defined]

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(15)


def say(place: Ground, first: int, last: int, pod: str = "gang-worker-0") -> None:
    place.bed.write_log(place.namespace, pod, [f"line {n}" for n in range(first, last)])


def texts(place: Ground, ref: AttemptRef, replica: str = "worker-0") -> list[bytes]:
    data = place.driver.read_log(ref, replica, 0, 2**20).data
    return [line.split(b" ", 3)[3] for line in data.splitlines()]


def lines(count: int) -> list[bytes]:
    return [b"line %d" % number for number in range(count)]


def test_a_collector_goes_on_where_another_one_ended(place: Ground) -> None:
    ref = place.ref()
    place.running(ref)
    say(place, 0, 100)
    with followed(place):
        wait_for(lambda: texts(place, ref) == lines(100), seconds=20)
        say(place, 100, 120)
        wait_for(lambda: texts(place, ref) == lines(120), seconds=20)
    say(place, 120, 200)
    with followed(place):
        wait_for(lambda: len(texts(place, ref)) >= 200, seconds=20)
        say(place, 200, 201)
        wait_for(lambda: len(texts(place, ref)) >= 201, seconds=20)
    assert texts(place, ref) == lines(201)


@pytest.mark.thorough
def test_two_collectors_at_once_write_each_line_once(place: Ground) -> None:
    ref = place.ref()
    place.running(ref)
    with followed(place), followed(place):
        for first in range(0, 100, 20):
            say(place, first, first + 20)
            wait_for(lambda n=first: len(texts(place, ref)) >= n + 20, seconds=20)  # type: ignore[misc]
    assert texts(place, ref) == lines(100)


@pytest.mark.thorough
def test_one_follower_serves_several_pods(place: Ground, tmp_path: Path) -> None:
    ref = place.ref(workers=3)
    place.running(ref)
    for worker in range(3):
        say(place, 0, 50, f"gang-worker-{worker}")
    collector = Collector(place.client, LogStore(tmp_path), followers=1)
    try:
        for raw in place.bed.client.list(PODS, place.namespace).body["items"]:
            collector.tell(pods.read(raw))
        for worker in range(3):
            name = f"worker-{worker}"
            wait_for(lambda n=name: texts(place, ref, n) == lines(50), seconds=20)  # type: ignore[misc]
    finally:
        collector.stop()


@pytest.mark.thorough
def test_of_too_many_pods_those_are_followed_whose_logs_somebody_reads(
    place: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others have to wait for their turn, which is a long way off here."""
    monkeypatch.setattr(log_collector, "READS_PER_SECOND", 0.01)
    monkeypatch.setattr(log_collector, "FIRST_READS_PER_SECOND", 0.01)
    ref = place.ref(workers=5)
    place.running(ref)
    names = [f"worker-{worker}" for worker in range(5)]
    for name in names:
        say(place, 0, 50, f"gang-{name}")
        path = PODS.path(place.namespace, f"gang-{name}", "log")
        wait_for(lambda p=path: "line 49" in place.bed.text(p), seconds=20)  # type: ignore[misc]
    listening = Collecting(place.client, LogStore(tmp_path), place.install)
    listening.collector = Collector(place.client, LogStore(tmp_path), followers=4)
    try:
        for raw in place.bed.client.list(PODS, place.namespace).body["items"]:
            listening.tell(pods.read(raw))
        for name in names:
            texts(place, ref, name)  # a person reads, so it is the turn of this one too
            listening.tick()
            wait_for(lambda n=name: texts(place, ref, n) == lines(50), seconds=20)  # type: ignore[misc]
        wanted_folder = tmp_path / "logs-wanted"
        for mark in wanted_folder.iterdir():
            mark.unlink()  # that was us, just now
        listening.tick()
        say(place, 50, 60, "gang-worker-3")
        listening.tick()
        time.sleep(1.5)
        chunk = LogStore(tmp_path).read(ref.workload, 1, "worker-3", 0, 2**20)
        assert len(chunk.data.splitlines()) == 50
        assert len(texts(place, ref, "worker-3")) == 50  # a person reads
        listening.tick()
        wait_for(lambda: texts(place, ref, "worker-3") == lines(60), seconds=10)
    finally:
        listening.stop()


@pytest.mark.thorough
def test_logs_of_many_new_pods_are_begun_one_after_the_other(
    place: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_collector, "FIRST_READS_PER_SECOND", 0.01)
    ref = place.ref(workers=4)
    place.running(ref)
    found = [pods.read(raw) for raw in place.bed.client.list(PODS, place.namespace).body["items"]]
    for pod in found:
        say(place, 0, 5, pod.name)

    def begun() -> set[str]:
        return {pod.replica for pod in found if texts(place, ref, pod.replica)}

    collector = Collector(place.client, LogStore(tmp_path), followers=2)
    try:
        for pod in found:
            collector.tell(pod)
        at_once = {pod.replica for pod in found[:3]}  # as many as are followed, and the next
        wait_for(lambda: begun() == at_once, seconds=20)
        time.sleep(1.5)
        assert begun() == at_once
        collector.want([(ref.workload, ref.attempt)])
        wait_for(lambda: len(begun()) == 4, seconds=20)
    finally:
        collector.stop()


@pytest.mark.thorough
def test_no_more_is_kept_of_a_log_than_the_installation_allows(
    place: Ground, tmp_path: Path
) -> None:
    """The first segment and the newest stay; one line says what was dropped between them."""
    ref = place.ref()
    place.running(ref)
    (raw,) = place.bed.client.list(PODS, place.namespace).body["items"]
    store = LogStore(tmp_path, Limits(segment=1_000, cap=4_000))
    for first in range(0, 400, 20):
        say(place, first, first + 20)
        log_collector.catch_up(place.client, store, [pods.read(raw)], 20)
    told, at = [], 0
    while data := (chunk := place.driver.read_log(ref, "worker-0", at, 10**6)).data:
        told += [line.split(b" ", 3)[3] for line in data.splitlines()]
        at = chunk.next_offset
    assert (told[0], told[-1]) == (lines(1)[0], lines(400)[-1])
    assert any(b"of log were dropped here: the log is full." in line for line in told)
    folder = store.folder(ref.workload, ref.attempt, "worker-0")
    assert sum(one.stat().st_size for one in folder.glob("*.log")) <= 5_000
    driver = KubernetesDriver(place.client, Options(data_dir=tmp_path, log_cap=1 << 24))
    assert driver._logs is not None
    assert driver._logs.limits.cap == 1 << 24


@pytest.mark.parametrize("end", [KubernetesDriver.suspend, KubernetesDriver.delete])
def test_what_nobody_has_fetched_is_fetched_before_the_pods_go(
    place: Ground, end: Callable[[KubernetesDriver, AttemptRef], object]
) -> None:
    ref = place.ref()
    place.running(ref)
    say(place, 0, 300)
    end(place.driver, ref)
    assert texts(place, ref) == lines(300)


@pytest.mark.thorough
def test_the_logs_of_an_attempt_are_fetched_before_the_next_takes_its_place(
    place: Ground,
) -> None:
    ref = place.ref()
    place.running(ref)
    say(place, 0, 10)
    place.bed.annotate(place.namespace, "gang-worker-0", exit_code=1, run_for="100ms")
    place.until(ref, ObservedState.FAILED)
    second = AttemptRef(
        ref.install,
        ref.workload,
        2,
        ref.name,
        ref.namespace,
        submission=ref.submission,
        rendered=ref.rendered,
    )
    place.driver.create(second)
    assert texts(place, ref) == lines(10)
    assert place.driver.read_log(ref, "worker-0", 0, 10**6).end


@pytest.mark.thorough
def test_without_a_place_for_logs_there_are_none(place: Ground) -> None:
    driver = KubernetesDriver(place.client, Options())
    assert driver.read_log(place.ref(), "worker-0", 0, 100).end
