"""Fetches the logs of all pods through the API server before they go, and reads what was fetched.

Each pod is followed from its first line, by a thread. Of more pods than there are threads, what is
new is read in turns instead. https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/
"""

import logging
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gangline.clusters.drivers import log_files
from gangline.clusters.drivers.base import LogChunk

from . import archive
from .archive import DEFAULT, Archive, Limits
from .client import Client, Unreachable
from .pods import Pod
from .resources import PODS

log = logging.getLogger(__name__)

FOLLOWERS = 64
SILENCE = 15.0
"""A follower that hears nothing for so long asks anew: streams die silently when logs rotate."""
READS_PER_SECOND = 50.0
"""How many logs are read where there are too many pods to follow each."""
AGAIN, AGAIN_AFTER_TROUBLE = 0.5, 3.0
CATCH_UP = 4.0
LAST_TRIES = 4
"""Reads of a pod that has ended before it counts as having no log."""


@dataclass(slots=True)
class _Followed:
    pod: Pod
    not_before: float = 0.0
    is_taken: bool = False
    is_gone: bool = False
    failures: int = 0


class Collector:
    """Threads that follow the pods that `tell` names. ``stop`` ends them."""

    def __init__(
        self,
        client: Client,
        data_dir: Path,
        *,
        followers: int = FOLLOWERS,
        limits: Limits = DEFAULT,
    ) -> None:
        self.client, self.data_dir, self.limits = client, data_dir, limits
        self._most = followers
        self._pods: dict[str, _Followed] = {}
        self._done: set[str] = set()
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._stop = False

    def tell(self, pod: Pod) -> None:
        """The pod as it is now; it is followed once it has begun."""
        if not pod.role or not pod.workload or not (pod.has_started or pod.is_over):
            return
        with self._changed:
            if pod.uid in self._done:
                return
            known = self._pods.setdefault(pod.uid, _Followed(pod))
            if pod.is_over and not known.pod.is_over:
                known.not_before = 0.0
            known.pod = pod
            self._start_thread()
            self._changed.notify()

    def gone(self, uid: str) -> None:
        """The pod is no more: what was not fetched is lost."""
        with self._changed:
            self._done.discard(uid)
            if (known := self._pods.get(uid)) is not None:
                known.is_gone, known.not_before = True, 0.0
                self._changed.notify()

    def busy(self) -> set[tuple[str, int]]:
        """Attempts of which a log is still being fetched."""
        with self._changed:
            return {known.pod.key for known in self._pods.values()}

    def stop(self) -> None:
        """Let the threads go; they end when what they read next arrives, or nothing does."""
        with self._changed:
            self._stop = True
            self._changed.notify_all()

    def _start_thread(self) -> None:
        if len(self._threads) < min(self._most, len(self._pods)):
            thread = threading.Thread(target=self._work, name="follow-logs", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _work(self) -> None:
        while (taken := self._take()) is not None:
            try:
                is_done = self._turn(taken)
            except Exception:
                log.exception("the log of pod %s could not be fetched", taken.pod.name)
                is_done = False
                taken.failures += 1
                taken.not_before = time.monotonic() + AGAIN_AFTER_TROUBLE
            with self._changed:
                taken.is_taken = False
                if is_done:
                    self._pods.pop(taken.pod.uid, None)
                    if not taken.is_gone:
                        self._done.add(taken.pod.uid)
                self._changed.notify()

    def _take(self) -> _Followed | None:
        with self._changed:
            while not self._stop:
                now = time.monotonic()
                free = [known for known in self._pods.values() if not known.is_taken]
                ready = min(free, key=lambda known: known.not_before, default=None)
                if ready is not None and ready.not_before <= now:
                    ready.is_taken = True
                    ready.not_before = now
                    return ready
                self._changed.wait(1.0 if ready is None else min(1.0, ready.not_before - now))
        return None

    def _turn(self, taken: _Followed) -> bool:
        """Follow one pod for a while; True when its log is complete."""
        pod = taken.pod
        place = folder(self.data_dir, pod.workload, pod.attempt, pod.replica)
        if archive.has_ended(place, pod.uid):
            return True
        with archive.opened(place, pod.uid, self.limits) as into:
            if into is None:
                taken.not_before = time.monotonic() + AGAIN_AFTER_TROUBLE
                return False
            was_over, was_gone = pod.is_over, taken.is_gone
            in_turns = len(self._pods) > self._most
            outcome = self._fetch(taken, into, follow=not (was_over or was_gone or in_turns))
            is_over = self._is_complete(taken, outcome, was_over=was_over, was_gone=was_gone)
            if is_over:
                into.end()
            else:
                pause = AGAIN_AFTER_TROUBLE if outcome == "broken" else AGAIN
                if in_turns:
                    pause = max(pause, len(self._pods) / READS_PER_SECOND)
                taken.not_before = time.monotonic() + pause
        return is_over

    def _is_complete(
        self, taken: _Followed, outcome: str, *, was_over: bool, was_gone: bool
    ) -> bool:
        if outcome == "missing" or was_gone:
            return True
        if was_over and outcome == "read":
            return True
        taken.failures = taken.failures + 1 if was_over else 0
        return taken.failures >= LAST_TRIES

    def _fetch(self, taken: _Followed, into: Archive, *, follow: bool) -> str:
        """``read``: to the end; ``stopped``, ``broken``, ``refused``, ``missing`` otherwise."""
        try:
            for lines in _lines(self.client, taken.pod, into, follow=follow):
                into.add(lines)
                if self._stop:
                    return "stopped"
        except _Refused as refused:
            return "missing" if refused.status == 404 else "refused"
        except Unreachable:
            return "broken"
        except OSError as why:
            # A full disk, most likely; what is missing is fetched once there is room.
            log.warning("the log of pod %s cannot be kept: %s", taken.pod.name, why.strerror)
            return "broken"
        return "read"


class _Refused(Exception):
    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(f"status {status}")


def folder(data_dir: Path, workload: str, attempt: int, replica: str) -> Path:
    """Where a replica's log lies (R4)."""
    return data_dir / "logs" / workload / str(attempt) / replica


def catch_up(
    client: Client,
    data_dir: Path,
    pods: Iterable[Pod],
    seconds: float = CATCH_UP,
    *,
    limits: Limits = DEFAULT,
) -> None:
    """Fetch, before pods go, what no collector is fetching just now; within ``seconds``."""
    until = time.monotonic() + seconds
    for pod in pods:
        if time.monotonic() >= until:
            return
        if not pod.role or not pod.workload or not (pod.has_started or pod.is_over):
            continue
        place = folder(data_dir, pod.workload, pod.attempt, pod.replica)
        if archive.has_ended(place, pod.uid):
            continue
        try:
            with archive.opened(place, pod.uid, limits) as into:
                if into is None:
                    continue  # somebody follows it, and is a moment behind at most
                for lines in _lines(client, pod, into, follow=False):
                    into.add(lines)
                if pod.is_over:
                    into.end()
        except (OSError, _Refused, Unreachable) as why:
            log.warning("the rest of the log of pod %s could not be fetched: %s", pod.name, why)


def read(place: Path, offset: int, limit: int) -> LogChunk:
    """As ``Driver.read_log``. The marks are looked at first: what came before them is read."""
    ended = (place / "ended").exists() or (place.parent / "ended").exists()
    return log_files.read(place, offset, limit, ended=ended)


def close_attempt(data_dir: Path, workload: str, attempt: int) -> None:
    """Nothing more will come of any replica, not even of one that never began."""
    place = data_dir / "logs" / workload / str(attempt)
    if (place / "ended").exists():
        return
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    (place / "ended").touch(mode=0o600)


def attempt_goes_on(data_dir: Path, workload: str, attempt: int) -> None:
    """What was said about the end of the whole attempt is void."""
    (data_dir / "logs" / workload / str(attempt) / "ended").unlink(missing_ok=True)


def reopen_attempt(data_dir: Path, workload: str, attempt: int) -> None:
    """It will go on: new pods follow in every log."""
    attempt_goes_on(data_dir, workload, attempt)
    for mark in (data_dir / "logs" / workload / str(attempt)).glob("*/ended"):
        mark.unlink(missing_ok=True)


def _lines(client: Client, pod: Pod, into: Archive, *, follow: bool) -> Iterator[list[bytes]]:
    """Whole lines as they come, from the last one that is here on."""
    query: dict[str, str | int | bool] = {"timestamps": True, "follow": follow}
    if pod.container:
        query["container"] = pod.container
    if into.last:
        # Whole seconds: what comes twice is known by its stamp.
        query["sinceTime"] = f"{into.last[:19].decode()}Z"
    path = PODS.path(pod.namespace, pod.name, "log")
    silence = SILENCE if follow else 25.0
    with client.stream(path, query=query, silence=silence) as (status, pieces):
        if status != 200:
            raise _Refused(status)
        rest = b""
        for piece in pieces:
            *whole, rest = (rest + piece).split(b"\n")
            if whole:
                yield whole
        if rest and not follow:
            yield [rest]
