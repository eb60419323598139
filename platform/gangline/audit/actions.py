"""Every action that the audit log knows: constants of this module, and those of resources."""

from collections.abc import Iterable

WORKLOAD_CREATE = "workload.create"
WORKLOAD_STOP = "workload.stop"
WORKLOAD_RESUME = "workload.resume"
WORKLOAD_RERUN = "workload.rerun"
WORKLOAD_DELETE = "workload.delete"
WORKLOAD_LOG_DOWNLOAD = "workload.log_download"
TEMPLATE_CREATE = "template.create"
POLICY_SAVE = "policy.save"
POLICY_DELETE = "policy.delete"
CLUSTER_CREDENTIAL = "cluster.credential"
CLUSTER_CHECK = "cluster.check"
"""A check by a person; one that found the cluster unreachable is denied, with the reason."""
ORPHAN_DELETE = "orphan.delete"
ORPHAN_IGNORE = "orphan.ignore"
ORPHAN_LIST = "orphan.list"
"""An ignored one is listed again."""
DEPARTMENT_CREATE = "department.create"
PROJECT_CREATE = "project.create"
PROJECT_EDIT = "project.edit"
USER_REACTIVATE = "user.reactivate"
PASSWORD_RESET = "user.reset_password"  # noqa: S105
PASSWORD_CHANGE = "user.change_password"  # noqa: S105
SIGNED_OUT = "user.sign_out"
TOKEN_CREATE = "token.create"  # noqa: S105
TOKEN_REVOKE = "token.revoke"  # noqa: S105
LINK_CREATE = "sign_in_link.create"
SIGN_IN = "session.sign_in"
SIGN_IN_FAILED = "session.sign_in_failed"
SIGN_IN_LOCKED = "session.locked_out"
SIGN_OUT = "session.sign_out"
SETTING_EDIT = "setting.edit"
DENIED = "access.denied"

ACTIONS = frozenset(
    value for name, value in list(globals().items()) if name.isupper() and isinstance(value, str)
)

_registered: set[str] = set()


def register(names: Iterable[str]) -> None:
    """Let the actions of a resource be recorded: ``department.create``."""
    _registered.update(names)


def known() -> list[str]:
    """All of them, in alphabetical order."""
    return sorted(ACTIONS | _registered)


def is_known(action: str) -> bool:
    return action in ACTIONS or action in _registered
