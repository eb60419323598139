"""The built-in roles, and what a role is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from .permissions import Permission

P = Permission


@dataclass(frozen=True, slots=True)
class Role:
    """A named set of permissions. ``own_only``: held for one's own workloads alone."""

    id: int
    key: str
    label: str
    description: str
    permissions: frozenset[Permission]
    own_only: frozenset[Permission] = field(default_factory=frozenset)

    @property
    def all(self) -> frozenset[Permission]:
        return self.permissions | self.own_only


def _of(*entities: str) -> frozenset[Permission]:
    """Every permission about these entities."""
    return frozenset(permission for permission in P if permission.entity in entities)


SYSTEM_ADMINISTRATOR = "system_administrator"

_ASSETS = _of("template", "environment", "compute", "data_source", "data_volume")
_SEE = frozenset(
    {
        P.WORKLOAD_VIEW,
        P.TEMPLATE_VIEW,
        P.ENVIRONMENT_VIEW,
        P.COMPUTE_VIEW,
        P.DATA_SOURCE_VIEW,
        P.DATA_VOLUME_VIEW,
    }
)
_VIEWER = _SEE | {P.PROJECT_VIEW, P.POLICY_VIEW}
_WATCH = _SEE | {P.WORKLOAD_LOGS}
_RESEARCHER = _VIEWER | {P.WORKLOAD_CREATE, P.WORKLOAD_LOGS}
_OWN = frozenset({P.WORKLOAD_STOP, P.WORKLOAD_DELETE, P.WORKLOAD_EXEC})
_MEMBERS = frozenset({P.MEMBER_MANAGE, P.USER_VIEW, P.GROUP_VIEW, P.ROLE_VIEW, *_of("access_rule")})
_LEAD = _RESEARCHER | _OWN | _MEMBERS | _ASSETS | _of("credential") | {P.AUDIT_VIEW}
_PLACES = frozenset({P.CLUSTER_VIEW, P.NODE_POOL_VIEW, P.NODE_VIEW, P.JOB_VIEW})

_BUILT_IN = (
    Role(
        1,
        SYSTEM_ADMINISTRATOR,
        "System administrator",
        "Full access to everything in its scope.",
        frozenset(P),
    ),
    Role(
        2,
        "department_administrator",
        "Department administrator",
        "Manages the projects, quotas, policies, members and workloads of a department.",
        _LEAD | _PLACES | _of("policy", "project", "department", "quota"),
    ),
    Role(
        3,
        "project_administrator",
        "Project administrator",
        "Manages the members, templates and all workloads of a project.",
        _LEAD,
    ),
    Role(
        4,
        "editor",
        "Editor",
        "Manages departments, projects and quotas; views workloads and clusters.",
        _WATCH
        | _PLACES
        | _of("project", "department", "quota")
        | {P.POLICY_VIEW, P.CREDENTIAL_VIEW},
    ),
    Role(
        5,
        "research_manager",
        "Research manager",
        "Manages projects, templates and assets; views workloads and their logs.",
        _WATCH | _ASSETS | _of("project") | {P.POLICY_VIEW, P.CREDENTIAL_VIEW},
    ),
    Role(
        6,
        "researcher",
        "L1 researcher",
        "Creates workloads, templates and assets; stops and deletes only their own workloads.",
        _RESEARCHER | _ASSETS | {P.CREDENTIAL_VIEW},
        _OWN,
    ),
    Role(
        7,
        "l2_researcher",
        "L2 researcher",
        "Creates workloads and uses templates; stops and deletes only their own workloads.",
        _RESEARCHER | {P.CREDENTIAL_VIEW},
        _OWN,
    ),
    Role(
        8,
        "ml_engineer",
        "ML engineer",
        "Views workloads and their logs, projects and departments.",
        frozenset({P.WORKLOAD_VIEW, P.WORKLOAD_LOGS, P.PROJECT_VIEW, P.DEPARTMENT_VIEW}),
    ),
    Role(
        9,
        "viewer",
        "Viewer",
        "Views workloads, templates, projects and policies, but no logs.",
        _VIEWER,
    ),
    Role(
        10,
        "department_viewer",
        "Department viewer",
        "Views departments, projects, workloads, templates and clusters, but no logs.",
        _SEE | _PLACES | {P.PROJECT_VIEW, P.DEPARTMENT_VIEW},
    ),
    Role(
        11,
        "environment_administrator",
        "Environment administrator",
        "Manages environments; views workloads, logs and templates.",
        _WATCH | _of("environment"),
    ),
    Role(
        12,
        "compute_administrator",
        "Compute resource administrator",
        "Manages compute resources; views workloads, logs and templates.",
        _WATCH | _of("compute"),
    ),
    Role(
        13,
        "data_source_administrator",
        "Data source administrator",
        "Manages data sources; views workloads, logs and templates.",
        _WATCH | _of("data_source"),
    ),
    Role(
        14,
        "template_administrator",
        "Template administrator",
        "Manages templates; views workloads and their logs.",
        _WATCH | _of("template"),
    ),
    Role(
        15,
        "credentials_administrator",
        "Credentials administrator",
        "Manages credentials; views workloads, logs and templates.",
        _WATCH | _of("credential"),
    ),
    Role(
        16,
        "data_volume_administrator",
        "Data volume administrator",
        "Manages data volumes; views workloads, logs, projects, departments and policies.",
        _WATCH | _of("data_volume") | {P.PROJECT_VIEW, P.DEPARTMENT_VIEW, P.POLICY_VIEW},
    ),
)

ROLES: Mapping[str, Role] = MappingProxyType({role.key: role for role in _BUILT_IN})
