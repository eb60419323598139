"""Tokens as OAuth 2 has them: forms in, its own names and errors out.

``POST /api/v2/token``, ``POST /api/v1/device`` (RFC 8628), and the oldest address of tokens.
"""

import base64
import binascii
from collections.abc import Mapping
from urllib.parse import unquote_plus

from django.http import QueryDict
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework.parsers import FormParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gangline.accounts import devices
from gangline.accounts import token_sessions as tokens

from .errors import TooMany
from .parsing import BadBody, StrictJSONParser
from .schema import ERROR, component, errors
from .throttling import SignIns
from .tokens import wrong

DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
GRANTS = ("client_credentials", "password", "refresh_token", DEVICE)
_LONGEST = 4096
_TEXT = {"type": "string", "maxLength": _LONGEST}

REQUEST = component(
    "OAuth2TokenRequest",
    {
        "type": "object",
        "required": ["grant_type"],
        "properties": {
            "grant_type": {"type": "string", "enum": list(GRANTS)},
            "client_id": _TEXT,
            "client_secret": {**_TEXT, "description": "Or both by HTTP Basic."},
            "username": _TEXT,
            "password": _TEXT,
            "refresh_token": _TEXT,
            "device_code": _TEXT,
        },
    },
)
RESPONSE = component(
    "OAuth2TokenResponse",
    {
        "type": "object",
        "required": ["access_token", "token_type", "expires_in", "refresh_token", "id_token"],
        "properties": {
            "access_token": {"type": "string"},
            "token_type": {"type": "string", "enum": ["Bearer"]},
            "expires_in": {"type": "integer"},
            "refresh_token": {"type": "string"},
            "id_token": {"type": "string"},
        },
    },
)
FAILED = component(
    "OAuth2Error",
    {
        "type": "object",
        "required": ["error"],
        "properties": {"error": {"type": "string"}, "error_description": {"type": "string"}},
    },
)
ASKED = component(
    "DeviceAuthorization",
    {
        "type": "object",
        "required": [
            "device_code", "user_code", "verification_uri", "verification_uri_complete",
            "expires_in", "interval",
        ],
        "properties": {
            "device_code": {"type": "string", "description": "For the program alone."},
            "user_code": {"type": "string", "description": "To be typed at verification_uri."},
            "verification_uri": {"type": "string"},
            "verification_uri_complete": {"type": "string"},
            "expires_in": {"type": "integer"},
            "interval": {"type": "integer", "description": "Seconds between two requests."},
        },
    },
)  # fmt: skip


