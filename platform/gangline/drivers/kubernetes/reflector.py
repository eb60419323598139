"""Follows one collection of a cluster: list, then watch, for ever (`reliability.md` §10.2).

https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
"""

import json
import logging
import random
import threading
import time
from collections.abc import Iterator
from typing import Any, Protocol

from . import discovery, errors, paging
from .cancellation import Cancellation
from .client import SILENCE_SECONDS, Answer, Client, Cutter, Unreachable, parsed
from .resources import Resource

log = logging.getLogger(__name__)

WATCH_SECONDS = (240.0, 300.0)
"""The server ends a watch after so long; at random, so that not all begin anew together."""
RELIST_SECONDS = (480.0, 720.0)
FORBIDDEN_PAUSE = 60.0
LONGEST_PAUSE = 30.0
HELD_SECONDS = 240.0
"""A place in the stream that was held for so long was worth its list."""
LOSSES_TOLD = 3
"""So many places that were lost sooner, one after the other, are a trouble."""
LONGEST_RELIST_PAUSE = 120.0
MOST_OF_A_CHANGE = 16 << 20
"""Bytes of one change in a watch: ten times what a cluster stores of an object."""
EMPTY = 2.0
"""A stream that ends so soon without a word, twice, may be deaf: then the list tells."""

Raw = dict[str, Any]


class Sink(Protocol):
    """What a reflector tells; called from its own thread.

    ``namespace``: the one that it follows, empty where it follows all of them.
    """

    def cut(self, resource: Resource, raw: Raw) -> Any:
        """What to keep of an object; None to leave it out. A whole list of them is too large."""

    def listed(
        self, resource: Resource, kept: list[Any], read_at: float, namespace: str = ""
    ) -> None:
        """Everything that is there, cut; what is not in it is gone."""

    def changed(self, resource: Resource, raw: Raw, read_at: float, namespace: str = "") -> None:
        """It was made, or changed."""

    def gone(self, resource: Resource, raw: Raw, read_at: float, namespace: str = "") -> None:
        """It is there no more."""

    def alive(self, resource: Resource, namespace: str = "") -> None:
        """The cluster was heard, with or without news."""

    def trouble(
        self, resource: Resource, reason: str, namespace: str = "", *, is_forbidden: bool = False
    ) -> None:
        """Nothing can be heard just now, in words why; ``is_forbidden``: a right is missing."""


class _ListAgain(Exception):
    """The place in the stream is lost; in words why, where people should know."""


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
        self._wire = Cancellation()
        self._version = ""
        self._listed_at = float("inf")
        self._list_due = 0.0
        self._losses = 0
        """Places that were lost soon after their list, one after the other."""
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
            except _ListAgain as why:
                self._lost(str(why))
            except Unreachable as why:
                if not self._stop.is_set():
                    self._trouble(str(why))
            except Exception:
                if self._stop.is_set():
                    return  # what it read was cut in the middle
                log.exception("following %s broke off", self.resource.plural)
                self._lost("The answer of the cluster could not be read.")

    def _step(self) -> None:
        if not self._version or time.monotonic() >= self._list_due:
            self._list()
        if not self._stop.is_set() and self._version:
            self._watch()

    def _lost(self, trouble: str = "") -> None:
        """The place in the stream is lost. Lists cost a cluster much: the sooner a place is lost
        after its list, time and again, the longer the next one waits."""
        was_held = time.monotonic() - self._listed_at > HELD_SECONDS
        self._losses = 1 if was_held else self._losses + 1
        self._version, self._listed_at = "", float("inf")
        longest = min(LONGEST_RELIST_PAUSE, 2.0 ** min(self._losses, 16))
        is_first = self._losses == 1
        pause = random.uniform(0.0 if is_first else 0.5 * longest, longest)  # noqa: S311  no secret
        if not trouble and self._losses >= LOSSES_TOLD:
            trouble = f"The watch of {self.resource.plural} keeps failing."
        if trouble:
            trouble = f"{trouble} It is listed again in {pause:.0f} s."
            self.sink.trouble(self.resource, trouble, self.namespace)
        self._stop.wait(pause)

    def _list(self) -> None:
        read_at, version = time.monotonic(), ""
        kept: list[Any] = []
        path = self.resource.path(self.namespace)
        query = {"labelSelector": self.selector}
        for page in paging.pages(self.client, path, query, self._wire):
            if not page.ok:
                self._refused(page)
                return
            version = version or str((page.body.get("metadata") or {}).get("resourceVersion", ""))
            kept += [self.sink.cut(self.resource, raw) for raw in paging.items(page)]
            if self._stop.is_set():
                return
        self.lists += 1
        self._version, self._failures, self._listed_at = version, 0, time.monotonic()
        self._list_due = time.monotonic() + random.uniform(*RELIST_SECONDS)  # noqa: S311
        known = [one for one in kept if one is not None]
        self.sink.listed(self.resource, known, read_at, self.namespace)
        if not version:
            raise _ListAgain  # there is no place to go on from

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
        refused: Answer | None = None
        self._heard_at = began
        path = self.resource.path(self.namespace)
        stream = self.client.stream(
            path, query=query, silence=SILENCE_SECONDS, cancellation=self._wire
        )
        try:
            with stream as (status, pieces):
                if status != 200:
                    rest = self.client.rest_left or None
                    refused = Answer(status, parsed(b"".join(pieces)), rest)
                else:
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
        if refused is not None:
            self._refused(refused)
        else:
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
        raw, word = event["object"], event.get("type")
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
        if answer.status == 404 and discovery.lacks(self.client, self.resource, self._wire):
            # Its operator was not installed, or is no more. Should it come back, a list begins.
            self._version, self._listed_at = "", float("inf")
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
    cutter = Cutter()
    for piece in pieces:
        for line in cutter.cut(piece):
            if line.strip():
                yield json.loads(line)
        if len(cutter.rest) > MOST_OF_A_CHANGE:
            raise _ListAgain("The cluster sends an endless event.")
