"""Telling the workers: within a second, or the ticker does the work itself and says so."""

import json
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
import redis
from celery import Celery
from django.conf import settings

from gangline.db import clock, leases
from gangline.db.clock import db_now
from gangline.db.models import SystemNotice
from scripts.services import Redis
from tests.support.engine import Engine
from tests.support.truth import assert_world
from tests.support.waiting import wait_for
from workloads import tasks
from workloads.models import Workload
from workloads.watching import publisher as module
from workloads.watching.publisher import CeleryPublisher
from workloads.watching.ticker import RING_SECONDS, Ticker, queue_of

pytestmark = pytest.mark.postgres

Connect = Callable[[str], CeleryPublisher]
ROWS = [(uuid4(), "gangline.v1"), (uuid4(), "local.here")]


@pytest.fixture
def connect(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connect]:
    """A publisher to the broker at an address, set up as production sets it up."""
    apps: list[Celery] = []

    def make(broker: str) -> CeleryPublisher:
        app = Celery("test", set_as_current=False)
        app.config_from_object("django.conf:settings", namespace="CELERY")
        app.conf.broker_write_url = broker
        apps.append(app)
        monkeypatch.setattr(module, "import_string", lambda _: app)
        return CeleryPublisher()

    yield make
    for app in apps:
        app.close()


