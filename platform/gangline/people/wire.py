"""Roles, rules and places as clients know them."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.core.exceptions import ValidationError

from gangline.access.models import CustomRole
from gangline.access.permissions import ENTITIES, Permission
from gangline.access.roles import Role
from gangline.accounts.models import User
from gangline.clusters.models import Cluster
from gangline.organization.models import Department, Project
from gangline.scopes.models import Scope, ScopeKind
from gangline.scopes.selectors import TENANT_ID, installation

RESOURCE_TYPES = {
    "workloads": ("workload", "workload"),
    "templates": ("template", "workload-asset"),
    "environments": ("environment", "workload-asset"),
    "compute-resources": ("compute", "workload-asset"),
    "pvc-assets": ("data_source", "workload-asset"),
    "git-assets": ("data_source", "workload-asset"),
    "host-path-assets": ("data_source", "workload-asset"),
    "nfs-assets": ("data_source", "workload-asset"),
    "s3-assets": ("data_source", "workload-asset"),
    "cm-volume-assets": ("data_source", "workload-asset"),
    "secret-volume-assets": ("data_source", "workload-asset"),
    "datavolumes": ("data_volume", "workload-asset"),
    "credentials": ("credential", "workload-asset"),
    "project": ("project", "organization"),
    "department": ("department", "organization"),
    "policies": ("policy", "organization"),
    "settings": ("setting", "organization"),
    "events-history": ("audit", "organization"),
    "cluster": ("cluster", "physical-resource"),
    "nodepools": ("node_pool", "physical-resource"),
    "nodes": ("node", "physical-resource"),
    "users": ("user", "iam"),
    "roles": ("role", "iam"),
    "access_rules": ("access_rule", "iam"),
    "service-account": ("service_account", "iam"),
    "access-keys": ("access_key", "iam"),
}
"""By the name that clients have for it: the entity, and the group they look for it in."""
ACTIONS = {
    "view": "read",
    "create": "create",
    "edit": "update",
    "stop": "update",
    "delete": "delete",
}


def wire_permissions(permissions: Iterable[Permission]) -> list[dict[str, Any]]:
    """As clients know them; what they have no word for is left out."""
    held = set(permissions)
    found = []
    for kind, (entity, group) in RESOURCE_TYPES.items():
        verbs = {ACTIONS[one.verb] for one in held if one.entity == entity and one.verb in ACTIONS}
        if verbs:
            found.append(
                {
                    "resourceType": kind,
                    "displayName": ENTITIES[entity][0],
                    "groupId": group,
                    "actions": [one for one in dict.fromkeys(ACTIONS.values()) if one in verbs],
                }
            )
    return found


def wire_role(role: Role, row: CustomRole | None) -> dict[str, Any]:
    founded = installation().created_at if row is None else None
    return {
        "id": role.id,
        "name": role.label,
        "description": role.description,
        "custom": row is not None,
        "enabled": True,
        "effectiveEnabled": True,
        "permissions": wire_permissions(role.all),
        "allows": sorted(role.permissions),
        "allowsOwn": sorted(role.own_only),
        "createdBy": str((row and row.created_by) or "system"),
        "createdAt": row.created_at if row else founded,
        "updatedAt": row.updated_at if row else founded,
    }


def wire_rule(rule: Any, ids: Mapping[int, tuple[str, str | None]]) -> dict[str, Any]:
    """A rule of `tables.described` as clients know it."""
    scope_id, cluster_id = ids[rule.scope_id]
    is_group = rule.group_id is not None
    service = rule.user is not None and rule.user.kind == User.Kind.SERVICE
    return {
        "id": rule.pk,
        "subjectId": rule.subject,
        "subjectType": "group" if is_group else "service-account" if service else "user",
        "roleId": rule.role_id or 0,
        "roleName": rule.role_name or rule.role,
        "scopeId": scope_id,
        "scopeType": rule.scope.kind,
        "scopeName": rule.scope.name,
        **({"clusterId": cluster_id} if cluster_id else {}),
        "tenantId": TENANT_ID,
        "createdBy": str(rule.created_by or "system"),
        "createdAt": rule.created_at,
        "updatedAt": rule.created_at,
    }


def wire_ids(scopes: Iterable[Scope]) -> dict[int, tuple[str, str | None]]:
    """Id of each scope as clients know it, and that of its cluster."""
    by_kind: dict[str, list[int]] = {}
    for scope in scopes:
        by_kind.setdefault(scope.kind, []).append(scope.pk)
    found: dict[int, tuple[str, str | None]] = {
        pk: (str(installation().pk), None) for pk in by_kind.get(ScopeKind.TENANT, ())
    }
    for pk, cluster in Cluster.objects.filter(
        scope__in=by_kind.get(ScopeKind.CLUSTER, ())
    ).values_list("scope", "pk"):
        found[pk] = (str(cluster), str(cluster))
    for model, kind in ((Department, ScopeKind.DEPARTMENT), (Project, ScopeKind.PROJECT)):
        rows = model._default_manager.filter(scope__in=by_kind.get(kind, ()))
        for scope_id, pk, cluster in rows.values_list("scope", "pk", "cluster"):
            found[scope_id] = (str(pk), str(cluster))
    return found


def scope_of(kind: str, wire_id: str) -> Scope | None:
    """The scope that a client names by kind and id."""
    if kind in ("system", ScopeKind.TENANT):
        tenant = installation()
        return tenant.scope if wire_id in ("", "system", "1", str(tenant.pk)) else None
    models: Mapping[str, Any] = {
        ScopeKind.CLUSTER: Cluster,
        ScopeKind.DEPARTMENT: Department,
        ScopeKind.PROJECT: Project,
    }
    if kind not in models:
        return None
    try:
        row = models[kind]._default_manager.select_related("scope").filter(pk=wire_id).first()
    except (ValueError, ValidationError, OverflowError):
        return None
    return row.scope if row else None
