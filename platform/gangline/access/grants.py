"""The two questions of access, answered from the same grants: may I, and what may I see.

A grant holds in its scope and everything below it. There are no negative grants.
"""

from typing import Any

from django.db.models import Q, QuerySet

from gangline.accounts.models import User
from gangline.scopes.models import Scope
from gangline.scopes.selectors import is_loaded, scopes_to

from .models import Grant
from .permissions import Permission
from .roles import ROLES

DEPTH = 3
"""tenant > cluster > department > project: a project has three scopes above it."""


def can(user: User, permission: Permission, scope: Scope, *, owner_id: int | None = None) -> bool:
    """Whether ``user`` holds ``permission`` in ``scope``; ``owner_id`` is the object's owner."""
    if not user.is_active:
        return False
    return Grant.objects.filter(
        user=user,
        role__in=_roles(permission, own=owner_id is not None and owner_id == user.pk),
        scope__in=_upwards(scope),
    ).exists()


def held_permissions(
    user: User, scope: Scope, *, owner_id: int | None = None
) -> frozenset[Permission]:
    """Every permission for which ``can`` would say yes, from one look at the grants."""
    if not user.is_active:
        return frozenset()
    names = Grant.objects.filter(user=user, scope__in=_upwards(scope)).values_list(
        "role", flat=True
    )
    roles = [ROLES[name] for name in names if name in ROLES]
    is_owner = owner_id is not None and owner_id == user.pk
    held = {p for role in roles for p in role.permissions}
    return frozenset(held | {p for role in roles if is_owner for p in role.own_only})


def held_anywhere(user: User) -> frozenset[Permission]:
    """Every permission that the person holds in any scope."""
    if not user.is_active:
        return frozenset()
    names = Grant.objects.filter(user=user).values_list("role", flat=True).distinct()
    return frozenset(p for name in names if name in ROLES for p in ROLES[name].permissions)


def visible_scopes(user: User, permission: Permission) -> QuerySet[Scope]:
    """Every scope in which ``can(user, permission, scope)`` holds."""
    return Scope.objects.filter(_below("pk", "parent", _granted(user, permission)))


def holds(user: User, permission: Permission, scope: str = "scope") -> Q:
    """Condition on rows with a foreign key ``scope``: ``can(user, permission, row.scope)``."""
    return _below(f"{scope}_id", f"{scope}__parent", _granted(user, permission))


def holds_below(user: User, permission: Permission, scope: str = "scope") -> Q:
    """Condition on rows: the permission is held in the row's scope or in any scope below it."""
    granted = Grant.objects.filter(pk__in=_granted(user, permission).values("pk"))
    condition = holds(user, permission, scope)
    for n in range(1, DEPTH + 1):
        condition |= Q(**{f"{scope}__in": granted.values("__".join(["scope", *["parent"] * n]))})
    return condition


def who_can(permission: Permission, scope: Scope) -> list[User]:
    """Active people who hold ``permission`` in ``scope``, closest grants first."""
    line = _upwards(scope)
    grants = Grant.objects.filter(
        role__in=_roles(permission, own=False), scope__in=line, user__is_active=True
    ).select_related("user")
    near_first = sorted(grants, key=lambda g: (line.index(g.scope_id), g.user.username))
    return list({grant.user_id: grant.user for grant in near_first}.values())


def _granted(user: User, permission: Permission) -> QuerySet[Grant, Any]:
    """Scopes of the grants that give the permission."""
    grants = Grant.objects.filter(user=user, role__in=_roles(permission, own=False))
    return (grants if user.is_active else grants.none()).values("scope_id")


def _roles(permission: Permission, *, own: bool) -> list[str]:
    return [
        role.name
        for role in ROLES.values()
        if permission in role.permissions or (own and permission in role.own_only)
    ]


def _upwards(scope: Scope) -> list[int]:
    """Ids of ``scope`` and what is above it, near first, in one query at most."""
    if is_loaded(scope):
        return [above.pk for above in reversed(scopes_to(scope))]
    fields = ["pk", *("__".join(["parent"] * n) + "_id" for n in range(1, DEPTH + 1))]
    row = Scope.objects.filter(pk=scope.pk).values_list(*fields).first()
    return [pk for pk in row if pk is not None] if row else []


def _below(own: str, parent: str, granted: QuerySet[Grant, Any]) -> Q:
    """The scope itself or one of the three above it is granted."""
    condition = Q(**{f"{own}__in": granted})
    for n in range(DEPTH):
        path = "__".join([parent, *["parent"] * n]) + "_id"
        condition |= Q(**{f"{path}__in": granted})
    return condition