@pytest.fixture
def black_hole() -> Iterator[str]:
    """A broker that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"redis://127.0.0.1:{server.getsockname()[1]}/0"


def test_every_queue_gets_its_ids_and_nothing_but_ids(
    connect: Connect, redis_server: Redis
) -> None:
    publisher = connect(redis_server.url)
    assert publisher.publish(ROWS)
    with redis.Redis.from_url(redis_server.url) as broker:
        for workload_id, queue in ROWS:
            (message,) = broker.lrange(f"gangline-work:{queue}", 0, -1)
            assert str(workload_id).encode() in message
            assert json.loads(message)["headers"]["argsrepr"] == f"['{workload_id}']"
            broker.delete(f"gangline-work:{queue}")


def test_a_broker_that_hangs_costs_a_second_once_and_is_said(
    connect: Connect, black_hole: str
) -> None:
    publisher = connect(black_hole)
    began = time.monotonic()
    assert not publisher.publish(ROWS)
    assert time.monotonic() - began < 1.5
    began = time.monotonic()
    assert not publisher.is_usable()
    assert time.monotonic() - began < 0.2, "it is left alone for a while"
    assert SystemNotice.objects.get().name == module.MESSAGES_DOWN


@pytest.fixture
def slow(
    connect: Connect, redis_server: Redis, monkeypatch: pytest.MonkeyPatch
) -> tuple[CeleryPublisher, list[object]]:
    """A publisher whose broker takes a message in 50 ms, and what it took."""
    publisher = connect(redis_server.url)
    taken: list[object] = []

    def take(*arguments: object, **more: object) -> None:
        time.sleep(0.05)
        taken.append(arguments)

    monkeypatch.setattr(publisher._app, "send_task", take)
    return publisher, taken


def test_a_broker_that_takes_much_slowly_is_not_down(
    slow: tuple[CeleryPublisher, list[object]],
) -> None:
    publisher, taken = slow
    assert publisher.publish(ROWS * 15)
    assert len(taken) == 30, "a second and a half for all of them, and none took one"
    assert publisher.is_usable()
    assert not SystemNotice.objects.exists()


def test_a_slow_broker_does_not_hold_the_ticker_up_for_long(
    slow: tuple[CeleryPublisher, list[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert module.LONGEST_SECONDS + module.PUBLISH_SECONDS < RING_SECONDS
    monkeypatch.setattr(module, "LONGEST_SECONDS", 0.3)
    publisher, taken = slow
    began = time.monotonic()
    assert publisher.publish(ROWS * 15), "the rest is due again in a few seconds"
    assert time.monotonic() - began < 1.0
    assert 0 < len(taken) < 30


def test_a_broker_that_is_gone_is_no_error(connect: Connect) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    publisher = connect(f"redis://127.0.0.1:{port}/0")
    assert not publisher.publish(ROWS)
    assert SystemNotice.objects.filter(name=module.MESSAGES_DOWN).exists()


def test_workers_that_say_nothing_for_a_minute_are_not_relied_on(
    connect: Connect, redis_server: Redis
) -> None:
    publisher = connect(redis_server.url)
    assert publisher.is_usable(), "workers get a minute to start"
    clock.shift(timedelta(seconds=61))
    assert not publisher.is_usable()
    assert SystemNotice.objects.get().name == module.WORKERS_SILENT
    tasks.canary()
    assert publisher.is_usable()
    assert not SystemNotice.objects.exists()
    with redis.Redis.from_url(redis_server.url) as broker:
        assert broker.llen("gangline-work:gangline.v1") >= 1, "canaries were sent"
        broker.delete("gangline-work:gangline.v1")


class Recorder:
    """A publisher whose answers the test decides."""

    def __init__(self, *, works: bool) -> None:
        self.works = works
        self.rung: list[tuple[UUID, str]] = []

    def is_usable(self) -> bool:
        return True

    def publish(self, rows: Sequence[tuple[UUID, str]]) -> bool:
        self.rung += rows
        return self.works


def _round(engine: Engine, publisher: Recorder) -> None:
    ticker = Ticker()
    ticker._publisher = publisher
    ticker.round()
    ticker._inline.close()


def test_the_ticker_rings_once_and_again_after_five_seconds(shared_engine: Engine) -> None:
    workload = shared_engine.workload()
    publisher = Recorder(works=True)
    _round(shared_engine, publisher)
    _round(shared_engine, publisher)
    assert publisher.rung == [(workload.pk, settings.CELERY_TASK_DEFAULT_QUEUE)]
    assert shared_engine.truth.calls("create") == []
    clock.shift(timedelta(seconds=6))
    _round(shared_engine, publisher)
    assert len(publisher.rung) == 2, "a lost message costs five seconds"


def test_a_stop_rings_at_once_although_it_was_rung_before(shared_engine: Engine) -> None:
    workload = shared_engine.workload()
    publisher = Recorder(works=True)
    _round(shared_engine, publisher)
    Workload.objects.filter(pk=workload.pk).update(due_at=db_now(), rung_until=None)
    _round(shared_engine, publisher)
    assert len(publisher.rung) == 2


def test_what_cannot_be_published_is_done_inline_at_once(shared_engine: Engine) -> None:
    workload = shared_engine.workload()
    _round(shared_engine, Recorder(works=False))

    def runs() -> bool:
        return Workload.objects.filter(pk=workload.pk, status="Running").exists()

    wait_for(runs, seconds=5)
    assert_world(shared_engine.truth, [workload])


def test_work_of_a_local_cluster_goes_to_its_hosts_queue(engine: Engine) -> None:
    assert queue_of(engine.cluster) == settings.CELERY_TASK_DEFAULT_QUEUE
    engine.cluster.host_id = "abc"
    assert queue_of(engine.cluster) == "local.abc"


def test_a_task_of_a_newer_version_or_with_new_arguments_is_harmless(
    shared_engine: Engine,
) -> None:
    workload = shared_engine.workload()
    tasks.reconcile(str(workload.pk), v=99)
    assert {call.op for call in shared_engine.truth.calls()} <= {"probe"}
    tasks.reconcile(str(workload.pk), v=1, later="argument")
    assert len(shared_engine.truth.effects("create")) == 1


def test_the_canary_is_seen(db: None) -> None:
    assert leases.last_mark(leases.WORKERS_SEEN) is None
    tasks.canary()
    seen = leases.last_mark(leases.WORKERS_SEEN)
    assert seen is not None
    assert seen > db_now()
