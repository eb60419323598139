"""Signing in and out, and what happens to tokens, heard by signal: accounts stand below."""

from dataclasses import dataclass, replace
from typing import Any

from axes.signals import user_locked_out
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.dispatch import receiver
from django.http import HttpRequest

from gangline.accounts import signals
from gangline.accounts.models import ApiToken, DeviceRequest, TokenSession, User

from . import actions
from .services import record, record_denied, record_of_user


@dataclass(frozen=True, slots=True)
class _Visitor:
    user: User | None
    channel: str = "form"
    token_kid: str = ""
    address: str = ""
    request_id: str = ""


def _visitor(user: User | None, request: HttpRequest | None) -> _Visitor:
    meta = request.META if request is not None else {}
    return _Visitor(
        user=user,
        channel="form" if request is not None else "cli",
        address=meta.get("REMOTE_ADDR") or "",
        request_id=meta.get("gangline.request_id", ""),
    )


@receiver(user_logged_in)
def _signed_in(sender: Any, request: HttpRequest | None, user: Any, **_: Any) -> None:
    if isinstance(user, User):
        record_of_user(_visitor(user, request), actions.SIGN_IN, user)


@receiver(signals.tokens_granted)
def _tokens_granted(sender: Any, session: TokenSession, request: HttpRequest, **_: Any) -> None:
    actor = _visitor(session.user, request)
    if actor is not None:
        actor = replace(actor, channel="api", token_kid=session.kid)
    record_of_user(actor, actions.SIGN_IN, session.user)


@receiver(user_logged_out)
def _signed_out(sender: Any, request: HttpRequest | None, user: Any, **_: Any) -> None:
    if isinstance(user, User):
        record_of_user(_visitor(user, request), actions.SIGN_OUT, user)


@receiver(user_login_failed)
def _failed(
    sender: Any, credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any
) -> None:
    kept_out(actions.SIGN_IN_FAILED, str(credentials.get("username") or ""), request)


@receiver(user_locked_out)
def _locked(
    sender: Any, username: str | None = None, request: HttpRequest | None = None, **_: Any
) -> None:
    kept_out(actions.SIGN_IN_LOCKED, username or "", request)


def kept_out(action: str, username: str, request: HttpRequest | None, reason: str = "") -> None:
    """Somebody who wanted to sign in and could not."""
    visitor = _visitor(None, request)
    record_denied(
        actor=visitor, action=action, object_type="user", object_name=username, reason=reason
    )


@receiver(signals.token_made)
def _token_made(sender: Any, token: ApiToken, by: User | None, **_: Any) -> None:
    _about_token(actions.TOKEN_CREATE, token, by)


@receiver(signals.token_revoked)
def _token_revoked(sender: Any, token: ApiToken, by: User | None, **_: Any) -> None:
    _about_token(actions.TOKEN_REVOKE, token, by)


def _about_token(action: str, token: ApiToken, by: User | None) -> None:
    record(
        actor=_Visitor(user=by) if by else None,
        action=action,
        object_type="token",
        object_id=token.kid,
        object_name=token.name,
        detail={"user": token.user.username, "expires": token.expires_at.isoformat()},
    )


@receiver(signals.link_made)
def _link_made(sender: Any, user: User, by: User | None, **_: Any) -> None:
    record_of_user(_Visitor(user=by) if by else None, actions.LINK_CREATE, user)


@receiver(signals.device_decided)
def _device_decided(
    sender: Any, asked: DeviceRequest, user: User, request: HttpRequest, allowed: bool, **_: Any
) -> None:
    record(
        actor=_visitor(user, request),
        action=actions.DEVICE_ALLOW if allowed else actions.DEVICE_DENY,
        object_type="program",
        object_name=asked.name,
        detail={"address": asked.address or ""},
    )
