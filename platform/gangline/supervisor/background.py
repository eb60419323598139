"""Ticker, watchers and what else goes on, as threads: beside the web server, or alone (R10)."""

import logging
import os
import sys
import threading
import time

from django.db import connections

from workloads import wakeup
from workloads.watching.causes import CauseSearch
from workloads.watching.orphans import OrphanSearch
from workloads.watching.pruner import Pruner
from workloads.watching.ticker import Ticker
from workloads.watching.watcher import Watchers

log = logging.getLogger(__name__)

RESTART_SECONDS = 1.0


class Background:
    """Each part in a thread of its own, started again when it breaks; each holds its own lease."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(part,), name=type(part).__name__, daemon=True)
            for part in (Ticker(), Watchers(), Pruner(), OrphanSearch(), CauseSearch())
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def join(self, seconds: float) -> bool:
        """Tell all to stop and wait at most ``seconds`` in total. Whether all have ended."""
        self.stop.set()
        wakeup.wake()
        deadline = time.monotonic() + seconds
        running = [thread for thread in self._threads if thread.is_alive()]
        for thread in running:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in running)

    def _run(self, part: Ticker | Watchers | Pruner | OrphanSearch | CauseSearch) -> None:
        while not self.stop.is_set():
            try:
                part.run(self.stop)
            except Exception:
                log.exception("%s failed and starts again", type(part).__name__)
                self.stop.wait(RESTART_SECONDS)
            finally:
                connections.close_all()


def leave_at_once(code: int = 0) -> None:
    """End the process without waiting for its other threads: a pass may be held by a cluster.

    Safe by design: what was begun is found again, as after a crash, by whoever takes over.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
