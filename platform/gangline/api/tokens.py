"""``POST /api/v1/token``: credentials for tokens, as published clients ask for them."""

from collections.abc import Iterator
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gangline.accounts import token_sessions as tokens
from gangline.spec.problems import Problem, Role

from .parsing import BadBody
from .schema import ERROR, component
from .throttling import SignIns

_LONGEST = 4096
_LONGEST_NAME = 150
GRANTS = {
    "client_credentials": ("clientID", "clientSecret"),
    "app_token": ("appID", "appSecret"),
    "password": ("username", "password"),
    "refresh_token": ("refreshToken",),
}
NOT_OFFERED = frozenset({"exchange_token", "external_token_exchange"})
"""Grants of an identity provider, which no installation has yet."""
FIELDS = ("grantType", *dict.fromkeys(name for names in GRANTS.values() for name in names))
_ACCEPTED = ", ".join(GRANTS)

REQUEST = component(
    "TokenRequest",
    {
        "type": "object",
        "required": ["grantType"],
        "additionalProperties": False,
        "description": "Field names are case-insensitive.",
        "properties": {
            "grantType": {
                "type": "string",
                "enum": list(GRANTS),
                "description": "app_token is the old name of client_credentials.",
            },
            **{
                name: {"type": "string", "maxLength": _LONGEST, "writeOnly": True}
                for name in FIELDS[1:]
            },
        },
    },
)
RESPONSE = component(
    "TokenResponse",
    {
        "type": "object",
        "required": ["accessToken", "idToken", "refreshToken", "expiresIn"],
        "properties": {
            "accessToken": {"type": "string", "description": "Send it as: Bearer <accessToken>."},
            "idToken": {"type": "string", "description": "Identifies the user. Gives no access."},
            "refreshToken": {
                "type": "string",
                "description": "For one use, with grantType refresh_token.",
            },
            "expiresIn": {"type": "integer", "description": "Seconds until accessToken expires."},
        },
    },
)


class Token(APIView):
    """Authorize a program."""

    authentication_classes = ()
    permission_classes = ()
    throttle_classes = (SignIns,)

    @extend_schema(
        operation_id="grantToken",
        auth=[],
        request={"application/json": REQUEST},
        responses={200: RESPONSE, **dict.fromkeys((400, 401, 415, 429), ERROR)},
    )
    def post(self, request: Request) -> Response:
        """Exchange credentials for tokens. Wrong credentials are 400: clients repeat a 401."""
        given = _read(request.data)
        grant = given["grantType"]
        needed = GRANTS[grant]
        try:
            granted = _grant(request, grant, *(given[name] for name in needed))
        except tokens.TemporaryPassword as error:
            raise BadBody([wrong("password", "temporary")]) from error
        except tokens.NotGranted as error:
            raise BadBody([wrong(needed[-1], _NOT_GRANTED[grant])]) from error
        return Response(
            {
                "accessToken": granted.access,
                "idToken": granted.identity,
                "refreshToken": granted.refresh,
                "expiresIn": tokens.ACCESS_SECONDS,
            }
        )


_NOT_GRANTED = {
    "client_credentials": "credentials:secret",
    "app_token": "credentials:secret",
    "password": "credentials:name",
    "refresh_token": "credentials",
}


def _grant(request: Request, grant: str, first: str, second: str = "") -> tokens.Tokens:
    if grant == "refresh_token":
        return tokens.refresh(first)
    if grant == "password":
        return tokens.sign_in_by_password(request._request, first, second)
    return tokens.sign_in_by_secret(request._request, first, second)


def _read(body: Any) -> dict[str, str]:
    """The fields of the request by their names, all that its grant needs. Raises BadBody."""
    if not isinstance(body, dict):
        raise BadBody([wrong("", "type", "one JSON object")])
    own_names = {name.lower(): name for name in FIELDS}
    given: dict[str, Any] = {}
    problems: list[Problem] = []
    for key, value in body.items():
        name = own_names.get(key.lower())
        if name is None:
            problems.append(wrong(key, "unknown", ", ".join(FIELDS)))
        elif name in given:
            problems.append(wrong(name, "unique:key", "each field once"))
        elif value is not None:
            given[name] = value
    problems += _problems(given)
    if problems:
        raise BadBody(problems)
    return given


def _problems(given: dict[str, Any]) -> Iterator[Problem]:
    for name, value in given.items():
        longest = _LONGEST_NAME if name in ("username", "clientID", "appID") else _LONGEST
        if not isinstance(value, str):
            yield wrong(name, "type", "text")
        elif len(value) > longest:
            yield wrong(name, "maxLength", most=longest)
    grant = given.get("grantType", "")
    if not isinstance(grant, str):
        return
    if not grant:
        yield wrong("grantType", "required", _ACCEPTED)
    elif grant in NOT_OFFERED:
        yield wrong("grantType", "options:no_idp", _ACCEPTED, value=grant)
    elif grant not in GRANTS:
        yield wrong("grantType", "options:grant", _ACCEPTED, value=grant)
    for name in GRANTS.get(grant, ()):
        if given.get(name, "") == "":
            yield wrong(name, "required:by", "text", by=grant)


def wrong(path: str, code: str, accepted: str = "", **params: Any) -> Problem:
    """``value`` only of what is no secret."""
    return Problem.of(Role.WORKLOAD, path, code, accepted=accepted, **params)
