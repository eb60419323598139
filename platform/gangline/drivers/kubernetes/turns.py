"""Hands out what is due, one thing at a time, to threads that ask for it."""

import heapq
import itertools
import threading
import time
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

_OUT = float("inf")


class Due(Protocol):
    """What can be handed out."""

    not_before: float
    """In the clock of `time.monotonic`."""


Thing = TypeVar("Thing", bound=Due)


@dataclass
class Turns(Generic[Thing]):
    """A queue by moments. ``changed`` guards it; the caller holds it for every method but `take`.

    One thread alone waits for the next moment: of many that did, all but one would wake in vain.
    """

    changed: threading.Condition
    _heap: list[tuple[float, int, Thing]] = field(default_factory=list)
    _number: "itertools.count[int]" = field(default_factory=itertools.count)
    _minded: float = float("inf")
    """The moment that somebody waits for."""
    _is_over: bool = False

    def put(self, thing: Thing) -> None:
        """Due from ``not_before`` on; what was put before and has another moment now, is void."""
        heapq.heappush(self._heap, (thing.not_before, next(self._number), thing))
        self.changed.notify()

    @staticmethod
    def is_out(thing: Thing) -> bool:
        """Whether somebody has taken it, and not put it back."""
        return thing.not_before == _OUT

    def end(self) -> None:
        """Nothing is handed out any more."""
        self._is_over = True
        self.changed.notify_all()

    def take(self) -> Thing | None:
        """The next thing, once it is due; None at the end."""
        with self.changed:
            while not self._is_over:
                now = time.monotonic()
                due = self._next()
                if due <= now:
                    thing = heapq.heappop(self._heap)[2]
                    thing.not_before = _OUT  # so that its other entries are void
                    self.changed.notify()
                    return thing
                if due >= self._minded:
                    self.changed.wait()
                    continue
                self._minded = due
                self.changed.wait(due - now)
                if self._minded == due:
                    self._minded = float("inf")
        return None

    def _next(self) -> float:
        while self._heap and self._heap[0][2].not_before != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else float("inf")
