"""How bodies and queries name a scope: by its kind, and the id of the object of that kind."""

from typing import Any

from django.db.models import Q, QuerySet

from gangline.access.grants import visible_scopes
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.lib.problems import Problem, Refused
from gangline.organization.models import Project
from gangline.scopes.models import Scope, ScopeKind

IDS = {
    ScopeKind.CLUSTER: "clusterId",
    ScopeKind.DEPARTMENT: "departmentId",
    ScopeKind.PROJECT: "projectId",
}


def scope_choices(rows: QuerySet[Any]) -> list[tuple[str, str]]:
    """Where the rows are held, for a filter: by the scopes, of which there are few."""
    scopes = Scope.objects.filter(pk__in=rows.order_by().values("scope"))
    return [(str(scope.pk), scope.title) for scope in scopes.order_by("kind", "name")]


def projects_below(scope_id: int) -> QuerySet[Project]:
    """Those in which what the scope holds can be used."""
    above = Q(scope=scope_id) | Q(department__scope=scope_id) | Q(cluster__scope=scope_id)
    tenant = Q(cluster__scope__parent=scope_id)
    return Project.objects.filter(above | tenant).select_related("cluster").order_by("pk")


def scope_named(user: User, permission: Permission, kind: str, key: str, path: str) -> Scope:
    """The scope of a kind and id; what one may not see is as unknown as what is not there."""
    kind = ScopeKind(kind)
    if kind in IDS and not key:
        raise Refused([Problem("required", path)])
    rows = visible_scopes(user, permission).filter(kind=kind)
    # Ids of every kind are compared as texts: what is no id is the id of nothing.
    found = next((s for s in rows if kind not in IDS or str(getattr(s, kind).pk) == key), None)
    if found is None:
        raise Refused([Problem("options:unseen", path)])
    return found
