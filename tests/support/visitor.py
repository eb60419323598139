"""A person with a browser, without the browser: pages with a session, and a page's WebSocket."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from tests.support.installation import Installation

_BY_HAND = {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


@contextmanager
def visitor(site: Installation, user: str) -> Iterator[httpx.Client]:
    """A client signed in as `user` by a sign-in link."""
    link = site.manage("sign-in-link", user).strip()
    with httpx.Client(base_url=site.url, timeout=20, trust_env=False) as client:
        answer = client.get(link, headers=_BY_HAND)
        assert answer.status_code == 302, answer.text
        yield client


@dataclass
class LivePage:
    """An open page that follows the table and draws at once."""

    socket: ClientConnection
    heads: dict[str, int] = field(default_factory=dict)
    items: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    new: int = 0

    def read(self, *, seconds: float) -> None:
        """Take in one frame, if one comes in time."""
        try:
            frame = json.loads(self.socket.recv(timeout=seconds))
        except TimeoutError:
            return
        if frame["type"] != "delta":
            return
        self.heads |= frame["to"]
        self.items |= {item["id"]: item for item in frame["items"]}
        self.new = frame.get("new", self.new)
        self.socket.send(json.dumps({"type": "ack"}))

    def until(self, shown: Any, *, seconds: float, what: str) -> float:
        """Read until `shown()`; return how long it took."""
        began = time.monotonic()
        while not shown():
            left = began + seconds - time.monotonic()
            assert left > 0, f"Waited {seconds} s for {what}; the page shows {self}."
            self.read(seconds=left)
        return time.monotonic() - began

    def status(self, workload_id: str) -> str:
        """The word that the page shows."""
        return str(self.items.get(workload_id, {}).get("status", ""))


@contextmanager
def live_page(site: Installation, client: httpx.Client, *ids: str) -> Iterator[LivePage]:
    """The table of all workloads with the rows `ids` on it."""
    cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in client.cookies.jar)
    address = site.url.replace("http://", "ws://") + "/live"
    headers = {"Cookie": cookies}
    with connect(
        address, origin=Origin(site.url), additional_headers=headers, proxy=None
    ) as socket:
        page = LivePage(socket)
        hello = {
            "type": "hello",
            "v": 1,
            "feed": "workloads",
            "query": "",
            "since": datetime.now(UTC).isoformat(),
            "ids": list(ids),
            "after": {},
        }
        socket.send(json.dumps(hello))
        welcome = json.loads(socket.recv(timeout=10))
        assert welcome["type"] == "welcome", welcome
        page.heads = welcome["heads"]
        yield page
