"""A new leader: what it learns before anything is done, and how it keeps its lease meanwhile."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

import pytest

from gangline.clusters.models import Cluster
from gangline.db import clock, leases
from gangline.drivers.base import (
    AttemptRef,
    Observation,
    ObservedState,
    TellTrouble,
    ignore_all_told,
    ignore_trouble,
)
from tests.support.engine import Engine
from workloads.models import Attempt
from workloads.watching import watcher as watching
from workloads.watching.watcher import Watcher, lease_name

pytestmark = pytest.mark.postgres


class Slow:
    """A cluster whose first news were all overtaken; a strong look at it takes long."""

    def __init__(self, stop: threading.Event, news: Sequence[Observation]) -> None:
        self.stop, self.news = stop, news
        self.answers = threading.Event()
        self.watches = 0
        self.looks: list[str] = []

    def observe(self, ref: AttemptRef) -> Observation:
        assert self.answers.wait(10)
        self.looks.append(ref.workload)
        return Observation(ref.workload, ref.attempt, ObservedState.RUNNING)

    def silent_for(self) -> None:
        return None

    def watch(
        self,
        install: str,
        cursor: str,
        tell: TellTrouble = ignore_trouble,
        all_told: Callable[[], None] = ignore_all_told,
    ) -> Iterator[Sequence[Observation]]:
        self.watches += 1
        yield self.news
        all_told()
        for _ in range(10):
            time.sleep(0.1)
            yield []
        self.answers.set()
        until = time.monotonic() + 10
        while is_overtaken() and time.monotonic() < until:
            time.sleep(0.05)
            yield []
        self.stop.set()


def is_overtaken() -> bool:
    return Attempt.objects.exclude(observed_state=ObservedState.RUNNING).exists()


def test_nothing_is_done_before_the_cluster_told_everything(engine: Engine) -> None:
    """Over an outage too: what could not be listed may be there."""
    engine.workload()
    engine.truth.set_unreachable(True)
    stop = threading.Event()
    watcher = Watcher(engine.cluster.pk)
    assert watcher._lease.keep()
    rounds: list[int] = []

    def heard(driver: object) -> None:
        rounds.append(Cluster.objects.get().synced_fence)
        if len(rounds) == 3:
            engine.truth.set_unreachable(False)
        if len(rounds) == 6:
            stop.set()

    watcher._heard = heard  # type: ignore[method-assign]
    watcher._is_current = lambda driver: True  # type: ignore[method-assign]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(watching, "CURRENT_SECONDS", 0.0)
        patched.setattr(watching, "close_old_connections", lambda: None)
        watcher._lead(stop)
    assert rounds[:3] == [0, 0, 0]
    assert rounds[-1] == watcher._lease.fence == 1
    assert engine.truth.calls("create") == []


@pytest.mark.parametrize("taken", [True, False])
def test_why_a_watch_ends_is_said_as_it_was(
    taken: bool, engine: Engine, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "close_old_connections", lambda: None)
    stop = threading.Event()
    watcher = Watcher(engine.cluster.pk)
    other = leases.LeaseHolder(lease_name(engine.cluster.pk))
    count = iter(range(9))

    def lead(stop: threading.Event) -> None:
        if next(count):
            stop.set()
            return
        watcher._led_fence = watcher._lease.fence
        clock.shift(timedelta(seconds=20))
        if taken:
            assert other.acquire()
        try:
            watcher._hold()
        finally:
            if taken:
                stop.set()

    watcher._lead = lead  # type: ignore[method-assign]
    with caplog.at_level(logging.INFO, "workloads.watching"):
        watcher.run(stop)
    (said,) = [one.getMessage() for one in caplog.records if "watch" in one.name]
    wanted = "another process watches cluster" if taken else "the lease to watch cluster"
    assert said.startswith(wanted)
