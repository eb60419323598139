"""Two ways in that never mix: a bearer token, or the session of a browser with its CSRF token."""

from typing import Any

from django.http import HttpResponse
from django.middleware.csrf import CsrfViewMiddleware
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

from gangline.accounts.areas import labels
from gangline.accounts.models import ApiToken, Limited, TokenSession, User
from gangline.accounts.services import TOKEN_PREFIX, token_of
from gangline.accounts.token_sessions import TokenRefused, session_of

REFUSED = {
    "invalid": "The token is not valid: it is unknown, expired or revoked.",
    "expired": "The token has expired. Get a new one from /api/v1/token.",
    "limited": "The key has expired, or does not allow requests from this address.",
    "revoked": "The token was revoked, or its owner was deactivated.",
}
"""By the code that the answer carries."""


class TokenAuthentication(BaseAuthentication):
    """``Authorization: Bearer`` and an API token or an access token. Cookies are not looked at."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken | TokenSession] | None:
        header = get_authorization_header(request)
        if not header:
            return None
        scheme, _, text = header.partition(b" ")
        if scheme.lower() != b"bearer":
            said = "Authorization must be: Bearer <token>."
            raise exceptions.AuthenticationFailed(said, "scheme")
        try:
            token = _token(
                text.decode("ascii", errors="replace"), request.META.get("REMOTE_ADDR") or ""
            )
        except TokenRefused as error:
            raise exceptions.AuthenticationFailed(REFUSED[error.code], error.code) from error
        if (limited := _limited(token)) is not None:
            if limited.is_read_only and request.method not in SAFE_METHODS:
                raise exceptions.PermissionDenied("This key is read only.")
            if not limited.opens(request.path):
                raise exceptions.PermissionDenied(f"This key is for {labels(limited.areas)} only.")
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="gangline"'


def _limited(token: ApiToken | TokenSession) -> Limited | None:
    return token.client if isinstance(token, TokenSession) else token


def _token(text: str, address: str) -> ApiToken | TokenSession:
    if not text.startswith(TOKEN_PREFIX):
        return session_of(text, address)
    token = token_of(text)
    if token is None:
        raise TokenRefused("invalid")
    if not token.admits(address):
        raise TokenRefused("limited")
    return token


class _Csrf(CsrfViewMiddleware):
    """Answers with the reason instead of a page."""

    def _reject(self, request: Any, reason: str) -> str:
        return reason


def _unused(request: Any) -> HttpResponse:
    return HttpResponse()


class SessionAuthentication(BaseAuthentication):
    """The signed-in browser. Every method that changes something needs the CSRF token."""

    def authenticate(self, request: Request) -> tuple[User, None] | None:
        user = getattr(request._request, "user", None)
        if not isinstance(user, User) or not user.is_active:
            return None
        self._enforce_csrf(request)
        return user, None

    def _enforce_csrf(self, request: Request) -> None:
        check = _Csrf(_unused)
        check.process_request(request._request)
        reason = check.process_view(request._request, _unused, (), {})
        if reason:
            raise exceptions.PermissionDenied(
                "The CSRF token is missing or wrong. Reload the page and try again."
            )
