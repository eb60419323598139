"""Follows all attempts of this machine: a bell that shims ring, and a look each 2 s as the net."""

import os
import select
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from gangline.drivers.base import Observation, ignore_all_told

from .run_folder import BadName, RunFolder, all_runs, make_private

SCAN_EVERY = 2.0
GATHER = 0.02
"""Seconds in which rings that come together are answered together."""
REPEAT_EVERY = 30.0
"""Seconds after which an unfinished attempt is reported again though nothing changed."""
BATCH = 200

Look = Callable[[RunFolder], Observation]
Key = tuple[str, int]


def watch(
    data_dir: Path,
    owns: Callable[[RunFolder], bool],
    look: Look,
    all_told: Callable[[], None] = ignore_all_told,
) -> Iterator[list[Observation]]:
    """Batches of changed observations for ever; an empty batch when a look found nothing new.

    ``all_told`` is called once, when everything that was there has been told.
    """
    follower = _Follower(data_dir, owns, look)
    make_private(data_dir)
    bell = _bind(data_dir / "runs")
    try:
        while True:
            yield from _batches(follower.scan())
            all_told()
            all_told = ignore_all_told
            until = time.monotonic() + SCAN_EVERY
            while (left := until - time.monotonic()) > 0:
                rung = _rings(bell, left)
                if rung and (changed := list(follower.look_at(data_dir, rung))):
                    yield from _batches(changed)
    finally:
        bell.close()


class _Follower:
    def __init__(self, data_dir: Path, owns: Callable[[RunFolder], bool], look: Look) -> None:
        self.data_dir, self.owns, self.look = data_dir, owns, look
        self.last: dict[Key, Observation] = {}
        self.told_at: dict[Key, float] = {}
        self.finished: set[Key] = set()

    def scan(self) -> Iterator[Observation]:
        folders = {(f.workload, f.attempt): f for f in all_runs(self.data_dir)}
        for gone in self.last.keys() - folders.keys():
            del self.last[gone], self.told_at[gone]
        self.finished &= folders.keys()
        return self._changed(folders[key] for key in folders.keys() - self.finished)

    def look_at(self, data_dir: Path, keys: Iterable[Key]) -> Iterator[Observation]:
        folders = []
        for workload, attempt in keys:
            try:
                folders.append(RunFolder(data_dir, workload, attempt))
            except BadName:
                continue
        return self._changed(folders)

    def _changed(self, folders: Iterable[RunFolder]) -> Iterator[Observation]:
        for folder in folders:
            key = (folder.workload, folder.attempt)
            if not self.owns(folder):
                continue
            began = time.monotonic()
            seen = self.look(folder)
            known = self.last.get(key)
            if seen == known and began - self.told_at[key] < REPEAT_EVERY:
                continue
            # A finished attempt is told twice, in case the first telling was overtaken.
            if seen == known and seen.state.is_over:
                self.finished.add(key)
            self.last[key], self.told_at[key] = seen, began
            yield replace(seen, read_monotonic=began)


def _batches(found: Iterable[Observation]) -> Iterator[list[Observation]]:
    """As they are found, so that nobody waits for a whole look; at least one, if an empty one."""
    left = iter(found)
    yield list(islice(left, BATCH))
    while batch := list(islice(left, BATCH)):
        yield batch


def _bind(runs: Path) -> socket.socket:
    folder = os.open(runs, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    bell = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        # The newest watcher gets the bell; an older one still looks every 2 s.
        (runs / "bell").unlink(missing_ok=True)
        bell.bind(f"/proc/self/fd/{folder}/bell")
    except OSError:
        bell.close()
        raise
    finally:
        os.close(folder)
    bell.setblocking(False)
    return bell


def _rings(bell: socket.socket, seconds: float) -> set[Key]:
    """Who rang within ``seconds``; returns soon after the first ring."""
    rung: set[Key] = set()
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if not select.select([bell], [], [], left)[0]:
            break
        if not rung:
            until = min(until, time.monotonic() + GATHER)
        try:
            workload, attempt, _ = bell.recv(512).decode("ascii", "replace").split("/", 2)
            rung.add((workload, int(attempt)))
        except ValueError:
            continue  # not one of our shims
    return rung
