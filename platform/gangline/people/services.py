"""Giving roles, who is in which group, and what is done for people who cannot sign in."""

from collections.abc import Iterable

from django.db import transaction

from gangline.access.actor import Actor
from gangline.access.grants import can
from gangline.access.models import AccessRule, Group, GroupMember
from gangline.access.permissions import Permission
from gangline.access.refusals import NotAllowed
from gangline.access.services import (
    an_administrator_stays,
    need_to_act_for,
    need_to_change_members,
)
from gangline.accounts import services as accounts
from gangline.accounts.models import SignInLink, User
from gangline.accounts.services import rights_changed
from gangline.audit import actions
from gangline.audit.services import record_of_user
from gangline.resources.registry import get
from gangline.resources.services import create
from gangline.scopes.models import Scope
from gangline.scopes.selectors import tenant_scope


def give(
    *,
    actor: Actor | None,
    role: str,
    scope: Scope,
    user: User | None = None,
    group: Group | None = None,
) -> AccessRule:
    """A role for a user or a group in ``scope``; the rule that is there already, if one is."""
    values = {"user": user, "group": group, "role": role, "scope": scope}
    with transaction.atomic():
        known = AccessRule.objects.filter(**values).first()
        rule: AccessRule = known or create(get("access_rule"), actor=actor, values=values).obj
    return rule


def set_members(group: Group, users: Iterable[User], *, actor: Actor | None) -> None:
    """Exactly these people are in the group."""
    wanted = {user.pk for user in users}
    members = set(group.memberships.values_list("user", flat=True))
    _change([(group, wanted ^ members)], actor)


def set_groups(user: User, groups: Iterable[Group], *, actor: Actor | None) -> None:
    """The user is in exactly these groups."""
    wanted = {group.pk for group in groups}
    known = set(user.memberships.values_list("group", flat=True))
    _change([(group, {user.pk}) for group in Group.objects.filter(pk__in=wanted ^ known)], actor)


def _change(changes: Iterable[tuple[Group, set[int]]], actor: Actor | None) -> None:
    """Let those join who are not in the group, and those leave who are."""
    with an_administrator_stays():
        for group, users in changes:
            if not users:
                continue
            need_to_change_members(actor, group)
            gone = group.memberships.filter(user__in=users)
            left = set(gone.values_list("user", flat=True))
            gone.delete()
            GroupMember.objects.bulk_create(
                GroupMember(group=group, user_id=pk) for pk in sorted(users - left)
            )
            rights_changed(*users)


def invite_link(user: User, *, actor: Actor, is_new: bool = False) -> str:
    """The path by which somebody sets a password, once, within 72 hours.

    Who may create a user may invite them: of what is new, no right beyond that is asked.
    """
    _need(Permission.USER_CREATE if is_new else Permission.USER_EDIT, actor, user)
    return accounts.make_sign_in_link(
        user=user,
        purpose=SignInLink.Purpose.INVITE,
        minutes=accounts.INVITE_MINUTES,
        by=actor.user,
    )


def reset_password(user: User, *, actor: Actor) -> str:
    """A temporary password in place of the one that the person has."""
    _need(Permission.USER_EDIT, actor, user)
    with transaction.atomic():
        record_of_user(actor, actions.PASSWORD_RESET, user)
        return accounts.temporary_password(user)


def sign_out(user: User, *, actor: Actor) -> None:
    """End every session of the person."""
    _need(Permission.USER_EDIT, actor, user)
    with transaction.atomic():
        record_of_user(actor, actions.SIGNED_OUT, user)
        accounts.sign_out(user)


def reactivate(user: User, *, actor: Actor) -> None:
    """Let a deactivated person in again, with the roles that they had."""
    _need(Permission.USER_EDIT, actor, user)
    with transaction.atomic():
        record_of_user(actor, actions.USER_REACTIVATE, user)
        accounts.reactivate(user)


def _need(permission: Permission, actor: Actor, user: User) -> None:
    place = tenant_scope()
    if not can(actor.user, permission, place):
        raise NotAllowed(permission, place)
    need_to_act_for(actor, user)
