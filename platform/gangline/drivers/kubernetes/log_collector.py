"""Fetches the logs of all pods through the API server before they go, and reads what was fetched.

Each pod is followed from its first line, by a thread. Of more pods than there are threads, those
are followed whose logs somebody reads; of the others, what is new is read in turns.
https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/
"""

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Generic, Protocol, TypeVar

from gangline.drivers.base import ObservedState
from gangline.drivers.logs.segments import LINE
from gangline.drivers.logs.store import LogStore

from . import archive, paging
from .archive import Archive
from .client import Client, Cutter, Unreachable
from .pod_metrics import Measuring
from .pods import Pod, moment
from .resources import PODS
from .store import Key, Listener

_OUT = float("inf")


class Due(Protocol):
    """What can be handed out."""

    not_before: float
    """In the clock of `time.monotonic`."""


Thing = TypeVar("Thing", bound=Due)


@dataclass
class DelayQueue(Generic[Thing]):
    """A queue by moments. ``changed`` guards it; the caller holds it for every method but `take`.

    One thread alone waits for the next moment: of many that did, all but one would wake in vain.
    """

    changed: threading.Condition
    _heap: list[tuple[float, int, Thing]] = field(default_factory=list)
    _number: "itertools.count[int]" = field(default_factory=itertools.count)
    _minded: float = float("inf")
    """The moment that somebody waits for."""
    _is_over: bool = False

    def put(self, thing: Thing) -> None:
        """Due from ``not_before`` on; what was put before and has another moment now, is void."""
        heapq.heappush(self._heap, (thing.not_before, next(self._number), thing))
        self.changed.notify()

    @staticmethod
    def is_out(thing: Thing) -> bool:
        """Whether somebody has taken it, and not put it back."""
        return thing.not_before == _OUT

    def end(self) -> None:
        """Nothing is handed out any more."""
        self._is_over = True
        self.changed.notify_all()

    def take(self) -> Thing | None:
        """The next thing, once it is due; None at the end."""
        with self.changed:
            while not self._is_over:
                now = time.monotonic()
                due = self._next()
                if due <= now:
                    thing = heapq.heappop(self._heap)[2]
                    thing.not_before = _OUT  # so that its other entries are void
                    self.changed.notify()
                    return thing
                if due >= self._minded:
                    self.changed.wait()
                    continue
                self._minded = due
                self.changed.wait(due - now)
                if self._minded == due:
                    self._minded = float("inf")
        return None

    def _next(self) -> float:
        while self._heap and self._heap[0][2].not_before != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else float("inf")


log = logging.getLogger(__name__)

FOLLOWERS = 64
SILENCE = 15.0
"""A follower that hears nothing for so long asks anew: streams die silently when logs rotate."""
READS_PER_SECOND = 50.0
"""How many logs are read where there are too many pods to follow each, and all of them speak."""
FIRST_READS_PER_SECOND = 100.0
"""How many are begun, after a start."""
AGAIN, AGAIN_AFTER_TROUBLE = 0.5, 3.0
LONGEST_PAUSE, MOST_TURNS = 60.0, 4
"""Seconds between two reads of a log that says nothing, where there are turns enough; and else, how
many turns it lets pass."""
READ_SILENCE = 25.0
CATCH_UP = 4.0
LEAST_SILENCE = 0.2
"""A log that says nothing when pods are about to go gets half of the seconds that are left, and at
least so many: the others have theirs too."""
LAST_TRIES = 4
"""Reads of a pod that has ended before it counts as having no log."""


@dataclass(slots=True, eq=False)
class _Followed:
    pod: Pod
    not_before: float = 0.0
    is_gone: bool = False
    failures: int = 0
    silent_for: float = 0.0
    """Seconds since its last line, when it was read last."""


def pause(pods: int, silent_for: float) -> float:
    """Seconds between two reads of a log where so many take turns: for one that is silent, as long
    as it was until now."""
    turn = pods / READS_PER_SECOND
    return max(AGAIN, turn, min(silent_for, max(LONGEST_PAUSE, MOST_TURNS * turn)))


