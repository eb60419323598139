"""A client whose cluster is a function of the test: what a real one hardly ever answers."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from gangline.drivers.kubernetes.access import ClusterCredentials
from gangline.drivers.kubernetes.client import Answer, Client

Say = Callable[[str, str, Mapping[str, Any]], Answer]
"""Gets method, path and query; for a watch, ``body`` is the list of its events."""


class ScriptedClient(Client):
    """Never dials; ``asked`` are the requests, oldest first: method, path, whether it watches."""

    def __init__(self, say: Say) -> None:
        super().__init__(ClusterCredentials("https://cluster.example", token="x"))
        self.say = say
        self.asked: list[tuple[str, str, bool]] = []

    def request(self, method: str, path: str, **more: Any) -> Answer:
        self.asked.append((method, path, False))
        return self.say(method, path, more.get("query") or {})

    @contextmanager
    def stream(self, path: str, **more: Any) -> Iterator[tuple[int, Iterator[bytes]]]:
        query = more.get("query") or {}
        self.asked.append(("GET", path, bool(query.get("watch"))))
        answer = self.say("GET", path, query)
        events = answer.body if answer.ok else [answer.body]
        yield answer.status, iter([json.dumps(event).encode() + b"\n" for event in events])

    def count(self, method: str, *, watch: bool = False) -> int:
        """How many requests there were of this kind."""
        return len([one for one in self.asked if (one[0], one[2]) == (method, watch)])


def status(code: int, reason: str = "", retry_after: float | None = None) -> Answer:
    """An answer that is no object."""
    body = {"kind": "Status", "code": code, "reason": reason, "message": f"{reason} it is"}
    return Answer(code, body, retry_after)


def page(*items: Mapping[str, Any], version: str = "7", following: str = "") -> Answer:
    """One page of a list."""
    meta = {"resourceVersion": version, **({"continue": following} if following else {})}
    return Answer(200, {"items": list(items), "metadata": meta})
