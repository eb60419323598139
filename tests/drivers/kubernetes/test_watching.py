"""Following a cluster: what is told, what is noticed after a gap, and what it costs."""

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gangline.drivers.base import AttemptRef, Observation, ObservedState
from gangline.drivers.kubernetes import labels, reflector, watcher
from gangline.drivers.kubernetes import store as store_of_watch
from gangline.drivers.kubernetes.access import ClusterCredentials, Options
from gangline.drivers.kubernetes.client import Client
from gangline.drivers.kubernetes.driver import KubernetesDriver
from gangline.drivers.kubernetes.kinds import KINDS
from gangline.drivers.kubernetes.reflector import Raw, Reflector
from gangline.drivers.kubernetes.resources import PODS, Resource
from gangline.drivers.kubernetes.store import Listener, Store
from tests.beds.kubernetes.bed import Bed
from tests.drivers.kubernetes import raw as made
from tests.drivers.kubernetes.harness import JOBS, Ground, ground, stranger
from tests.support.waiting import wait_for

KIND = KINDS["PyTorch"]
KEY = ("w-1", 1)
S = ObservedState


@pytest.fixture
def place(bed: Bed, tmp_path: Path) -> Iterator[Ground]:
    with ground(bed, tmp_path) as found:
        yield found


class Told:
    """Keeps what a reflector tells: the objects that are there, and what troubles it."""

    def __init__(self) -> None:
        self.there: dict[str, Raw] = {}
        self.lists = 0
        self.heard = 0
        self.troubles: list[str] = []

    def cut(self, resource: Resource, raw: Raw) -> Raw:
        return raw

    def listed(
        self, resource: Resource, kept: list[Raw], read_at: float, namespace: str = ""
    ) -> None:
        self.there = {item["metadata"]["uid"]: item for item in kept}
        self.lists += 1

    def changed(self, resource: Resource, raw: Raw, read_at: float, namespace: str = "") -> None:
        self.there[raw["metadata"]["uid"]] = raw
        self.heard += 1

    def gone(self, resource: Resource, raw: Raw, read_at: float, namespace: str = "") -> None:
        self.there.pop(raw["metadata"]["uid"], None)
        self.heard += 1

    def alive(self, resource: Resource, namespace: str = "") -> None:
        self.heard += 1

    def trouble(
        self, resource: Resource, reason: str, namespace: str = "", *, is_forbidden: bool = False
    ) -> None:
        self.troubles.append(reason)


@contextlib.contextmanager
def reflected(client: Client, install: str, resource: Resource = JOBS) -> Iterator[Told]:
    told = Told()
    one = Reflector(client, resource, labels.selector(install), told)
    one.start()
    try:
        yield told
    finally:
        one.stop()


# The store, without a cluster


def store() -> Store:
    return Store({KIND.resource: KIND}, Listener())


def lists(held: Store, resource: Resource, objects: list[Raw], read_at: float) -> None:
    """As a reflector lists."""
    cut = [held.cut(resource, raw) for raw in objects]
    held.listed(resource, [thing for thing in cut if thing is not None], read_at)


