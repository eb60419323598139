"""Giving and taking roles. Nobody gives more than they hold."""

from django.db import transaction

from gangline.accounts.models import User
from gangline.accounts.services import rights_changed
from gangline.audit import actions
from gangline.audit.services import record
from gangline.db.clock import db_now
from gangline.db.locks import locked
from gangline.scopes.models import Scope

from .actor import Actor
from .grants import can
from .models import Grant
from .permissions import Permission
from .refusals import NotAllowed
from .roles import ROLES


class LastAdministrator(Exception):
    """The one remaining system administrator keeps the role."""


def give(*, actor: Actor | None, user: User, role: str, scope: Scope) -> Grant:
    """Grant ``role`` in ``scope``. ``actor`` None: the installation itself, at its first start."""
    if actor is not None:
        _may_give(actor, role, scope)
    with transaction.atomic():
        grant, made = Grant.objects.get_or_create(
            user=user, role=role, scope=scope, defaults={"created_at": db_now()}
        )
        if made:
            rights_changed(user)
            record(
                actor=actor,
                action=actions.ROLE_GIVE,
                object_type="user",
                object_id=str(user.uid),
                object_name=user.username,
                scope=scope,
                detail={"role": role},
            )
    return grant


def take(*, actor: Actor, grant: Grant) -> None:
    """Take a role back."""
    _may_give(actor, grant.role, grant.scope)
    with transaction.atomic():
        admins = Grant.objects.filter(role="system_administrator", user__is_active=True)
        if grant.role == "system_administrator" and all(
            other.pk == grant.pk for other in locked(admins)
        ):
            raise LastAdministrator
        grant.delete()
        rights_changed(grant.user)
        record(
            actor=actor,
            action=actions.ROLE_TAKE,
            object_type="user",
            object_id=str(grant.user.uid),
            object_name=grant.user.username,
            scope=grant.scope,
            detail={"role": grant.role},
        )


def _may_give(actor: Actor, role: str, scope: Scope) -> None:
    if role not in ROLES:
        raise ValueError(f"There is no role {role!r}.")
    needed = {Permission.MEMBER_MANAGE} | ROLES[role].all
    if not all(can(actor.user, permission, scope) for permission in needed):
        raise NotAllowed(Permission.MEMBER_MANAGE, scope)
