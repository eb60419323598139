"""What is on clusters beside workloads: orphans are looked for, kept objects are applied (§8.6)."""

import logging
import threading
import time

from django.db import DatabaseError, close_old_connections

from gangline.clusters import objects
from gangline.clusters.connections import acts_here, driver_for
from gangline.clusters.models import Cluster
from gangline.clusters.services import CONNECTED
from gangline.drivers.kind import Unconnectable
from gangline.organization import queues
from workloads.services import orphans

log = logging.getLogger(__name__)

LOOK_SECONDS = 10.0
KEEP_SECONDS = 1.0
"""Whoever has just made a data source waits for its claim."""


class OrphanSearch:
    """The rows say whose turn it is: several processes may run one."""

    def run(self, stop: threading.Event) -> None:
        looked = time.monotonic()
        while not stop.wait(KEEP_SECONDS):
            close_old_connections()
            try:
                objects.reconcile_due()
                if time.monotonic() - looked >= LOOK_SECONDS:
                    looked = time.monotonic()
                    self._look(stop)
            except DatabaseError as error:
                log.warning("the database did not answer the search for orphans: %s", error)
            close_old_connections()

    def _look(self, stop: threading.Event) -> None:
        for cluster in Cluster.objects.filter(health=CONNECTED):
            if not stop.is_set() and acts_here(cluster) and orphans.take_turn(cluster):
                queues.keep_all(cluster)
                self._search(cluster)

    @staticmethod
    def _search(cluster: Cluster) -> None:
        try:
            orphans.search(cluster, driver_for(cluster))
        except Unconnectable as why:
            orphans.failed(cluster, str(why))
        except DatabaseError as why:
            log.warning("the search for orphans on %s broke off: %s", cluster.name, why)
        except Exception:
            log.exception("the search for orphans on %s broke", cluster.name)
