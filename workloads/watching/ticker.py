"""Makes due work happen: wakes on the bell or by the clock, admits, hands out (R10, R11).

Embedded, and whenever the message service or the workers are silent, the work is done inline in a
few threads; else workers are told by Celery. The rows are the queue: what gets lost is due again.
"""

import logging
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Protocol
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, close_old_connections

from gangline.clusters import contact
from gangline.clusters.connections import acts_here
from gangline.clusters.models import Cluster
from gangline.db.clock import db_now
from gangline.db.leases import TICKER, LeaseHolder, see_clock
from gangline.db.locks import update_in_order
from gangline.db.models import Lease
from workloads import wakeup
from workloads.models import Workload
from workloads.services import admission, bulk, claims
from workloads.services.reconcile import reconcile
from workloads.watching.watcher import lease_name

log = logging.getLogger(__name__)

EMBEDDED_THREADS = 4
FALLBACK_THREADS = 2
WALK_SECONDS = 5.0
RING_SECONDS = 5.0
MOST_RINGS = 500
REST_SECONDS = 1.0
"""A workload whose pass broke, not just failed, is left alone for so long by this process."""
SHORTEST_NAP = 0.01
CLOCK_SEEN_EVERY = timedelta(minutes=1)
STEP = timedelta(seconds=1)
"""A clock that falls back by more than this was put back."""


class Publisher(Protocol):
    """Tells workers that workloads are due; see `workloads.watching.publisher`."""

    def is_usable(self) -> bool: ...

    def publish(self, rows: Sequence[tuple[UUID, str]]) -> bool:
        """Publish (workload, queue) pairs; False when that did not succeed in time."""


class Ticker:
    """One leader per installation; others stand by."""

    def __init__(self) -> None:
        is_embedded = settings.GANGLINE.mode == "embedded"
        self._lease = LeaseHolder(TICKER)
        self._inline = Inline(EMBEDDED_THREADS if is_embedded else FALLBACK_THREADS)
        self._publisher = None if is_embedded else _celery_publisher()
        self._tick: float = settings.GANGLINE.tick_seconds
        self._walked: dict[UUID, tuple[float, int]] = {}
        self._clock_seen: datetime | None = None
        self._ahead: timedelta | None = None
        """By how much the clock was ahead of the monotonic one in the last round."""

    def run(self, stop: threading.Event) -> None:
        """Work until told to stop; what is running then is finished by whoever takes over."""
        listener = wakeup.Listener()
        listener.start()
        nap = 0.0
        try:
            while not stop.is_set():
                wakeup.wait(nap)
                nap = self._turn() if not stop.is_set() else 0.0
        finally:
            listener.stop()
            self._inline.close()
            self._lease.release()

    def _turn(self) -> float:
        """One round, if this is the leader; returns how long to sleep."""
        close_old_connections()
        try:
            return self.round() if self._lease.keep() else self._tick
        except DatabaseError as error:
            log.warning("the database did not answer the ticker: %s", error)
            return self._tick

    def round(self) -> float:
        """Admit and hand out what is due; return the seconds until something else will be."""
        clusters = list(Cluster.objects.all())
        self._mind_the_clock()
        self._admit(clusters)
        ready = _ready(clusters)
        if self._publisher is not None and self._publisher.is_usable():
            self._ring_workers(self._publisher, ready)
        else:
            self._work_here(ready)
        bulk.turn()
        return SHORTEST_NAP if bulk.is_due() else self._nap()

    def _mind_the_clock(self) -> None:
        """At the first round and after each step back: free what waits for a time long gone.

        What it does when the clock goes ahead: `see_clock`.
        """
        now, last = db_now(), self._ahead
        if self._clock_seen is None or abs(now - self._clock_seen) > CLOCK_SEEN_EVERY:
            see_clock()
            self._clock_seen = now
        self._ahead = now - datetime.fromtimestamp(time.monotonic(), UTC)
        if last is None or self._ahead < last - STEP:
            freed = claims.after_step_back(now=now)
            if freed:
                log.warning("the clock was put back; %s workloads are looked at again", freed)

    def _admit(self, clusters: Sequence[Cluster]) -> None:
        for cluster in clusters:
            walked, waiting = self._walked.get(cluster.pk, (0.0, 1))
            is_stale = waiting > 0 and time.monotonic() - walked > WALK_SECONDS
            if cluster.admit_due or is_stale:
                self._walked[cluster.pk] = (time.monotonic(), _waiting_after_admission(cluster))

    def _work_here(self, clusters: Sequence[Cluster]) -> None:
        here = [cluster.pk for cluster in clusters if acts_here(cluster)]
        free = self._inline.free
        if not here or not free:
            return
        rows = claims.due(db_now()).filter(cluster__in=here).exclude(pk__in=self._inline.busy)
        for pk in rows.values_list("pk", flat=True)[:free]:
            self._inline.start(pk)

    def _ring_workers(self, publisher: Publisher, clusters: Sequence[Cluster]) -> None:
        queues = {cluster.pk: queue_of(cluster) for cluster in clusters}
        now = db_now()
        rung = now + timedelta(seconds=RING_SECONDS)
        rows = list(
            claims.due(now).filter(cluster__in=queues).values_list("pk", "cluster_id")[:MOST_RINGS]
        )
        if not rows:
            return
        ids = [pk for pk, _ in rows]
        update_in_order(Workload.objects.filter(pk__in=ids), rung_until=rung)
        if not publisher.publish([(pk, queues[cluster]) for pk, cluster in rows]):
            update_in_order(Workload.objects.filter(pk__in=ids, rung_until=rung), rung_until=None)
            self._work_here(clusters)

    def _nap(self) -> float:
        """Until the next row is due, at most a tick; threads that get free ring the bell."""
        now = db_now()
        rows = Workload.objects.filter(due_at__gt=now).order_by("due_at")
        following = rows.values_list("due_at", flat=True).first()
        if following is None:
            return self._tick
        return min(self._tick, max(SHORTEST_NAP, (following - now).total_seconds()))


