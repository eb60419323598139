"""What Gangline writes down about a cluster: whether it answers, what it has, what it can run."""

from dataclasses import asdict
from typing import Any

from gangline.access.actor import Actor
from gangline.access.grants import can
from gangline.access.permissions import Permission
from gangline.access.refusals import NotAllowed
from gangline.audit import actions
from gangline.audit.services import record
from gangline.db import leases
from gangline.db.clock import db_now
from gangline.drivers.facts import Capacity, Health
from gangline.scopes.models import ScopeKind
from gangline.scopes.selectors import tenant_scope
from gangline.scopes.services import NameRefused, new_scope

from . import contact
from .connections import Unconnectable, driver_for
from .models import DEFAULT_POOL, Cluster

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
        if health.facts is not None:
            cluster.facts = asdict(health.facts)
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
            f"Cluster {cluster.name} does not accept Gangline's login. Replace the credential on"
            " its page; what runs there goes on.",
        )
    elif health.reachable:
        clear_notices(cluster)


def _capacity_json(capacity: Capacity) -> dict[str, Any]:
    stored = asdict(capacity)
    return stored | {"gpus": list(capacity.gpus), "ports": list(capacity.ports)}


def create_cluster(
    *,
    actor: Actor | None,
    name: str,
    kind: str,
    host_id: str = "",
    when_unreachable: str = "queue",
) -> Cluster:
    """A cluster below the tenant. ``actor`` None: the installation itself, at its first start."""
    if not name.strip() or len(name) > 63 or not name.isprintable():
        raise NameRefused("A cluster's name is 1 to 63 visible characters.")
    tenant = tenant_scope()
    if actor is not None and not can(actor.user, Permission.CLUSTER_CREATE, tenant):
        raise NotAllowed(Permission.CLUSTER_CREATE, tenant)
    taken = f"There is already a cluster {name}."
    with new_scope(ScopeKind.CLUSTER, tenant.pk, name, taken) as scope:
        cluster = Cluster.objects.create(
            name=name,
            kind=kind,
            scope=scope,
            host_id=host_id,
            when_unreachable=when_unreachable,
            created_at=db_now(),
        )
        now = db_now()
        cluster.pools.create(name=DEFAULT_POOL, is_default=True, created_at=now, updated_at=now)
        record(
            actor=actor,
            action=actions.CLUSTER_CREATE,
            object_type="cluster",
            object_id=str(cluster.pk),
            object_name=name,
            scope=scope,
            detail={"kind": kind},
        )
    return cluster
