"""Jobs and pods of one cluster as its streams tell them, cut down and joined by attempt.

Told by reflectors from their threads, asked by one `watching.Watch`.
"""

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

from gangline.drivers.base import ObservedState

from . import jobs, pods
from .client import readable
from .jobs import Job
from .kinds import JobKind
from .pods import Pod
from .reflector import Raw
from .resources import PODS, Resource

log = logging.getLogger(__name__)

GATHER = 0.05
"""Seconds in which changes that come together are told together."""

_NEVER = datetime.max.replace(tzinfo=UTC)

Key = tuple[str, int]
Stream = tuple[Resource, str]
"""A collection and the namespace in which it is followed; empty: all of them."""


class Listener:
    """What else wants to hear of pods and of ends; see `logs.Collector`."""

    def tell(self, pod: Pod) -> None: ...

    def gone(self, uid: str) -> None: ...

    def judged(self, key: Key, state: ObservedState) -> None:
        """How the attempt stands now."""

    def tick(self) -> None:
        """Called every few seconds."""

    def stop(self) -> None:
        """The watch is over."""


@dataclass
class Store:
    """Jobs and pods as last heard, and which attempts have changed since somebody asked.

    A `reflector.Sink`.
    """

    kinds: dict[Resource, JobKind]
    listener: Listener
    jobs: dict[str, Job] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    troubles: dict[Stream, str] = field(default_factory=dict)
    """Why a stream tells nothing just now."""
    forbidden: set[Resource] = field(default_factory=set)
    """What may not be followed in all namespaces at once."""

    def __post_init__(self) -> None:
        self.changes = threading.Condition()
        self._dirty: dict[Key, float] = {}
        self._heard: dict[Stream, float] = {}
        self._barred: set[Stream] = set()
        self._jobs_of: defaultdict[Key, set[str]] = defaultdict(set)
        self._pods_of: defaultdict[Key, set[str]] = defaultdict(set)

    @property
    def heard_at(self) -> float:
        """When the stream that is silent for longest was last heard."""
        with self.changes:
            return min(self._heard.values(), default=float("-inf"))

    def is_heard(self, stream: Stream) -> bool:
        """Whether everything that this stream has to tell was listed once."""
        with self.changes:
            return stream in self._heard

    def is_barred(self, stream: Stream) -> bool:
        """Whether this stream may not be followed."""
        with self.changes:
            return stream in self._barred

    def trouble_of(self, streams: Iterable[Stream]) -> str:
        """Why any of these tells nothing, in the words of the first; empty when all of them do."""
        with self.changes:
            return next((self.troubles[one] for one in streams if one in self.troubles), "")

    def take(self, seconds: float) -> dict[Key, float]:
        """Attempts that changed, with the time of the news; waits for some up to ``seconds``."""
        with self.changes:
            if not self._dirty:
                self.changes.wait(seconds)
            if not self._dirty:
                return {}
        time.sleep(GATHER)  # not on the condition: the next change would end that wait
        with self.changes:
            taken, self._dirty = self._dirty, {}
        return taken

    def of(self, key: Key) -> tuple[Job | None, list[Pod]]:
        """The attempt's job and the pods that were made for it."""
        with self.changes:
            job = self._job_of(key)
            found = [self.pods[uid] for uid in self._pods_of.get(key, ())]
        return job, [pod for pod in found if _is_made_for(pod, job)]

    def _job_of(self, key: Key) -> Job | None:
        """Of two jobs, somebody copied one: the older is ours."""
        found = [self.jobs[uid] for uid in self._jobs_of.get(key, ())]
        return min(found, key=lambda job: job.created_at or _NEVER, default=None)

    def cut(self, resource: Resource, raw: Raw) -> Job | Pod | None:
        return next(readable(partial(self._read, resource), [raw], resource.plural), None)

    def _read(self, resource: Resource, raw: Raw) -> Job | Pod:
        kind = self.kinds.get(resource)
        return pods.read(raw) if kind is None else jobs.read(raw, kind)

    def listed(
        self, resource: Resource, kept: list[Job | Pod], read_at: float, namespace: str = ""
    ) -> None:
        fresh = {thing.uid for thing in kept}
        with self.changes:
            for uid in self._held(resource, namespace) - fresh:
                self._drop(resource, uid, read_at)
            for thing in kept:
                self._put(thing, read_at)
            if not namespace:
                self.forbidden.discard(resource)
            self._hear((resource, namespace))

    def changed(self, resource: Resource, raw: Raw, read_at: float, namespace: str = "") -> None:
        thing = self.cut(resource, raw)
        with self.changes:
            if thing is not None:
                self._put(thing, read_at)
            self._hear((resource, namespace))

    def gone(self, resource: Resource, raw: Raw, read_at: float, namespace: str = "") -> None:
        with self.changes:
            self._drop(resource, str((raw.get("metadata") or {}).get("uid", "")), read_at)
            self._hear((resource, namespace))

    def alive(self, resource: Resource, namespace: str = "") -> None:
        with self.changes:
            self._hear((resource, namespace))

    def trouble(
        self, resource: Resource, reason: str, namespace: str = "", *, is_forbidden: bool = False
    ) -> None:
        with self.changes:
            if is_forbidden:
                self._barred.add((resource, namespace))
            if is_forbidden and not namespace:
                self.forbidden.add(resource)
            is_new = self.troubles.get((resource, namespace)) != reason
            self.troubles[resource, namespace] = reason
            self.changes.notify_all()
        if is_new:
            log.warning("%s cannot be followed: %s", resource.plural, reason)

    def forget(self, stream: Stream) -> None:
        """Nothing of it is there any more."""
        resource, namespace = stream
        with self.changes:
            for uid in self._held(resource, namespace):
                self._drop(resource, uid, time.monotonic())

    def only(self, followed: Set[Stream], in_parts: Set[Resource]) -> None:
        """No other stream is followed: that it is silent says nothing. Asked time and again, as
        one that was stopped may tell a last thing.

        ``in_parts``: of these, every namespace was heard, in place of all of them at once.
        """
        with self.changes:
            for stream in self._heard.keys() - followed:
                del self._heard[stream]
            for stream in self.troubles.keys() - followed:
                del self.troubles[stream]
            self._barred &= followed
            for resource in in_parts & self.forbidden:
                if self._heard.pop((resource, ""), None) is not None:
                    self._drop_outside(resource, {one[1] for one in followed if one[0] == resource})

    def _drop_outside(self, resource: Resource, places: Set[str]) -> None:
        """Of what lies elsewhere nobody tells any more."""
        inside = {uid for place in places if place for uid in self._held(resource, place)}
        for uid in self._held(resource, "") - inside:
            self._drop(resource, uid, time.monotonic())

    def _hear(self, stream: Stream) -> None:
        self._heard[stream] = time.monotonic()
        self._barred.discard(stream)
        self.troubles.pop(stream, None)
        self.changes.notify_all()

    def _held(self, resource: Resource, namespace: str) -> set[str]:
        held: dict[str, Pod] | dict[str, Job] = self.pods if resource == PODS else self.jobs
        return {
            uid
            for uid, thing in held.items()
            if namespace in ("", thing.namespace)
            and (isinstance(thing, Pod) or thing.kind.resource == resource)
        }

    def _put(self, thing: Job | Pod, read_at: float) -> None:
        before = (self.pods if isinstance(thing, Pod) else self.jobs).get(thing.uid)
        if before == thing:
            return
        if before is not None and before.key != thing.key:
            self._leave(before, read_at)  # somebody changed its labels
        if isinstance(thing, Pod):
            self.pods[thing.uid] = thing
            self._pods_of[thing.key].add(thing.uid)
            if _is_made_for(thing, self._job_of(thing.key)):
                self.listener.tell(thing)
        else:
            self.jobs[thing.uid] = thing
            self._jobs_of[thing.key].add(thing.uid)
        self._dirty[thing.key] = read_at

    def _drop(self, resource: Resource, uid: str, read_at: float) -> None:
        thing = self.pods.pop(uid, None) if resource == PODS else self.jobs.pop(uid, None)
        if thing is None:
            return
        self._leave(thing, read_at)
        if isinstance(thing, Pod):
            self.listener.gone(uid)

    def _leave(self, thing: Job | Pod, read_at: float) -> None:
        """It is of its attempt no more."""
        group = self._pods_of if isinstance(thing, Pod) else self._jobs_of
        group[thing.key].discard(thing.uid)
        if not group[thing.key]:
            del group[thing.key]
        self._dirty[thing.key] = read_at


def _is_made_for(pod: Pod, job: Job | None) -> bool:
    return pod.is_of(job.name, job.uid) if job is not None else pod.owner is not None
