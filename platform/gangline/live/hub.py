"""One hub per web process: it hears each scope once and computes each delta once per view (R12).

A doorbell says only "scope s is at n". Losing one costs at most ``POLL_SECONDS``: the hub then
reads the heads itself, and more often while it cannot hear any. Within a gather window the last
value per cell wins, because a delta is always read from the rows, never from messages. The same
poll ends the pages of people whose rights have changed: they come back and are judged anew.
"""

import asyncio
import contextlib
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from channels.layers import InMemoryChannelLayer, get_channel_layer
from django.db import InterfaceError, OperationalError, close_old_connections

from gangline.accounts.models import User

from . import feeds
from .feeds import Delta, Heads, View

log = logging.getLogger(__name__)
T = TypeVar("T")

GROUP = "live"
POLL_SECONDS = 5.0
DEAF_POLL_SECONDS = 2.0
"""While doorbells of other processes cannot be heard, the heads are all there is."""
GATHER_SECONDS = 0.05
"""Least time between the beginnings of two rounds: no page gets more frames a second."""
REJOIN_SECONDS = 60.0
PAUSE_SECONDS = 0.01
"""Least time between two rounds, however long they take: others use the process too."""
RETRY_SECONDS = 1.0
MAX_UNACKNOWLEDGED = 2


class Subscriber:
    """One open page: its view, how far it was told, and how many frames it has not drawn yet."""

    def __init__(
        self,
        view: View,
        after: Heads,
        send: Callable[[dict[str, Any]], None],
        *,
        user: User,
        end: Callable[[], None],
    ) -> None:
        self.view = view
        self.after: dict[int, int] = dict(after)
        self.send = send
        self.user = user
        self.end = end
        """Called once, when the rights of the user are no longer those of the view."""
        self.unacknowledged = 0
        self.paused_until = 0.0
        """When its view, which failed, is tried again (in the loop's time)."""


