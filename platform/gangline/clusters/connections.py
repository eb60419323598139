"""From a cluster's row to the driver that talks to it, one per process and cluster."""

import hashlib
import os
import platform
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from pydantic import ValidationError

from gangline.drivers.base import Driver
from gangline.drivers.facts import Facts, FrameworkOffer, Runtime
from gangline.drivers.kind import Settings, Site, Unconnectable
from gangline.drivers.registry import DRIVERS
from gangline.lib.paths import RESOURCES
from gangline.settings.catalogue import LOG_BYTES, NODE_TYPE_LABEL
from gangline.settings.values import value_of

from . import credentials
from .models import Cluster

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_PORTS = {"postgresql": 5432, "postgres": 5432, "redis": 6379, "rediss": 6379}

_drivers: dict[UUID, tuple[Mapping[str, Any], Driver]] = {}
_lock = threading.Lock()


def driver_for(cluster: Cluster) -> Driver:
    """The driver of a cluster, made anew when its configuration changed. Raises Unconnectable."""
    wanted = _configuration(cluster)
    if (driver := _known(cluster, wanted)) is not None:
        return driver
    with _lock:
        if (driver := _known(cluster, wanted)) is not None:
            return driver  # made by another thread meanwhile
        driver = _open(cluster)
        _drivers[cluster.pk] = (wanted, driver)
    return driver


def forget(cluster_id: UUID) -> None:
    """Let go of the driver of a cluster that is there no more."""
    with _lock:
        _drivers.pop(cluster_id, None)


def forget_all() -> None:
    """Let go of every driver."""
    with _lock:
        _drivers.clear()


def _known(cluster: Cluster, wanted: Mapping[str, Any]) -> Driver | None:
    known = _drivers.get(cluster.pk)
    return known[1] if known is not None and known[0] == wanted else None


def _open(cluster: Cluster) -> Driver:
    return cluster.engine.open(
        connection_of(cluster),
        access_of(cluster),
        site=site(),
        facts=facts_of(cluster),
        host_id=cluster.host_id,
    )


def _configuration(cluster: Cluster) -> dict[str, Any]:
    """What a driver is made from: another one is made when it changes."""
    if cluster.kind not in DRIVERS:
        raise Unconnectable(f"Gangline does not support clusters of kind {cluster.kind}.")
    connection, facts = connection_of(cluster), facts_of(cluster)
    return {
        **cluster.config,
        "credential": cluster.credential_at,
        "logCap": value_of(LOG_BYTES),
        "nodeType": value_of(NODE_TYPE_LABEL),
        "scheduler": cluster.engine.scheduler(connection, facts),
        "gpu": cluster.engine.gpu(connection, facts),
        "priorities": cluster.engine.priorities(facts),
    }


def connection_of(cluster: Cluster) -> Settings:
    """The settings of the cluster, as the model of its kind."""
    try:
        return cluster.engine.connection.model_validate(cluster.config)
    except ValidationError as error:
        raise Unconnectable(f"The settings of {cluster.name} cannot be read.") from error


def access_of(cluster: Cluster) -> Any:
    """What the driver signs in with; None where the kind needs nothing. Raises Unconnectable."""
    if cluster.engine.credential is None:
        return None
    try:
        return credentials.access_of(cluster)
    except credentials.NoCredential as why:
        raise Unconnectable(str(why)) from why


def scheduler_of(cluster: Cluster) -> str:
    """The scheduler in use; may be empty."""
    return cluster.engine.scheduler(connection_of(cluster), facts_of(cluster))


def gpu_of(cluster: Cluster) -> str:
    """What the cluster calls a GPU."""
    return cluster.engine.gpu(connection_of(cluster), facts_of(cluster))


def priority_of(cluster: Cluster, name: str) -> int:
    """What a class of priority is worth on the cluster; none: what workloads have without any."""
    known = cluster.engine.priorities(facts_of(cluster))
    return known.get(name, known[""])


def names_node_types(cluster: Cluster) -> bool:
    """Whether its workloads can ask for a type of nodes."""
    return "nodeType" not in cluster.engine.unsupported


def namespaces_of(cluster: Cluster) -> Callable[[str], str]:
    """Names the namespace that the cluster makes for a project; empty where there is none."""
    return partial(cluster.engine.namespace, connection_of(cluster))


def queue_problem(cluster: Cluster, *, namespace: str, queue: str) -> str:
    """Why workloads of a namespace cannot wait in ``queue``, as a sentence; else empty."""
    return cluster.engine.queue_problem(
        connection_of(cluster), facts_of(cluster), namespace=namespace, queue=queue
    )


def acts_here(cluster: Cluster) -> bool:
    """Whether this process may act on the cluster: a local one only from its own host (R17)."""
    return not cluster.host_id or cluster.host_id == host_id(settings.GANGLINE.data_dir)


def host_id(data_dir: Path) -> str:
    """Name of this host and data folder: both must agree to act on a local cluster."""
    machine = Path("/etc/machine-id")
    own = machine.read_text().strip() if machine.exists() else ""
    text = f"{own or platform.node()}\n{data_dir.resolve()}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def facts_of(cluster: Cluster) -> Facts:
    """The facts of the last good probe; empty ones when there was none."""
    stored = cluster.facts
    return Facts(
        version=stored.get("version", ""),
        frameworks=tuple(
            FrameworkOffer(**{**offer, "runtimes": tuple(offer["runtimes"])})
            for offer in stored.get("frameworks", ())
        ),
        runtimes=tuple(
            Runtime(
                **{
                    **runtime,
                    "frameworks": tuple(runtime["frameworks"]),
                    "launchers": tuple(runtime.get("launchers", ())),
                }
            )
            for runtime in stored.get("runtimes", ())
        ),
        detail={
            **stored.get("detail", {}),
            **({"storageRules": cluster.storage} if cluster.storage else {}),
        },
    )


def site() -> Site:
    """What this installation gives to every driver."""
    known = settings.GANGLINE
    own = []
    for url in (known.database_url, known.redis_url):
        parts = urlsplit(url)
        if parts.hostname:
            own.append((parts.hostname, parts.port or _PORTS.get(parts.scheme, 0)))
    return Site(
        data_dir=known.data_dir,
        log_cap=value_of(LOG_BYTES),
        networks=tuple(known.cluster_addresses),
        own=tuple(own),
        origin=known.origin,
        tools_url=known.tools_address,
        node_type=value_of(NODE_TYPE_LABEL),
        declared_gpus=known.local_gpus,
        roots=_roots(),
        hidden=(known.sealing_keys, *known.local_hidden),
        examples_dir=RESOURCES / "examples",
        use_sandbox=False if known.local_sandbox == "off" else None,
    )


def _roots() -> tuple[Path, ...]:
    """Folders for working directories: as configured, or one's home on a machine of one's own."""
    known = settings.GANGLINE
    if known.local_roots:
        return tuple(known.local_roots)
    is_own = known.mode == "embedded" and known.host in LOOPBACK and not known.public_url
    home = Path(os.environ.get("HOME", "/"))
    return (home,) if is_own and home.is_dir() and home != Path(home.anchor) else ()
