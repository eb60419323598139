"""Joins the watch of a cluster with the collector of its logs."""

from pathlib import Path

from gangline.drivers.base import ObservedState

from . import logs, wanted
from .archive import DEFAULT, Limits
from .client import Client
from .pods import Pod
from .store import Key, Listener


class Collecting(Listener):
    """Follows the pods that the watch sees, and marks the logs of attempts that are over."""

    def __init__(self, client: Client, data_dir: Path, limits: Limits = DEFAULT) -> None:
        self.data_dir = data_dir
        self.collector = logs.Collector(client, data_dir, limits=limits)
        self._closing: set[Key] = set()
        self._open: set[Key] = set()

    def tell(self, pod: Pod) -> None:
        self.collector.tell(pod)

    def gone(self, uid: str) -> None:
        self.collector.gone(uid)

    def judged(self, key: Key, state: ObservedState) -> None:
        if state.is_over:
            self._closing.add(key)
            self._open.discard(key)
            return
        self._closing.discard(key)
        if key not in self._open and state is not ObservedState.TERMINATING:
            # It may have been stopped before, and goes on now.
            self._open.add(key)
            logs.attempt_goes_on(self.data_dir, *key)

    def tick(self) -> None:
        self.collector.want(wanted.told(self.data_dir))
        if not self._closing:
            return
        busy = self.collector.busy()
        for key in [key for key in self._closing if key not in busy]:
            self._closing.discard(key)
            logs.close_attempt(self.data_dir, *key)

    def stop(self) -> None:
        self.collector.stop()