class Hub:
    """Lives in the event loop of a web process; everything but ``notify`` runs in that loop."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._subscribers: set[Subscriber] = set()
        self._heads: dict[int, int] = {}
        self._wake = asyncio.Event()
        # One thread keeps one database connection; deltas are small and come one after another.
        self._database = ThreadPoolExecutor(1, thread_name_prefix="live")
        self._recent: list[float] = []
        self._is_deaf = False
        self._tasks = [self.loop.create_task(self._serve())]
        layer = get_channel_layer()
        if layer is not None and not isinstance(layer, InMemoryChannelLayer):
            self._tasks.append(self.loop.create_task(self._listen(layer)))

    def notify(self, scope: int, head: int) -> None:
        """Scope ``scope`` is at ``head``. May be called from any thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closing: nobody is left to tell
            self.loop.call_soon_threadsafe(self._heard, scope, head)

    async def in_database(self, work: Callable[[], T]) -> T:
        """Run ``work`` in the hub's database thread."""

        def clean() -> T:
            close_old_connections()
            try:
                return work()
            finally:
                close_old_connections()

        return await self.loop.run_in_executor(self._database, clean)

    def add(self, subscriber: Subscriber) -> None:
        self._subscribers.add(subscriber)
        self._wake.set()

    def remove(self, subscriber: Subscriber) -> None:
        self._subscribers.discard(subscriber)

    def acknowledged(self, subscriber: Subscriber) -> None:
        subscriber.unacknowledged = max(0, subscriber.unacknowledged - 1)
        if self._behind(subscriber):
            self._wake.set()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._database.shutdown(wait=False, cancel_futures=True)

    def _heard(self, scope: int, head: int) -> None:
        if head > self._heads.get(scope, 0):
            self._heads[scope] = head
            self._recent.append(self.loop.time())
            self._wake.set()

    def _behind(self, subscriber: Subscriber) -> bool:
        return any(
            self._heads.get(scope, 0) > subscriber.after.get(scope, 0)
            for scope in subscriber.view.scopes
        )

    async def _serve(self) -> None:
        polled = self.loop.time() - POLL_SECONDS
        while True:
            try:
                # Counted from the last poll: doorbells of one project must not put off the others.
                async with asyncio.timeout_at(polled + self._poll_seconds()):
                    await self._wake.wait()
            except TimeoutError:
                pass
            self._wake.clear()
            began = self.loop.time()
            try:
                if self.loop.time() - polled >= self._poll_seconds():
                    await self._poll()
                    polled = self.loop.time()
                await self._round()
            except Exception:
                log.exception("a round of live updates failed; the next one catches up")
                await asyncio.sleep(1)
            # What the round took was time to gather too.
            took = self.loop.time() - began
            await asyncio.sleep(max(self._gather_seconds() - took, PAUSE_SECONDS))

    async def _poll(self) -> None:
        await self._judge()
        scopes: dict[str, set[int]] = defaultdict(set)
        for subscriber in self._subscribers:
            scopes[subscriber.view.feed] |= subscriber.view.scopes
        for name, wanted in scopes.items():
            feed = feeds.get(name)
            heads = await self.in_database(lambda f=feed, w=wanted: f.heads(frozenset(w)))  # type: ignore[misc]
            for scope, head in heads.items():
                self._heads[scope] = max(head, self._heads.get(scope, 0))

    async def _judge(self) -> None:
        """End the pages of people whose rights have changed, in one statement for all of them."""
        users = {subscriber.user.pk for subscriber in self._subscribers}
        if not users:
            return
        versions = await self.in_database(lambda: _auth_versions(users))
        for subscriber in list(self._subscribers):
            if versions.get(subscriber.user.pk) != subscriber.user.auth_version:
                self.remove(subscriber)
                subscriber.end()

    async def _round(self) -> None:
        """Send every page that is behind, and can take a frame, what changed for it."""
        groups: dict[tuple[Any, ...], list[Subscriber]] = defaultdict(list)
        now = self.loop.time()
        for subscriber in self._subscribers:
            can_take_one = subscriber.unacknowledged < MAX_UNACKNOWLEDGED
            is_paused = now < subscriber.paused_until
            if can_take_one and not is_paused and self._behind(subscriber):
                view = subscriber.view
                groups[view.feed, view.key, view.ids, *sorted(subscriber.after.items())].append(
                    subscriber
                )
        for members in groups.values():
            try:
                await self._tell(members)
            except (OperationalError, InterfaceError):
                raise  # the database is away, for everybody
            except Exception:
                log.exception("a live view failed; the pages on other views hear on")
                for subscriber in members:
                    subscriber.paused_until = self.loop.time() + POLL_SECONDS

    async def _tell(self, members: list[Subscriber]) -> None:
        view, after = members[0].view, dict(members[0].after)
        feed = feeds.get(view.feed)
        delta: Delta = await self.in_database(lambda: feed.delta(view, after))
        frame = delta.frame(after)
        for subscriber in members:
            subscriber.after.update(delta.to)
            if not delta.is_empty:
                subscriber.unacknowledged += 1
                subscriber.send(frame)

    def _poll_seconds(self) -> float:
        return DEAF_POLL_SECONDS if self._is_deaf else POLL_SECONDS

    def _gather_seconds(self) -> float:
        """Time to gather before the next round: longer the more changes there are (R13)."""
        now = self.loop.time()
        self._recent = [at for at in self._recent if at > now - 1]
        rate = len(self._recent)
        return 0.25 if rate > 2000 else 0.1 if rate > 200 else GATHER_SECONDS

    async def _listen(self, layer: Any) -> None:
        """Hear the doorbells of other processes. Any trouble is healed by the poll."""
        channel = await layer.new_channel()
        while True:
            try:
                await self._hear(layer, channel)
            except Exception as error:  # noqa: BLE001  whatever is wrong with the layer
                log.warning("no doorbells for a while: %s", error)
                self._is_deaf = True
                self._wake.set()
                await asyncio.sleep(RETRY_SECONDS)

    async def _hear(self, layer: Any, channel: str) -> None:
        """Until the layer fails."""
        joined = -REJOIN_SECONDS
        while True:
            # The layer drops members after a day, and silently when Redis lost its data.
            if time.monotonic() - joined >= REJOIN_SECONDS:
                await layer.group_add(GROUP, channel)
                joined = time.monotonic()
                self._is_deaf = False
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(REJOIN_SECONDS):
                    message = await layer.receive(channel)
                    self._heard(int(message["scope"]), int(message["head"]))


def _auth_versions(users: Iterable[int]) -> dict[int, int]:
    active = User.objects.filter(pk__in=users, is_active=True)
    return dict(active.values_list("pk", "auth_version"))


_hub: Hub | None = None


def start() -> Hub:
    """The hub of this process, made in the running event loop at the first call."""
    global _hub
    if _hub is None or _hub.loop.is_closed() or _hub.loop is not asyncio.get_running_loop():
        _hub = Hub()
    return _hub


async def stop() -> None:
    global _hub
    if _hub is not None:
        await _hub.close()
        _hub = None


def notify(scope: int, head: int) -> None:
    """Tell this process's hub, if there is one, that ``scope`` is at ``head``. From any thread."""
    if _hub is not None:
        _hub.notify(scope, head)
