"""What may be allowed. Checks name a constant of this module, never a text of their own."""

from collections.abc import Iterable
from enum import StrEnum

ENTITIES = {
    "workload": ("Workloads", "workloads"),
    "template": ("Templates", "templates"),
    "environment": ("Environments", "environments"),
    "compute": ("Compute resources", "compute resources"),
    "data_source": ("Data sources", "data sources"),
    "data_volume": ("Data volumes", "data volumes"),
    "credential": ("Credentials", "credentials"),
    "project": ("Projects", "projects"),
    "department": ("Departments", "departments"),
    "quota": ("Quotas", "quotas"),
    "policy": ("Policies", "policies"),
    "cluster": ("Clusters", "clusters"),
    "node_pool": ("Node pools", "node pools"),
    "node": ("Nodes", "nodes"),
    "job": ("Jobs of others on a cluster", "jobs of others on a cluster"),
    "member": ("Members", "members"),
    "user": ("Users", "users"),
    "group": ("Groups", "groups"),
    "role": ("Roles", "roles"),
    "access_rule": ("Access rules", "access rules"),
    "service_account": ("Service accounts", "service accounts"),
    "access_key": ("Access keys", "access keys of others"),
    "identity_provider": ("Identity providers", "identity providers"),
    "setting": ("Settings", "settings"),
    "audit": ("Audit log", "the audit log"),
}
"""Whatever permissions are about: as a heading, and within a sentence."""

VERBS = {
    "view": ("View", "view"),
    "create": ("Create", "create"),
    "edit": ("Edit", "edit"),
    "delete": ("Delete", "delete"),
    "stop": ("Stop and start", "stop or start"),
    "logs": ("Read logs", "read the logs of"),
    "exec": ("Run commands in", "run commands in"),
    "cancel": ("Cancel", "cancel"),
    "manage": ("Add and remove", "add or remove"),
}
"""Whatever may be done with them, in the same two forms."""


