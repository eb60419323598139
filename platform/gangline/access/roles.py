"""The built-in roles."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from .permissions import Permission


@dataclass(frozen=True, slots=True)
class Role:
    """A named set of permissions. ``own_only``: held for one's own workloads alone."""

    name: str
    label: str
    permissions: frozenset[Permission]
    own_only: frozenset[Permission] = field(default_factory=frozenset)

    @property
    def all(self) -> frozenset[Permission]:
        return self.permissions | self.own_only


_VIEW = frozenset({Permission.WORKLOAD_VIEW, Permission.POLICY_VIEW, Permission.PROJECT_VIEW})
_WORK = _VIEW | {Permission.WORKLOAD_CREATE, Permission.WORKLOAD_LOGS, Permission.TEMPLATE_USE}
_LEAD = _WORK | {
    Permission.WORKLOAD_STOP,
    Permission.WORKLOAD_DELETE,
    Permission.TEMPLATE_MANAGE,
    Permission.MEMBER_MANAGE,
    Permission.AUDIT_VIEW,
}

_BUILT_IN = (
    Role("system_administrator", "System administrator", frozenset(Permission)),
    Role(
        "department_administrator",
        "Department administrator",
        _LEAD
        | {
            Permission.POLICY_MANAGE,
            Permission.PROJECT_CREATE,
            Permission.CLUSTER_VIEW,
            Permission.NODE_POOL_VIEW,
            Permission.NODE_VIEW,
            Permission.DEPARTMENT_VIEW,
        },
    ),
    Role("project_administrator", "Project administrator", _LEAD),
    Role(
        "researcher",
        "L1 researcher",
        _WORK | {Permission.TEMPLATE_MANAGE},
        frozenset({Permission.WORKLOAD_STOP, Permission.WORKLOAD_DELETE}),
    ),
    Role("viewer", "Viewer", _VIEW),
)

ROLES: Mapping[str, Role] = MappingProxyType({role.name: role for role in _BUILT_IN})
