"""Follows all jobs of an installation: one ``squeue`` for all of them, and only the records of
those about which something is new.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from gangline.drivers.base import (
    AttemptRef,
    Observation,
    ObservedState,
    TellTrouble,
    ignore_all_told,
    ignore_trouble,
)

from . import observation, states
from .commands import NoAnswer
from .looks import Job, Key, Seen

BUSY_EVERY, IDLE_EVERY = 2.0, 10.0
"""Seconds between two looks: while something starts or ends, did lately or is read, and else."""
YOUNG = 30.0
LOOK_EVERY, REPEAT_EVERY = 30.0, 60.0
"""Seconds after which the records of one that runs are read again, and after which it is told
again though nothing changed."""
LONGEST_PAUSE = 30.0
BATCH = 200
AT_ONCE = 200
"""Run folders that one look reads."""


@dataclass(slots=True)
class _Known:
    """What was told of an attempt."""

    ref: AttemptRef
    job: tuple[int, str, str, int] | None = None
    seen: Observation | None = None
    told_at: float = float("-inf")
    news_at: float = float("-inf")
    """When something was last found different."""
    looked_at: float = float("-inf")
    is_finished: bool = False
    """Told twice that it is over, in case the first telling was overtaken."""


class Watch:
    """One watch. ``look`` reads the jobs and the run folders of some attempts; ``trouble`` gives
    what stands in the way although Slurm answers.
    """

    def __init__(
        self,
        install: str,
        look: Callable[[Sequence[AttemptRef]], Seen],
        collect: Callable[[Sequence[observation.Attempt]], None],
        tell: TellTrouble = ignore_trouble,
        all_told: Callable[[], None] = ignore_all_told,
        every: float | None = None,
        being_read: Callable[[], Collection[Key]] = tuple,
        trouble: Callable[[], str] = str,
    ) -> None:
        self.install, self._look, self._collect = install, look, collect
        self.tell, self.all_told, self._every = tell, all_told, every
        self._being_read, self._standing = being_read, trouble
        self._read: Collection[Key] = ()
        self.heard_at = time.monotonic()
        self._known: dict[Key, _Known] = {}
        self._trouble = ""
        self._nudged = threading.Event()

    def batches(self) -> Iterator[list[Observation]]:
        """Batches of changed observations for ever; an empty one as a sign of life."""
        failures = 0
        while True:
            began = time.monotonic()
            try:
                found = self._turn()
            except NoAnswer as why:
                failures += 1
                self._say(str(why))
                yield []
                time.sleep(min(LONGEST_PAUSE, self._pause() * 2**failures))
                continue
            failures, self.heard_at = 0, began
            self._say(self._standing())
            news = iter(found)
            yield list(islice(news, BATCH))
            while batch := list(islice(news, BATCH)):
                yield batch
            self.all_told()
            self.all_told = ignore_all_told
            self._nudged.wait(max(0.0, self._pause() - (time.monotonic() - began)))
            self._nudged.clear()

    def nudge(self) -> None:
        """Something was done to a job: look soon."""
        self._nudged.set()

    def _say(self, trouble: str) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            self.tell(trouble)

    def _turn(self) -> list[Observation]:
        began = time.monotonic()
        self._read = self._being_read()
        due = [key for key, known in self._known.items() if self._is_due(known, began)]
        seen = self._look(self._refs(due[:AT_ONCE]))
        # What a look shows as new is read at once, with its records.
        fresh = [key for key in self._changed(seen) if key not in seen.runs]
        news = self._judged(due[:AT_ONCE], seen, began)
        for at in range(0, len(fresh), AT_ONCE):
            began = time.monotonic()
            some = fresh[at : at + AT_ONCE]
            news += self._judged(some, self._look(self._refs(some)), began)
        return news

    def _refs(self, keys: Sequence[Key]) -> list[AttemptRef]:
        return [self._known[key].ref for key in keys]

    def _changed(self, seen: Seen) -> list[Key]:
        """Attempts whose job is new, another, gone, or in another state."""
        found = []
        for key, jobs in seen.jobs.items():
            known = self._known.get(key)
            if known is None:
                known = self._known[key] = _Known(replace(jobs[0].ref, ext_uid=""))
            if known.job != _signature(jobs):
                known.is_finished = False
                found.append(key)
        gone = [
            key
            for key, known in self._known.items()
            if key not in seen.jobs and known.job is not None
        ]
        return found + gone

    def _is_due(self, known: _Known, now: float) -> bool:
        if known.is_finished:
            return False
        if known.seen is None or known.seen.state not in _SETTLED:
            return True
        is_read = (known.ref.workload, known.ref.attempt) in self._read
        return is_read or now - known.looked_at >= LOOK_EVERY

    def _judged(self, keys: Sequence[Key], seen: Seen, began: float) -> list[Observation]:
        news, heres = [], []
        for key in keys:
            known = self._known[key]
            known.job = _signature(seen.jobs[key]) if key in seen.jobs else None
            known.looked_at = began
            here = observation.attempt(known.ref, seen)
            heres.append(here)
            found = observation.observe(here)
            if found.ext_uid:
                known.ref = replace(known.ref, ext_uid=found.ext_uid)
            news += self._news(key, known, found, began)
        self._collect(heres)
        return news

    def _news(self, key: Key, known: _Known, seen: Observation, began: float) -> list[Observation]:
        if seen.state is ObservedState.UNKNOWN:
            return []
        is_same, known.seen = seen == known.seen, seen
        if is_same and seen.state.is_over:
            known.is_finished = True
            if known.job is None:
                del self._known[key]
        elif is_same and began - known.told_at < REPEAT_EVERY:
            return []
        if not is_same:
            known.news_at = began
        known.told_at = began
        return [replace(seen, read_monotonic=began)]

    def _pause(self) -> float:
        if self._every is not None:
            return self._every
        now = time.monotonic()
        moving = any(
            known.seen is None
            or known.seen.state not in _SETTLED
            or now - known.news_at < YOUNG
            or key in self._read
            for key, known in self._known.items()
            if not known.is_finished
        )
        return BUSY_EVERY if moving else IDLE_EVERY


_SETTLED = (ObservedState.RUNNING, ObservedState.PENDING)


def _signature(jobs: Sequence[Job]) -> tuple[int, str, str, int]:
    """What tells that something about the jobs of an attempt is new."""
    live = [job for job in jobs if job.state in states.WAITS | states.RUNS | states.STARTS]
    job = (live or list(jobs))[0]
    return job.number, job.state, job.reason, len(jobs)
