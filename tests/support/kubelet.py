"""Lets the pods of one installation on the bed do what a script of the conformance suite says.

The bed's pods run nothing. What one would do is read from its command, ``behave talk``; here it is
done: lines are written to its log, and it is told to end. Any other command sleeps. What people
run beside it runs on this machine, and ends with the pod.
"""

import contextlib
import os
import signal
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gangline.drivers.kubernetes import labels, pods
from gangline.drivers.kubernetes.client import Unreachable
from gangline.drivers.kubernetes.resources import PODS
from tests.beds.kubernetes.bed import Bed, BedFailed

EVERY = 0.1
ENDS = {"succeed": 0, "fail": 3}


class Kubelet:
    """A thread for the length of a block."""

    def __init__(self, bed: Bed, install: str, rooms: Path | None = None) -> None:
        self.bed, self.install, self.rooms = bed, install, rooms
        self._over = threading.Event()
        self._done: dict[str, tuple[str, str]] = {}
        """Namespace and name of each pod that has played its part, by its uid."""
        self._thread = threading.Thread(target=self._run, name="kubelet", daemon=True)

    def __enter__(self) -> "Kubelet":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(10)

    def _run(self) -> None:
        while not self._over.wait(EVERY):
            try:
                answer = self.bed.client.list(PODS, labelSelector=labels.selector(self.install))
                if answer.ok:
                    self._look(answer.body["items"])
            except (Unreachable, BedFailed):
                continue  # the pod went meanwhile, or a test froze the cluster

    def _look(self, items: list[dict[str, Any]]) -> None:
        there = {raw["metadata"]["uid"] for raw in items}
        for uid in self._done.keys() - there:
            self._end_visits(uid)
            # The bed keeps logs by the pod's name, and another pod may come to bear it.
            for path in (self.bed.folder / "pods").joinpath(*self._done.pop(uid)).glob("*.log"):
                path.write_bytes(b"")
        for raw in items:
            self._play(raw)

    def _play(self, raw: Mapping[str, Any]) -> None:
        pod = pods.read(raw)
        script = _script(raw)
        if pod.uid in self._done or not pod.is_running or not script:
            return
        where = self._done[pod.uid] = (pod.namespace, pod.name)
        if self.rooms is not None:
            (self.rooms / pod.uid).mkdir()
            self.bed.serve_exec(*where, self.rooms / pod.uid)
        if script == "talk":
            self.bed.write_log(*where, [f"line {number}" for number in range(200)])
            self.bed.annotate(*where, exit_code=0, run_for="100ms")
        elif script in ENDS:
            self.bed.annotate(*where, exit_code=ENDS[script], run_for="100ms")
        elif script == "stubborn":
            self.bed.annotate(*where, stop_after="2s")
            self.bed.write_log(*where, ["deaf"])
        elif script == "talk-on":
            self.bed.write_log(*where, ["hello"])
        elif script == f"{pod.replica}-fails" or (script, pod.replica) == ("one-fails", "worker-1"):
            self.bed.annotate(*where, exit_code=3, run_for="100ms")

    def _end_visits(self, uid: str) -> None:
        if self.rooms is None:
            return
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (process / "cwd").readlink() == self.rooms / uid:
                    os.kill(int(process.name), signal.SIGKILL)


def _script(raw: Mapping[str, Any]) -> str:
    """``talk``, of a pod with the command ``behave talk``."""
    words = list(raw["spec"]["containers"][0].get("command") or ())
    return words[words.index("behave") + 1] if "behave" in words[:-1] else ""
