"""Signed tokens: a program signs in, gets one for an hour, and may refresh it for a day.

An access token names its session, which is read at every request: rights are those of now, and a
session that was ended ends its tokens with it.
"""

import hmac
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import jwt
from django.contrib.auth import authenticate
from django.contrib.auth.backends import BaseBackend
from django.db import transaction
from django.db.models import F
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from gangline.db.clock import db_now

from . import signals
from .models import ClientSecret, TokenSession, User, hash_of

ACCESS_SECONDS = 3600
SESSION_SECONDS = 24 * 3600
LEEWAY_SECONDS = 10
ISSUER = "gangline"
ACCESS, REFRESH = "gangline-api", "gangline-refresh"
"""Audiences: neither token is good for the other's purpose."""
_ALGORITHM = "HS256"
_CLAIMS = ["aud", "exp", "iat", "iss", "sid", "sub"]


class NotGranted(Exception):
    """The credentials are not right; which part of them is not said."""


class TemporaryPassword(NotGranted):
    """Somebody else knows it: the person has to choose another one first."""


class TokenRefused(Exception):
    """``code``: ``invalid``, ``expired``, ``revoked`` or ``limited``."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class ClientSecretBackend(BaseBackend):
    """Authenticates a client id, given as ``username``, by its secret.

    The lock after wrong passwords counts wrong secrets by the same name and address.
    """

    def authenticate(  # type: ignore[override]  # Django skips backends that lack an argument
        self, request: HttpRequest | None, username: str, client_secret: str
    ) -> User | None:
        try:
            client_id = UUID(username)
        except ValueError:
            return None
        found = (
            ClientSecret.objects.select_related("user")
            .filter(pk=client_id, revoked_at=None, user__is_active=True)
            .first()
        )
        if found is None or not hmac.compare_digest(found.secret_hash, hash_of(client_secret)):
            return None
        return found.user


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a program gets. The texts are nowhere else."""

    session: TokenSession
    access: str
    refresh: str
    identity: str


def sign_in_by_secret(request: HttpRequest, client_id: str, secret: str) -> Tokens:
    """Open a session for a client id. Raises NotGranted."""
    user = authenticate(request, username=client_id, client_secret=secret)
    if not isinstance(user, User):
        raise NotGranted
    with transaction.atomic():
        now = db_now()
        # A rotation waits for this row, or has changed its hash: no session outlives its secret.
        client = ClientSecret.objects.filter(
            pk=client_id, secret_hash=hash_of(secret), revoked_at=None
        )
        known = client.first()
        if known is None or not known.takes(request.META.get("REMOTE_ADDR") or ""):
            raise NotGranted
        if not client.update(last_used_at=now):
            raise NotGranted
        return open_session(request, user, known)


def sign_in_by_password(request: HttpRequest, username: str, password: str) -> Tokens:
    """Open a session for a person. Raises NotGranted."""
    user = authenticate(request, username=username, password=password)
    if not isinstance(user, User):
        raise NotGranted
    if user.password_is_temporary:
        raise TemporaryPassword
    with transaction.atomic():
        return open_session(request, user, None)


def refresh(text: str) -> Tokens:
    """The next tokens of a session. Raises NotGranted.

    A refresh token that was used before ends the session: there are two holders of it, and one of
    them is not who signed in.
    """
    try:
        claims = _claims(text, REFRESH)
    except TokenRefused as error:
        raise NotGranted from error
    mine = TokenSession.objects.filter(pk=claims["sid"])
    moved = mine.filter(refreshed=claims["n"]).update(refreshed=F("refreshed") + 1)
    session = mine.select_related("user", "client").first()
    if not moved or session is None or not _is_alive(session):
        mine.delete()
        raise NotGranted
    return _tokens(session)


def session_of(text: str, address: str) -> TokenSession:
    """The live session of an access token, with its active user. Raises TokenRefused.

    What its client secret is limited to holds at every request, from ``address``.
    """
    claims = _claims(text, ACCESS)
    sessions = TokenSession.objects.select_related("user", "client")
    session = sessions.filter(pk=claims["sid"]).first()
    if session is None or not _is_alive(session):
        raise TokenRefused("revoked")
    if session.client is not None and not session.client.takes(address):
        raise TokenRefused("limited")
    return session


def open_session(
    request: HttpRequest, user: User, client: ClientSecret | None, *, name: str = ""
) -> Tokens:
    """Tokens for who was found to be ``user``; ``name`` is that of a program they let in."""
    now = db_now()
    TokenSession.objects.filter(expires_at__lt=now).delete()
    User.objects.filter(pk=user.pk).update(last_login=now)
    session = TokenSession.objects.create(
        user=user,
        client=client,
        name=name,
        password_mark="" if client else user.get_session_auth_hash(),
        created_at=now,
        expires_at=now + timedelta(seconds=SESSION_SECONDS),
    )
    signals.tokens_granted.send(sender=TokenSession, session=session, request=request)
    return _tokens(session)


def _is_alive(session: TokenSession) -> bool:
    if not session.user.is_active:
        return False
    now = session.user.get_session_auth_hash() if session.password_mark else ""
    return hmac.compare_digest(session.password_mark, now)


def _tokens(session: TokenSession) -> Tokens:
    """Claims hold no ``~ ? >``: clients read the payload as plain base64."""
    now = int(time.time())
    about = {"iss": ISSUER, "sub": str(session.user.uid), "sid": session.pk.hex, "iat": now}
    access = about | {"aud": ACCESS, "exp": now + ACCESS_SECONDS}
    again = {"aud": REFRESH, "exp": int(session.expires_at.timestamp()), "n": session.refreshed}
    who = {"aud": str(session.client_id or ISSUER), "preferred_username": session.user.username}
    texts = (jwt.encode(c, _key(), _ALGORITHM) for c in (access, about | again, access | who))
    return Tokens(session, *texts)


def _claims(text: str, audience: str) -> dict[str, Any]:
    """What our own signature stands under, for this audience. Raises TokenRefused."""
    try:
        return jwt.decode(
            text,
            _key(),
            algorithms=[_ALGORITHM],
            audience=audience,
            issuer=ISSUER,
            leeway=LEEWAY_SECONDS,
            options={"require": _CLAIMS},
        )
    except jwt.ExpiredSignatureError as error:
        raise TokenRefused("expired") from error
    except (jwt.InvalidTokenError, RecursionError) as error:
        raise TokenRefused("invalid") from error


def _key() -> bytes:
    """Of this installation: it follows from its secret key, and no other use shares it."""
    return salted_hmac("gangline.accounts.token_sessions", "", algorithm="sha256").digest()
