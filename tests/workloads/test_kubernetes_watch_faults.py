"""What a watch makes of streams that end, lie, fall silent or drown it (fault matrix).

The streams fail in a proxy before a real API server; all else is the real thing.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from gangline.clusters.connections import driver_for
from gangline.clusters.drivers.kubernetes import labels, reflector
from gangline.clusters.drivers.kubernetes.client import SILENCE_SECONDS
from gangline.clusters.drivers.kubernetes.kinds import KINDS
from tests.support.engine import current_attempt
from tests.support.fault_proxy import FaultProxy
from tests.support.kubernetes_engine import KubernetesEngine
from tests.support.kubernetes_truth import assert_world
from tests.support.network_faults import answers, ends_after
from tests.support.waiting import wait_for
from workloads.models import Outcome, Workload

pytestmark = pytest.mark.needs_kubernetes

KIND = KINDS["PyTorch"].resource
EVERYWHERE = r"^/(api/v1|apis/kubeflow.org/\w+)/(pods|\w+jobs)$"


@pytest.mark.parametrize("how", ["by the server", "in the middle"])
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
    lists = [r for r in lists if r.query["labelSelector"] == whole]
    by_kind = {path: [r for r in lists if r.path == path] for path in {r.path for r in lists}}
    # At the start, for adoption and for the watch, and one to be sure that no stream is deaf.
    assert max(map(len, by_kind.values())) <= 4
    assert_world(engine, proxy)


def test_f26_a_deletion_in_a_gap_that_the_server_forgot_is_noticed(
    engine_by_proxy: KubernetesEngine, proxy: FaultProxy
) -> None:
    engine = engine_by_proxy
    workload = engine.submit("digits")
    engine.until(workload, "Running")
    proxy.on("GET", EVERYWHERE, answers(410, "too old"), watch=True, times=6)
    with _hidden(proxy):
        _remove(engine, workload)
    engine.until(workload, "Failed")
    assert current_attempt(workload).outcome == Outcome.LOST
    assert_world(engine, proxy)


def test_f27_streams_that_are_half_open_are_noticed_and_so_is_what_they_kept(
    engine_by_proxy: KubernetesEngine, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert SILENCE_SECONDS + 20 <= 95
    monkeypatch.setattr(reflector, "SILENCE_SECONDS", 4.0)
    engine = engine_by_proxy
    proxy.cut_streams()  # those that are open wait for as long as they began with
    workload = engine.submit("digits")
    engine.until(workload, "Running")
    proxy.freeze_streams()
    _remove(engine, workload)
    engine.until(workload, "Failed", seconds=120)
    assert current_attempt(workload).outcome == Outcome.LOST
    assert_world(engine, proxy)


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


def _remove(engine: KubernetesEngine, workload: Workload) -> None:
    raw = engine.object(workload)
    assert raw is not None
    engine.bed.client.delete(KIND, engine.namespace, workload.name, uid=raw["metadata"]["uid"])
    wait_for(lambda: engine.object(workload) is None, seconds=60)


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
