"""What giving and taking rights needs, directly, by groups and by roles of one's own.

Nobody gives more than they hold, by whichever way, and one system administrator always stays.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.db import transaction
from django.db.models import Q, QuerySet

from gangline.accounts.models import User
from gangline.db.locks import locked
from gangline.lib.problems import Problem, Refused
from gangline.scopes.models import Scope, ScopeKind

from .actor import Actor
from .grants import held_permissions, roles_by_key, rules_of
from .models import AccessRule, CustomRole, Group, GroupMember
from .permissions import Permission
from .refusals import HoldsLess, NotAllowed
from .roles import SYSTEM_ADMINISTRATOR


class LastAdministrator(Refused):
    """Without this system administrator nobody could administer the installation."""

    def __init__(self) -> None:
        super().__init__([Problem("last_administrator")])


class NotALocalGroup(Refused):
    """The members of a group of the identity provider are changed there."""

    def __init__(self) -> None:
        super().__init__([Problem("idp", "members")])


def need_to_give(actor: Actor | None, key: str, scope: Scope) -> None:
    """Giving and taking a role needs the right to, and everything that the role allows."""
    role = roles_by_key([key]).get(key)
    if role is None:
        raise ValueError(f"There is no role {key!r}.")
    if actor is None:
        return
    held = held_permissions(actor.user, scope)
    if not held & {Permission.ACCESS_RULE_CREATE, Permission.MEMBER_MANAGE}:
        raise NotAllowed(Permission.ACCESS_RULE_CREATE, scope)
    _need_all(held, role.all, scope)


def need_to_change_members(actor: Actor | None, group: Group) -> None:
    """Changing who is in a group needs what giving each of its roles needs."""
    if actor is None:
        return
    if group.source != Group.Source.LOCAL:
        raise NotALocalGroup
    for rule in group.access_rules.select_related("scope"):
        need_to_give(actor, rule.role, rule.scope)


def need_to_change_role(actor: Actor | None, role: CustomRole, after: Iterable[str]) -> None:
    """Changing a role needs what it allowed and will allow, wherever somebody has it."""
    if actor is None:
        return
    changed = frozenset(map(Permission, {*role.permissions, *after}))
    rules = AccessRule.objects.filter(role=role.key)
    for scope in Scope.objects.filter(pk__in=rules.values("scope")):
        _need_all(held_permissions(actor.user, scope), changed, scope)


def need_to_act_for(actor: Actor | None, user: User) -> None:
    """What opens or closes somebody's account needs everything that they hold."""
    if actor is None or actor.user.pk == user.pk:
        return
    rules = list(rules_of(user).select_related("scope"))
    known = roles_by_key(rule.role for rule in rules)
    for rule in rules:
        if role := known.get(rule.role):
            _need_all(held_permissions(actor.user, rule.scope), role.all, rule.scope)


def subjects(rules: Iterable[AccessRule]) -> set[int]:
    """The users who have these rules, directly or by a group."""
    rules = list(rules)
    groups = {rule.group_id for rule in rules if rule.group_id}
    members = GroupMember.objects.filter(group__in=groups).values_list("user", flat=True)
    return {rule.user_id for rule in rules if rule.user_id} | set(members if groups else ())


@contextmanager
def an_administrator_stays() -> Iterator[None]:
    """One transaction, undone where it leaves no system administrator who can sign in."""
    with transaction.atomic():
        # Two people who demote each other at the same moment come one after the other.
        list(locked(Scope.objects.filter(kind=ScopeKind.TENANT)))
        had_one = administrators().exists()
        yield
        if had_one and not administrators().exists():
            raise LastAdministrator


def administrators() -> QuerySet[User]:
    """Active people who can sign in and have the system administrator's role, by a group too."""
    rules = AccessRule.objects.filter(role=SYSTEM_ADMINISTRATOR, scope__kind=ScopeKind.TENANT)
    members = GroupMember.objects.filter(group__in=rules.filter(user=None).values("group"))
    can_sign_in = ~Q(password__startswith=UNUSABLE_PASSWORD_PREFIX) | Q(last_login__isnull=False)
    return User.objects.filter(
        Q(pk__in=rules.filter(group=None).values("user")) | Q(pk__in=members.values("user")),
        can_sign_in,
        is_active=True,
        kind=User.Kind.PERSON,
    )


def _need_all(held: frozenset[Permission], wanted: frozenset[Permission], scope: Scope) -> None:
    if lacking := sorted(wanted - held):
        raise HoldsLess(lacking[0], scope)
