"""Making people, tokens and sign-in links; secrets are shown once and only their hash is kept."""

import hmac
import logging
import re
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_failure_limit
from axes.models import AccessAttempt, AccessFailureLog
from django.contrib.auth import authenticate
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import OperationalError, connection, transaction
from django.db.models import F, Model, Q
from django.http import HttpRequest

from gangline.db.clock import db_now
from gangline.db.fields import folded
from gangline.db.once import forget
from gangline.db.prepared import Prepared, prepare
from gangline.settings.catalogue import TOKEN_DAYS
from gangline.settings.values import value_of

from . import signals
from .models import ApiToken, SignInLink, TokenSession, User, hash_of

log = logging.getLogger(__name__)

LINK_MINUTES = 15
MOST_PER_ADDRESS = 50
ADDRESS_WINDOW = timedelta(minutes=5)
"""As long as a name is locked out at an address."""
TOKEN_PREFIX = "gangline_"  # noqa: S105
_TOKEN = re.compile(TOKEN_PREFIX + r"([a-z0-9]{12})_([A-Za-z0-9_-]{43})\Z")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._@-]{0,61}[A-Za-z0-9])?\Z")
INVITE_MINUTES = 72 * 60
_KID_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"
_USED_EVERY = timedelta(minutes=1)


class CannotMake(ValueError):
    """Refused, with a sentence for the person who asked."""


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token just made. ``text`` exists here and nowhere else."""

    text: str
    token: ApiToken


class SignInLimits(AxesDatabaseHandler):  # type: ignore[misc]
    """Locks out a name at one address, and an address that tries many names.

    The secrets of programs are too long to be guessed: what others try at their address does not
    lock them out.
    """

    def get_failures(self, request: Any, credentials: dict[str, Any] | None = None) -> int:
        recent = AccessFailureLog.objects.filter(
            ip_address=request.axes_ip_address,
            attempt_time__gt=request.axes_attempt_time - ADDRESS_WINDOW,
        )
        is_program = "client_secret" in (credentials or {})
        if not is_program and recent.count() >= MOST_PER_ADDRESS:
            return int(get_failure_limit(request, credentials))
        return int(super().get_failures(request, credentials))


def forget_failures(*, before: datetime) -> None:
    """Remove failed sign-ins that no limit counts any more."""
    for model in (AccessAttempt, AccessFailureLog):
        model.objects.filter(attempt_time__lt=before).delete()


def create_user(*, username: str, password: str | None = None, email: str = "") -> User:
    """A person who can sign in; without a password only by sign-in link or token."""
    if not _NAME.match(username):
        raise CannotMake(
            "A user name is 1 to 63 letters, digits, dots, dashes, underscores, @ or spaces."
        )
    if User.objects.filter(username__iexact=username).exists():
        raise CannotMake(f"User already exists: {username}.")
    if email and User.objects.filter(folded_email=folded(email)).exists():
        raise CannotMake("Another user has this email.")
    user = User(username=username, email=email)
    if password is None:
        user.set_unusable_password()
    else:
        check_password(password, user)
        user.set_password(password)
    user.save()
    return user


def make_token(
    *, user: User, name: str, days: int, by: User | None = None, **limits: Any
) -> NewToken:
    """A token for the API that ends after ``days``, as many as the settings allow.

    ``limits``: fields of `Limited`. Raises ValidationError for one that is wrong.
    """
    most = value_of(TOKEN_DAYS)
    if not 1 <= days <= most:
        raise CannotMake(f"A token is valid for 1 to {most} days, not {days}.")
    if not _NAME.match(name):
        raise CannotMake("A token's name is 1 to 63 letters, digits, dots, dashes or spaces.")
    if not user.is_active:
        raise CannotMake(f"{user.username} is deactivated.")
    now = db_now()
    kid = "".join(secrets.choice(_KID_ALPHABET) for _ in range(12))
    secret = secrets.token_urlsafe(32)
    token = ApiToken(
        kid=kid,
        user=user,
        name=name,
        secret_hash=hash_of(secret),
        created_at=now,
        expires_at=now + timedelta(days=days),
        **limits,
    )
    judged_here = {field.name for field in ApiToken._meta.fields} - limits.keys()
    token.clean_fields(exclude=judged_here)
    with transaction.atomic():
        token.save(force_insert=True)
        signals.token_made.send(sender=ApiToken, token=token, by=by)
    return NewToken(text=f"{TOKEN_PREFIX}{kid}_{secret}", token=token)


def revoke_token(*, token: ApiToken, by: User | None = None) -> None:
    """End a token now. Repeating changes nothing."""
    with transaction.atomic():
        changed = ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=db_now())
        if changed:
            signals.token_revoked.send(sender=ApiToken, token=token, by=by)


def token_of(text: str) -> ApiToken | None:
    """The live token that ``text`` is, with its active user, or None for every other reason."""
    match = _TOKEN.match(text)
    if match is None:
        return None
    kid, secret = match.groups()
    token = _token(kid)
    expected = token.secret_hash if token else hash_of("")
    if not hmac.compare_digest(expected, hash_of(secret)) or token is None:
        return None
    now = db_now()
    if token.revoked_at is not None or token.expires_at <= now or not token.user.is_active:
        return None
    if token.last_used_at is None or now - token.last_used_at > _USED_EVERY:
        _note_use(kid, now)
    return token


def _note_use(kid: str, now: datetime) -> None:
    """A database that takes no writes can still be read."""
    try:
        with transaction.atomic():
            ApiToken.objects.filter(pk=kid).update(last_used_at=now)
    except OperationalError as error:
        log.warning("the use of a token could not be noted: %s", error)


def _token(kid: str) -> ApiToken | None:
    """The token and its user in one query: every call of the API begins with it."""
    rows = _tokens().rows(kid)
    if not rows:
        return None
    own = len(ApiToken._meta.concrete_fields)
    token = ApiToken.from_db(connection.alias, _names(ApiToken), rows[0][:own])
    token.user = User.from_db(connection.alias, _names(User), rows[0][own:])
    return token


@cache
def _tokens() -> Prepared:
    user = [f"user__{name}" for name in _names(User)]
    return prepare(ApiToken.objects.filter(pk="").values_list(*_names(ApiToken), *user))


def _names(model: type[Model]) -> list[str]:
    return [field.attname for field in model._meta.concrete_fields]


def make_sign_in_link(
    *,
    user: User,
    purpose: str = SignInLink.Purpose.SIGN_IN,
    minutes: int = LINK_MINUTES,
    by: User | None = None,
) -> str:
    """The path ``/enter/<secret>`` that signs ``user`` in, once."""
    if not user.is_active:
        raise CannotMake(f"{user.username} is deactivated.")
    now = db_now()
    secret = secrets.token_urlsafe(32)
    with transaction.atomic():
        SignInLink.objects.filter(Q(expires_at__lt=now - timedelta(days=1))).delete()
        if purpose == SignInLink.Purpose.INVITE:
            # The one that was shown before may be in the wrong hands.
            SignInLink.objects.filter(user=user, purpose=purpose).delete()
        SignInLink.objects.create(
            secret_hash=hash_of(secret),
            user=user,
            purpose=purpose,
            expires_at=now + timedelta(minutes=minutes),
        )
        signals.link_made.send(sender=SignInLink, user=user, by=by)
    return f"/enter/{secret}"


def live_link(secret: str) -> SignInLink | None:
    """The link while it works, with its user. Changes nothing."""
    links = SignInLink.objects.select_related("user")
    return links.filter(
        pk=hash_of(secret), used_at=None, expires_at__gt=db_now(), user__is_active=True
    ).first()


def use_sign_in_link(secret: str, password: str | None = None) -> User | None:
    """Spend the link and answer whom it signs in; None when it is spent, old or unknown.

    ``password`` becomes theirs: a link of an invitation needs one.
    """
    now = db_now()
    with transaction.atomic():
        # One UPDATE decides between two clicks at the same moment.
        spent = SignInLink.objects.filter(
            pk=hash_of(secret), used_at=None, expires_at__gt=now, user__is_active=True
        ).update(used_at=now)
        if not spent:
            return None
        user = SignInLink.objects.select_related("user").get(pk=hash_of(secret)).user
        if password is not None:
            set_password(user, password)
    return user


def check_password(password: str, user: User) -> None:
    """Raise ValidationError for a password that is too weak or too long."""
    if len(password) > 256:
        raise ValidationError("A password has at most 256 characters.", "max_length")
    validate_password(password, user)


def is_password(request: HttpRequest, user: User, password: str) -> bool:
    """Whether the person knows their password; guesses count like those of signing in."""
    return authenticate(request, username=user.username, password=password) == user


def set_password(user: User, password: str, *, is_temporary: bool = False) -> None:
    """Another password: every session and everything signed in with the old one is over."""
    user.set_password(password)
    user.password_is_temporary = is_temporary
    user.save(update_fields=["password", "password_is_temporary"])
    sign_out(user)


def temporary_password(user: User, *, is_temporary: bool = True) -> str:
    """A password that somebody hands over; it has to be changed at the first sign-in."""
    password = secrets.token_urlsafe(12)
    set_password(user, password, is_temporary=is_temporary)
    return password


def sign_out(user: User) -> None:
    """End every session of the person; API tokens and client secrets stay."""
    user.signed_out_at = db_now()
    user.save(update_fields=["signed_out_at"])
    rights_changed(user.pk)


def rights_changed(*users: int) -> None:
    """Open sockets of these people look again, and so does what is left of this request."""
    forget()
    if users:
        User.objects.filter(pk__in=users).update(auth_version=F("auth_version") + 1)


def deactivate(user: User) -> None:
    """Sign the person out everywhere, at the next request of every session and token."""
    with transaction.atomic():
        _activate(user, is_active=False, deactivated_at=db_now())
        TokenSession.objects.filter(user=user).delete()


def reactivate(user: User) -> None:
    """Let the person in again; roles are as they were."""
    _activate(user, is_active=True, deactivated_at=None)
    user.refresh_from_db(fields=["is_active", "deactivated_at", "auth_version"])


def _activate(user: User, **values: Any) -> None:
    User.objects.filter(pk=user.pk).update(auth_version=F("auth_version") + 1, **values)


def prefer(user: User, **choices: bool) -> None:
    """Remember how the person wants pages to look."""
    user.preferences = {**user.preferences, **choices}
    user.save(update_fields=["preferences"])
