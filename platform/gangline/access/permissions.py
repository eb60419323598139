"""What may be allowed. Checks name a constant of this module, never a text of their own."""

from enum import StrEnum


class Permission(StrEnum):
    WORKLOAD_VIEW = "workload.view"
    WORKLOAD_CREATE = "workload.create"
    WORKLOAD_STOP = "workload.stop"
    """Stop, start again and run again."""
    WORKLOAD_DELETE = "workload.delete"
    WORKLOAD_LOGS = "workload.logs"
    TEMPLATE_USE = "template.use"
    TEMPLATE_MANAGE = "template.manage"
    POLICY_VIEW = "policy.view"
    POLICY_MANAGE = "policy.manage"
    DEPARTMENT_VIEW = "department.view"
    DEPARTMENT_CREATE = "department.create"
    DEPARTMENT_EDIT = "department.edit"
    DEPARTMENT_DELETE = "department.delete"
    PROJECT_VIEW = "project.view"
    PROJECT_CREATE = "project.create"
    MEMBER_MANAGE = "member.manage"
    CLUSTER_VIEW = "cluster.view"
    """Facts, capacity and health; the name is known to everybody with a project there."""
    CLUSTER_MANAGE = "cluster.manage"
    SETTINGS_MANAGE = "settings.manage"
    AUDIT_VIEW = "audit.view"
