"""From a cluster's row to the driver that talks to it, one per process and cluster."""

import hashlib
import os
import platform
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings

from gangline.drivers.base import Driver
from gangline.drivers.facts import Facts, FrameworkOffer, Runtime
from gangline.drivers.kubernetes import names, queues
from gangline.drivers.kubernetes.client import Client
from gangline.drivers.kubernetes.driver import KubernetesDriver
from gangline.drivers.kubernetes.options import Options as KubernetesOptions
from gangline.drivers.kubernetes.pacing import Allowance
from gangline.drivers.kubernetes.quantities import GPU
from gangline.drivers.local.driver import LocalDriver, Options
from gangline.drivers.local.shim.log import Limits
from gangline.lib.paths import RESOURCES
from gangline.settings.catalogue import LOG_BYTES
from gangline.settings.values import value_of

from . import credentials
from .models import Cluster

Factory = Callable[[Cluster], Driver]
LOCAL, KUBERNETES = "local", "kubernetes"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
WRITES_PER_SECOND, WRITES_AT_ONCE = 10.0, 20.0
"""Of one process to one Kubernetes cluster, so that a long queue is no storm."""


class Unconnectable(Exception):
    """No driver of this installation can talk to the cluster, in words why."""


_factories: dict[str, Factory] = {}
_drivers: dict[UUID, tuple[Mapping[str, Any], Driver]] = {}
_lock = threading.Lock()


def kinds() -> list[str]:
    """Kinds of clusters that there is a driver for."""
    return sorted(_factories)


def register(kind: str, factory: Factory) -> None:
    """Make a kind of cluster known. What was connected before is forgotten."""
    with _lock:
        _factories[kind] = factory
        _drivers.clear()


def driver_for(cluster: Cluster) -> Driver:
    """The driver of a cluster, made anew when its configuration changed. Raises Unconnectable."""
    wanted = _configuration(cluster)
    if (driver := _known(cluster, wanted)) is not None:
        return driver
    with _lock:
        if (driver := _known(cluster, wanted)) is not None:
            return driver  # made by another thread meanwhile
        factory = _factories.get(cluster.kind)
        if factory is None:
            raise Unconnectable(f"Gangline knows no clusters of kind {cluster.kind}.")
        driver = factory(cluster)
        _drivers[cluster.pk] = (wanted, driver)
    return driver


def _known(cluster: Cluster, wanted: Mapping[str, Any]) -> Driver | None:
    known = _drivers.get(cluster.pk)
    return known[1] if known is not None and known[0] == wanted else None


def scheduler_of(cluster: Cluster) -> str:
    """The scheduler that an admin chose, or the best that the last probe found; may be empty."""
    if chosen := cluster.config.get("scheduler"):
        return str(chosen)
    found = cluster.facts.get("detail", {}).get("schedulers", ())
    return next((str(one["name"]) for one in found if one.get("used")), "")


def gpu_of(cluster: Cluster) -> str:
    """What a Kubernetes cluster calls a GPU: as configured, or what most of its GPUs are."""
    if chosen := cluster.config.get("gpuResource"):
        return str(chosen)
    found = (cluster.facts.get("detail", {}).get("nodes") or {}).get("gpus") or ()
    totals: Counter[str] = Counter()
    for one in found:
        totals[str(one["resource"])] += int(one["total"])
    return max(totals, key=lambda name: (totals[name], name), default=GPU)


def queue_problem(cluster: Cluster, *, project: str, queue: str) -> str:
    """Why trainings of a project cannot wait in ``queue`` there, as a sentence; else empty."""
    if cluster.kind != KUBERNETES:
        return "Only schedulers of Kubernetes have queues."
    namespace = namespace_of(cluster, project)
    return queues.problem(facts_of(cluster), scheduler_of(cluster), queue, namespace)


def forget(cluster_id: UUID) -> None:
    """Let go of the driver of a cluster that is there no more."""
    with _lock:
        _drivers.pop(cluster_id, None)


def client_for(cluster: Cluster) -> Client:
    """A connection to the API server of a Kubernetes cluster. Raises Unconnectable."""
    try:
        allowed = Allowance(WRITES_PER_SECOND, WRITES_AT_ONCE)
        return Client(credentials.access_of(cluster), credentials.reach(), writes=allowed)
    except credentials.NoCredential as why:
        raise Unconnectable(str(why)) from why
    except (ssl.SSLError, ValueError) as error:
        raise Unconnectable("Its certificates cannot be used. Replace the credential.") from error


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
            Runtime(**{**runtime, "frameworks": tuple(runtime["frameworks"])})
            for runtime in stored.get("runtimes", ())
        ),
        detail=stored.get("detail", {}),
    )


def _local(cluster: Cluster) -> Driver:
    known = settings.GANGLINE
    return LocalDriver(
        known.data_dir,
        cluster.host_id,
        Options(
            runtimes={
                name: Path(path) for name, path in cluster.config.get("runtimes", {}).items()
            },
            declared_gpus=known.local_gpus,
            examples_dir=RESOURCES / "examples",
            roots=_roots(cluster),
            hidden=(known.sealing_keys, *known.local_hidden),
            use_sandbox=False if known.local_sandbox == "off" else None,
            log_limits=Limits(cap=value_of(LOG_BYTES)),
        ),
    )


def _roots(cluster: Cluster) -> tuple[Path, ...]:
    """Folders for working directories: as configured, or one's home on a machine of one's own."""
    if "roots" in cluster.config:
        return tuple(Path(root) for root in cluster.config["roots"])
    known = settings.GANGLINE
    if known.local_roots:
        return tuple(known.local_roots)
    is_own = known.mode == "embedded" and known.host in LOOPBACK and not known.public_url
    home = Path(os.environ.get("HOME", "/"))
    return (home,) if is_own and home.is_dir() and home != Path(home.anchor) else ()


def _configuration(cluster: Cluster) -> dict[str, Any]:
    """What a driver is made from: another one is made when it changes."""
    return {
        **cluster.config,
        "scheduler": scheduler_of(cluster),
        "gpu": gpu_of(cluster),
        "logCap": value_of(LOG_BYTES),
    }


def prefix_of(cluster: Cluster) -> str:
    """What the namespaces of new trainings on a Kubernetes cluster begin with."""
    return str(cluster.config.get("namespacePrefix", "gangline"))


def namespace_of(cluster: Cluster, project: str) -> str:
    """The namespace in which new trainings of a project run."""
    return names.namespace(prefix_of(cluster), project)


def _kubernetes(cluster: Cluster) -> Driver:
    return KubernetesDriver(
        client_for(cluster),
        KubernetesOptions(
            namespace_prefix=prefix_of(cluster),
            scheduler=scheduler_of(cluster),
            log_cap=value_of(LOG_BYTES),
            gpu=gpu_of(cluster),
            data_dir=settings.GANGLINE.data_dir,
        ),
    )


register(LOCAL, _local)
register(KUBERNETES, _kubernetes)
