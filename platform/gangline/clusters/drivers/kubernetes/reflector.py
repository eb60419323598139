"""Follows one collection of a cluster: list, then watch, for ever (`reliability.md` §10.2).

https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
"""

import json
import logging
import random
import threading
import time
from collections.abc import Iterator
from typing import Any

from . import errors
from .client import SILENCE_SECONDS, Answer, Client, Unreachable
from .resources import Resource
from .wires import Wire

log = logging.getLogger(__name__)

PAGE = 500
WATCH_SECONDS = (240.0, 300.0)
"""The server ends a watch after so long; at random, so that not all begin anew together."""
RELIST_SECONDS = (480.0, 720.0)
FORBIDDEN_PAUSE = 60.0
LONGEST_PAUSE = 30.0
EMPTY = 2.0
"""A stream that ends so soon without a word, twice, may be deaf: then the list tells."""

Raw = dict[str, Any]


class Sink:
    """What a reflector tells; called from its own thread.

    ``namespace``: the one that it follows, empty where it follows all of them.
    """

    def cut(self, resource: Resource, raw: Raw) -> Any:
        """What to keep of an object; None to leave it out. A whole list of them is too large."""
        raise NotImplementedError

    def listed(
        self, resource: Resource, kept: list[Any], read_at: float, namespace: str = ""
    ) -> None:
        """Everything that is there, cut; what is not in it is gone."""
        raise NotImplementedError

    def changed(self, resource: Resource, raw: Raw, read_at: float, namespace: str = "") -> None:
        raise NotImplementedError

    def gone(self, resource: Resource, raw: Raw, read_at: float, namespace: str = "") -> None:
        raise NotImplementedError

    def alive(self, resource: Resource, namespace: str = "") -> None:
        """The cluster was heard, with or without news."""
        raise NotImplementedError

    def trouble(
        self, resource: Resource, reason: str, namespace: str = "", *, is_forbidden: bool = False
    ) -> None:
        """Nothing can be heard just now, in words why; ``is_forbidden``: a right is missing."""
        raise NotImplementedError


class _ListAgain(Exception):
    """The place in the stream is lost."""


