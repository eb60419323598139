"""What a watch makes of streams that end, lie, fall silent or drown it (fault matrix).

The streams fail in a proxy before a real API server; all else is the real thing.
"""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings

from gangline.clusters.connections import driver_for
from gangline.clusters.models import Cluster
from gangline.db import clock
from gangline.db.models import Lease
from gangline.drivers.kubernetes import followed, labels, reflector
from gangline.drivers.kubernetes.client import SILENCE_SECONDS
from gangline.drivers.kubernetes.kinds import KINDS
from gangline.drivers.kubernetes.resources import PODS
from tests.support import kubernetes_engine
from tests.support.engine import current_attempt, is_stopped, worker
from tests.support.fault_proxy import Action, FaultProxy
from tests.support.kubernetes_engine import KubernetesEngine
from tests.support.kubernetes_truth import assert_world
from tests.support.network_faults import answers, ends_after, streams
from tests.support.waiting import wait_for
from workloads.models import Event, Outcome, Workload
from workloads.services import events, retries
from workloads.watching.watcher import lease_name

pytestmark = pytest.mark.needs_kubernetes

KIND = KINDS["PyTorch"].resource
EVERYWHERE = r"^/(api/v1|apis/kubeflow.org/\w+)/(pods|\w+jobs)$"
EXPIRED = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "how", ["in the middle", pytest.param("by the server", marks=pytest.mark.thorough)]
)
def test_f25_streams_that_end_every_two_seconds_lose_nothing(
    engine_by_proxy: KubernetesEngine, proxy: FaultProxy, how: str
) -> None:
    engine = engine_by_proxy
    if how == "by the server":
        proxy.on("GET", EVERYWHERE, ends_after(2), watch=True, times=float("inf"))
        proxy.cut_streams()
    with _repeated(proxy.cut_streams, every=2.0 if how != "by the server" else 600.0):
        made = [engine.submit(f"short-{n}", behave="succeed", workers=1) for n in range(4)]
        lost = engine.submit("lost")
        engine.until(lost, "Running", seconds=120)
        _remove(engine, lost)
        engine.until(lost, "Failed", seconds=120)
        for workload in made:
            engine.until(workload, "Completed", seconds=120)
    whole = labels.selector(engine.install)
    lists = proxy.seen("GET", EVERYWHERE, watch=False)
    lists = [r for r in lists if r.query.get("labelSelector") == whole]
    by_kind = {path: [r for r in lists if r.path == path] for path in {r.path for r in lists}}
    # At the start, for adoption and for the watch, and one to be sure that no stream is deaf.
    assert max(map(len, by_kind.values())) <= 4
    assert_world(engine, proxy)


@pytest.mark.parametrize(
    "gone",
    [
        pytest.param(answers(410, "too old"), id="status", marks=pytest.mark.thorough),
        pytest.param(streams({"type": "ERROR", "object": EXPIRED}), id="event"),
    ],
)
def test_f26_a_deletion_in_a_gap_that_the_server_forgot_is_noticed(
    engine_by_proxy: KubernetesEngine, proxy: FaultProxy, gone: Action
) -> None:
    engine = engine_by_proxy
    workload = engine.submit("digits")
    engine.until(workload, "Running")
    proxy.on("GET", EVERYWHERE, gone, watch=True, times=6)
    with _hidden(proxy):
        _remove(engine, workload)
    engine.until(workload, "Failed")
    assert current_attempt(workload).outcome == Outcome.LOST
    assert_world(engine, proxy)


@pytest.mark.parametrize("silence", [8.0, SILENCE_SECONDS])
@pytest.mark.thorough
def test_f27_streams_that_are_half_open_are_noticed_and_so_is_what_they_kept(
    engine_by_proxy: KubernetesEngine,
    proxy: FaultProxy,
    monkeypatch: pytest.MonkeyPatch,
    silence: float,
) -> None:
    monkeypatch.setattr(reflector, "SILENCE_SECONDS", silence)
    engine = engine_by_proxy
    proxy.cut_streams()  # those that are open wait for as long as they began with
    workload = engine.submit("digits")
    engine.until(workload, "Running")
    proxy.freeze_streams()
    frozen = time.monotonic()
    time.sleep(3)  # what the last news made it look at once more is looked at
    _remove(engine, workload)
    engine.until(workload, "Failed", seconds=120)
    assert time.monotonic() - frozen <= silence + 20  # 95 s in all
    assert current_attempt(workload).outcome == Outcome.LOST
    assert_world(engine, proxy)


