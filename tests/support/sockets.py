"""A page's WebSocket without a browser: it goes through the whole ASGI application."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from django.conf import settings
from django.test import Client

from gangline.accounts.models import User
from gangline.config.env import env
from gangline.db.clock import db_now

RECEIVE, SEND = "websocket.receive", "websocket.send"
QUIET = 0.3
"""Seconds after which a page may be sure that nothing comes."""


async def in_database(work: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return await sync_to_async(work)(*args, **kwargs)


def cookie_of(user: User) -> bytes:
    """The header of a browser in which the person signed in."""
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    name = settings.SESSION_COOKIE_NAME
    return f"{name}={client.cookies[name].value}".encode()


class Socket:
    """One open page."""

    def __init__(self, communicator: Any) -> None:
        self.communicator = communicator

    async def say(self, **message: Any) -> None:
        await self.send(text=json.dumps(message))

    async def send(self, *, text: str | None = None, data: bytes | None = None) -> None:
        """One message as it is."""
        await self.communicator.send_input({"type": RECEIVE, "text": text, "bytes": data})

    async def hello(self, **changes: Any) -> dict[str, Any]:
        """Say where the page stands; the answer."""
        since = (await in_database(db_now)).isoformat()
        message = {"type": "hello", "v": 1, "feed": "workloads", "query": "", "since": since}
        await self.say(**(message | {"ids": [], "after": {}} | changes))
        return await self.hear("welcome", "refused")

    async def hear(self, *kinds: str, seconds: float = 5) -> dict[str, Any]:
        """The next frame of one of these kinds."""
        deadline = time.monotonic() + seconds
        while True:
            event = await self.communicator.receive_output(deadline - time.monotonic())
            assert event["type"] == SEND, event
            frame: dict[str, Any] = json.loads(event.get("text") or '{"type": "binary"}')
            if frame["type"] in kinds:
                return frame

    async def delta(self, *, seconds: float = 5) -> dict[str, Any]:
        return await self.hear("delta", seconds=seconds)

    async def hears_nothing(self) -> bool:
        """Whether no delta comes for a while. Unlike `hear`, it leaves the socket open."""
        deadline = time.monotonic() + QUIET
        while time.monotonic() < deadline:
            if not await self.communicator.receive_nothing(0.05):
                event = await self.communicator.receive_output()
                if json.loads(event["text"])["type"] == "delta":
                    return False
        return True

    async def close_code(self, *, seconds: float = 5) -> int:
        """The code with which the server closes; frames before it are let go."""
        async with asyncio.timeout(seconds):
            while True:
                event = await self.communicator.receive_output(seconds)
                if event["type"] == "websocket.close":
                    return int(event["code"])


@asynccontextmanager
async def page_of(
    user: User | None, *, origin: str | None = "", path: str = "/live", cookie: bytes = b""
) -> AsyncIterator[Socket]:
    """The socket of a page of `user`; an empty origin means our own."""
    from gangline.config.asgi import application

    headers = []
    if origin is not None:
        headers.append((b"origin", (origin or env().origins[0]).encode()))
    if user is not None:
        headers.append((b"cookie", cookie or await in_database(cookie_of, user)))
    scope = {
        "type": "websocket",
        "path": path,
        "query_string": b"",
        "headers": headers,
        "subprotocols": [],
    }
    # The library says nothing about its types.
    communicator: Any = ApplicationCommunicator(application, scope)  # type: ignore[no-untyped-call]
    await communicator.send_input({"type": "websocket.connect"})
    answer = await communicator.receive_output(5)
    if answer["type"] != "websocket.accept":
        await communicator.wait()
        raise ConnectionRefusedError(str(answer))
    try:
        yield Socket(communicator)
    finally:
        await communicator.send_input({"type": "websocket.disconnect", "code": 1000})
        await communicator.wait()
