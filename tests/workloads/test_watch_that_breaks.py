"""A watch that breaks off again and again: ever more rarely, told, and traced once."""

import logging
import threading
import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError, connection

from gangline.clusters.models import Cluster
from gangline.resources.services import make
from gangline.scopes.services import found
from tests.support.kinds import declare
from workloads.watching import watcher as watching
from workloads.watching.watcher import Watcher

KIND = "broken"


class Broken:
    """A cluster whose watch ends with an error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def silent_for(self) -> float:
        return 0.0

    def observe(self, ref: Any) -> Any:
        raise self.error

    def watch(self, *arguments: Any) -> Iterator[Any]:
        raise self.error
        yield ()


class Pauses(threading.Event):
    """Ends the loop after so many pauses, and keeps how long they were to be."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most, self.pauses = most, list[float]()

    def wait(self, timeout: float | None = None) -> bool:
        self.pauses.append(timeout or 0.0)
        if len(self.pauses) == self.most:
            self.set()
        return self.is_set()


def broken(monkeypatch: pytest.MonkeyPatch, error: Exception, pauses: Pauses) -> Cluster:
    """Watch such a cluster until it paused that often."""
    declare(KIND, lambda connection: Broken(error))
    found(name="Test")
    cluster: Cluster = make("cluster", actor=None, name="broken", kind=KIND)

    def watch() -> None:
        try:
            Watcher(cluster.pk).run(pauses)
        finally:
            connection.close()

    thread = threading.Thread(target=watch)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
    cluster.refresh_from_db()
    return cluster


@pytest.mark.django_db(transaction=True)
def test_it_begins_anew_ever_more_rarely_and_is_traced_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pauses = Pauses(8)
    with caplog.at_level(logging.WARNING, watching.__name__):
        cluster = broken(monkeypatch, AttributeError("'str' object has no …"), pauses)
    assert pauses.pauses == [1, 2, 4, 8, 16, 30, 30, 30]
    traced = [bool(r.exc_info) for r in caplog.records if r.name == watching.__name__]
    assert traced == [True, *[False] * 7]
    assert cluster.watch_trouble == watching.BROKE_OFF


@pytest.mark.parametrize(("held", "pauses"), [(0.0, [1, 2, 4]), (60.0, [1, 1, 1])])
def test_one_that_held_for_long_begins_anew_soon(
    db: None, held: float, pauses: list[float]
) -> None:
    watcher = Watcher(uuid.uuid4())
    waited = []
    for _ in pauses:
        watcher._begun_at = time.monotonic() - held
        waited.append(watcher._broke_off(ValueError("odd")))
    assert waited == pauses


def test_a_watch_that_holds_again_is_no_trouble_any_more(db: None) -> None:
    found(name="Test")
    cluster = make("cluster", actor=None, name="lab", kind="local")
    watcher, driver = Watcher(cluster.pk), Broken(ValueError())
    watcher._broke_off(driver.error)
    cluster.refresh_from_db()
    assert cluster.watch_trouble == watching.BROKE_OFF
    watcher._heard(driver)  # type: ignore[arg-type]
    cluster.refresh_from_db()
    assert cluster.watch_trouble == ""
    watcher._broke_off(driver.error)
    watcher._tell_trouble("PyTorchJob cannot be followed.")
    watcher._heard(driver)  # type: ignore[arg-type]
    cluster.refresh_from_db()
    assert cluster.watch_trouble == "PyTorchJob cannot be followed."


def test_what_broke_off_in_a_process_before_is_no_trouble_any_more(db: None) -> None:
    found(name="Test")
    cluster = make("cluster", actor=None, name="lab", kind="local")
    driver = Broken(ValueError())
    Watcher(cluster.pk)._broke_off(driver.error)
    Watcher(cluster.pk)._heard(driver)  # type: ignore[arg-type]
    cluster.refresh_from_db()
    assert cluster.watch_trouble == ""


@pytest.mark.django_db(transaction=True)
def test_a_database_that_is_away_is_no_trouble_of_the_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert broken(monkeypatch, OperationalError("away"), Pauses(2)).watch_trouble == ""
