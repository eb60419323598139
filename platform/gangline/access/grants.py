"""The two questions of access, answered from the same rules: may I, and what may I see.

A rule holds in its scope and everything below it, for its user or for every member of its group.
There are no negative rules.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db.models import JSONField, OuterRef, Q, QuerySet, Subquery, TextField
from django.db.models.functions import Cast

from gangline.accounts.models import User
from gangline.db.once import once
from gangline.db.prepared import Prepared, prepare
from gangline.scopes.models import Scope, ScopeKind
from gangline.scopes.selectors import is_loaded, scopes_to

from .models import AccessRule, CustomRole, GroupMember
from .permissions import Permission
from .roles import ROLES, Role

DEPTH = 3
"""tenant > cluster > department > project: a project has three scopes above it."""

EVERYWHERE = object()
"""In place of scopes: the whole tree."""
FEW = 500
"""So many scopes are named one by one; a database takes only so many values in one statement."""
_ANYBODY = -1
_Held = tuple[int, str, Role]
"""The scope of a rule, its kind, and the role."""


def can(user: User, permission: Permission, scope: Scope, *, owner_id: int | None = None) -> bool:
    """Whether ``user`` holds ``permission`` in ``scope``; ``owner_id`` is the object's owner."""
    return permission in held_permissions(user, scope, owner_id=owner_id)


def held_permissions(
    user: User, scope: Scope, *, owner_id: int | None = None
) -> frozenset[Permission]:
    """Every permission for which ``can`` would say yes, from one look at the rules."""
    line = set(_upwards(scope))
    is_owner = owner_id is not None and owner_id == user.pk
    return frozenset(
        permission
        for held, _, role in _held(user)
        if held in line
        for permission in (role.all if is_owner else role.permissions)
    )


def held_anywhere(user: User) -> frozenset[Permission]:
    """Every permission that ``user`` holds in some scope, if only for their own workloads."""
    return frozenset(permission for _, _, role in _held(user) for permission in role.all)


def held_at(user: User, permission: Permission, kinds: Iterable[ScopeKind]) -> bool:
    """Whether a rule of ``user`` on a scope of one of these kinds gives it."""
    wanted = set(kinds)
    return any(kind in wanted and permission in role.permissions for _, kind, role in _held(user))


def held_everywhere(user: User, permission: Permission) -> bool:
    """``can(user, permission, tenant_scope())``, from the rules alone."""
    return held_at(user, permission, (ScopeKind.TENANT,))


def visible_scopes(user: User, permission: Permission) -> QuerySet[Scope]:
    """Every scope in which ``can(user, permission, scope)`` holds."""
    return Scope.objects.filter(_below("pk", "parent", _granted(user, permission)))


def holds(user: User, permission: Permission, scope: str = "scope") -> Q:
    """Condition on rows with a foreign key ``scope``: ``can(user, permission, row.scope)``."""
    return _below(f"{scope}_id", f"{scope}__parent", _granted(user, permission))


def holds_below(user: User, permission: Permission, scope: str = "scope") -> Q:
    """Condition on rows: the permission is held in the row's scope or in any scope below it."""
    granted = _granted(user, permission)
    condition = _below(f"{scope}_id", f"{scope}__parent", granted)
    if granted is EVERYWHERE:
        return condition
    within = Scope.objects.filter(pk__in=granted)
    for n in range(1, DEPTH + 1):
        condition |= Q(**{f"{scope}__in": within.values("__".join(["parent"] * n))})
    return condition


def who_can(permission: Permission, scope: Scope) -> list[User]:
    """Active people who hold ``permission`` in ``scope``, closest rules first."""
    line = _upwards(scope)
    rules = AccessRule.objects.filter(_giving(permission), scope__in=line)
    near: dict[int, int] = {}
    for held, *subjects in rules.values_list("scope", "user", "group__memberships__user"):
        for user in filter(None, subjects):
            near[user] = min(near.get(user, DEPTH), line.index(held))
    people = User.objects.filter(pk__in=near, is_active=True, kind=User.Kind.PERSON)
    return sorted(people, key=lambda user: (near[user.pk], user.username))


@dataclass(frozen=True, slots=True)
class Reason:
    """A rule that gives a permission. ``own_only``: for one's own workloads alone."""

    rule: AccessRule
    role: Role
    own_only: bool


