"""What a client may ask of a list of assets, and about each of them beside itself."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Q, QuerySet

from assets import sync
from assets.kinds import kind_of_asset
from assets.models import Asset
from assets.scopes import IDS, scope_named
from assets.selectors.fitness import asset_problems
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.api.paging import Asked, BadQuery, flag
from gangline.organization.models import Project
from gangline.organization.selectors import visible_projects, with_scopes
from gangline.policies.effective import EffectivePolicy
from gangline.policies.selectors import effective_for
from gangline.resources.registry import uses
from gangline.scopes.models import ScopeKind
from gangline.scopes.selectors import scopes_to
from gangline.spec.frameworks import FRAMEWORKS
from gangline.spec.problems import Role

NAME, LEVEL, BELOW = "name", "scope", "includeDescendants"
USAGE, STATUS, COMPLY, REPLICA = "usageInfo", "statusInfo", "complyToProject", "complyToReplicaType"
TYPE, FRAMEWORK, CHOSEN = "complyToWorkloadType", "distributedFramework", "assetIds"
TYPES = ("isDistributed", "isTraining", "isWorkspace", "isInference")
PARAMETERS = frozenset(
    {NAME, LEVEL, BELOW, USAGE, STATUS, COMPLY, REPLICA, TYPE, FRAMEWORK, CHOSEN}
    | {*TYPES, *IDS.values()}
)
_ROLES = {"": Role.WORKER, "Worker": Role.WORKER, "Master": Role.MASTER}
_KEYS = {
    "workload": "distributed",
    "template": "templates",
    "policy": "policies",
    "data volume": "dataVolumes",
}


def narrowed(
    rows: QuerySet[Any], request: Asked, user: User, permission: Permission
) -> QuerySet[Any]:
    """The rows that the query lets through: by name, ids, framework and where they are held."""
    query = request.query_params
    if name := query.get(NAME, ""):
        rows = rows.filter(name=name)
    if chosen := query.get(CHOSEN, ""):
        known = {str(pk): pk for pk in rows.values_list("pk", flat=True)}
        rows = rows.filter(pk__in=[known[one] for one in chosen.lower().split(",") if one in known])
    if framework := _framework(query):
        rows = rows.filter(framework__in=("", framework))
    wanted = [one for one in TYPES if one in query and flag(request, one)]
    if wanted and "isDistributed" not in wanted:
        return rows.none()
    return _placed(rows, request, user, permission)


def _placed(
    rows: QuerySet[Any], request: Asked, user: User, permission: Permission
) -> QuerySet[Any]:
    query, below = request.query_params, flag(request, BELOW)
    level = query.get(LEVEL, "")
    if level not in ("", "system", *ScopeKind.values):
        raise BadQuery(f"{LEVEL} must be one of {', '.join(ScopeKind.values)}.")
    if level and below:
        raise BadQuery(f"{LEVEL} and {BELOW} exclude each other.")
    # The narrowest that is named: a project says its department and cluster already.
    named = [kind for kind in IDS if query.get(IDS[kind])]
    if not named:
        return rows.filter(scope__kind=level) if level else rows
    kind = ScopeKind(level) if level in named else named[-1]
    scope = scope_named(user, permission, kind, str(query[IDS[kind]]), IDS[kind])
    if level:
        return rows.filter(scope=scope) if level == kind else rows.filter(scope__kind=level)
    if below:
        paths = ("scope", "scope__parent", "scope__parent__parent", "scope__parent__parent__parent")
        within = Q()
        for path in paths:
            within |= Q(**{path: scope})
        return rows.filter(within)
    return rows.filter(scope__in=[one.pk for one in scopes_to(scope)])


class Questions:
    """The flags of one request, read once for all rows of its answer."""

    def __init__(self, request: Asked, user: User) -> None:
        query = request.query_params
        self.user = user
        self.usage, self.status = flag(request, USAGE), flag(request, STATUS)
        replica = query.get(REPLICA, "")
        if replica not in _ROLES:
            raise BadQuery(f"{REPLICA} must be Worker or Master.")
        self.role = _ROLES[replica]
        self.framework = _framework(query)
        project = project_of(query.get(COMPLY, ""), user)
        self.policy: EffectivePolicy | None = effective_for(project) if project else None

    def answers(self, asset: Asset) -> dict[str, Any]:
        """What was asked about the asset."""
        found: dict[str, Any] = {}
        if self.usage:
            found["usedBy"] = self._used_by(asset)
        if self.usage or self.policy is not None:
            found["usageTimes"] = {"lastUsedByWorkload": asset.last_used_at}
        if self.status:
            found["status"] = sync.told(asset)
        if self.policy is not None:
            found["compliance"] = self._compliance(asset, self.policy)
        return found

    def _used_by(self, asset: Asset) -> Mapping[str, Any]:
        found: dict[str, Any] = {"distributed": [], "templates": []}
        for one in uses(asset, kind_of_asset(asset).model):
            rows = one.rows.filter(pk__in=one.visible(self.user))
            for row in rows[:100]:
                entry = {"id": str(row.pk), "name": str(row)}
                status = getattr(row, "status", "")
                users = found.setdefault(_KEYS[one.noun], [])
                users.append({**entry, "status": status} if status else entry)
        return found

    def _compliance(self, asset: Asset, policy: EffectivePolicy) -> Mapping[str, Any]:
        problems = asset_problems(asset, policy, self.framework, self.role)
        return {
            "imposed": str(asset.pk) in policy.imposed.get(self.role, {}),
            "compliance": not problems,
            "reason": [{"field": p.path, "rule": p.rule, "details": p.sentence} for p in problems],
        }


def _framework(query: Mapping[str, str]) -> str:
    framework = query.get(FRAMEWORK, "")
    if framework not in ("", *FRAMEWORKS):
        raise BadQuery(f"{FRAMEWORK} must be one of {', '.join(FRAMEWORKS)}.")
    return framework


def project_of(text: str, user: User) -> Project | None:
    """That of ``complyToProject``; what one may not see is as unknown as what is not there."""
    if not text:
        return None
    rows = with_scopes(visible_projects(user, Permission.PROJECT_VIEW))
    is_id = text.isascii() and text.isdigit() and len(text) < 16
    found = rows.filter(pk=int(text)).first() if is_id else None
    if found is None:
        raise BadQuery(f"{COMPLY} must be the id of a project that you may see.")
    return found
