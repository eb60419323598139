"""Strong reads of attempts, one after the other, while the streams are told.

Each takes several requests; what is new on the streams must not wait for them.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from gangline.clusters.drivers.base import AttemptRef, Observation

from .store import Key

Look = Callable[[AttemptRef], Observation]


class Looker:
    """A thread that looks at what it is asked for. ``answered`` is called from it."""

    def __init__(self, look: Look, answered: Callable[[], None]) -> None:
        self.look, self._answered = look, answered
        self._asked = threading.Condition()
        self._first: dict[Key, AttemptRef] = {}
        self._others: dict[Key, AttemptRef] = {}
        """Asked for and not begun, in order."""
        self._answers: list[tuple[Key, Observation]] = []
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

    def ask(self, key: Key, ref: AttemptRef, *, is_first: bool = False) -> None:
        """Look at it from now on, once. ``is_first``: before all others."""
        with self._asked:
            if key in self._first or key in self._others:
                return
            (self._first if is_first else self._others)[key] = ref
            self._asked.notify()

    def answers(self) -> list[tuple[Key, Observation]]:
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
            while (asked := self._next()) is not None:
                key, ref = asked
                began = time.monotonic()
                seen = replace(self.look(ref), read_monotonic=began)
                with self._asked:
                    self._answers.append((key, seen))
                self._answered()
        except Exception as error:  # noqa: BLE001  told to whoever waits for the answers
            with self._asked:
                self._broke = error
            self._answered()

    def _next(self) -> tuple[Key, AttemptRef] | None:
        with self._asked:
            while not (self._is_over or self._first or self._others):
                self._asked.wait()
            if self._is_over:
                return None
            queue = self._first or self._others
            key = next(iter(queue))
            return key, queue.pop(key)
