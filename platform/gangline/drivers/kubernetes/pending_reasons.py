"""Why a released workload does not run yet, asked of the cluster when somebody wants to know.

Its scheduler's adapter puts it into words; what a scheduler does not know, events tell.
"""

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from gangline.drivers.base import POD_MISSING, POD_REFUSED, AttemptRef

from . import deadlines
from .client import Doubt, NotUnderstood, Unreachable, understood
from .jobs import Job
from .objects import Objects, Raw, selector
from .pods import Pod
from .resources import EVENTS, NODES, PODS, Resource
from .schedulers import Room, SchedulerAdapter, Waiting, insufficient_resources
from .schedulers.room import counted
from .wording import sentence

T = TypeVar("T")

ROOM_SECONDS = 10.0
SHARED_SECONDS = 2.0
"""What a scheduler keeps of all its gangs is read once for all that are looked at in one go."""
MOST_OF_THE_TIME = 0.1
"""Counting takes no more than this share of it, however large the cluster is."""
FIRST_COUNT = 10.0
"""Seconds for which others wait for the first count."""
MOST_PODS = 5_000
"""Of more pods on a cluster, what is free is not counted."""
MOST_SAID = 1_000
"""Gangs that wait, of which is kept what was said last."""


@dataclass(frozen=True, slots=True)
class Why:
    """One sentence, empty when nothing is known.

    ``is_final``: the cluster or its queue is too small for it.
    """

    words: str
    is_final: bool = False
    code: str = ""
    """Of ``words``, as `Observation.reason_code`."""


class Pending:
    """Reads for one cluster. Raises Unreachable, and Doubt where the cluster asks for a rest."""

    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        self._room: tuple[float, Room | None] | None = None
        """Until when the count holds, and what was counted."""
        self._listed: dict[tuple[Resource, str], tuple[float, list[Raw]]] = {}
        """Until when it holds, and what was there."""
        self._said: dict[str, Why] = {}
        """What was told of a job last, by its uid."""
        self._lock = threading.Lock()
        self._counting = threading.Lock()

    def why(
        self, ref: AttemptRef, job: Job, raw: Raw, pods: Sequence[Raw], shares: bool = False
    ) -> Why:
        """What it waits for: ``job``, which is ``raw`` as it was just read, with its pods.

        ``shares``: what its scheduler keeps of all gangs may have been read for another of them,
        a moment ago. What was told last where that cannot be asked.
        """
        with self._lock:
            last = self._said.get(job.uid, Why(""))
        told = _told(lambda: self._asked(ref, job, raw, pods, shares), last)
        with self._lock:
            self._said.pop(job.uid, None)
            self._said[job.uid] = told
            if len(self._said) > MOST_SAID:
                del self._said[next(iter(self._said))]
        return told

    def _asked(self, ref: AttemptRef, job: Job, raw: Raw, pods: Sequence[Raw], shares: bool) -> Why:
        waiting = Waiting(
            job=raw,
            pods=pods,
            objects=self._objects(job.adapter, ref, job, shares),
            room=self._free(),
        )
        if never := _never(waiting, job.adapter.bound_to(waiting)):
            return Why(sentence(never), is_final=True)
        if never := job.adapter.never(waiting):
            return Why(sentence(never), is_final=True)
        said = job.adapter.pending_reason(waiting)
        words = sentence(said) or self.warning(job.namespace, job.uid)
        return Why(words, code=_code(words))

    def warning(self, namespace: str, uid: str) -> str:
        """The newest warning about one object."""
        wanted = f"involvedObject.uid={uid},type=Warning"
        found = list(self.objects.every(EVENTS, namespace, "", fieldSelector=wanted))
        newest = max(found, key=_when, default=None)
        return sentence(str(newest.get("message") or "")) if newest else ""

    def of_pods(self, starting: Sequence[Pod]) -> dict[str, str]:
        """The newest warning about the first of these pods, by its uid; none where that cannot be
        asked."""
        if not starting:
            return {}
        first = starting[0]
        said = _told(lambda: self.warning(first.namespace, first.uid), "")
        return {first.uid: said} if said else {}

    def _objects(
        self, adapter: SchedulerAdapter, ref: AttemptRef, job: Job, shares: bool
    ) -> dict[str, list[Raw]]:
        found = {}
        for resource in adapter.reads:
            namespace = job.namespace if resource.namespaced else ""
            listed = self._all(resource, namespace, shares)
            if resource.namespaced:
                listed = [raw for raw in listed if _is_of(raw, ref, job)]
            found[resource.plural] = listed
        return found

    def _all(self, resource: Resource, namespace: str, shares: bool) -> list[Raw]:
        """A whole collection; those who share, and ask at about the same time, read it once."""
        key, began = (resource, namespace), time.monotonic()
        with self._lock:
            self._listed = {k: held for k, held in self._listed.items() if held[0] > began}
            if shares and key in self._listed:
                return self._listed[key][1]
        listed = list(self.objects.every(resource, namespace, ""))
        took = time.monotonic() - began
        with self._lock:
            self._listed[key] = (began + max(SHARED_SECONDS, took / MOST_OF_THE_TIME), listed)
        return listed

    def _free(self) -> Room | None:
        """What is free on the cluster, counted now and then; None: that would take too long."""
        known = self._room
        if known is not None and time.monotonic() < known[0]:
            return known[1]
        # One counts for all. Whoever comes meanwhile takes the count before, or waits for the
        # first one, so that it knows whether the gang can ever start.
        if not self._counting.acquire(timeout=0.0 if known else deadlines.spare(FIRST_COUNT)):
            return known[1] if known else None
        try:
            known = self._room
            if known is not None and time.monotonic() < known[0]:
                return known[1]
            return self._counted()
        finally:
            self._counting.release()

    def _counted(self) -> Room | None:
        began = time.monotonic()
        try:
            room = self._count()
        except Doubt:
            room = None
        took = time.monotonic() - began
        self._room = (began + max(ROOM_SECONDS, took / MOST_OF_THE_TIME), room)
        return room

    def _count(self) -> Room | None:
        nodes = list(self.objects.every(NODES, "", ""))
        pods = list(itertools.islice(self._placed(), MOST_PODS + 1))
        return counted(nodes, pods) if len(pods) <= MOST_PODS else None

    def _placed(self) -> Iterator[Raw]:
        """Every pod of the cluster that holds something on a node."""
        holds = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
        return self.objects.every(PODS, "", "", fieldSelector=holds)