def test_changes_that_come_together_are_told_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each alone would cost a transaction of its own."""
    monkeypatch.setattr(store_of_watch, "GATHER", 1.0)
    held, names = store(), [f"w-{number}" for number in range(6)]

    def change() -> None:
        for name in names:
            marks = made.MARKS | {labels.WORKLOAD: name}
            held.changed(JOBS, made.job(uid=name, labels=marks), 1.0)
            time.sleep(0.02)

    thread = threading.Thread(target=change)
    thread.start()
    taken = held.take(10.0)
    thread.join()
    assert sorted(taken) == [(name, 1) for name in names]
    assert held.take(0) == {}


def test_what_is_missing_from_a_list_is_gone() -> None:
    held = store()
    lists(held, JOBS, [made.job()], 1.0)
    lists(held, PODS, [made.pod(0), made.pod(1)], 1.0)
    assert held.take(0) == {KEY: 1.0}
    lists(held, PODS, [made.pod(1)], 5.0)
    assert held.take(0) == {KEY: 5.0}
    job, pods = held.of(KEY)
    assert job is not None
    assert [pod.name for pod in pods] == ["gang-worker-1"]
    lists(held, JOBS, [], 6.0)
    assert held.of(KEY)[0] is None
    assert held.take(0) == {KEY: 6.0}


def test_a_list_without_news_is_no_news() -> None:
    held = store()
    lists(held, JOBS, [made.job()], 1.0)
    assert held.take(0) == {KEY: 1.0}
    lists(held, JOBS, [made.job()], 2.0)
    assert held.take(0) == {}


def test_a_burst_of_changes_is_one_change_for_each_attempt() -> None:
    held = store()
    for number in range(10_000):
        held.changed(PODS, made.pod(number % 9, state=made.ended(number)), float(number))
    assert held.take(0) == {KEY: 9999.0}
    assert len(held.of(KEY)[1]) == 9


def test_a_pod_of_the_same_name_and_another_uid_is_another_pod() -> None:
    held = store()
    held.changed(PODS, made.pod(0), 1.0)
    held.changed(PODS, made.pod(0, uid="second"), 2.0)
    assert {pod.uid for pod in held.of(KEY)[1]} == {"pod-worker-0", "second"}


@pytest.mark.parametrize(
    "odd",
    [
        {"metadata": {"labels": []}},
        {"metadata": {"uid": 3}},
        {},
        {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": "many"}}}},
        {"status": {"conditions": [3]}},
    ],
)
def test_f57_an_odd_object_is_left_out_and_the_rest_goes_on(odd: dict[str, Any]) -> None:
    held = store()
    lists(held, JOBS, [odd, made.job()], 1.0)
    assert held.of(KEY)[0] is not None


# The real thing


@pytest.mark.needs_kubernetes
def test_f26_a_version_that_is_too_old_leads_to_a_new_list(place: Ground) -> None:
    """410 from the real server: the version lies before all that it still knows."""
    ref = place.ref()
    place.driver.create(ref)
    told = Told()
    one = Reflector(place.client, JOBS, labels.selector(place.install), told)
    one._version, one._list_due = "1", time.monotonic() + 600
    one.start()
    try:
        wait_for(lambda: told.lists == 1 and len(told.there) == 1, seconds=10)
    finally:
        one.stop()
    assert told.troubles == []


@pytest.mark.needs_kubernetes
@pytest.mark.thorough
def test_f25_streams_that_end_all_the_time_lose_nothing_and_list_nothing(
    place: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reflector, "WATCH_SECONDS", (1.0, 1.0))
    with reflected(place.client, place.install) as told:
        wait_for(lambda: told.lists)
        for number in range(5):
            place.driver.create(place.ref(f"gang-{number}"))
            time.sleep(0.7)
        wait_for(lambda: len(told.there) == 5)
        assert told.lists <= 2  # the first, and one to be sure that the stream is not deaf


@pytest.mark.needs_kubernetes
@pytest.mark.thorough
def test_f27_a_server_that_falls_silent_is_noticed_and_so_is_what_it_did_meanwhile(
    place: Ground, own_processes: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reflector, "SILENCE_SECONDS", 2.0)
    ref = place.ref()
    place.driver.create(ref)
    raw = place.raw()
    assert raw is not None
    with reflected(place.client, place.install) as told:
        wait_for(lambda: told.there)
        lists = told.lists
        own_processes.freeze("kube-apiserver")
        try:
            time.sleep(3)
        finally:
            own_processes.thaw("kube-apiserver")
        place.bed.client.delete(JOBS, place.namespace, "gang", uid=raw["metadata"]["uid"])
        wait_for(lambda: told.lists > lists and not told.there, seconds=30)


@pytest.mark.needs_kubernetes
@pytest.mark.thorough
def test_a_watch_that_is_not_allowed_says_so_and_does_not_hammer(place: Ground, bed: Bed) -> None:
    with reflected(Client(stranger(bed)), place.install) as told:
        wait_for(lambda: told.troubles)
        time.sleep(1)
    (trouble,) = told.troubles
    assert trouble.startswith(
        "Gangline does not have permission to list pytorchjobs (kubeflow.org): "
    )


@pytest.mark.needs_kubernetes
@pytest.mark.thorough
def test_a_kind_that_may_not_be_followed_does_not_hold_up_the_others(
    place: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "FIRST_LIST", 1.0)
    ref = place.ref()
    place.driver.create(ref)
    forbidden = replace(KINDS["JAX"], resource=Resource("apps", "v1", "deployments", "Deployment"))
    watch = watcher.Watch(place.client, place.install, [KIND, forbidden], place.driver.observe)
    batches = watch.batches()
    told = [seen for _ in range(3) for seen in next(batches)]
    batches.close()  # type: ignore[attr-defined]
    assert [seen.workload for seen in told] == [ref.workload]
    assert any(resource.plural == "deployments" for resource, _ in watch.store.troubles)


@pytest.mark.needs_kubernetes
@pytest.mark.thorough
def test_a_watch_gives_signs_of_life_while_its_cluster_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else the lease would be lost over an outage, by one watcher after the other."""
    monkeypatch.setattr(watcher, "FIRST_LIST", 0.5)
    driver = KubernetesDriver(
        Client(ClusterCredentials("https://127.0.0.1:1", token="x")), Options()
    )
    batches = driver.watch("install-a", "")
    assert [next(batches) for _ in range(2)] == [[], []]
    batches.close()  # type: ignore[attr-defined]