class Permission(StrEnum):
    """``<entity>.<verb>``, of `ENTITIES` and `VERBS`."""

    WORKLOAD_VIEW = "workload.view"
    WORKLOAD_CREATE = "workload.create"
    WORKLOAD_DELETE = "workload.delete"
    WORKLOAD_STOP = "workload.stop"
    """Stop, start again and run again."""
    WORKLOAD_LOGS = "workload.logs"
    WORKLOAD_EXEC = "workload.exec"
    TEMPLATE_VIEW = "template.view"
    """See templates and start workloads from them."""
    TEMPLATE_CREATE = "template.create"
    TEMPLATE_EDIT = "template.edit"
    TEMPLATE_DELETE = "template.delete"
    ENVIRONMENT_VIEW = "environment.view"
    ENVIRONMENT_CREATE = "environment.create"
    ENVIRONMENT_EDIT = "environment.edit"
    ENVIRONMENT_DELETE = "environment.delete"
    COMPUTE_VIEW = "compute.view"
    COMPUTE_CREATE = "compute.create"
    COMPUTE_EDIT = "compute.edit"
    COMPUTE_DELETE = "compute.delete"
    DATA_SOURCE_VIEW = "data_source.view"
    """Of every type: what a type reaches is for policies to say."""
    DATA_SOURCE_CREATE = "data_source.create"
    DATA_SOURCE_EDIT = "data_source.edit"
    DATA_SOURCE_DELETE = "data_source.delete"
    DATA_VOLUME_VIEW = "data_volume.view"
    """Of the projects below, and those that are shared with them."""
    DATA_VOLUME_CREATE = "data_volume.create"
    DATA_VOLUME_EDIT = "data_volume.edit"
    """Also say with whom they are shared."""
    DATA_VOLUME_DELETE = "data_volume.delete"
    CREDENTIAL_VIEW = "credential.view"
    """See that they are there; their values nobody sees. Workloads use them without it."""
    CREDENTIAL_CREATE = "credential.create"
    CREDENTIAL_EDIT = "credential.edit"
    CREDENTIAL_DELETE = "credential.delete"
    PROJECT_VIEW = "project.view"
    PROJECT_CREATE = "project.create"
    PROJECT_EDIT = "project.edit"
    PROJECT_DELETE = "project.delete"
    DEPARTMENT_VIEW = "department.view"
    DEPARTMENT_CREATE = "department.create"
    DEPARTMENT_EDIT = "department.edit"
    DEPARTMENT_DELETE = "department.delete"
    QUOTA_EDIT = "quota.edit"
    POLICY_VIEW = "policy.view"
    POLICY_CREATE = "policy.create"
    POLICY_EDIT = "policy.edit"
    POLICY_DELETE = "policy.delete"
    CLUSTER_VIEW = "cluster.view"
    """Facts, capacity and health; the name is known to everybody with a project there."""
    CLUSTER_CREATE = "cluster.create"
    CLUSTER_EDIT = "cluster.edit"
    CLUSTER_DELETE = "cluster.delete"
    NODE_POOL_VIEW = "node_pool.view"
    NODE_POOL_CREATE = "node_pool.create"
    NODE_POOL_EDIT = "node_pool.edit"
    NODE_POOL_DELETE = "node_pool.delete"
    NODE_VIEW = "node.view"
    JOB_VIEW = "job.view"
    """See jobs of the cluster's scheduler that Gangline has not made, and their scripts."""
    JOB_CANCEL = "job.cancel"
    MEMBER_MANAGE = "member.manage"
    """Give and take roles in a department or project."""
    USER_VIEW = "user.view"
    USER_CREATE = "user.create"
    USER_EDIT = "user.edit"
    USER_DELETE = "user.delete"
    """Deactivate."""
    GROUP_VIEW = "group.view"
    GROUP_CREATE = "group.create"
    GROUP_EDIT = "group.edit"
    GROUP_DELETE = "group.delete"
    ROLE_VIEW = "role.view"
    ROLE_CREATE = "role.create"
    ROLE_EDIT = "role.edit"
    ROLE_DELETE = "role.delete"
    ACCESS_RULE_VIEW = "access_rule.view"
    ACCESS_RULE_CREATE = "access_rule.create"
    ACCESS_RULE_DELETE = "access_rule.delete"
    SERVICE_ACCOUNT_VIEW = "service_account.view"
    SERVICE_ACCOUNT_CREATE = "service_account.create"
    SERVICE_ACCOUNT_EDIT = "service_account.edit"
    SERVICE_ACCOUNT_DELETE = "service_account.delete"
    ACCESS_KEY_VIEW = "access_key.view"
    """Keys of others; one's own need no permission."""
    ACCESS_KEY_DELETE = "access_key.delete"
    IDENTITY_PROVIDER_VIEW = "identity_provider.view"
    IDENTITY_PROVIDER_CREATE = "identity_provider.create"
    """With edit: decide who gets into which accounts and groups."""
    IDENTITY_PROVIDER_EDIT = "identity_provider.edit"
    IDENTITY_PROVIDER_DELETE = "identity_provider.delete"
    SETTING_VIEW = "setting.view"
    SETTING_EDIT = "setting.edit"
    AUDIT_VIEW = "audit.view"

    @property
    def entity(self) -> str:
        return self.partition(".")[0]

    @property
    def verb(self) -> str:
        return self.partition(".")[2]

    @property
    def action(self) -> str:
        """``stop or start workloads``, as it follows *may* or *can* in a sentence."""
        return f"{VERBS[self.verb][1]} {ENTITIES[self.entity][1]}"


def with_views(permissions: Iterable[str]) -> frozenset[Permission]:
    """The same, each with the permission to view what it is about, where there is one."""
    given = frozenset(map(Permission, permissions))
    entities = {one.entity for one in given}
    return given | {one for one in Permission if one.verb == "view" and one.entity in entities}