class NotGranted(Exception):
    """An answer of OAuth: its code, and a sentence."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(code)
        self.body = {"error": code, "error_description": text}


class OAuthToken(APIView):
    """Authorize a program, by the names of OAuth 2."""

    authentication_classes = ()
    permission_classes = ()
    throttle_classes = (SignIns,)
    parser_classes = (FormParser,)

    @extend_schema(
        operation_id="grantOAuth2Token",
        auth=[],
        request={"application/x-www-form-urlencoded": REQUEST},
        responses={200: RESPONSE, 400: FAILED, 401: FAILED, **dict.fromkeys((415, 429), ERROR)},
    )
    def post(self, request: Request) -> Response:
        """Exchange credentials, or the code of a device, for tokens."""
        try:
            granted = _granted(request, _form(request))
        except NotGranted as error:
            by_header = error.body["error"] == "invalid_client" and _basic(request)
            headers = {"WWW-Authenticate": 'Basic realm="gangline"'} if by_header else {}
            return Response(error.body, status=401 if by_header else 400, headers=headers)
        return Response(
            {
                "access_token": granted.access,
                "token_type": "Bearer",
                "expires_in": tokens.ACCESS_SECONDS,
                "refresh_token": granted.refresh,
                "id_token": granted.identity,
            }
        )


class Device(APIView):
    """Let a program be signed in by who types a code."""

    authentication_classes = ()
    permission_classes = ()
    throttle_classes = (SignIns,)
    parser_classes = (FormParser, StrictJSONParser)

    @extend_schema(
        operation_id="authorizeDevice",
        auth=[],
        request={
            "application/x-www-form-urlencoded": component(
                "DeviceAuthorizationRequest",
                {
                    "type": "object",
                    "properties": {
                        "client_id": {
                            "type": "string",
                            "maxLength": 200,
                            "description": "Name of the program, shown to the user.",
                        }
                    },
                },
            )
        },
        responses={200: ASKED, **errors(400, 415, 429)},
    )
    def post(self, request: Request) -> Response:
        """Begin; then ask ``/api/v2/token`` with grant_type device_code until somebody decides."""
        given = request.data if isinstance(request.data, Mapping) else {}
        name = given.get("client_id", "")
        if not isinstance(name, str):
            raise BadBody([wrong("client_id", "type", "text")])
        address = request.META.get("REMOTE_ADDR") or ""
        try:
            asked = devices.ask(name, address)
        except devices.TooMany as full:
            says = "Too many programs at this address are waiting for approval."
            raise TooMany(full.seconds, says) from None
        page = request.build_absolute_uri(reverse("device"))
        code = devices.shown(asked.user_code)
        return Response(
            {
                "device_code": asked.device_code,
                "user_code": code,
                "verification_uri": page,
                "verification_uri_complete": f"{page}?code={code}",
                "expires_in": devices.SECONDS,
                "interval": devices.INTERVAL,
            }
        )


class AppToken(APIView):
    """Authorize a program at the oldest address."""

    authentication_classes = ()
    permission_classes = ()
    throttle_classes = (SignIns,)

    @extend_schema(
        operation_id="grantAppToken",
        auth=[],
        deprecated=True,
        request={
            "application/json": component(
                "AppTokenRequest",
                {
                    "type": "object",
                    "required": ["id", "secret"],
                    "properties": {
                        "id": {"type": "string"},
                        "name": {"type": "string"},
                        "secret": {"type": "string", "writeOnly": True},
                    },
                },
            )
        },
        responses={
            200: component(
                "AppTokenResponse",
                {
                    "type": "object",
                    "required": ["access_token", "id_token"],
                    "properties": {
                        "access_token": {"type": "string"},
                        "id_token": {"type": "string"},
                    },
                },
            ),
            **errors(400, 415, 429),
        },
    )
    def post(self, request: Request) -> Response:
        """Exchange a client id and its secret for a token."""
        given = request.data if isinstance(request.data, Mapping) else {}
        client, secret = given.get("id"), given.get("secret")
        for name, text in (("id", client), ("secret", secret)):
            if not isinstance(text, str) or not 0 < len(text) <= _LONGEST:
                raise BadBody([wrong(name, "required", "text")])
        try:
            granted = tokens.sign_in_by_secret(request._request, str(client), str(secret))
        except tokens.NotGranted:
            raise BadBody([wrong("secret", "credentials:secret")]) from None
        return Response({"access_token": granted.access, "id_token": granted.identity})


def _granted(request: Request, given: Mapping[str, str]) -> tokens.Tokens:
    """Raises NotGranted."""
    grant = given.get("grant_type", "")
    web = request._request
    try:
        if grant == "client_credentials":
            return tokens.sign_in_by_secret(web, *_both(given, "client_id", "client_secret"))
        if grant == "password":
            return tokens.sign_in_by_password(web, *_both(given, "username", "password"))
        if grant == "refresh_token":
            return tokens.refresh(_needed(given, "refresh_token"))
        if grant == DEVICE:
            return devices.take(web, _needed(given, "device_code"))
    except devices.NotYet as why:
        raise NotGranted(why.code, _DEVICE[why.code]) from None
    except tokens.NotGranted:
        is_client = grant == "client_credentials"
        code = "invalid_client" if is_client else "invalid_grant"
        raise NotGranted(code, "Wrong credentials.") from None
    if not grant:
        raise NotGranted("invalid_request", "grant_type is missing.")
    raise NotGranted("unsupported_grant_type", f"Accepted are {', '.join(GRANTS)}.")


_DEVICE = {
    "authorization_pending": "Waiting for approval.",
    "slow_down": "Slow down: wait five seconds longer between requests.",
    "access_denied": "Access was denied.",
    "expired_token": "The code is wrong, was used or has expired.",
}


def _form(request: Request) -> dict[str, str]:
    """What was sent, each name once. Raises NotGranted."""
    found: dict[str, str] = {}
    data = request.data  # of an empty body, a plain dict
    for name, values in data.lists() if isinstance(data, QueryDict) else ():
        if len(values) != 1:
            raise NotGranted("invalid_request", "A parameter is given twice.")
        if len(values[0]) > _LONGEST or "\0" in values[0]:
            raise NotGranted("invalid_request", "A value is too long or contains NUL.")
        found[name] = values[0]
    if (login := _basic(request)) is not None:
        found |= {"client_id": login[0], "client_secret": login[1]}
    return found


def _basic(request: Request) -> tuple[str, str] | None:
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        name, _, secret = base64.b64decode(text, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return "", ""
    return unquote_plus(name), unquote_plus(secret)


def _needed(given: Mapping[str, str], name: str) -> str:
    if not given.get(name):
        raise NotGranted("invalid_request", f"{name} is missing.")
    return given[name]


def _both(given: Mapping[str, str], one: str, other: str) -> tuple[str, str]:
    return _needed(given, one), _needed(given, other)
