"""What pods use, as the cluster's metrics server tells it: one list for all of them.

Where a site does not grant that, one for each namespace that has pods of ours. A cluster without a
metrics server is asked again now and then: one may be installed.
https://kubernetes.io/docs/reference/external-api/metrics.v1beta1/
"""

import logging
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gangline.drivers.logs.store import LogStore
from gangline.drivers.metrics.recorder import Recorder

from . import labels
from .client import Answer, Client, Unreachable, readable
from .pods import Pod
from .quantities import precise
from .resources import POD_METRICS

log = logging.getLogger(__name__)

EVERY, NOT_THERE = 15.0, 300.0
"""Seconds between two looks: servers measure as often; and where there is none."""
PATIENCE = 20
"""A look takes at most one part in so many of the time."""
FINEST = 15
MOST_BYTES = 64 << 20


@dataclass(slots=True)
class _Measured:
    pod: Pod
    told: str = ""
    """Time of the newest figures, as the server wrote it."""


class Measuring:
    """Of one watch. A thread looks while there are pods that run; ``stop`` ends it."""

    def __init__(self, client: Client, store: LogStore, install: str) -> None:
        self.client, self.store, self._install = client, store, install
        self._pods: dict[tuple[str, str], _Measured] = {}
        self._guard = threading.Lock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._in_parts = False

    def tell(self, pod: Pod) -> None:
        """The pod as it is now."""
        place = pod.namespace, pod.name
        with self._guard:
            if pod.is_over or not pod.has_started or not pod.role or not pod.workload:
                known = self._pods.get(place)
                if known is not None and known.pod.uid == pod.uid:
                    del self._pods[place]
                return
            known = self._pods.get(place)
            if known is None or known.pod.uid != pod.uid:
                self._pods[place] = _Measured(pod)
            if self._thread is None and not self._over.is_set():
                self._thread = threading.Thread(target=self._run, name="measuring", daemon=True)
                self._thread.start()

    def gone(self, uid: str) -> None:
        with self._guard:
            for place in [place for place, one in self._pods.items() if one.pod.uid == uid]:
                del self._pods[place]

    def stop(self) -> None:
        self._over.set()

    def _run(self) -> None:
        pause = 1.0
        while not self._over.wait(pause):
            began = time.monotonic()
            try:
                is_there = not self._pods or self.look()
            except Unreachable as why:
                log.info("what pods use is asked for later: %s", why)
                is_there = True
            except Exception:
                log.exception("what pods use could not be read")
                is_there = True
            took = time.monotonic() - began
            pause = max(EVERY, took * PATIENCE) if is_there else NOT_THERE

    def look(self) -> bool:
        """One look; False where the cluster has no metrics server. Raises Unreachable."""
        with self._guard:
            pods = dict(self._pods)
        if not self._in_parts:
            answer = self._asked("")
            if answer.status != 403:
                return self._taken(answer, pods)
            self._in_parts = True
        is_there = False
        for namespace in sorted({place for place, _ in pods}):
            is_there |= self._taken(self._asked(namespace), pods)
        return is_there

    def _asked(self, namespace: str) -> Answer:
        query = {"labelSelector": labels.selector(self._install)}
        path = POD_METRICS.path(namespace)
        return self.client.request("GET", path, query=query, most_bytes=MOST_BYTES)

    def _taken(self, answer: Answer, pods: Mapping[tuple[str, str], _Measured]) -> bool:
        if answer.ok:
            for item in readable(_read, answer.body.get("items") or (), "what a pod uses"):
                known = pods.get(item.place)
                if known is not None and known.told != item.time:
                    known.told = item.time
                    self._record(known.pod, item)
        # Anything but "there is no such thing" may pass: the server starts, or is away.
        return answer.status not in (403, 404)

    def _record(self, pod: Pod, item: "_Item") -> None:
        recorder = Recorder(self.store.folder(*pod.key, pod.replica), finest=FINEST)
        try:
            recorder.add(item.at, item.values)
        except OSError as problem:
            log.warning("what a pod uses cannot be kept: %s", problem)
        finally:
            with suppress(OSError):
                recorder.close()


@dataclass(frozen=True, slots=True)
class _Item:
    """One pod of a PodMetricsList."""

    place: tuple[str, str]
    time: str
    at: float
    values: Mapping[str, float]


def _read(item: Mapping[str, Any]) -> _Item:
    meta, time_text = item["metadata"], str(item["timestamp"])
    usages: Iterable[Mapping[str, Any]] = [one["usage"] for one in item["containers"]]
    values = {
        "cpu": sum(precise(usage["cpu"]) for usage in usages),
        "memory": sum(precise(usage["memory"]) for usage in usages),
    }
    at = datetime.fromisoformat(time_text).timestamp()
    return _Item((str(meta["namespace"]), str(meta["name"])), time_text, at, values)
