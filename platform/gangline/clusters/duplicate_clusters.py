"""No cluster is connected twice: the second identity would take the first one's rights away.

Both would bind the role of a project in a namespace of the same name, each to itself.
"""

from gangline.db.locks import locked
from gangline.lib.problems import Problem, Refused
from gangline.resources.registry import usages
from gangline.scopes.models import Scope, ScopeKind

from .models import Cluster


def refuse(uid: str, *, but: Cluster | None = None) -> None:
    """Raises Refused where another row than ``but`` is the cluster with this uid."""
    if not uid:
        return
    rows = Cluster.objects.order_by("name")
    for name, facts in (rows.exclude(pk=but.pk) if but else rows).values_list("name", "facts"):
        if facts.get("detail", {}).get("uid") == uid:
            raise Refused([Problem("connected", "way", {"value": name})])


def hold() -> None:
    """Until the transaction ends, no other cluster gets a credential."""
    locked(Scope.objects.filter(kind=ScopeKind.TENANT)).get()


def leads_elsewhere(cluster: Cluster, uid: str) -> str:
    """Why a credential belongs to another cluster than the one that is in use; else empty."""
    row = Cluster.objects.get(pk=cluster.pk)
    before = row.facts.get("detail", {}).get("uid")
    if not before or before == uid or not usages(row, None):
        return ""
    if not uid:
        return (
            "Gangline cannot tell whether this is the same cluster: the account cannot read the "
            "namespace kube-system. Allow it to get namespaces."
        )
    return "It belongs to a different cluster. Connect that one separately."
