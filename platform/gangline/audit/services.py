"""Writing the audit log: in the transaction of the change, so that neither is there alone."""

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol

from django.db import DatabaseError, transaction

from gangline.accounts.models import User
from gangline.db.clock import db_now

from .actions import is_known
from .models import AuditEntry

log = logging.getLogger(__name__)

BATCH = 1000
SECRET_WORDS = ("password", "secret", "token", "credential", "private_key")


class Acting(Protocol):
    """Who acts: `gangline.access.actor.Actor`, which stands above this package.

    Without a user it is a visitor who has not signed in.
    """

    @property
    def user(self) -> User | None: ...
    @property
    def channel(self) -> str: ...
    @property
    def token_kid(self) -> str: ...
    @property
    def address(self) -> str: ...
    @property
    def request_id(self) -> str: ...


def record(
    *,
    actor: Acting | None,
    action: str,
    object_type: str,
    object_id: str = "",
    object_name: str = "",
    scope: Any = None,
    result: str = "ok",
    reason: str = "",
    detail: Mapping[str, Any] | None = None,
    at: datetime | None = None,
) -> AuditEntry:
    """Add one row. ``actor`` None: the system itself; ``at`` None: now."""
    if not is_known(action):
        raise ValueError(f"{action!r} is not in gangline.audit.actions")
    return AuditEntry.objects.create(
        at=at or db_now(),
        actor=actor.user if actor else None,
        actor_name=_name(actor)[:150],
        channel=actor.channel if actor else "system",
        action=action,
        object_type=object_type,
        object_id=object_id[:64],
        object_name=_one_line(object_name, 150),
        scope=scope,
        result=result,
        reason=_one_line(reason, 400),
        detail=redacted(detail or {}),
        address=actor.address[:45] if actor else "",
        token_kid=actor.token_kid if actor else "",
        request_id=actor.request_id if actor else "",
    )


def _name(actor: Acting | None) -> str:
    if actor is None:
        return "system"
    return actor.user.username if actor.user else "anonymous"


def record_of_user(actor: Acting | None, action: str, user: User) -> None:
    """Something that was done to an account, or by its owner with it."""
    record(
        actor=actor,
        action=action,
        object_type="user",
        object_id=str(user.uid),
        object_name=user.username,
    )


def record_denied(
    *,
    actor: Acting | None,
    action: str,
    object_type: str,
    object_id: str = "",
    object_name: str = "",
    scope: Any = None,
    reason: str = "",
) -> None:
    """A refusal is written on its own and never turns into a failure of the request."""
    try:
        with transaction.atomic():
            record(
                actor=actor,
                action=action,
                object_type=object_type,
                object_id=object_id,
                object_name=object_name,
                scope=scope,
                result="denied",
                reason=reason,
            )
    except DatabaseError:
        log.exception("A denial of %s could not be audited", action)


def forget_entries(*, before: datetime) -> None:
    """Erase what is older, a few at a time: writers wait for no long transaction."""
    old = AuditEntry.objects.filter(at__lt=before).order_by("at", "pk").values_list("pk", flat=True)
    while found := list(old[:BATCH]):
        AuditEntry.objects.filter(pk__in=found).delete()


def redacted(detail: Mapping[str, Any]) -> dict[str, Any]:
    """The same with the values of secrets replaced; their names stay."""
    return {
        key: "…" if any(word in key.lower() for word in SECRET_WORDS) else _redacted_value(value)
        for key, value in detail.items()
    }


def _redacted_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return redacted(value)
    if isinstance(value, list | tuple):
        return [_redacted_value(item) for item in value]
    return value


def _one_line(text: str, limit: int) -> str:
    return "".join(c if c.isprintable() else "·" for c in text)[:limit]
