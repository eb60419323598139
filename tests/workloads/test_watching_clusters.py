"""A watch ends when its cluster gets another credential, or is there no more."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence

import pytest
from django.db import connection

from gangline.clusters import connections
from gangline.clusters.models import Cluster
from gangline.db.clock import db_now
from gangline.drivers.base import (
    AttemptRef,
    Observation,
    ObservedState,
    TellTrouble,
    ignore_all_told,
    ignore_trouble,
)
from gangline.resources.services import make
from gangline.scopes.services import found
from tests.support.kinds import declare
from tests.support.waiting import wait_for
from workloads.watching import watcher as watching
from workloads.watching.watcher import Watcher

pytestmark = pytest.mark.postgres

KIND = "quiet"


class Quiet:
    """A cluster on which nothing ever happens; counts its watches."""

    made: list["Quiet"]

    def __init__(self) -> None:
        Quiet.made.append(self)
        self.watched = threading.Event()

    def silent_for(self) -> float:
        return 40.0

    def observe(self, ref: AttemptRef) -> Observation:
        return Observation(ref.workload, ref.attempt, ObservedState.ABSENT)

    def watch(
        self,
        install: str,
        cursor: str,
        tell: TellTrouble = ignore_trouble,
        all_told: Callable[[], None] = ignore_all_told,
    ) -> Iterator[Sequence[Observation]]:
        self.watched.set()
        while True:
            yield ()
            time.sleep(0.02)


@pytest.fixture
def quiet(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Cluster, threading.Thread]]:
    """A cluster, and the thread that watches it."""
    Quiet.made = []
    monkeypatch.setattr(watching, "CURRENT_SECONDS", 0.05)
    declare(KIND, lambda connection: Quiet())
    found(name="Test")
    cluster = make("cluster", actor=None, name="quiet", kind=KIND)
    stop = threading.Event()

    def watch() -> None:
        try:
            Watcher(cluster.pk).run(stop)
        finally:
            connection.close()

    thread = threading.Thread(target=watch)
    thread.start()
    wait_for(lambda: bool(Quiet.made) and Quiet.made[-1].watched.is_set(), seconds=20)
    try:
        yield cluster, thread
    finally:
        stop.set()
        thread.join(20)
        assert not thread.is_alive()


def test_another_credential_is_taken_by_a_watch_that_goes_on(
    quiet: tuple[Cluster, threading.Thread],
) -> None:
    cluster, thread = quiet
    assert len(Quiet.made) == 1
    cluster.credential_at = db_now()
    cluster.save()
    wait_for(lambda: len(Quiet.made) == 2 and Quiet.made[1].watched.is_set(), seconds=20)
    assert thread.is_alive()


def test_the_row_says_when_the_cluster_was_last_heard(
    quiet: tuple[Cluster, threading.Thread],
) -> None:
    cluster, _ = quiet

    def heard() -> bool:
        cluster.refresh_from_db()
        return cluster.heard_at is not None

    wait_for(heard, seconds=20)
    assert cluster.heard_at is not None
    assert 39 <= (db_now() - cluster.heard_at).total_seconds() <= 70


def test_a_removed_cluster_is_not_watched(quiet: tuple[Cluster, threading.Thread]) -> None:
    cluster, thread = quiet
    cluster.delete()
    connections.forget(cluster.pk)
    thread.join(20)
    assert not thread.is_alive()
