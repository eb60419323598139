"""How access says no: what one may not see does not exist, what one may not do is forbidden."""

from collections.abc import Sequence

from gangline.scopes.models import Scope

from .permissions import Permission


class NotVisible(Exception):
    """Answered 404, the same way as something that does not exist."""


class NotAllowed(Exception):
    """Visible, but the action is not held there. ``who`` names people who hold it (403)."""

    def __init__(
        self,
        permission: Permission,
        scope: Scope,
        who: Sequence[str] = (),
        *,
        is_audited: bool = False,
    ) -> None:
        super().__init__(f"{permission} in {scope.label}")
        self.permission = permission
        self.scope = scope
        self.who = list(who)
        self.is_audited = is_audited
        """Recorded by the place that raised it, with more than a page knows of it."""

    @property
    def sentence(self) -> str:
        """What is missing, where, and whom to ask."""
        action = _ACTIONS.get(self.permission, str(self.permission))
        place = self.scope.label if self.scope.kind != "tenant" else "this installation"
        ask = f" {_listed(self.who)} can." if self.who else " Ask an administrator."
        return f"You may not {action} in {place}.{ask}"


_ACTIONS = {
    Permission.WORKLOAD_VIEW: "see workloads",
    Permission.WORKLOAD_CREATE: "create workloads",
    Permission.WORKLOAD_STOP: "stop or start this workload",
    Permission.WORKLOAD_DELETE: "delete this workload",
    Permission.WORKLOAD_LOGS: "read logs",
    Permission.TEMPLATE_USE: "use templates",
    Permission.TEMPLATE_MANAGE: "change templates",
    Permission.POLICY_VIEW: "see policies",
    Permission.POLICY_MANAGE: "change policies",
    Permission.DEPARTMENT_VIEW: "see departments",
    Permission.DEPARTMENT_CREATE: "create departments",
    Permission.DEPARTMENT_EDIT: "change departments",
    Permission.DEPARTMENT_DELETE: "delete departments",
    Permission.PROJECT_VIEW: "see projects",
    Permission.PROJECT_CREATE: "create projects",
    Permission.MEMBER_MANAGE: "change who belongs to it",
    Permission.CLUSTER_VIEW: "see clusters",
    Permission.CLUSTER_MANAGE: "change clusters",
    Permission.SETTINGS_MANAGE: "change settings",
    Permission.SETTING_VIEW: "see settings",
    Permission.SETTING_EDIT: "change settings",
    Permission.AUDIT_VIEW: "read the audit log",
}


def _listed(names: Sequence[str]) -> str:
    shown = list(names[:3])
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"