@pytest.mark.needs_kubernetes
def test_f29_what_others_delete_is_told_as_absent(place: Ground) -> None:
    with _watched(place) as told:
        ref = place.ref()
        seen = place.running(ref)
        wait_for(lambda: _last(told, ref) is S.RUNNING)
        place.bed.client.delete(JOBS, place.namespace, "gang", uid=seen.ext_uid)
        wait_for(lambda: _last(told, ref) is S.ABSENT, seconds=20)
    assert all(one.read_monotonic is not None for one in told)


@pytest.mark.needs_kubernetes
def test_why_a_gang_waits_is_told_without_being_asked(place: Ground) -> None:
    with _watched(place) as told:
        ref = place.ref(workers=9)
        worker = ref.rendered["job"]["spec"]["pytorchReplicaSpecs"]["Worker"]
        resources = worker["template"]["spec"]["containers"][0].setdefault("resources", {})
        resources.setdefault("limits", {})["nvidia.com/gpu"] = "8"
        place.driver.create(ref)
        place.driver.commit(ref)
        wait_for(lambda: _reason(told, ref).startswith("The workload needs 72 GPUs, "), seconds=30)
    place.driver.delete(ref)


@contextlib.contextmanager
def _watched(place: Ground) -> Iterator[list[Observation]]:
    told: list[Observation] = []
    over = threading.Event()

    def follow() -> None:
        batches = place.driver.watch(place.install, "")
        for batch in batches:
            told.extend(batch)
            if over.is_set():
                break
        batches.close()  # type: ignore[attr-defined]

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield told
    finally:
        over.set()
        thread.join(15)


def _of(told: list[Observation], ref: AttemptRef) -> list[Observation]:
    return [seen for seen in told if seen.workload == ref.workload]


def _last(told: list[Observation], ref: AttemptRef) -> ObservedState | None:
    found = _of(told, ref)
    return found[-1].state if found else None


def _reason(told: list[Observation], ref: AttemptRef) -> str:
    found = _of(told, ref)
    return found[-1].reason if found else ""
