"""What Gangline writes down about a cluster: whether it answers, what it has, what it can run."""

from dataclasses import asdict
from typing import Any

from gangline.db.clock import db_now

from .connections import Unconnectable, driver_for
from .drivers.base import Capacity, Driver, Health
from .models import Cluster

CONNECTED, UNREACHABLE = "Connected", "Unreachable"


def refresh(cluster: Cluster) -> Health:
    """Ask the cluster how it is and store the answer. Network happens here, so no transaction."""
    try:
        driver = driver_for(cluster)
    except Unconnectable as why:
        return _store(cluster, Health(reachable=False, reason=str(why)))
    # Capacity is quick and lets people start; a first probe may take many seconds.
    _store_capacity(cluster, driver)
    return _store(cluster, driver.probe())


def measure(cluster: Cluster) -> None:
    """Store what the cluster has. Before that is known, nothing could be placed on it."""
    _store_capacity(cluster, driver_for(cluster))


def _store_capacity(cluster: Cluster, driver: Driver) -> None:
    capacity = _capacity_json(driver.capacity())
    if capacity == cluster.capacity:
        return
    cluster.capacity, cluster.admit_due = capacity, True
    cluster.save(update_fields=["capacity", "admit_due"])


def _store(cluster: Cluster, health: Health) -> Health:
    now = db_now()
    word = CONNECTED if health.reachable else UNREACHABLE
    if cluster.health != word:
        cluster.health, cluster.health_since = word, now
    cluster.health_reason = health.reason[:400]
    if health.reachable:
        cluster.last_ok_at = now
        if health.facts is not None:
            cluster.facts = asdict(health.facts)
    cluster.save(update_fields=["health", "health_since", "health_reason", "last_ok_at", "facts"])
    return health


def _capacity_json(capacity: Capacity) -> dict[str, Any]:
    stored = asdict(capacity)
    return stored | {"gpus": list(capacity.gpus), "ports": list(capacity.ports)}
