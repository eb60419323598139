"""Who sees a change of a pod, and when: a bare watch of the API server, and a reader of rows."""

import contextlib
import json
import re
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import psycopg

from gangline.drivers.kubernetes.client import Client, Unreachable
from gangline.drivers.kubernetes.resources import PODS

STAMP = re.compile(r"[0-9]{13}\.[0-9]{3}")
READ_EVERY = 0.005
SILENCE = 300.0
"""Seconds: events begin when their process is there, which takes long on a busy machine."""


def lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Whole lines of a stream, wherever it is cut."""
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole


class Eye:
    """A thread for the length of a block. ``seen``: (stamp, moment) in ms, by workload."""

    def __init__(self) -> None:
        self.seen: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> "Eye":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._over.set()
        self._thread.join(1)
        if kind is None and not self.seen:
            raise AssertionError(f"{type(self).__name__} has seen nothing.")

    def _note(self, key: str, text: str) -> None:
        if found := STAMP.search(text):
            stamp = float(found[0])
            known = self.seen[key]
            if not known or known[-1][0] != stamp:
                known.append((stamp, time.time() * 1000))

    def _look(self) -> None:
        raise NotImplementedError


class BareWatch(Eye):
    """What anybody could know at the earliest: lines of the API server, read as JSON."""

    def __init__(self, client: Client, selector: str) -> None:
        super().__init__()
        self.client, self.selector = client, selector
        self.count = 0
        """Events that were read."""

    def _look(self) -> None:
        chosen: dict[str, Any] = {"labelSelector": self.selector}
        version = self.client.list(PODS, limit=1, **chosen).body["metadata"]["resourceVersion"]
        while not self._over.is_set():  # the API server ends what is read too slowly
            query = {"watch": True, "resourceVersion": version, **chosen}
            with (
                contextlib.suppress(Unreachable),
                self.client.stream(PODS.path(), query=query, silence=SILENCE) as (_, pieces),
            ):
                for line in lines(pieces):
                    raw = json.loads(line)["object"]
                    version = raw["metadata"]["resourceVersion"]
                    self._take(raw)
                    if self._over.is_set():
                        return

    def _take(self, raw: dict[str, Any]) -> None:
        self.count += 1
        key = raw["metadata"]["labels"]["gangline.dev/workload"]
        self._note(key, json.dumps(raw["status"]["containerStatuses"]))


class RowReader(Eye):
    """Reads the rows of some workloads again and again."""

    def __init__(self, url: str, workloads: list[str]) -> None:
        super().__init__()
        self.url, self.workloads = url, workloads

    def _look(self) -> None:
        query = "SELECT id, reason FROM workloads_workload WHERE id = ANY(%s::uuid[])"
        with psycopg.connect(self.url, autocommit=True) as database:
            while not self._over.wait(READ_EVERY):
                for key, reason in database.execute(query, [self.workloads]):
                    self._note(str(key), reason)
