"""How a cluster is, in one word, with the reason: for the list and for its page."""

from dataclasses import dataclass
from datetime import datetime

from gangline.clusters.drivers.kubernetes.steps import State
from gangline.clusters.models import Cluster, ConnectionCheck


@dataclass(frozen=True, slots=True)
class Health:
    """What is drawn: word, tone and shape as `gangline.web.components.status` has them."""

    word: str
    tone: str
    shape: str
    reason: str = ""
    since: datetime | None = None


NOT_YET = Health("Not checked yet", "neutral", "unknown")
CHECKING = Health("Checking", "info", "initializing")


def health_of(cluster: Cluster) -> Health:
    """``cluster`` with its ``connection_check``, where there is one."""
    reason, since = cluster.health_reason, cluster.health_since
    if cluster.health == "Unreachable":
        return Health("Not reachable", "bad", "no-contact", reason, since)
    if cluster.health != "Connected":
        return NOT_YET
    if cluster.watch_trouble:
        return Health("Not followed", "warn", "degraded", cluster.watch_trouble)
    if lacking := _lacking(cluster):
        return Health("Missing permission", "warn", "degraded", lacking)
    return Health("Connected", "good", "running", reason)


def _lacking(cluster: Cluster) -> str:
    """What the last check said of rights that are missing; empty where none is."""
    row: ConnectionCheck | None = getattr(cluster, "connection_check", None)
    if row is None or row.is_trial:
        return ""
    failed = (s for s in row.steps if s["name"] == "Permissions" and s["state"] == State.FAILED)
    return next((str(step["sentence"]) for step in failed), "")