class Inline:
    """A few threads that do passes in this process; after ``close`` the next start has new ones."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._at_work: set[UUID] = set()
        self._resting: dict[UUID, float] = {}

    @property
    def free(self) -> int:
        with self._lock:
            return self._threads - len(self._at_work)

    @property
    def busy(self) -> list[UUID]:
        """Workloads not to be started now."""
        now = time.monotonic()
        with self._lock:
            self._resting = {pk: until for pk, until in self._resting.items() if until > now}
            return [*self._at_work, *self._resting]

    def start(self, workload_id: UUID) -> None:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="reconcile")
            self._pool.submit(self._work, workload_id)
            self._at_work.add(workload_id)

    def close(self) -> None:
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)
        with self._lock:
            self._at_work.clear()  # those that were cancelled before they began

    def _work(self, workload_id: UUID) -> None:
        broken = True
        try:
            close_old_connections()
            reconcile(workload_id)
            broken = False
        except Exception:
            log.exception("the pass over workload %s broke", workload_id)
        finally:
            close_old_connections()
            with self._lock:
                self._at_work.discard(workload_id)
                if broken:
                    self._resting[workload_id] = time.monotonic() + REST_SECONDS
            wakeup.wake()


def _waiting_after_admission(cluster: Cluster) -> int:
    """How many wait still. A bug must not keep the other clusters from their work."""
    try:
        return admission.admit(cluster.pk).waiting
    except DatabaseError:
        raise
    except Exception:
        log.exception("admission to cluster %s broke", cluster.name)
        return 1


def queue_of(cluster: Cluster) -> str:
    """Celery queue of a cluster's work: local clusters only go to their host's workers (R17)."""
    return f"local.{cluster.host_id}" if cluster.host_id else settings.CELERY_TASK_DEFAULT_QUEUE


def _ready(clusters: Sequence[Cluster]) -> list[Cluster]:
    """Clusters on which effects may happen: not while one rests, or a new watcher lists what is
    there."""
    leading = dict(
        Lease.objects.filter(
            name__in=[lease_name(cluster.pk) for cluster in clusters], until__gt=db_now()
        ).values_list("name", "fence")
    )
    return [
        cluster
        for cluster in clusters
        if leading.get(lease_name(cluster.pk), cluster.synced_fence) == cluster.synced_fence
        and not contact.is_resting(cluster)
    ]


def _celery_publisher() -> Publisher:
    # Late: the embedded product must not spend its start on loading a task queue.
    from workloads.watching.publisher import CeleryPublisher

    return CeleryPublisher()