class Reflector:
    """One thread, one collection: of one namespace or, where none is given, of all of them."""

    def __init__(
        self, client: Client, resource: Resource, selector: str, sink: Sink, namespace: str = ""
    ) -> None:
        self.client, self.resource, self.selector, self.sink = client, resource, selector, sink
        self.namespace = namespace
        self.lists = 0
        """How often everything was listed."""
        self._stop = threading.Event()
        self._wire = Wire()
        self._version = ""
        self._list_due = 0.0
        self._failures = 0
        self._deaf = 0
        self._heard_at = 0.0
        self._forced_at = float("-inf")

    def start(self) -> threading.Thread:
        """Follow in a thread of its own, which `stop` ends."""
        name = f"reflect-{self.resource.plural}"
        thread = threading.Thread(target=self.run, name=name, daemon=True)
        thread.start()
        return thread

    def stop(self) -> None:
        """End the thread, whatever it waits for."""
        self._stop.set()
        self._wire.cut()

    def run(self) -> None:
        while not self._stop.is_set():
            try:
                self._step()
            except _ListAgain:
                self._version = ""
                self._stop.wait(random.uniform(0, 2) if self.lists else 0)  # noqa: S311  no secret
            except Unreachable as why:
                if not self._stop.is_set():
                    self._trouble(str(why))
            except Exception:
                if self._stop.is_set():
                    return  # what it read was cut in the middle
                log.exception("following %s broke off", self.resource.plural)
                self._version = ""
                self._trouble("What the cluster told could not be understood.")

    def _step(self) -> None:
        if not self._version or time.monotonic() >= self._list_due:
            self._list()
        if not self._stop.is_set() and self._version:
            self._watch()

    def _list(self) -> None:
        read_at, version = time.monotonic(), ""
        kept: list[Any] = []
        page: dict[str, str | int] = {"limit": PAGE, "labelSelector": self.selector}
        while True:
            path = self.resource.path(self.namespace)
            answer = self.client.request("GET", path, query=page, wire=self._wire)
            if answer.status == 410:
                raise _ListAgain
            if not answer.ok or not isinstance(answer.body, dict):
                self._refused(answer)
                return
            meta = answer.body.get("metadata") or {}
            version = version or str(meta.get("resourceVersion", ""))
            items = answer.body.get("items") or ()
            kept += [self.sink.cut(self.resource, raw) for raw in items]
            if self._stop.is_set():
                return
            if not meta.get("continue"):
                break
            page["continue"] = meta["continue"]
        self.lists += 1
        self._version, self._failures = version, 0
        self._list_due = time.monotonic() + random.uniform(*RELIST_SECONDS)  # noqa: S311
        known = [one for one in kept if one is not None]
        self.sink.listed(self.resource, known, read_at, self.namespace)

    def _watch(self) -> None:
        left = max(5.0, self._list_due - time.monotonic())
        seconds = min(left, random.uniform(*WATCH_SECONDS))  # noqa: S311  no secret
        query: dict[str, str | int | bool] = {
            "watch": True,
            "allowWatchBookmarks": True,
            "resourceVersion": self._version,
            "timeoutSeconds": int(seconds),
            "labelSelector": self.selector,
        }
        began, heard = time.monotonic(), 0
        self._heard_at = began
        path = self.resource.path(self.namespace)
        stream = self.client.stream(path, query=query, silence=SILENCE_SECONDS, wire=self._wire)
        try:
            with stream as (status, pieces):
                if status != 200:
                    self._refused(Answer(status, _parsed(b"".join(pieces))))
                    return
                self.sink.alive(self.resource, self.namespace)
                for event in _events(pieces):
                    heard, self._heard_at, self._failures = heard + 1, time.monotonic(), 0
                    self._take(event)
                    if self._stop.is_set():
                        return
        except Unreachable:
            if time.monotonic() - self._heard_at > 0.9 * SILENCE_SECONDS:
                # Not even a bookmark: half open, or a version from the future. Begin anew.
                raise _ListAgain from None
            if time.monotonic() - began > EMPTY:
                self._failures = 0  # it was followed for a while: no reason to wait for long
            raise
        self._ended(heard, time.monotonic() - began)

    def _ended(self, heard: int, lasted: float) -> None:
        """A clean end: go on from the last version, unless the stream may have been deaf."""
        self._deaf = self._deaf + 1 if not heard and lasted < EMPTY else 0
        if not self._deaf:
            return
        self._stop.wait(min(1.0, 0.1 * 2**self._deaf))
        is_long_ago = time.monotonic() - self._forced_at > RELIST_SECONDS[0]
        if self._deaf >= 2 and is_long_ago:
            self._forced_at, self._deaf = time.monotonic(), 0
            raise _ListAgain

    def _take(self, event: Raw) -> None:
        raw, word = event.get("object"), event.get("type")
        if not isinstance(raw, dict):
            raise _ListAgain
        if word == "ERROR":
            log.info("the watch of %s ended: %s", self.resource.plural, raw.get("reason"))
            raise _ListAgain
        version = (raw.get("metadata") or {}).get("resourceVersion")
        self._version = str(version or self._version)
        read_at = time.monotonic()
        if word == "BOOKMARK":
            self.sink.alive(self.resource, self.namespace)
        elif word == "DELETED":
            self.sink.gone(self.resource, raw, read_at, self.namespace)
        else:
            self.sink.changed(self.resource, raw, read_at, self.namespace)

    def _refused(self, answer: Answer) -> None:
        if answer.status == 410:
            raise _ListAgain
        if answer.status == 404 and answer.reason != "NotFound":
            # The kind is not served: its operator was not installed, or is no more.
            self.sink.listed(self.resource, [], time.monotonic(), self.namespace)
            self._stop.wait(FORBIDDEN_PAUSE)
            return
        is_forbidden = answer.status == 403
        pause = answer.retry_after
        if answer.status in (401, 403):
            # What was granted or renewed meanwhile is taken up by then, or by another watch.
            pause = FORBIDDEN_PAUSE
        self._trouble(errors.reading(answer), pause, is_forbidden=is_forbidden)

    def _trouble(
        self, reason: str, pause: float | None = None, *, is_forbidden: bool = False
    ) -> None:
        self._failures += 1
        self.sink.trouble(self.resource, reason, self.namespace, is_forbidden=is_forbidden)
        longest = min(LONGEST_PAUSE, 0.5 * 2 ** min(self._failures, 8))
        self._stop.wait(pause or random.uniform(0.25, 1.0) * longest)  # noqa: S311  no secret


def _events(pieces: Iterator[bytes]) -> Iterator[Raw]:
    """The JSON lines of a stream, wherever it is cut."""
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            if line.strip():
                event = json.loads(line)
                if not isinstance(event, dict):
                    raise _ListAgain
                yield event


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return data.decode("utf-8", "replace")
