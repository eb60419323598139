"""Follows all attempts of an installation on one cluster, by one list and watch for each kind.

What the streams tell is kept cut down in memory and joined there: job and pods become one
observation. Only what needs more is read again, strongly and few at a time: whether a job is really
gone, and why a gang waits.
"""

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from gangline.clusters.drivers.base import AttemptRef, Observation, ObservedState

from . import jobs, labels, observing, pods
from .client import Client
from .jobs import Job
from .kinds import JobKind
from .pods import Pod
from .reflector import Raw, Reflector, Sink
from .resources import PODS, Resource

log = logging.getLogger(__name__)

SIGN_OF_LIFE = 2.0
GATHER = 0.05
"""Seconds in which changes that come together are told together."""
FIRST_LIST = 10.0
REPEAT_EVERY = 60.0
"""Seconds after which an unfinished attempt is told again though nothing changed."""
EXPLAIN_EVERY = 10.0
LOOKS_AT_ONCE = 8
BATCH = 200
_OVER = (ObservedState.SUCCEEDED, ObservedState.FAILED, ObservedState.SUSPENDED)
_GONE = (*_OVER, ObservedState.ABSENT)
_WAITS = (ObservedState.PENDING, ObservedState.STARTING)

Key = tuple[str, int]
Look = Callable[[AttemptRef], Observation]


@dataclass(slots=True)
class _Known:
    """What was told of an attempt."""

    ref: AttemptRef
    seen: Observation | None = None
    told_at: float = 0.0
    looked_at: float = float("-inf")
    is_finished: bool = False
    """Told twice that it is over, in case the first telling was overtaken."""


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
class Store(Sink):
    """Jobs and pods as last heard, and which attempts have changed since somebody asked."""

    kinds: dict[Resource, JobKind]
    listener: Listener
    jobs: dict[str, Job] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    troubles: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.changes = threading.Condition()
        self._dirty: dict[Key, float] = {}
        self._heard: dict[str, float] = {}
        self._jobs_of: defaultdict[Key, set[str]] = defaultdict(set)
        self._pods_of: defaultdict[Key, set[str]] = defaultdict(set)

    @property
    def heard_at(self) -> float:
        """When the stream that is silent for longest was last heard."""
        with self.changes:
            return min(self._heard.values(), default=float("-inf"))

    def is_ready(self, resources: Sequence[Resource], *, patient: bool) -> bool:
        """Whether enough was listed to judge by. A kind that may not be followed is not waited for
        for ever; without the pods nothing can be said of any."""
        with self.changes:
            missing = [r for r in resources if r.plural not in self._heard]
            if patient or PODS in missing:
                return not missing
            return all(resource.plural in self.troubles for resource in missing)

    def take(self, seconds: float) -> dict[Key, float]:
        """Attempts that changed, with the time of the news; waits for some up to ``seconds``."""
        with self.changes:
            if not self._dirty:
                self.changes.wait(seconds)
            if self._dirty:
                self.changes.wait(GATHER)
            taken, self._dirty = self._dirty, {}
        return taken

    def of(self, key: Key) -> tuple[Job | None, list[Pod]]:
        """The attempt's job and pods. Of two jobs, somebody copied one: the older is ours."""
        with self.changes:
            jobs = [self.jobs[uid] for uid in self._jobs_of.get(key, ())]
            found = [self.pods[uid] for uid in self._pods_of.get(key, ())]
        never = datetime.max.replace(tzinfo=UTC)
        return min(jobs, key=lambda job: job.created_at or never, default=None), found

    def cut(self, resource: Resource, raw: Raw) -> Job | Pod | None:
        try:
            kind = self.kinds.get(resource)
            return pods.read(raw) if kind is None else jobs.read(raw, kind)
        except (AttributeError, KeyError, TypeError, ValueError) as why:
            log.warning("an object of %s is left out: %r", resource.plural, why)
            return None

    def listed(self, resource: Resource, kept: list[Job | Pod], read_at: float) -> None:
        fresh = {thing.uid for thing in kept}
        with self.changes:
            for uid in self._held(resource) - fresh:
                self._drop(resource, uid, read_at)
            for thing in kept:
                self._put(thing, read_at)
            self._hear(resource)

    def changed(self, resource: Resource, raw: Raw, read_at: float) -> None:
        thing = self.cut(resource, raw)
        with self.changes:
            if thing is not None:
                self._put(thing, read_at)
            self._hear(resource)

    def gone(self, resource: Resource, raw: Raw, read_at: float) -> None:
        with self.changes:
            self._drop(resource, str((raw.get("metadata") or {}).get("uid", "")), read_at)
            self._hear(resource)

    def alive(self, resource: Resource) -> None:
        with self.changes:
            self._hear(resource)

    def trouble(self, resource: Resource, reason: str) -> None:
        if self.troubles.get(resource.plural) != reason:
            self.troubles[resource.plural] = reason
            log.warning("%s cannot be followed: %s", resource.plural, reason)

    def _hear(self, resource: Resource) -> None:
        self._heard[resource.plural] = time.monotonic()
        self.troubles.pop(resource.plural, None)
        self.changes.notify_all()

    def _held(self, resource: Resource) -> set[str]:
        if resource == PODS:
            return set(self.pods)
        return {uid for uid, job in self.jobs.items() if job.kind.resource == resource}

    def _put(self, thing: Job | Pod, read_at: float) -> None:
        key = (thing.workload, thing.attempt)
        if isinstance(thing, Pod):
            if self.pods.get(thing.uid) == thing:
                return
            self.pods[thing.uid] = thing
            self._pods_of[key].add(thing.uid)
            self.listener.tell(thing)
        else:
            if self.jobs.get(thing.uid) == thing:
                return
            self.jobs[thing.uid] = thing
            self._jobs_of[key].add(thing.uid)
        self._dirty[key] = read_at

    def _drop(self, resource: Resource, uid: str, read_at: float) -> None:
        thing = self.pods.pop(uid, None) if resource == PODS else self.jobs.pop(uid, None)
        if thing is None:
            return
        key = (thing.workload, thing.attempt)
        group = self._pods_of if isinstance(thing, Pod) else self._jobs_of
        group[key].discard(uid)
        if not group[key]:
            del group[key]
        if isinstance(thing, Pod):
            self.listener.gone(uid)
        self._dirty[key] = read_at


