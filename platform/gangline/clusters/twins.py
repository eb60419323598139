"""No cluster is connected twice: the second identity would take the first one's rights away.

Both would bind the role of a project in a namespace of the same name, each to itself.
"""

import logging

from django.db.models import QuerySet

from gangline.clusters import connections, credentials
from gangline.clusters.models import Cluster
from gangline.db.locks import locked
from gangline.drivers.kubernetes.access import Access
from gangline.drivers.kubernetes.client import Client, Unreachable
from gangline.drivers.kubernetes.resources import NAMESPACES
from gangline.scopes.models import Scope, ScopeKind

log = logging.getLogger(__name__)

LONGEST = 5.0
"""Seconds for the one answer that a person waits for."""


class AlreadyConnected(Exception):
    """Which cluster it is that is connected already, in a sentence."""


def uid_at(access: Access) -> str:
    """What tells the cluster there from every other one; empty where it cannot be read."""
    try:
        client = Client(access, credentials.reach())
        answer = client.request("GET", NAMESPACES.path(name="kube-system"), read_seconds=LONGEST)
    except (Unreachable, OSError, ValueError):
        # The connection check, which follows, says what is wrong there.
        log.info("which cluster is at %s is not known", access.server)
        return ""
    meta = answer.body.get("metadata") if answer.ok and isinstance(answer.body, dict) else None
    return str(meta.get("uid") or "") if isinstance(meta, dict) else ""


def refuse(uid: str, *, but: Cluster | None = None) -> None:
    """Raises AlreadyConnected where another row than ``but`` is the cluster with this uid."""
    if not uid:
        return
    for name, facts in _others(but).values_list("name", "facts"):
        if facts.get("detail", {}).get("uid") == uid:
            raise AlreadyConnected(
                f"This is the cluster that is connected as {name} already. "
                "Replace its credential on its page instead."
            )


def hold() -> None:
    """Until the transaction ends, nobody else gives a cluster its place in the tree."""
    locked(Scope.objects.filter(kind=ScopeKind.TENANT)).get()


def _others(but: Cluster | None) -> QuerySet[Cluster]:
    rows = Cluster.objects.filter(kind=connections.KUBERNETES).order_by("name")
    return rows.exclude(pk=but.pk) if but else rows
