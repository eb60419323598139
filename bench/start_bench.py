"""Start of the embedded product to its first page, and its memory when idle."""

import contextlib
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psutil

from bench import servers
from bench.loads import Samples, median, percentile, row
from bench.report import Row, Target
from bench.servers import Place

ROUNDS = 5
IDLE_SECONDS = 10
BARE = "bench.bare_site:application"


def run() -> list[Row]:
    first, again, bare, memory, floor = Samples(), Samples(), Samples(), [], []
    for number in range(ROUNDS):
        with servers.place() as place:
            _start(place, first, place.run)
            place.stop()
            _start(place, again, place.run)
            if number == 0:
                time.sleep(IDLE_SECONDS)
                memory.append(_pss(place))
        with servers.place() as place:
            _start(place, bare, partial(_serve_bare, place))
            if number == 0:
                floor.append(_pss(place))
    name = "bare Django"
    return [
        row("start", "first start: schema, demo, first page", first, floor=bare, floor_name=name),
        row("start", "start → first page", again, floor=bare, floor_name=name,
            targets=(Target("median", 2000),)),
        Row("start", "memory when idle", median(memory), percentile(memory, 0.95), "MiB",
            floor=median(floor), floor_name=name, ratio=median(memory) / median(floor),
            targets=(Target("median", 200),), note="PSS of the whole process tree"),
    ]  # fmt: skip


def _start(place: Place, into: Samples, start: Callable[[], object]) -> None:
    began = time.monotonic()
    start()
    into.wall.append((time.monotonic() - began) * 1000)
    into.cpu.append(sum(psutil.Process(place.processes[-1].pid).cpu_times()[:2]) * 1000)


def _serve_bare(place: Place) -> None:
    place.environment["DJANGO_SETTINGS_MODULE"] = "bench.bare_site"
    place.serve(BARE)


def _pss(place: Place) -> float:
    """MiB that belong to the processes of the place: shared pages are counted once."""
    root = psutil.Process(place.processes[-1].pid)
    total = 0
    for process in (root, *root.children(recursive=True)):
        with contextlib.suppress(OSError):
            rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
            total += int(rollup.partition("\nPss:")[2].split()[0])
    return total / 1024