class Watch:
    """One watch: reflectors, what they told, and what was made of it."""

    def __init__(
        self,
        client: Client,
        install: str,
        kinds: Sequence[JobKind],
        look: Look,
        listener: Listener | None = None,
    ) -> None:
        self.install, self.look = install, look
        self.listener = listener or Listener()
        self.store = Store({kind.resource: kind for kind in kinds}, self.listener)
        self._resources = [*self.store.kinds, PODS]
        wanted = labels.selector(install)
        self.reflectors = [Reflector(client, r, wanted, self.store) for r in self._resources]
        self._known: dict[Key, _Known] = {}
        self._later: dict[Key, float] = {}
        """Attempts that could not be judged, and when to try again."""

    def batches(self) -> Iterator[list[Observation]]:
        """Batches of changed observations for ever; an empty one as a sign of life."""
        for reflector in self.reflectors:
            reflector.start()
        try:
            yield from self._run()
        finally:
            for reflector in self.reflectors:
                reflector.stop()

    def _run(self) -> Iterator[list[Observation]]:
        until, is_patient = time.monotonic() + FIRST_LIST, True
        while not self.store.is_ready(self._resources, patient=is_patient):
            with self.store.changes:
                self.store.changes.wait(0.2)
            if time.monotonic() > until:
                until, is_patient = time.monotonic() + SIGN_OF_LIFE, False
                yield []
        while True:
            yield from self._cut(self._changed(self.store.take(0.0)))
            until = time.monotonic() + SIGN_OF_LIFE
            while (left := until - time.monotonic()) > 0:
                if taken := self.store.take(left):
                    yield from self._cut(self._changed(taken), only_news=True)
            yield from self._cut(self._due(), only_news=True)
            self.listener.tick()

    def _cut(
        self, found: Iterator[Observation], *, only_news: bool = False
    ) -> Iterator[list[Observation]]:
        batch: list[Observation] = []
        for seen in found:
            batch.append(seen)
            if len(batch) == BATCH:
                yield batch
                batch, only_news = [], True
        if batch or not only_news:
            yield batch

    def _changed(self, keys: dict[Key, float]) -> Iterator[Observation]:
        for key, read_at in keys.items():
            seen = self._judge(key, read_at)
            if seen is not None:
                yield from self._news(key, seen)

    def _due(self) -> Iterator[Observation]:
        """What is told though no stream told it: reasons, repetitions, what could not be judged."""
        now = time.monotonic()
        for key in [key for key, at in self._later.items() if at <= now][:LOOKS_AT_ONCE]:
            del self._later[key]
            if (seen := self._judge(key, now)) is not None:
                yield from self._news(key, seen)
        waiting = [item for item in self._known.items() if self._wants_reason(item[1], now)]
        waiting.sort(key=lambda item: item[1].looked_at)
        for key, known in waiting[:LOOKS_AT_ONCE]:
            yield from self._news(key, self._look(known))
        for key, known in list(self._known.items()):
            if known.is_finished or known.seen is None:
                continue
            if now - known.told_at >= REPEAT_EVERY:
                seen = self._judge(key, self.store.heard_at)
                if seen is not None:
                    yield from self._news(key, seen)

    def _wants_reason(self, known: _Known, now: float) -> bool:
        if known.seen is None or known.seen.state not in _WAITS:
            return False
        return now - known.looked_at >= EXPLAIN_EVERY

    def _judge(self, key: Key, read_at: float) -> Observation | None:
        if not key[0]:
            return None  # it bears our label, and no workload's
        job, its_pods = self.store.of(key)
        known = self._known.get(key)
        if job is None:
            return self._without_job(key, known, its_pods)
        if known is None:
            known = self._known[key] = _Known(jobs.ref_of(job))
        known.ref = jobs.ref_of(job)
        before = known.seen if known.seen and known.seen.state in _WAITS else None
        hints = {job.uid: before.reason} if before and before.reason else {}
        seen = observing.observe(job, its_pods, now=datetime.now(UTC), hints=hints)
        still = before is not None and before.is_impossible and seen.state is before.state
        return replace(seen, is_impossible=still, read_monotonic=read_at)

    def _without_job(
        self, key: Key, known: _Known | None, its_pods: Sequence[Pod]
    ) -> Observation | None:
        """The stream shows no job: only a strong read tells that it is gone."""
        if any(not pod.is_over for pod in its_pods):
            self._later[key] = time.monotonic() + SIGN_OF_LIFE
        if known is None:
            known = self._known[key] = _Known(AttemptRef(self.install, key[0], key[1], name=""))
        seen = self._look(known)
        if seen.state is ObservedState.UNKNOWN:
            self._later[key] = time.monotonic() + SIGN_OF_LIFE
            return None
        return seen

    def _look(self, known: _Known) -> Observation:
        known.looked_at = began = time.monotonic()
        return replace(self.look(known.ref), read_monotonic=began)

    def _news(self, key: Key, seen: Observation) -> Iterator[Observation]:
        """The observation, if it is worth telling."""
        if seen.state is ObservedState.UNKNOWN:
            return
        known, now = self._known[key], time.monotonic()
        is_same = seen == known.seen
        if is_same and now - known.told_at < REPEAT_EVERY:
            return
        known.is_finished = is_same and seen.state in _GONE
        if seen.state is ObservedState.ABSENT:
            del self._known[key]
        known.seen, known.told_at = seen, now
        self.listener.judged(key, seen.state)
        yield seen