@pytest.mark.thorough
def test_a_watch_ends_at_once_whatever_it_waits_for(
    submitting: KubernetesEngine, proxy: FaultProxy
) -> None:
    driver = driver_for(submitting.cluster)
    before = set(threading.enumerate())
    batches = driver.watch(submitting.install, "")
    next(iter(batches))
    wait_for(lambda: len(proxy.seen("GET", EVERYWHERE, watch=True)) >= len(KINDS) + 1)
    proxy.freeze_streams()
    batches.close()  # type: ignore[attr-defined]
    wait_for(lambda: not _following(before), seconds=8, what="the end of its threads")


@pytest.mark.thorough
def test_f28_what_a_leader_stores_after_its_lease_is_rejected(
    submitting: KubernetesEngine, proxy: FaultProxy
) -> None:
    engine = submitting
    known = {
        "GANGLINE_DATA_DIR": str(settings.GANGLINE.data_dir),
        "GANGLINE_CLUSTER_ADDRESSES": "127.0.0.0/8",
    }
    pause = "watcher.before_store:stop@2"
    with worker("watch", engine.cluster.pk, fail_points=pause, environment=known) as first:
        name = lease_name(engine.cluster.pk)
        wait_for(lambda: Lease.objects.filter(name=name).exists(), seconds=120)
        wait_for(lambda: Cluster.objects.get().synced_fence, seconds=120)
        with kubernetes_engine.at_work(engine):
            workload = engine.submit("digits")
            wait_for(lambda: is_stopped(first), seconds=120)
            clock.shift(timedelta(seconds=16))
            engine.until(workload, "Running", seconds=120)
            wait_for(lambda: Lease.objects.get(name=name).fence == 2, seconds=60)
            before = _row(workload)
            os.kill(first.pid, signal.SIGCONT)
            assert first.stdout is not None
            assert json.loads(first.stdout.readline()) == {"rejected": True}
            assert _row(workload) == before
    changes = Event.objects.filter(workload=workload, kind=events.PHASE_CHANGED).order_by("id")
    told = list(changes.values_list("phase", flat=True))
    order = ["Creating", "Pending", "Initializing", "Running"]
    assert told == sorted(set(told), key=order.index), told
    assert_world(engine, proxy)


@pytest.mark.thorough
def test_f48_a_burst_leaves_the_right_end_and_few_traces(
    engine_by_proxy: KubernetesEngine, proxy: FaultProxy
) -> None:
    """10 000 events come down the wires at once; a thousand of them are really written before."""
    engine = engine_by_proxy
    made = [engine.submit(f"burst-{n}", workers=4) for n in range(5)]
    for workload in made:
        engine.until(workload, "Running", seconds=120)
    pods = engine.bed.client.list(PODS, engine.namespace).body["items"]
    assert len(pods) == 20
    with ThreadPoolExecutor(4) as crowd:
        list(crowd.map(lambda n: _touch(engine, pods[n % 20], n), range(1000)))
    noise = [
        {"type": "MODIFIED", "object": pod | {"status": pod["status"] | {"message": f"{n}"}}}
        for n in range(500)
        for pod in pods
    ]
    assert len(noise) == 10_000
    before = {w.pk: Event.objects.filter(workload=w).count() for w in made}
    proxy.on("GET", "/api/v1/pods$", streams(*noise, then_passes=True), watch=True)
    proxy.cut_streams()
    for pod in pods:
        engine.bed.annotate(engine.namespace, pod["metadata"]["name"], exit_code=0, run_for="1s")
    for workload in made:
        engine.until(workload, "Completed", seconds=90)
        assert Event.objects.filter(workload=workload).count() - before[workload.pk] <= 6
    assert_world(engine, proxy)