def explain(user: User, permission: Permission, scope: Scope) -> list[Reason]:
    """The rules that give ``permission`` to ``user`` in ``scope``, closest first."""
    line = _upwards(scope) if user.is_active else []
    rules = list(
        rules_of(user).filter(scope__in=line).select_related("user", "group", "scope__parent")
    )
    known = roles_by_key(rule.role for rule in rules)
    return [
        Reason(rule, role, own_only=permission not in role.permissions)
        for rule in sorted(rules, key=lambda rule: (line.index(rule.scope_id), rule.pk))
        if (role := known.get(rule.role)) and permission in role.all
    ]


def rules_of(user: User) -> QuerySet[AccessRule]:
    """What a user has, directly and by their groups; it counts while they are active."""
    return AccessRule.objects.filter(_subject(user.pk))


def roles_by_key(keys: Iterable[str]) -> dict[str, Role]:
    """Built-in and custom roles with these keys."""
    wanted = set(keys)
    found = {key: ROLES[key] for key in wanted & ROLES.keys()}
    if custom := wanted - found.keys():
        rows = CustomRole.objects.filter(key__in=custom)
        found |= {row.key: custom_role(row) for row in rows}
    return found


def custom_role(row: CustomRole) -> Role:
    """A custom role in the shape of the built-in ones."""
    return Role(row.pk, row.key, row.name, row.description, _known(row.permissions))


def _subject(user_id: int) -> Q:
    groups = GroupMember.objects.filter(user=user_id).values("group")
    return Q(user=user_id) | Q(group__in=groups)


def _held(user: User) -> Sequence[_Held]:
    """The rules of ``user``, in one query per request."""
    return once(("rules", user.pk), lambda: list(_read(user))) if user.is_active else ()


def _read(user: User) -> Iterator[_Held]:
    own = (user.pk if value == _ANYBODY else value for value in _rules().parameters)
    for scope_id, kind, key, permissions in _rules().rows(*own):
        if role := ROLES.get(key):
            yield scope_id, kind, role
        elif permissions is not None:
            yield scope_id, kind, Role(0, key, key, "", _known(permissions))


def _known(values: Iterable[str]) -> frozenset[Permission]:
    return frozenset(Permission(value) for value in values if value in _VALUES)


_VALUES = frozenset(Permission)


@cache
def _rules() -> Prepared:
    """The rules of one user: every request looks at them, so their SQL is written once."""
    custom = CustomRole.objects.filter(key=OuterRef("role")).values("permissions")
    permissions = Subquery(custom, output_field=JSONField())
    rules = AccessRule.objects.filter(_subject(_ANYBODY))
    return prepare(rules.values_list("scope_id", "scope__kind", "role", permissions))


def _granted(user: User, permission: Permission) -> Any:
    """Scopes of the rules that give the permission, or `EVERYWHERE`."""
    given = [(scope, kind) for scope, kind, role in _held(user) if permission in role.permissions]
    if any(kind == ScopeKind.TENANT for _, kind in given):
        return EVERYWHERE
    if len(given) > FEW:
        return rules_of(user).filter(_giving(permission)).values("scope_id")
    return tuple(sorted({scope for scope, _ in given}))


def _giving(permission: Permission) -> Q:
    """Condition on rules: their role gives the permission, for workloads of others too."""
    built_in = [key for key, role in ROLES.items() if permission in role.permissions]
    # SQLite has no lookup for an element of a JSON list.
    custom = CustomRole.objects.annotate(text=Cast("permissions", TextField()))
    holding = custom.filter(text__contains=f'"{permission}"').values("key")
    return Q(role__in=built_in) | Q(role__in=holding)


def _upwards(scope: Scope) -> list[int]:
    """Ids of ``scope`` and what is above it, near first, in one query at most."""
    if is_loaded(scope):
        return [above.pk for above in reversed(scopes_to(scope))]
    fields = ["pk", *("__".join(["parent"] * n) + "_id" for n in range(1, DEPTH + 1))]
    row = Scope.objects.filter(pk=scope.pk).values_list(*fields).first()
    return [pk for pk in row if pk is not None] if row else []


def _below(own: str, parent: str, granted: Any) -> Q:
    """The scope itself or one of the three above it is granted."""
    if granted is EVERYWHERE:
        return ~Q(pk__in=())
    condition = Q(**{f"{own}__in": granted})
    for n in range(DEPTH):
        path = "__".join([parent, *["parent"] * n]) + "_id"
        condition |= Q(**{f"{path}__in": granted})
    return condition
