"""What replicas use: from the lines of the sampler in each (`texts.SAMPLING`) into our own files.

The lines come with the look at the other records of a run folder; nobody asks for them alone.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from gangline.drivers.logs.store import LogStore, locked
from gangline.drivers.metrics.reader import read
from gangline.drivers.metrics.recorder import Rates, Recorder

from .logs import REPLICA
from .looks import Key, Seen

log = logging.getLogger(__name__)

COLUMNS = ("cpu", "memory", "read", "written", "gpu", "gpu_memory", "received", "sent")
COUNTED = frozenset({"cpu", "read", "written", "received", "sent"})
"""Those that only grow: their rates are kept."""
BEFORE = 90.0
"""Seconds for which lines that are known are read again after a start, to count from."""


class Sampled:
    """Of one cluster: up to when each replica's lines were recorded."""

    def __init__(self, store: LogStore) -> None:
        self.store = store
        self._known: dict[Key, dict[str, tuple[float, Rates]]] = {}

    def since(self, key: Key) -> float:
        """Of the replica that is furthest back; what lies before needs not come again."""
        known = self._known.get(key)
        if known:
            return min(at for at, _ in known.values())
        folder = self.store.attempt_folder(*key)
        ends = [series.ends for place in folder.glob("*/metrics") if (series := read(place.parent))]
        return max(0.0, min(ends, default=0.0) - BEFORE)

    def take(self, seen: Seen) -> None:
        """Record what a look brought."""
        for key, lines in seen.samples.items():
            by_replica: dict[str, list[tuple[float, dict[str, float]]]] = {}
            for name, at, values in _read(lines):
                by_replica.setdefault(name, []).append((at, values))
            for name, samples in by_replica.items():
                try:
                    self._record(key, name, samples)
                except OSError as problem:
                    log.warning("what a replica uses cannot be kept: %s", problem)

    def forget(self, over: Iterable[Key]) -> None:
        """Attempts that are ``over`` have told everything."""
        for key in over:
            self._known.pop(key, None)

    def _record(
        self, key: Key, name: str, samples: Sequence[tuple[float, Mapping[str, float]]]
    ) -> None:
        place = self.store.folder(*key, name)
        with locked(place) as is_ours:
            if not is_ours:
                return  # another brings this log, and these lines come again
            recorder = Recorder(place)
            known = self._known.setdefault(key, {})
            upto, rates = known.get(name) or (recorder.newest, Rates())
            for at, values in samples:
                if name in known and at <= upto:
                    continue
                counters = {column: n for column, n in values.items() if column in COUNTED}
                told = rates.of(at, counters)
                told |= {column: n for column, n in values.items() if column not in COUNTED}
                if at > upto:
                    upto = at
                    if told:
                        recorder.add(at, told)
                known[name] = (upto, rates)
            recorder.close()


def _read(lines: Iterable[str]) -> Iterator[tuple[str, float, dict[str, float]]]:
    """Replica, time and what is known; a line that is no such is left out."""
    for line in lines:
        name, *words = line.split()
        if not REPLICA.fullmatch(name) or len(words) != 1 + len(COLUMNS):
            continue
        with suppress(ValueError):
            figures = {c: float(w) for c, w in zip(COLUMNS, words[1:], strict=True) if w != "-"}
            if all(0.0 <= n < 1e18 for n in figures.values()):
                yield name, float(words[0]), figures