@pytest.mark.thorough
def test_f57_an_object_that_is_poison_is_stored_cleaned_and_the_watch_goes_on(
    engine_by_proxy: KubernetesEngine, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "FIRST_PAUSE", 600.0)
    engine = engine_by_proxy
    workload, calm = engine.submit("digits"), engine.submit("calm")
    for one in (workload, calm):
        engine.until(one, "Running", seconds=120)
    pod = engine.bed.client.get(PODS, engine.namespace, "calm-worker-0").body
    odd: list[dict[str, Any]] = [
        {"metadata": pod["metadata"] | {"labels": ["none"]}},
        pod | {"status": "ill"},
        pod | {"status": pod["status"] | {"containerStatuses": [{"name": 7, "restartCount": "x"}]}},
        pod | {"status": pod["status"] | {"message": "x" * (5 << 20)}},
    ]
    said = [{"type": "MODIFIED", "object": one} for one in odd]
    proxy.on("GET", "/api/v1/pods$", streams(*said, then_passes=True), watch=True)
    proxy.cut_streams()
    wait_for(lambda: proxy.seen("GET", "/api/v1/pods$", watch=True)[-1].status == 200, seconds=60)
    message = "no\x00 room\x1b[31m" + "y" * 500_000
    status = {"phase": "Failed", "reason": "Evicted", "message": message}
    path = (engine.namespace, "digits-worker-1", {"status": status}, "status")
    assert engine.bed.client.patch(PODS, *path).ok
    wait_for(lambda: workload.attempts.get(no=1).outcome, seconds=120)
    reason = workload.attempts.get(no=1).observed_reason
    assert reason.startswith("worker-1: Evicted by the cluster: no  room [31myyy")
    assert len(reason) <= 400
    for name in ("calm-worker-0", "calm-worker-1"):
        engine.bed.annotate(engine.namespace, name, exit_code=0, run_for="100ms")
    engine.until(calm, "Completed", seconds=120)


@pytest.mark.thorough
def test_where_only_namespaces_may_be_followed_they_are(
    submitting: KubernetesEngine, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followed, "LOOK_EVERY", 0.5)
    proxy.on("GET", EVERYWHERE, answers(403, _forbidden("pods")), times=float("inf"))
    engine = submitting
    with kubernetes_engine.at_work(engine):
        workload = engine.submit("digits")
        engine.until(workload, "Running", seconds=120)
        _remove(engine, workload)
        engine.until(workload, "Failed")
        assert current_attempt(workload).outcome == Outcome.LOST
        again = engine.submit("again", behave="succeed")
        engine.until(again, "Completed", seconds=120)
        assert Cluster.objects.get().watch_trouble == ""
    assert proxy.seen("GET", f"/namespaces/{engine.namespace}/pods$", watch=True)
    assert_world(engine, proxy)


@pytest.mark.thorough
def test_a_right_that_is_taken_away_is_told_and_its_return_too(
    engine_by_proxy: KubernetesEngine, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in ((reflector, "FORBIDDEN_PAUSE"), (followed, "LOOK_EVERY")):
        monkeypatch.setattr(module, name, 0.5)
    engine = engine_by_proxy
    workload = engine.submit("digits")
    engine.until(workload, "Running")
    proxy.on("GET", "^/api/v1/pods$", answers(403, _forbidden("pods")), times=float("inf"))
    proxy.on("GET", "/namespaces$", answers(403, _forbidden("namespaces")), times=float("inf"))
    proxy.cut_streams()
    expected = "Gangline does not have permission to list "
    wait_for(lambda: Cluster.objects.get().watch_trouble.startswith(expected), seconds=60)
    told = Cluster.objects.get().watch_trouble
    assert told.endswith("its role on the cluster lacks that permission.")
    proxy.clear()
    wait_for(lambda: not Cluster.objects.get().watch_trouble, seconds=60)
    _remove(engine, workload)
    engine.until(workload, "Failed")


def _forbidden(plural: str) -> str:
    return f'{plural} is forbidden: User "gangline" cannot list resource "{plural}" in API group ""'


def _touch(engine: KubernetesEngine, pod: dict[str, Any], number: int) -> None:
    body = {"metadata": {"annotations": {"tests.gangline.dev/number": str(number)}}}
    engine.bed.client.patch(PODS, engine.namespace, pod["metadata"]["name"], body)


def _remove(engine: KubernetesEngine, workload: Workload) -> None:
    raw = engine.object(workload)
    assert raw is not None
    engine.bed.client.delete(KIND, engine.namespace, workload.name, uid=raw["metadata"]["uid"])
    wait_for(lambda: engine.object(workload) is None, seconds=60)


def _row(workload: Workload) -> tuple[object, ...]:
    shown = ("status", "phase", "seq", "attempt_no", "pods_ready")
    row: tuple[object, ...] = Workload.objects.values_list(*shown).get(pk=workload.pk)
    return row


def _following(before: set[threading.Thread]) -> list[str]:
    fresh = set(threading.enumerate()) - before
    return [thread.name for thread in fresh if thread.name.startswith("reflect-")]


@contextmanager
def _hidden(proxy: FaultProxy) -> Iterator[None]:
    """The cluster cannot be reached in the block."""
    proxy.refuse()
    try:
        yield
    finally:
        proxy.accept()


@contextmanager
def _repeated(call: Callable[[], None], *, every: float) -> Iterator[None]:
    """Call it again and again beside the block."""
    over = threading.Event()

    def run() -> None:
        while not over.wait(every):
            call()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(10)