def _told(ask: Callable[[], T], otherwise: T) -> T:
    """What ``ask`` gives; ``otherwise`` where the cluster does not tell that, or not in time: a
    look is worth more than its reason."""
    try:
        with understood("why something waits"):
            return ask()
    except NotUnderstood:
        return otherwise
    except Doubt as why:
        is_away = isinstance(why, Unreachable) and not deadlines.is_short()
        if is_away or why.retry_after is not None:
            raise
    return otherwise


def _code(words: str) -> str:
    """What the API server's own texts say: no event has a reason that tells these apart."""
    if "is forbidden" in words or "is invalid" in words:
        return POD_REFUSED
    return POD_MISSING if " not found" in words else ""


def _never(waiting: Waiting, key: str) -> str:
    """Why the cluster could not hold the whole of it if it were empty."""
    if waiting.room is None:
        return ""
    demands = insufficient_resources.whole(waiting.job)
    said = insufficient_resources.never(waiting.room, demands)
    return said or (insufficient_resources.within(waiting.room, demands, key)[1] if key else "")


def _is_of(raw: Mapping[str, Any], ref: AttemptRef, job: Job) -> bool:
    meta = raw.get("metadata") or {}
    owners = {owner.get("uid") for owner in meta.get("ownerReferences") or ()}
    wanted = dict(part.split("=", 1) for part in selector(ref).split(","))
    return job.uid in owners or wanted.items() <= (meta.get("labels") or {}).items()


def _when(event: Mapping[str, Any]) -> str:
    times = ("lastTimestamp", "eventTime", "firstTimestamp")
    found = (event.get(key) for key in times)
    series = (event.get("series") or {}).get("lastObservedTime")
    return str(series or next((at for at in found if at), ""))