class Collector:
    """Threads that follow the pods that `tell` names. ``stop`` ends them."""

    def __init__(
        self,
        client: Client,
        store: LogStore,
        *,
        followers: int = FOLLOWERS,
    ) -> None:
        self.client, self.store = client, store
        self._most = followers
        self._pods: dict[str, _Followed] = {}
        self._done: set[str] = set()
        self._wanted: frozenset[tuple[str, int]] = frozenset()
        self._wanted_pods = 0
        self._next_first = 0.0
        self._changed = threading.Condition()
        self._turns: DelayQueue[_Followed] = DelayQueue(self._changed)
        self._threads: list[threading.Thread] = []
        self._stop = False

    def tell(self, pod: Pod) -> None:
        """The pod as it is now; it is followed once it has begun."""
        if not pod.role or not pod.workload or not (pod.has_started or pod.is_over):
            return
        with self._changed:
            if pod.uid in self._done:
                return
            known = self._pods.get(pod.uid)
            if known is None:
                known = self._pods[pod.uid] = _Followed(pod)
                known.not_before = self._first_turn(pod)
                self._turns.put(known)
            has_ended = pod.is_over and not known.pod.is_over
            known.pod, known.is_gone = pod, False  # it may have been missing for a while
            if has_ended:
                self._hurry(known)
            self._start_thread()

    def gone(self, uid: str) -> None:
        """Nobody tells of the pod any more: most likely it is gone, with what was not fetched."""
        with self._changed:
            self._done.discard(uid)
            if (known := self._pods.get(uid)) is not None:
                known.is_gone = True
                self._hurry(known)

    def want(self, attempts: Iterable[tuple[str, int]]) -> None:
        """Attempts whose logs somebody reads just now: their pods come first."""
        with self._changed:
            fresh = frozenset(attempts)
            added, self._wanted = fresh - self._wanted, fresh
            wanted = [known for known in self._pods.values() if known.pod.key in fresh]
            self._wanted_pods = len(wanted)
            for known in wanted:
                if known.pod.key in added:
                    self._hurry(known)

    def busy(self) -> set[tuple[str, int]]:
        """Attempts of which a log is still being fetched."""
        with self._changed:
            return {known.pod.key for known in self._pods.values()}

    def stop(self) -> None:
        """Let the threads go; they end when what they read next arrives, or nothing does."""
        with self._changed:
            self._stop = True
            self._turns.end()

    def _first_turn(self, pod: Pod) -> float:
        """When to read it first. After a start all pods of a cluster are new: their logs, all at
        once, would keep from the watch the processor that it needs to take in the pods."""
        now = time.monotonic()
        if len(self._pods) <= self._most or pod.is_over or pod.key in self._wanted:
            return now
        self._next_first = max(now, self._next_first + 1 / FIRST_READS_PER_SECOND)
        return self._next_first

    def _hurry(self, known: _Followed) -> None:
        if not self._turns.is_out(known):
            known.not_before = 0.0
            self._turns.put(known)

    def _start_thread(self) -> None:
        if len(self._threads) < min(self._most, len(self._pods)):
            thread = threading.Thread(target=self._work, name="follow-logs", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _work(self) -> None:
        while (taken := self._turns.take()) is not None:
            try:
                pause = self._turn(taken)
            except Exception:
                log.exception("the log of pod %s could not be fetched", taken.pod.name)
                taken.failures += 1
                pause = AGAIN_AFTER_TROUBLE
            with self._changed:
                if pause is not None:
                    if taken.is_gone or taken.pod.is_over:
                        pause = min(pause, AGAIN_AFTER_TROUBLE)  # it may have come meanwhile
                    taken.not_before = time.monotonic() + pause
                    self._turns.put(taken)
                    continue
                self._pods.pop(taken.pod.uid, None)
                if not taken.is_gone:
                    self._done.add(taken.pod.uid)

    def _turn(self, taken: _Followed) -> float | None:
        """Follow one pod for a while. Seconds until its next turn; None: its log is complete."""
        pod = taken.pod
        place = self.store.folder(*pod.key, pod.replica)
        if archive.has_ended(place, pod.uid):
            return None
        with archive.opened(place, pod.uid, self.store.limits) as into:
            if into is None:
                return AGAIN_AFTER_TROUBLE
            was_over, was_gone = pod.is_over, taken.is_gone
            outcome = self._fetch(taken, into, follow=not (was_over or was_gone))
            if outcome == "read":
                taken.silent_for = _silent_for(pod, into)
            if self._is_complete(taken, outcome, was_over=was_over, was_gone=was_gone):
                into.end()
                return None
        if was_gone and taken.failures >= LAST_TRIES:
            return None  # nobody says that it is there; should it be told of again, it goes on
        if outcome == "stopped":
            return AGAIN  # in the middle: the rest is read in one turn
        if outcome == "read":
            return AGAIN_AFTER_TROUBLE if was_gone else self._pause(taken)
        # Many that fail make no storm; a log that somebody reads does not wait for all others.
        turn = self._rivals(pod) / READS_PER_SECOND
        return max(AGAIN_AFTER_TROUBLE, turn, self.client.rest_left)

    def _pause(self, taken: _Followed) -> float:
        if self._is_followed(taken.pod):
            return AGAIN
        if taken.pod.key in self._wanted:
            return max(AGAIN, self._rivals(taken.pod) / READS_PER_SECOND)
        return pause(len(self._pods), taken.silent_for)

    def _rivals(self, pod: Pod) -> int:
        """How many take turns with it."""
        return self._wanted_pods if pod.key in self._wanted else len(self._pods)

    def _is_followed(self, pod: Pod) -> bool:
        """Followed pods keep a thread each; some threads are always left for the others."""
        if len(self._pods) <= self._most:
            return True
        return pod.key in self._wanted and self._wanted_pods <= self._most * 3 // 4

    def _is_complete(
        self, taken: _Followed, outcome: str, *, was_over: bool, was_gone: bool
    ) -> bool:
        if was_over and outcome in ("read", "missing"):
            return True
        is_gone = self._is_gone(taken.pod) if was_gone or outcome == "missing" else False
        if is_gone:
            return True
        if outcome == "later":
            return False
        taken.failures = taken.failures + 1 if was_over or (was_gone and is_gone is None) else 0
        return was_over and taken.failures >= LAST_TRIES

    def _is_gone(self, pod: Pod) -> bool | None:
        """Whether the cluster says so; None: it says nothing. That a log is missing says no more
        than that its container, or the kubelet that keeps it, is not there just now; and nobody
        tells of a pod that has lost our label."""
        name = f"metadata.name={pod.name}"
        try:
            answer = self.client.list(PODS, pod.namespace, fieldSelector=name)
        except Unreachable:
            return None
        if not answer.ok:
            return None
        return all(raw["metadata"]["uid"] != pod.uid for raw in paging.items(answer))

    def _fetch(self, taken: _Followed, into: Archive, *, follow: bool) -> str:
        """``read``: to the end; ``stopped``, ``broken``, ``refused``, ``missing`` otherwise, or
        ``later``: the cluster wants to be left alone."""
        follow = follow and self._is_followed(taken.pod)
        try:
            silence = SILENCE if follow else READ_SILENCE
            pieces = _lines(self.client, taken.pod, into, follow=follow, silence=silence)
            for lines, part in pieces:
                into.add(lines, part)
                if self._stop or (follow and not self._is_followed(taken.pod)):
                    return "stopped"
        except _Refused as refused:
            return _OUTCOMES.get(refused.status, "refused")
        except Unreachable:
            return "broken"
        except OSError as why:
            # A full disk, most likely; what is missing is fetched once there is room.
            log.warning("the log of pod %s cannot be kept: %s", taken.pod.name, why.strerror)
            return "broken"
        return "read"


def _silent_for(pod: Pod, into: Archive) -> float:
    """Seconds since the pod's last line, or since it began. A node whose clock is late counts as
    silent for longer: it is read more seldom then."""
    last = moment(into.last.decode()) if into.last else pod.started_at
    return max(0.0, (datetime.now(UTC) - last).total_seconds()) if last else 0.0


_OUTCOMES = {404: "missing", 429: "later"}


class _Refused(Exception):
    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(f"status {status}")


def catch_up(
    client: Client, store: LogStore, pods: Iterable[Pod], seconds: float = CATCH_UP
) -> None:
    """Fetch, before pods go, what no collector is fetching just now; within ``seconds``."""
    until = time.monotonic() + seconds
    for pod in pods:
        if time.monotonic() >= until:
            return
        if not pod.role or not pod.workload or not (pod.has_started or pod.is_over):
            continue
        place = store.folder(*pod.key, pod.replica)
        if archive.has_ended(place, pod.uid):
            continue
        try:
            with archive.opened(place, pod.uid, store.limits) as into:
                if into is None:
                    continue  # somebody follows it, and is a moment behind at most
                silence = max(LEAST_SILENCE, (until - time.monotonic()) / 2)
                for lines, part in _lines(client, pod, into, follow=False, silence=silence):
                    into.add(lines, part)
                    if time.monotonic() >= until:
                        return
                if pod.is_over:
                    into.end()
        except (OSError, _Refused, Unreachable) as why:
            log.warning("the rest of the log of pod %s could not be fetched: %s", pod.name, why)


def _lines(
    client: Client, pod: Pod, into: Archive, *, follow: bool, silence: float
) -> Iterator[tuple[list[bytes], bytes]]:
    """Whole lines as they come, from the last one that is here on, and what there is of one that is
    too long to wait for its end. Nothing of both with many a piece: the clock may be looked at."""
    query: dict[str, str | int | bool] = {"timestamps": True, "follow": follow}
    if pod.container:
        query["container"] = pod.container
    if into.last:
        # Whole seconds: what comes twice is known by its stamp.
        query["sinceTime"] = f"{into.last[:19].decode()}Z"
    path = PODS.path(pod.namespace, pod.name, "log")
    with client.stream(path, query=query, silence=silence) as (status, pieces):
        if status != 200:
            raise _Refused(status)
        cutter = Cutter()
        for piece in pieces:
            lines = cutter.cut(piece)
            part = b""
            if len(cutter.rest) >= LINE:
                part = bytes(cutter.rest)
                cutter.rest.clear()
            yield lines, part
        if cutter.rest and not follow:
            rest = bytes(cutter.rest)
            yield ([rest], b"") if pod.is_over else ([], rest)


class Collecting(Listener):
    """Follows the pods that the watch sees, and marks the logs of attempts that are over."""

    def __init__(self, client: Client, store: LogStore, install: str) -> None:
        self.store = store
        self.collector = Collector(client, store)
        self.measuring = Measuring(client, store, install)
        self._closing: set[Key] = set()
        self._open: set[Key] = set()

    def tell(self, pod: Pod) -> None:
        self.collector.tell(pod)
        self.measuring.tell(pod)

    def gone(self, uid: str) -> None:
        self.collector.gone(uid)
        self.measuring.gone(uid)

    def judged(self, key: Key, state: ObservedState) -> None:
        if state.is_over:
            self._closing.add(key)
            self._open.discard(key)
            return
        self._closing.discard(key)
        if key not in self._open and state is not ObservedState.TERMINATING:
            # It may have been stopped before, and goes on now.
            self._open.add(key)
            self.store.goes_on(*key)

    def tick(self) -> None:
        self.collector.want(self.store.being_read())
        if not self._closing:
            return
        busy = self.collector.busy()
        for key in [key for key in self._closing if key not in busy]:
            self._closing.discard(key)
            self.store.end_attempt(*key)

    def stop(self) -> None:
        self.collector.stop()
        self.measuring.stop()
