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
        ask = f" {_listed(self.who)} can." if self.who else " Ask an administrator."
        return f"You do not have permission to {self.permission.action} in {self.scope.label}.{ask}"


class HoldsLess(NotAllowed):
    """It takes every right of a role or a person, and one of them is missing."""

    @property
    def sentence(self) -> str:
        return f"You need all the permissions that are granted or revoked here. {super().sentence}"


def _listed(names: Sequence[str]) -> str:
    shown = list(names[:3])
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"
