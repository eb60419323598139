"""The WebSocket of a page: hello, deltas, acknowledgements, heartbeats."""

import asyncio
import json
import time
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer

from gangline.accounts.middleware import is_session_alive
from gangline.accounts.models import User

from . import feeds, hub

BEAT_SECONDS = 10.0
RECHECK_SECONDS = 45.0
"""A look at the session comes with a beat, so that signing out ends the page within 60 s."""
HELLO_SECONDS = 5.0
ACK_SECONDS = 20.0
MESSAGES_PER_SECOND = int(3 / hub.GATHER_SECONDS)
"""Three times what a page that keeps up sends: an acknowledgement of each frame."""
MAX_IDS = 200
MAX_MESSAGE = 1 << 16
"""Characters; a hello with the most rows and the longest query has a fifth of it."""

FORBIDDEN, SLOW, FLOOD, NONSENSE = 4003, 4008, 4029, 4000
CHANGED = 4001
"""The rights of the person changed: the page may come back, and then follows what is left."""

END: dict[str, Any] = {"type": "end"}
"""In the queue of a page: nothing more is sent to it."""


class LiveConsumer(AsyncWebsocketConsumer):
    """Holds no channel-layer name of its own: the hub hands it frames in memory."""

    channel_layer_alias = None  # type: ignore[assignment]
    user: User
    served_by: hub.Hub

    async def connect(self) -> None:
        user = self.scope.get("user")
        if not isinstance(user, User) or not user.is_active:
            await self.close(FORBIDDEN)
            return
        self.user = user
        self.subscriber: hub.Subscriber | None = None
        self.served_by = hub.start()
        self.outgoing: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.received: list[float] = []
        self.waiting_since: float | None = None
        await self.accept()
        self.tasks = [asyncio.create_task(self._send()), asyncio.create_task(self._keep())]

    async def disconnect(self, code: int) -> None:
        for task in getattr(self, "tasks", ()):
            task.cancel()
        if subscriber := getattr(self, "subscriber", None):
            self.served_by.remove(subscriber)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        now = time.monotonic()
        self.received = [at for at in self.received if at > now - 1] + [now]
        if len(self.received) > MESSAGES_PER_SECOND:
            await self.close(FLOOD)
            return
        try:
            if text_data is None or len(text_data) > MAX_MESSAGE:
                raise ValueError
            message = json.loads(text_data)
        except (ValueError, RecursionError):
            await self.close(NONSENSE)
            return
        kind = message.get("type") if isinstance(message, dict) else None
        if kind == "hello":
            await self._hello(message)
        elif kind == "ack" and self.subscriber:
            self.served_by.acknowledged(self.subscriber)
            self.waiting_since = now if self.subscriber.unacknowledged else None
        else:
            await self.close(NONSENSE)

    async def _hello(self, message: dict[str, Any]) -> None:
        try:
            feed = feeds.get(message.get("feed"))
            ids = message.get("ids", [])
            if not isinstance(ids, list) or len(ids) > MAX_IDS:
                raise feeds.Refused(f"A page follows at most {MAX_IDS} rows.")
            view = await self.served_by.in_database(lambda: feed.open(self.user, message))
            heads = await self.served_by.in_database(lambda: feed.heads(view.scopes))
        except feeds.Refused as refusal:
            await self.send(json.dumps({"type": "refused", "message": str(refusal)}))
            await self.close(FORBIDDEN)
            return
        after = _after(message.get("after"), heads)
        if self.subscriber:
            self.served_by.remove(self.subscriber)
        self.subscriber = hub.Subscriber(
            view,
            after,
            self.outgoing.put_nowait,
            user=self.user,
            end=lambda: self.outgoing.put_nowait(END),
        )
        for scope, head in heads.items():
            self.served_by.notify(scope, head)
        told = {str(scope): head for scope, head in heads.items()}
        self.outgoing.put_nowait({"type": "welcome", "heads": told})
        self.served_by.add(self.subscriber)

    async def _send(self) -> None:
        while True:
            frame = await self.outgoing.get()
            if frame is END:
                await self.close(CHANGED)
                return
            if frame["type"] == "delta" and self.waiting_since is None:
                self.waiting_since = time.monotonic()
            await self.send(json.dumps(frame, separators=(",", ":")))

    async def _keep(self) -> None:
        """Heartbeat, slow-reader guard, and a fresh look at the person's session each minute."""
        await asyncio.sleep(HELLO_SECONDS)
        if self.subscriber is None:
            await self.close(NONSENSE)
            return
        checked = time.monotonic()
        while True:
            now = time.monotonic()
            if self.waiting_since is not None and now - self.waiting_since > ACK_SECONDS:
                await self.close(SLOW)
                return
            if now - checked > RECHECK_SECONDS:
                checked = now
                if not await self.served_by.in_database(self._is_signed_in):
                    await self.close(FORBIDDEN)
                    return
            self.outgoing.put_nowait({"type": "beat"})
            await asyncio.sleep(BEAT_SECONDS)

    def _is_signed_in(self) -> bool:
        return is_session_alive(self.scope["session"].session_key)


def _after(said: object, heads: dict[int, int]) -> dict[int, int]:
    """Where the page says it stands, by scope; never beyond the head (a restored database)."""
    given = said if isinstance(said, dict) else {}
    after = {}
    for scope, head in heads.items():
        value = given.get(str(scope))
        known = value if isinstance(value, int) and not isinstance(value, bool) else head
        after[scope] = min(max(known, 0), head)
    return after
