"""The doorbell of open pages goes over Redis, and losing it costs at most one poll (R12, R35a)."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import pytest
import redis
from channels.layers import channel_layers
from django.test import override_settings

from gangline.accounts.models import User
from gangline.live import feeds, hub, notify
from gangline.live.feeds import Delta, View
from scripts import services
from tests.support.tcpx import Proxy, proxy
from tests.support.waiting import wait_for_async

SCOPE = 7


class Rows:
    """A feed of one project whose head is a number here, as if in the database."""

    head = 0

    def open(self, user: User, hello: Mapping[str, Any]) -> View:
        raise NotImplementedError

    def heads(self, scopes: frozenset[int]) -> dict[int, int]:
        return {SCOPE: self.head}

    def delta(self, view: View, after: Mapping[int, int]) -> Delta:
        return Delta(to={SCOPE: self.head}, items=[{"id": "w", "seq": self.head}])


class Page:
    """An open page that draws at once."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.drawn = 0
        self.subscriber = hub.Subscriber(
            View(feed="rows", key="all", scopes=frozenset({SCOPE}), ids=frozenset({"w"})),
            {SCOPE: 0},
            self._draw,
            user=User(pk=0),
            end=lambda: None,
        )

    def _draw(self, frame: dict[str, Any]) -> None:
        self.drawn = frame["to"][str(SCOPE)]
        self.subscriber.unacknowledged = 0

    async def shows(self, head: int, *, within: float) -> None:
        async def does() -> bool:
            return self.drawn == head

        await wait_for_async(does, seconds=within, what=f"the page to show {head}")


@pytest.fixture
def broker() -> Iterator[services.Redis]:
    """A Redis of this test's own, to be killed."""
    with services.redis() as server:
        yield server


@pytest.fixture
def between(broker: services.Redis) -> Iterator[Proxy]:
    with proxy(broker.port) as made:
        yield made


@pytest.fixture
def over_redis(broker: services.Redis, between: Proxy) -> Iterator[None]:
    """The layer of production, through the proxy; the thread that sends starts anew."""
    address = broker.url.replace(str(broker.port), str(between.port))
    host = {"address": address, "socket_timeout": 8, "socket_connect_timeout": 1}
    layer = {"BACKEND": "channels_redis.core.RedisChannelLayer", "CONFIG": {"hosts": [host]}}
    with override_settings(CHANNEL_LAYERS={"default": layer}):
        channel_layers.backends = {}
        yield
    channel_layers.backends = {}


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> Rows:
    made = Rows()
    monkeypatch.setitem(feeds._feeds, "rows", made)
    monkeypatch.setattr(notify, "_sender", notify._Sender())
    # No database here, and nobody whose rights change.
    monkeypatch.setattr(hub, "_auth_versions", lambda users: dict.fromkeys(users, 1))
    return made


@pytest.fixture
async def page(rows: Rows, over_redis: None) -> AsyncIterator[Page]:
    """A page in a web process: the hub is not the one that `announce` knows in its own."""
    elsewhere = hub.Hub()
    page = Page(rows)
    elsewhere.add(page.subscriber)
    yield page
    await elsewhere.close()


async def _listening(broker: services.Redis) -> None:
    """Wait until the hub has joined the group and waits for messages."""

    async def does() -> bool:
        with redis.Redis.from_url(broker.url) as client:
            joined = any(client.zcard(key) for key in client.scan_iter("*:group:*"))
            return joined and b"bzpopmin" in {c["cmd"].encode() for c in client.client_list()}

    await wait_for_async(does, seconds=5, what="the hub to listen")


def _announce(rows: Rows, head: int) -> float:
    """Commit a change and ring, as a request does; returns how long that took."""
    rows.head = head
    began = time.monotonic()
    notify.announce(SCOPE, head)
    return time.monotonic() - began


async def test_a_change_in_another_process_is_drawn_at_once(
    page: Page, broker: services.Redis, rows: Rows
) -> None:
    await _listening(broker)
    for head in (1, 2, 3):
        _announce(rows, head)
        await page.shows(head, within=1)


async def test_a_page_made_deaf_by_flushall_converges_by_polling(
    page: Page, broker: services.Redis, rows: Rows, caplog: pytest.LogCaptureFixture
) -> None:
    await _listening(broker)
    with caplog.at_level(logging.WARNING), redis.Redis.from_url(broker.url) as client:
        client.flushall()
        _announce(rows, 1)
        await page.shows(1, within=6)
    assert caplog.records == []


@pytest.mark.thorough
async def test_after_flushall_the_hub_joins_again(
    monkeypatch: pytest.MonkeyPatch, rows: Rows, over_redis: None, broker: services.Redis
) -> None:
    monkeypatch.setattr(hub, "REJOIN_SECONDS", 0.5)
    monkeypatch.setattr(hub, "POLL_SECONDS", 600.0)
    elsewhere = hub.Hub()
    page = Page(rows)
    elsewhere.add(page.subscriber)
    await _listening(broker)
    with redis.Redis.from_url(broker.url) as client:
        client.flushall()
    await _listening(broker)
    _announce(rows, 1)
    await page.shows(1, within=1)
    await elsewhere.close()


@pytest.mark.thorough
async def test_without_redis_nobody_waits_and_pages_poll(
    page: Page, broker: services.Redis, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notify, "PAUSE_SECONDS", 0.2)
    await _listening(broker)
    broker.process.kill()
    broker.process.wait()
    assert _announce(rows, 1) < 0.1
    await page.shows(1, within=6)
    broker.start_again()
    await _listening(broker)

    async def drawn_again() -> bool:
        _announce(rows, rows.head + 1)
        await asyncio.sleep(0.3)
        return page.drawn == rows.head

    await wait_for_async(drawn_again, seconds=5, what="doorbells after the return of Redis")


async def test_a_redis_that_never_answers_holds_nobody_up(
    page: Page, between: Proxy, broker: services.Redis, rows: Rows
) -> None:
    await _listening(broker)
    between.go_silent()
    for head in (1, 2, 3):
        assert _announce(rows, head) < 0.1
    await page.shows(3, within=6)


@pytest.mark.thorough
def test_a_broken_layer_never_fails_the_request_that_rang(
    rows: Rows, caplog: pytest.LogCaptureFixture
) -> None:
    layer = {"default": {"BACKEND": "channels_redis.core.Nothing"}}
    with override_settings(CHANNEL_LAYERS=layer), caplog.at_level(logging.WARNING):
        channel_layers.backends = {}
        _announce(rows, 1)
    channel_layers.backends = {}
    assert "open pages poll" in caplog.text
