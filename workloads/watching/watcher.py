"""Follows each cluster and stores what happens there, one leader per cluster (§10)."""

import contextlib
import logging
import threading
import time
from collections.abc import Generator, Iterable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import DatabaseError, close_old_connections, transaction

from gangline.clusters import contact
from gangline.clusters.connections import acts_here, driver_for
from gangline.clusters.models import Cluster
from gangline.clusters.services import refresh
from gangline.db.clock import db_now
from gangline.db.leases import LeaseHolder, LeaseLost
from gangline.drivers.base import AttemptRef, Driver, Observation
from gangline.drivers.facts import Health
from gangline.drivers.kind import Unconnectable
from gangline.drivers.observation_queue import Looker
from gangline.lib.fail_points import fail_point
from gangline.lib.texts import as_uuid
from workloads import refs, wakeup
from workloads.models import Attempt
from workloads.services import observe
from workloads.services.contact import mark_found, mark_lost, wake_waiting
from workloads.services.observe import Stamped

log = logging.getLogger(__name__)

BROKE_OFF = "The watch failed and starts again. See the server log."
STANDBY_SECONDS = 2.0
QUIET_SECONDS = 1.0
"""Without newer news of an attempt, before it is looked at once more."""
PAUSE_SECONDS, LONGEST_PAUSE = 1.0, 30.0
"""After a watch that broke off: at first, and after many that did so soon."""
LOOK_SECONDS = 2.0
PROBE_SECONDS = 30.0
CURRENT_SECONDS = 5.0
"""After which a watch sees that its cluster has another credential, or is there no more."""


def lease_name(cluster_id: UUID) -> str:
    """Name of the lease of a cluster's watcher."""
    return f"watcher:{cluster_id}"


class LeaseRanOut(LeaseLost):
    """The own lease was not renewed in time; nobody else took it meanwhile."""


class Watchers:
    """A watcher thread for every cluster of this host; also asks the clusters how they are."""

    def __init__(self) -> None:
        self._running: dict[UUID, tuple[Watcher, threading.Thread]] = {}
        self._probed: dict[UUID, float] = {}

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            close_old_connections()
            try:
                clusters = [c for c in Cluster.objects.all() if acts_here(c)]
                self._start_missing(clusters, stop)
                self._probe(clusters, stop)
            except DatabaseError as error:
                log.warning("the database did not answer the watchers: %s", error)
            stop.wait(LOOK_SECONDS)
        for _, thread in self._running.values():
            thread.join(3)

    def _start_missing(self, clusters: Iterable[Cluster], stop: threading.Event) -> None:
        for cluster in clusters:
            known = self._running.get(cluster.pk)
            if known is not None and known[1].is_alive():
                continue
            watcher = Watcher(cluster.pk)
            thread = threading.Thread(
                target=watcher.run, args=(stop,), name=f"watch-{cluster.name}", daemon=True
            )
            self._running[cluster.pk] = (watcher, thread)
            thread.start()

    def _probe(self, clusters: Iterable[Cluster], stop: threading.Event) -> None:
        for cluster in clusters:
            watcher, _ = self._running[cluster.pk]
            is_due = (
                time.monotonic() - self._probed.get(cluster.pk, -PROBE_SECONDS) >= PROBE_SECONDS
            )
            if stop.is_set() or not is_due or not (watcher.is_leading or not cluster.capacity):
                continue
            if cluster.failures == 0 and contact.is_resting(cluster):
                mark_found(cluster.pk)
                continue  # it asked for it; one that is only away is asked whether it is back
            self._probed[cluster.pk] = time.monotonic()
            try:
                cluster.refresh_from_db()  # those before it may have taken long
                asked_at = db_now()
                _follow_up(cluster, refresh(cluster), asked_at)
            except Cluster.DoesNotExist:
                continue
            except DatabaseError:
                raise
            except Exception:
                log.exception("the probe of cluster %s broke", cluster.name)
            wakeup.ring()


