"""Which clusters a person sees, and how each is, in one word with the reason."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import QuerySet

from gangline.access.grants import holds, holds_below
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.db.clock import db_now
from gangline.drivers.checks import PERMISSIONS, REACHABILITY, State

from .models import Cluster, ConnectionCheck


def visible_clusters(user: User) -> QuerySet[Cluster]:
    """Clusters that the person may look into, or below which they see a project."""
    rows = Cluster.objects.select_related("scope__parent", "connection_check")
    return rows.filter(
        holds(user, Permission.CLUSTER_VIEW) | holds_below(user, Permission.PROJECT_VIEW)
    )


def cluster_choices(user: User) -> Sequence[tuple[str, str]]:
    """The clusters that a list can be narrowed to: id and name."""
    rows = visible_clusters(user).order_by("name").values_list("pk", "name")
    return [(str(pk), name) for pk, name in rows]


@dataclass(frozen=True, slots=True)
class Health:
    """What is drawn: word, tone and shape as `gangline.web.components.status` has them."""

    word: str
    tone: str
    shape: str
    reason: str = ""
    since: datetime | None = None


LATE_SECONDS = 100.0
"""A bookmark comes every minute. After 75 seconds without one the watch begins anew: only what is
silent longer than that is late."""
NO_CREDENTIAL = Health("Waiting to connect", "neutral", "unknown")
NOT_YET = Health("Not checked yet", "neutral", "unknown")
CHECKING = Health("Checking", "info", "initializing")
LATE = "No recent updates from the cluster. Gangline checks again automatically."


def health_of(cluster: Cluster) -> Health:
    """``cluster`` with its ``connection_check``, where there is one."""
    if late := late_news(cluster):
        return late
    if cluster.health != "Connected":
        needs_one = cluster.engine.credential is not None
        return NO_CREDENTIAL if needs_one and cluster.credential_at is None else NOT_YET
    if lacking := _lacking(cluster):
        return Health("Missing permission", "warn", "degraded", lacking)
    return Health("Connected", "good", "running", cluster.health_reason)


def late_news(cluster: Cluster) -> Health | None:
    """How it is, where that makes what is shown of its workloads old."""
    if cluster.health == "Unreachable":
        why, since = cluster.health_reason, cluster.health_since
        word = "Not connected" if _was_reached(cluster) else "Not reachable"
        return Health(word, "bad", "no-contact", why, since)
    if cluster.health != "Connected":
        return None
    if cluster.watch_trouble:
        return Health("Not watched", "warn", "degraded", cluster.watch_trouble)
    heard = cluster.heard_at
    if heard is not None and db_now() - heard > timedelta(seconds=LATE_SECONDS):
        return Health("Updates delayed", "warn", "degraded", LATE, heard)
    return None


def _was_reached(cluster: Cluster) -> bool:
    """Whether the last check came as far as an answer, and failed at what followed."""
    row: ConnectionCheck | None = getattr(cluster, "connection_check", None)
    if row is None or row.is_trial:
        return False
    states = {step["name"]: step["state"] for step in row.steps}
    stopped = any(states.get(name) == State.FAILED for name in cluster.engine.required)
    return states.get(REACHABILITY) == State.OK and stopped


def _lacking(cluster: Cluster) -> str:
    """What the last check found of missing rights; empty where none is."""
    row: ConnectionCheck | None = getattr(cluster, "connection_check", None)
    if row is None or row.is_trial:
        return ""
    failed = (s for s in row.steps if s["name"] == PERMISSIONS and s["state"] == State.FAILED)
    return next((str(step["sentence"]) for step in failed), "")


def levels_of(cluster: Cluster) -> list[str]:
    """Labels of nodes that its network topologies name, each from the farthest level on."""
    found = cluster.topologies.order_by("name").values_list("levels", flat=True)
    return list(dict.fromkeys(key for levels in found for key in levels))
