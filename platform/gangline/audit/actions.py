"""Every action that the audit log knows: constants of this module, and those of resources."""

from collections.abc import Iterable

from django.utils.text import capfirst

WORKLOAD_CREATE = "workload.create"
WORKLOAD_STOP = "workload.stop"
WORKLOAD_RESUME = "workload.resume"
WORKLOAD_RERUN = "workload.rerun"
WORKLOAD_DELETE = "workload.delete"
WORKLOAD_LOG_DOWNLOAD = "workload.log_download"
WORKLOAD_FILE_DOWNLOAD = "workload.file_download"
TERMINAL_OPEN = "workload.terminal_open"
TERMINAL_CLOSE = "workload.terminal_close"
POLICY_SAVE = "policy.save"
POLICY_DELETE = "policy.delete"
CLUSTER_CREDENTIAL = "cluster.credential"
CLUSTER_CHECK = "cluster.check"
"""A check by a person; one that found the cluster unreachable failed, with the reason."""
JOB_CANCEL = "job.cancel"
ORPHAN_DELETE = "orphan.delete"
ORPHAN_IGNORE = "orphan.ignore"
ORPHAN_LIST = "orphan.list"
"""An ignored one is listed again."""
USER_REACTIVATE = "user.reactivate"
PASSWORD_RESET = "user.reset_password"  # noqa: S105
PASSWORD_CHANGE = "user.change_password"  # noqa: S105
SIGNED_OUT = "user.sign_out"
TOKEN_CREATE = "token.create"  # noqa: S105
TOKEN_REVOKE = "token.revoke"  # noqa: S105
LINK_CREATE = "sign_in_link.create"
DEVICE_ALLOW = "program.allow"
DEVICE_DENY = "program.deny"
PROGRAM_END = "program.end"
"""A program that was let in by a code is signed out."""
SIGN_IN = "session.sign_in"
SIGN_IN_FAILED = "session.sign_in_failed"
SIGN_IN_LOCKED = "session.locked_out"
SIGN_OUT = "session.sign_out"
SETTING_EDIT = "setting.edit"
DENIED = "access.denied"

ACTIONS = frozenset(
    value for name, value in list(globals().items()) if name.isupper() and isinstance(value, str)
)

_KINDS = {"sign_in_link": "sign-in link", "token": "API token", "orphan": "unmanaged object"}
_WORDS = {
    WORKLOAD_LOG_DOWNLOAD: "Download log",
    WORKLOAD_FILE_DOWNLOAD: "Download file",
    TERMINAL_OPEN: "Open terminal",
    TERMINAL_CLOSE: "Close terminal",
    WORKLOAD_RERUN: "Run workload again",
    CLUSTER_CREDENTIAL: "Replace cluster credential",
    "user.delete": "Deactivate user",
    USER_REACTIVATE: "Activate user",
    PASSWORD_RESET: "Reset password",
    PASSWORD_CHANGE: "Change password",
    SIGNED_OUT: "Sign user out",
    DEVICE_ALLOW: "Authorize program",
    DEVICE_DENY: "Deny program",
    PROGRAM_END: "Sign program out",
    SIGN_IN: "Sign in",
    SIGN_IN_FAILED: "Failed sign-in",
    SIGN_IN_LOCKED: "Sign-in locked",
    SIGN_OUT: "Sign out",
    DENIED: "Access denied",
}
_registered: set[str] = set()


def register(kind: str, verbs: Iterable[str], word: str) -> None:
    """Let the actions of a resource be recorded: ``department.create``.

    ``word``: what people call the kind. Of two with the same the key tells them apart.
    """
    _registered.update(f"{kind}.{verb}" for verb in verbs)
    if word not in _KINDS.values():
        _KINDS[kind] = word


def known() -> list[str]:
    """All of them, in alphabetical order."""
    return sorted(ACTIONS | _registered)


def is_known(action: str) -> bool:
    return action in ACTIONS or action in _registered


def in_words(action: str) -> str:
    """``Create access rule``."""
    kind, _, verb = action.partition(".")
    return _WORDS.get(action) or capfirst(f"{verb.replace('_', ' ')} {kind_in_words(kind)}")


def kind_in_words(kind: str) -> str:
    """``access rule``: what an action is about."""
    return _KINDS.get(kind) or kind.replace("_", " ")