class Watcher:
    """Follows one cluster while it holds the lease; the loop that works also renews it."""

    def __init__(self, cluster_id: UUID) -> None:
        self.cluster_id = cluster_id
        self.is_leading = False
        self._lease = LeaseHolder(lease_name(cluster_id))
        self._led_fence = 0
        self._again: dict[tuple[str, int], float] = {}
        """Attempts of which a newer read had overtaken the news, and when to look once more."""
        self._breaks = 0
        """Times that it broke off soon, one after the other."""
        self._is_well = False
        """Nobody has to be told any more that it broke off, be it in another process before."""
        self._begun_at = 0.0

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            close_old_connections()
            try:
                if self._lease.keep():
                    self._begun_at = time.monotonic()
                    self._lead(stop)
                else:
                    stop.wait(STANDBY_SECONDS)
            except LeaseRanOut:
                log.warning(
                    "the lease to watch cluster %s ran out while it was read or stored; "
                    "the watch begins anew",
                    self.cluster_id,
                )
            except LeaseLost:
                log.info("another process watches cluster %s now", self.cluster_id)
            except Cluster.DoesNotExist:
                break
            except Exception as error:  # noqa: BLE001  a bug must not end the watch for good
                stop.wait(self._broke_off(error))
            finally:
                self.is_leading = False
        with contextlib.suppress(DatabaseError):
            self._lease.release()
        close_old_connections()

    def _broke_off(self, error: Exception) -> float:
        """Tell of it, with the place in the code once only; seconds until it begins anew."""
        lasted, self._is_well = time.monotonic() - self._begun_at, False
        self._breaks = 1 if lasted > LONGEST_PAUSE else self._breaks + 1
        pause = min(LONGEST_PAUSE, PAUSE_SECONDS * 2.0 ** min(self._breaks - 1, 16))
        told = f"watching cluster {self.cluster_id} broke off and starts again in {pause:.0f} s"
        if self._breaks == 1:
            log.error(told, exc_info=error)
        else:
            log.warning("%s: %r", told, error)
        if not isinstance(error, DatabaseError):
            with contextlib.suppress(DatabaseError):
                self._tell_trouble(BROKE_OFF)
        return pause

    def _lead(self, stop: threading.Event) -> None:
        cluster = Cluster.objects.get(pk=self.cluster_id)
        try:
            driver = driver_for(cluster)
        except Unconnectable as why:
            log.warning("cluster %s cannot be watched: %s", cluster.name, why)
            stop.wait(PAUSE_SECONDS)
            return
        install = refs.installation_id()
        self._led_fence = self._lease.fence
        self._again.clear()
        self.is_leading = True
        batches = driver.watch(install, "", self._tell_trouble, self._adopted)
        looker = Looker(driver.observe)
        looker.start()
        checked = time.monotonic()
        try:
            for batch in batches:
                if stop.is_set():
                    return
                if time.monotonic() - checked > CURRENT_SECONDS:
                    if not self._is_current(driver):
                        return
                    self._heard(driver)
                    checked = time.monotonic()
                self._hold()
                close_old_connections()
                if news := [*batch, *looker.answers()]:
                    self._store(news)
                if self._again:
                    self._ask_again(looker, install)
        finally:
            looker.stop()
            if isinstance(batches, Generator):
                batches.close()

    def _heard(self, driver: Driver) -> None:
        """Let everybody see how old the news of the cluster is, and that it is watched again."""
        if not self._is_well:
            self._is_well = True
            row = Cluster.objects.filter(pk=self.cluster_id, watch_trouble=BROKE_OFF)
            row.update(watch_trouble="")
        if (silent := driver.silent_for()) is not None:
            heard_at = db_now() - timedelta(seconds=silent)
            Cluster.objects.filter(pk=self.cluster_id).update(heard_at=heard_at)

    def _hold(self) -> None:
        """Keep the lease, or raise LeaseLost. One that ran out and was taken again is another: what
        is there has to be adopted under it before anything is done."""
        if not self._lease.keep():
            raise LeaseLost(self._lease.name)
        if self._lease.fence != self._led_fence:
            raise LeaseRanOut(self._lease.name)

    def _tell_trouble(self, trouble: str) -> None:
        Cluster.objects.filter(pk=self.cluster_id).update(watch_trouble=trouble)

    def _is_current(self, driver: Driver) -> bool:
        """Whether one would connect in the same way today. Raises Cluster.DoesNotExist."""
        try:
            return driver_for(Cluster.objects.get(pk=self.cluster_id)) is driver
        except Unconnectable:
            return False

    def _adopted(self) -> None:
        """What is there was learnt, so new things may be done from now on (§8.5)."""
        with transaction.atomic():
            self._lease.guard()
            Cluster.objects.filter(pk=self.cluster_id).update(synced_fence=self._led_fence)
        wakeup.ring()

    def _store(self, batch: Sequence[Observation]) -> None:
        now, monotonic = db_now(), time.monotonic()
        stamped = [
            Stamped(seen, now - timedelta(seconds=monotonic - (seen.read_monotonic or monotonic)))
            for seen in batch
        ]
        fail_point("watcher.before_store")
        stored = observe.store_batch(stamped, guard=self._lease.guard)
        for seen in batch:
            self._again.pop((seen.workload, seen.attempt), None)
        # Overtaken by a newer read, yet it may be the only news: look once more, if none follows.
        # At once, that look would overtake the next news, and so on while something changes.
        due = monotonic + QUIET_SECONDS
        self._again |= {(seen.workload, seen.attempt): due for seen in stored.stale}

    def _ask_again(self, looker: Looker, install: str) -> None:
        """What is found is stored with a later batch, which is never far."""
        now = time.monotonic()
        due = [key for key, at in self._again.items() if at <= now]
        for ref in _unfinished([AttemptRef(install, *key, name="") for key in due]):
            looker.ask(ref)
        for key in due:
            del self._again[key]


def _follow_up(cluster: Cluster, health: Health, asked_at: datetime) -> None:
    """What a probe found concerns everything on the cluster."""
    if not health.reachable:
        mark_lost(cluster.pk, since=cluster.last_ok_at or asked_at, asked_at=asked_at)
        return
    mark_found(cluster.pk)
    if contact.heard(cluster):
        wake_waiting(cluster.pk)


def _unfinished(owned: Sequence[AttemptRef]) -> list[AttemptRef]:
    """Those with an attempt of ours that has not ended, completed from the rows."""
    wanted = {(ref.workload, ref.attempt) for ref in owned}
    ids = {as_uuid(ref.workload) for ref in owned} - {None}
    rows = (
        Attempt.objects.filter(workload__in=ids, outcome="")
        .select_related("workload", "workload__project")
        .order_by("workload_id", "no")
    )
    return [
        refs.attempt_ref(row.workload, row)
        for row in rows
        if (str(row.workload_id), row.no) in wanted
    ]
