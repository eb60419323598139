"""Follows all attempts of an installation on one cluster, by one list and watch for each kind.

What the streams tell is kept cut down in memory and joined there: job and pods become one
observation. Only what needs more is read again, strongly and one at a time: whether a job is really
gone, and why a gang waits.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from gangline.drivers.base import (
    AttemptRef,
    Observation,
    ObservedState,
    TellTrouble,
    ignore_all_told,
    ignore_trouble,
)
from gangline.drivers.observation_queue import Look, Looker

from . import jobs, observation
from .client import Client, readable
from .followed import Following
from .kinds import JobKind
from .pods import Pod
from .resources import PODS
from .store import Key, Listener, Store

__all__ = ["Listener", "Store", "Watch"]

SIGN_OF_LIFE = 2.0
FIRST_LIST = 10.0
REPEAT_EVERY = 60.0
"""Seconds after which an unfinished attempt is told again though nothing changed."""
EXPLAIN_EVERY = 10.0
REASONS_AT_ONCE = 8
"""Looks at why gangs wait that may be asked for at one time: others wait behind them."""
BATCH = 200
_WAITS = (ObservedState.PENDING, ObservedState.STARTING)


@dataclass(slots=True)
class _Known:
    """What was told of an attempt."""

    ref: AttemptRef
    seen: Observation | None = None
    told_at: float = 0.0
    looked_at: float = float("-inf")
    is_finished: bool = False
    """Told twice that it is over, in case the first telling was overtaken."""


class Watch:
    """One watch: what is followed, what it told, and what was made of it."""

    def __init__(
        self,
        client: Client,
        install: str,
        kinds: Sequence[JobKind],
        look: Look,
        listener: Listener | None = None,
        tell: TellTrouble = ignore_trouble,
        all_told: Callable[[], None] = ignore_all_told,
    ) -> None:
        self.install, self.tell = install, tell
        self._all_told: Callable[[], None] | None = all_told
        self.listener = listener or Listener()
        self.store = Store({kind.resource: kind for kind in kinds}, self.listener)
        self.following = Following(client, install, [*self.store.kinds, PODS], self.store)
        self.looker = Looker(look, self._wake)
        self._trouble: str | None = None
        self._known: dict[Key, _Known] = {}
        self._later: dict[Key, float] = {}
        """Attempts that could not be judged, and when to try again."""

    def batches(self) -> Iterator[list[Observation]]:
        """Batches of changed observations for ever; an empty one as a sign of life."""
        self.following.start()
        self.looker.start()
        try:
            yield from self._run()
        finally:
            self.looker.stop()
            self.following.stop()

    def _run(self) -> Iterator[list[Observation]]:
        until, is_patient = time.monotonic() + FIRST_LIST, True
        while not self.following.is_ready(patient=is_patient):
            with self.store.changes:
                self.store.changes.wait(0.2)
            self._tell_trouble()
            if time.monotonic() > until:
                until, is_patient = time.monotonic() + SIGN_OF_LIFE, False
                yield []
        while True:
            is_whole = self.following.is_whole  # asked first: what was listed then is taken now
            yield from self._cut(self._changed(self.store.take(0.0)))
            if is_whole and self._all_told is not None:
                all_told, self._all_told = self._all_told, None
                all_told()
            until = time.monotonic() + SIGN_OF_LIFE
            while (left := until - time.monotonic()) > 0:
                yield from self._cut(self._changed(self.store.take(left)), only_news=True)
                yield from self._cut(self._looked(), only_news=True)
            yield from self._cut(self._due(), only_news=True)
            self.listener.tick()
            self._tell_trouble()

    def _tell_trouble(self) -> None:
        """Follow what became necessary, and say what cannot be followed, if that changed."""
        self.following.adapt()
        trouble = self.following.trouble
        if trouble == self._trouble:
            return
        if not trouble and self._trouble:
            for known in self._known.values():
                known.told_at = float("-inf")  # it is true again, though nothing changed
        self._trouble = trouble
        self.tell(trouble)

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
            yield from self._judged(key, read_at)

    def _judged(self, key: Key, read_at: float) -> Iterator[Observation]:
        """One that is odd is left out: the others must have their news."""
        judged = readable(lambda key: self._judge(key, read_at), [key], "an attempt")
        for seen in filter(None, judged):
            yield from self._news(key, seen)

    def _looked(self) -> Iterator[Observation]:
        """What strong reads found."""
        for seen in self.looker.answers():
            key = seen.workload, seen.attempt
            if key not in self._known:
                continue
            if seen.state is ObservedState.UNKNOWN:
                self._later[key] = time.monotonic() + SIGN_OF_LIFE
            yield from self._news(key, seen)

    def _due(self) -> Iterator[Observation]:
        """What is told though no stream told it: repetitions, what could not be judged. Asks why
        gangs wait."""
        now, heard_at = time.monotonic(), self.store.heard_at
        for key in [key for key, at in self._later.items() if at <= now]:
            del self._later[key]
            yield from self._judged(key, heard_at)
        waiting = [known for known in self._known.values() if self._wants_reason(known, now)]
        waiting.sort(key=lambda known: known.looked_at)
        for known in waiting[: max(0, REASONS_AT_ONCE - len(self.looker))]:
            known.looked_at = now
            self.looker.ask(known.ref)
        for key, known in list(self._known.items()):
            if known.is_finished or known.seen is None or now - known.told_at < REPEAT_EVERY:
                continue
            if heard_at >= _began(known.seen):
                yield from self._judged(key, heard_at)

    def _wants_reason(self, known: _Known, now: float) -> bool:
        if known.seen is None or known.seen.state not in _WAITS:
            return False
        return now - known.looked_at >= EXPLAIN_EVERY

    def _judge(self, key: Key, read_at: float) -> Observation | None:
        if not all(key):
            return None  # it bears our label, and no workload's or attempt's
        job, its_pods = self.store.of(key)
        known = self._known.get(key)
        if job is None:
            self._ask_what_became(key, known, its_pods)
            return None
        if known is None:
            known = self._known[key] = _Known(jobs.ref_of(job))
        elif known.ref.ext_uid not in ("", job.uid):
            self._ask_what_became(key, known, ())  # not the one that was told of
            return None
        known.ref = jobs.ref_of(job)
        before = known.seen if known.seen and known.seen.state in _WAITS else None
        hints = {job.uid: before.reason} if before and before.reason else {}
        seen = observation.observe(job, its_pods, now=datetime.now(UTC), hints=hints)
        still = before is not None and before.is_impossible and seen.state is before.state
        return replace(seen, is_impossible=still, read_monotonic=read_at)

    def _ask_what_became(self, key: Key, known: _Known | None, its_pods: Sequence[Pod]) -> None:
        """The stream shows no job: only a strong read tells that it is gone."""
        if any(not pod.is_over for pod in its_pods):
            self._later[key] = time.monotonic() + SIGN_OF_LIFE
        if known is None:
            known = self._known[key] = _Known(AttemptRef(self.install, key[0], key[1], name=""))
        self.looker.ask(known.ref, is_first=True)

    def _wake(self) -> None:
        """Somebody may wait for changes: there is an answer."""
        with self.store.changes:
            self.store.changes.notify_all()

    def _news(self, key: Key, seen: Observation) -> Iterator[Observation]:
        """The observation, if it is worth telling. What was heard before a look began, that look
        has seen; and what a look saw may be past by the time that it ends."""
        if seen.state is ObservedState.UNKNOWN:
            return
        known, now = self._known[key], time.monotonic()
        if known.seen is not None and _began(seen) < _began(known.seen):
            return
        is_same, known.seen = seen == known.seen, seen
        if is_same and now - known.told_at < REPEAT_EVERY:
            return
        known.is_finished = is_same and seen.state.is_over
        if seen.state is ObservedState.ABSENT:
            del self._known[key]
        known.told_at = now
        self.listener.judged(key, seen.state)
        yield seen


def _began(seen: Observation) -> float:
    return seen.read_monotonic or 0.0
