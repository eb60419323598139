"""From what a provider says to a user: who it is, who is new, and in which groups they are.

An identity is an issuer and its ``sub``. Name and email never lead to an account that somebody
signs in to already.
"""

import re
from collections.abc import Mapping
from typing import Any

from django.contrib.auth.hashers import make_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q

from gangline.access.models import Group
from gangline.access.services import LastAdministrator
from gangline.accounts.models import ApiToken, User, user_name
from gangline.audit.services import record
from gangline.db.clock import db_now
from gangline.db.fields import folded
from gangline.db.locks import locked
from gangline.lib.problems import Refused
from gangline.people.services import set_groups
from gangline.resources.services import make

from .models import ExternalIdentity, IdentityProvider, ProviderGroup
from .openid import Failed, Told

MOST_GROUPS = 200
_EMAIL = re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9.-]{1,180}\.[A-Za-z]{2,24}")


def enter(provider: IdentityProvider, told: Told) -> User:
    """The user who signed in, made where they are new. Raises Failed."""
    with transaction.atomic():
        # Two who come at the same moment with one subject, name or group come one after the other.
        list(locked(IdentityProvider.objects.filter(pk=provider.pk)))
        identity = (
            ExternalIdentity.objects.select_related("user")
            .filter(provider=provider, subject=told.subject)
            .first()
        )
        user = identity.user if identity else _newcomer(provider, told)
        if not user.is_active:
            raise Failed("deactivated", user.username)
        ExternalIdentity.objects.filter(provider=provider, user=user).update(seen_at=db_now())
        _follow_groups(provider, user, told.claims)
    return user


def connect(provider: IdentityProvider, told: Told, user: User) -> None:
    """Let somebody who is signed in come by the provider from now on. Raises Failed."""
    with transaction.atomic():
        list(locked(IdentityProvider.objects.filter(pk=provider.pk)))
        known = ExternalIdentity.objects.filter(provider=provider)
        if known.filter(subject=told.subject, user=user).exists():
            return
        if known.filter(Q(subject=told.subject) | Q(user=user)).exists():
            raise Failed("connected", user.username)
        _keep(provider, told.subject, user)
        _follow_groups(provider, user, told.claims)


def _newcomer(provider: IdentityProvider, told: Told) -> User:
    email, name = _email(provider, told.claims), _user_name(provider, told.claims)
    if (invited := _invited(email, told.claims)) is not None:
        _keep(provider, told.subject, invited)
        return invited
    if not provider.makes_users:
        raise Failed("uninvited", name)
    if email and User.objects.filter(folded_email=folded(email)).exists():
        raise Failed("email_taken", email)
    if not name:
        raise Failed("no_name", provider.username_claim)
    if User.objects.filter(username__iexact=name).exists():
        raise Failed("name_taken", name)
    full_name = _text(told.claims, provider.name_claim)[:100]
    nobody_knows = make_password(None)
    try:
        made: User = make(
            "user", username=name, email=email, full_name=full_name, password=nobody_knows
        )
    except Refused as refused:
        raise Failed("no_name", refused.problems[0].told) from None
    _keep(provider, told.subject, made)
    return made


def _invited(email: str, claims: Mapping[str, Any]) -> User | None:
    """Who was invited by this email and has never come, where the provider vouches for it."""
    if not email or claims.get("email_verified") is not True:
        return None
    user = User.objects.filter(
        folded_email=folded(email), kind=User.Kind.PERSON, last_login=None, is_active=True
    ).first()
    if user is None or user.has_usable_password():
        return None
    others = ExternalIdentity.objects.filter(user=user), ApiToken.objects.filter(user=user)
    return None if any(rows.exists() for rows in others) else user


def _keep(provider: IdentityProvider, subject: str, user: User) -> None:
    ExternalIdentity.objects.create(provider=provider, subject=subject, user=user)
    record(
        actor=None,
        action="identity_provider.connect",
        object_type="user",
        object_id=str(user.uid),
        object_name=user.username,
        detail={"provider": provider.name},
    )


def _follow_groups(provider: IdentityProvider, user: User, claims: Mapping[str, Any]) -> None:
    """Be in exactly the groups that the provider names, as far as they are of this provider."""
    if not provider.groups_claim:
        return
    wanted = {
        group.pk: group for name in _groups(provider, claims) if (group := _group(provider, name))
    }
    own = Group.objects.filter(provided__provider=provider, memberships__user=user)
    before = {group.pk: group for group in own}
    if before.keys() == wanted.keys():
        return
    kept = user.member_of.exclude(pk__in=before)
    try:
        set_groups(user, [*kept, *wanted.values()], actor=None)
    except LastAdministrator:
        # Better somebody who should not be one any more than nobody at all.
        why = "Without this person there would be no system administrator."
        _note_groups(user, before, before, why)
        return
    _note_groups(user, before, wanted)


def _note_groups(
    user: User, before: Mapping[Any, Group], after: Mapping[Any, Group], why: str = ""
) -> None:
    names = [sorted(group.name for group in groups.values()) for groups in (before, after)]
    record(
        actor=None,
        action="user.edit",
        object_type="user",
        object_id=str(user.uid),
        object_name=user.username,
        detail={"groups": {"from": names[0], "to": names[1]}},
        result="denied" if why else "ok",
        reason=why,
    )


def _groups(provider: IdentityProvider, claims: Mapping[str, Any]) -> list[str]:
    found = claims.get(provider.groups_claim)
    listed = [found] if isinstance(found, str) else found if isinstance(found, list) else []
    names = (" ".join(one.split()) for one in listed if isinstance(one, str))
    fit = (name for name in names if 0 < len(name) <= 63 and name.isprintable())
    return list({folded(name): name for name in fit}.values())[:MOST_GROUPS]


def _group(provider: IdentityProvider, name: str) -> Group | None:
    """The provider's group of this name, made where it is new.

    None where people here or another provider have one of this name: nobody joins that.
    """
    known = Group.objects.filter(folded_name=folded(name)).first()
    if known is not None:
        is_own = ProviderGroup.objects.filter(group=known, provider=provider).exists()
        return known if is_own else None
    made: Group = make("group", name=name, source=Group.Source.IDP)
    ProviderGroup.objects.create(provider=provider, group=made)
    return made


def _user_name(provider: IdentityProvider, claims: Mapping[str, Any]) -> str:
    """The name by the claim, or the email where that cannot be one; empty: neither can."""
    for text in (_text(claims, provider.username_claim), _email(provider, claims)):
        try:
            user_name(text)
        except ValidationError:
            continue
        return text
    return ""


def _email(provider: IdentityProvider, claims: Mapping[str, Any]) -> str:
    text = _text(claims, provider.email_claim)
    return text if _EMAIL.fullmatch(text) else ""


def _text(claims: Mapping[str, Any], name: str) -> str:
    found = claims.get(name)
    text = found.strip() if isinstance(found, str) else ""
    return text if text.isprintable() else ""
