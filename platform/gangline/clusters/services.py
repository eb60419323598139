"""What Gangline writes down about a cluster: whether it answers, what it has, what it can run."""

from dataclasses import asdict
from typing import Any

from gangline.db import leases
from gangline.db.clock import db_now
from gangline.drivers.facts import Capacity, Health
from gangline.drivers.kind import Unconnectable

from . import contact, nodes, storage
from .connections import driver_for
from .models import Cluster

CONNECTED, UNREACHABLE = "Connected", "Unreachable"
OURS = "ours"


def refresh(cluster: Cluster) -> Health:
    """Ask the cluster how it is and store the answer. Network happens here, so no transaction."""
    try:
        driver = driver_for(cluster)
    except Unconnectable as why:
        return store_health(cluster, Health(reachable=False, reason=str(why)))
    if cluster.capacity.get("admission") == OURS or cluster.host_id:
        # Quick, and it lets people start; the probe may take many seconds.
        store_capacity(cluster, driver.capacity())
        return store_health(cluster, driver.probe())
    health = store_health(cluster, driver.probe())
    if health.reachable:
        store_capacity(cluster, health.capacity or driver.capacity())
    return health


def measure(cluster: Cluster) -> None:
    """Store what the cluster has. Before that is known, nothing could be placed on it."""
    store_capacity(cluster, driver_for(cluster).capacity())


def store_capacity(cluster: Cluster, capacity: Capacity | None) -> None:
    """Store what was found, if it is something new."""
    if capacity is None:
        return  # a cluster that does not tell has not become empty
    found = _capacity_json(capacity)
    if found == cluster.capacity:
        return
    cluster.capacity, cluster.admit_due = found, True
    cluster.save(update_fields=["capacity", "admit_due"])


def store_health(cluster: Cluster, health: Health) -> Health:
    """Store what a probe learned."""
    now = db_now()
    word = CONNECTED if health.reachable else UNREACHABLE
    if cluster.health != word:
        cluster.health, cluster.health_since = word, now
    cluster.health_reason = health.reason[:400]
    _tell_of_login(cluster, health)
    # Nothing that was not learned: another probe may have stored it meanwhile.
    learned = ["health", "health_since", "health_reason"]
    if health.reachable:
        cluster.last_ok_at = now
        learned.append("last_ok_at")
        if health.nodes is not None:
            nodes.store(cluster, health.nodes)
        if health.facts is not None:
            cluster.facts = asdict(health.facts)
            if (classes := health.facts.detail.get("storageClasses")) is not None:
                storage.store(cluster, classes)
            learned.append("facts")
    cluster.save(update_fields=learned)
    return health


def clear_notices(cluster: Cluster) -> None:
    """Nobody is warned of the cluster any more: its trouble is over, or it is removed."""
    leases.clear_notice(_login_refused(cluster))


def _login_refused(cluster: Cluster) -> str:
    return f"{contact.LOGIN_REFUSED}:{cluster.pk.hex[:20]}"


def _tell_of_login(cluster: Cluster, health: Health) -> None:
    """One notice for everybody who runs the machinery, however many workloads are concerned."""
    if health.is_login_refused:
        leases.notice(
            _login_refused(cluster),
            f"Cluster {cluster.name} rejected Gangline's credential. Replace it on the page of "
            f"the cluster; running workloads keep running.",
        )
    elif health.reachable:
        clear_notices(cluster)


def _capacity_json(capacity: Capacity) -> dict[str, Any]:
    stored = asdict(capacity)
    return stored | {"gpus": list(capacity.gpus), "ports": list(capacity.ports)}
