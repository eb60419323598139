"""Looks at attempts one after the other, in a thread of their own.

A look may take several requests and some seconds; what a watch has to tell must not wait for it.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from .base import AttemptRef, Observation

_Key = tuple[str, int]

Look = Callable[[AttemptRef], Observation]


class Looker:
    """A thread that looks at what it is asked for. ``answered`` is called from it."""

    def __init__(self, look: Look, answered: Callable[[], None] | None = None) -> None:
        self.look, self._answered = look, answered or (lambda: None)
        self._asked = threading.Condition()
        self._first: dict[_Key, AttemptRef] = {}
        self._others: dict[_Key, AttemptRef] = {}
        """Asked for and not begun, in order."""
        self._answers: list[Observation] = []
        self._broke: Exception | None = None
        self._is_over = False

    def __len__(self) -> int:
        """How many are asked for and not begun."""
        with self._asked:
            return len(self._first) + len(self._others)

    def start(self) -> None:
        threading.Thread(target=self._run, name="look", daemon=True).start()

    def stop(self) -> None:
        """It ends after the look that it is at."""
        with self._asked:
            self._is_over = True
            self._asked.notify()

    def ask(self, ref: AttemptRef, *, is_first: bool = False) -> None:
        """Look at it from now on, once. ``is_first``: before all others."""
        key = ref.workload, ref.attempt
        with self._asked:
            if is_first:
                self._others.pop(key, None)  # it may wait there already
                self._first.setdefault(key, ref)
            elif key not in self._first:
                self._others.setdefault(key, ref)
            self._asked.notify()

    def answers(self) -> list[Observation]:
        """What was found since the last call, each with the moment at which its read began.

        Raises what a look raised: nothing is asked any more then.
        """
        with self._asked:
            if self._broke is not None:
                raise self._broke
            found, self._answers = self._answers, []
            return found

    def _run(self) -> None:
        try:
            while (ref := self._next()) is not None:
                began = time.monotonic()
                seen = replace(self.look(ref), read_monotonic=began)
                with self._asked:
                    self._answers.append(seen)
                self._answered()
        except Exception as error:  # noqa: BLE001  told to whoever waits for the answers
            with self._asked:
                self._broke = error
            self._answered()

    def _next(self) -> AttemptRef | None:
        with self._asked:
            while not (self._is_over or self._first or self._others):
                self._asked.wait()
            if self._is_over:
                return None
            queue = self._first or self._others
            return queue.pop(next(iter(queue)))
