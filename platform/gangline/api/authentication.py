"""Two ways in that never mix: a bearer token, or the session of a browser with its CSRF token."""

from typing import Any

from django.http import HttpResponse
from django.middleware.csrf import CsrfViewMiddleware
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.request import Request

from gangline.accounts.models import ApiToken, User
from gangline.accounts.services import token_of

UNKNOWN_TOKEN = "The token is not valid: it is unknown, expired or revoked."  # noqa: S105


class TokenAuthentication(BaseAuthentication):
    """``Authorization: Bearer gangline_<kid>_<secret>``. Cookies are not looked at."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        header = get_authorization_header(request)
        if not header:
            return None
        scheme, _, text = header.partition(b" ")
        if scheme.lower() != b"bearer":
            raise exceptions.AuthenticationFailed("Authorization must be: Bearer <token>.")
        try:
            token = token_of(text.decode("ascii"))
        except UnicodeDecodeError:
            token = None
        if token is None:
            raise exceptions.AuthenticationFailed(UNKNOWN_TOKEN)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="gangline"'


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
