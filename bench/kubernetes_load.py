"""Events of pods at some rate, and who learns of them when."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psutil
import psycopg
from playwright.sync_api import Page

from bench import kubernetes_world
from bench.busy import Busy
from bench.kubernetes_eyes import BareWatch, RowReader
from bench.live_bench import WATCH
from bench.loads import Samples, arrivals, row, until
from bench.report import Row, Target
from bench.servers import Place
from gangline.drivers.kubernetes import client, labels
from tests.beds.kubernetes.bed import Bed

BENCH = "kubernetes-watch"
QUIET_RATE, BUSY_RATE, RATE, PROBES = 10, 500, 1_000, 10
LOAD = 30.0
PATIENCE = 10.0
"""Seconds until the page shows what the rows show."""
KUBELET = "kwok"


class Load:
    """Events at some rate, and three eyes: a bare watch, the rows, a page in a browser."""

    def __init__(
        self,
        bed: Bed,
        place: Place,
        plan: str,
        database: psycopg.Connection[Any],
        page: Page,
        busy: Busy,
        probed: list[str],
    ) -> None:
        self.bed, self.place, self.plan, self.database = bed, place, plan, database
        self.page, self.busy, self.probed = page, busy, probed

    def measured(self, rate: int, order: str, targets: tuple[Target, ...]) -> list[Row]:
        self.page.goto(f"http://127.0.0.1:{self.place.port}/workloads")
        self.page.wait_for_selector("[data-live][data-state=live]", state="attached")
        self.page.evaluate(WATCH)
        bare = BareWatch(client.Client(self.bed.admin), f"{kubernetes_world.PROBE}=yes")
        with (
            bare,
            RowReader(self.place.environment["GANGLINE_DATABASE_URL"], self.probed) as reader,
        ):
            with self.busy:
                sent = self._sent(rate, order)
            began = time.monotonic()
            lost = self._settled(sent["last"])
            late = time.monotonic() - began
            with contextlib.suppress(AssertionError):
                until(lambda: not arrivals(sent["made"], self._shown()).missing, PATIENCE)
        return self._rows(rate, order, targets, sent, late, lost, bare.seen, reader.seen)

    def against_bare(self, rows: list[Row]) -> list[Row]:
        """``rows``, and what a watch that only reads every event takes in."""
        bare = BareWatch(client.Client(self.bed.admin), labels.INSTALL)
        with bare, self.busy:
            sent = self._sent(RATE, "gangs")
            began = time.monotonic()
            with contextlib.suppress(AssertionError):
                until(lambda: bare.count >= sent["count"], 60, every=0.05)
            late = time.monotonic() - began
        read = bare.count / (sent["seconds"] + late)
        lag = Samples(wall=arrivals(sent["made"], bare.seen).latencies)
        name = "bare watch of all, alone"
        what = _taken_in(_how(RATE, "gangs"))
        found = [
            replace(one, floor=read, floor_name=name, ratio=one.median / read)
            if one.what == what
            else one
            for one in rows
        ]
        note = f"{bare.count} of {sent['count']} events; {self.busy.told('watcher')}"
        return [*found, row(BENCH, f"event → {name} at {RATE}/s in gangs", lag, note=note)]

    def _sent(self, rate: int, order: str) -> dict[str, Any]:
        with resting(self.bed.processes[KUBELET].pid):
            sent: dict[str, Any] = self.place.inside(
                "bench.kubernetes_events:run", port=self.bed.ports["etcd"], plan=self.plan,
                rate=rate, probes=PROBES, seconds=LOAD, order=order,
            )  # fmt: skip
        return sent

    def _settled(self, last: dict[str, float]) -> int:
        """Wait until the rows show the last state of every pod; how many never did."""
        with contextlib.suppress(AssertionError):
            until(lambda: not self._differing(last), 60, every=0.05)
        return self._differing(last)

    def _differing(self, last: dict[str, float]) -> int:
        rows = self.database.execute(
            "SELECT a.workload_id || '/' || r.role || '-' || r.index, r.state, r.reason"
            " FROM workloads_replica r JOIN workloads_attempt a ON a.id = r.attempt_id"
        )
        shown = {key: (state, reason) for key, state, reason in rows}
        return sum(
            f"{stamp:.3f}" not in shown[key][1] if stamp else shown[key][0] != "Running"
            for key, stamp in last.items()
        )

    def _shown(self) -> dict[str, list[tuple[float, float]]]:
        """What the page showed until now: (stamp, moment) in ms, by workload."""
        page: dict[str, list[tuple[float, float]]] = {}
        for key, stamp, at in self.page.evaluate("window.seen"):
            page.setdefault(key, []).append((stamp, at))
        return page

    def _rows(
        self, rate: int, order: str, targets: tuple[Target, ...], sent: dict[str, Any],
        late: float, lost: int, *eyes: dict[str, list[tuple[float, float]]],
    ) -> list[Row]:  # fmt: skip
        bare, rows, shown = (arrivals(sent["made"], seen) for seen in (*eyes, self._shown()))
        count, seconds = sent["count"], sent["seconds"]
        how = _how(rate, order)
        name = "bare watch"
        floor = Samples(wall=bare.latencies)
        found = [
            row(BENCH, f"event → row at {how}", Samples(wall=rows.latencies), floor=floor,
                floor_name=name, note=f"{lost} of {len(sent['last'])} pods without last state"),
            row(BENCH, f"event → DOM at {how}", Samples(wall=shown.latencies), floor=floor,
                floor_name=name, targets=targets,
                note=f"{shown.missing} of {len(self.probed)} rows without their last state"),
        ]  # fmt: skip
        if rate > QUIET_RATE:
            share = self.busy.share["watcher"]
            target = (Target("median", rate, at_least=True),) if rate == RATE else ()
            found += [
                Row(BENCH, _taken_in(how), count / (seconds + late), unit="/s",
                    targets=target, note=f"{count / seconds:.0f}/s sent; all stored {late:.1f} s"
                    " after the last"),
                Row(BENCH, f"CPU of the watcher at {how}", share, unit="%",
                    cpu=share * 10 * self.busy.seconds / count,
                    note=f"of one core; {self.busy.told('watcher')}"),
            ]  # fmt: skip
        return found


@contextlib.contextmanager
def resting(*pids: int) -> Iterator[None]:
    """These processes rest. The simulated kubelet would read every event of all nodes on this one
    machine."""
    processes = [psutil.Process(pid) for pid in pids]
    for process in processes:
        process.suspend()
    try:
        yield
    finally:
        for process in processes:
            process.resume()


def _how(rate: int, order: str) -> str:
    return f"{rate}/s {'in gangs' if order == 'gangs' else 'scattered'}"


def _taken_in(how: str) -> str:
    return f"events taken in at {how}"
