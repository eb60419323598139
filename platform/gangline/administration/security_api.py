"""What concerns signing in, under the names and in the shapes that Run:ai's clients know.

They are settings as all others are; here each stands in an object of its own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gangline.access.actor import acting
from gangline.access.permissions import Permission
from gangline.api.paging import known_only
from gangline.api.schema import Schema, component, errors
from gangline.lib.problems import Problem, Refused, unknown_fields
from gangline.settings.catalogue import IDLE_MINUTES, SIGNED_OUT_URL, SSO_REDIRECT, Declared
from gangline.settings.values import value_of

from . import services

Values = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One setting as an object."""

    setting: Declared[Any]
    fields: Mapping[str, Schema]
    show: Callable[[Any], Values]
    read: Callable[[Values], Any]
    """The value of the setting; of what has the right types."""
    named: str
    """The field that holds it."""


def _provider(given: Values) -> str:
    if not given.get("enabled", False):
        return ""
    if not given.get("idpAlias"):
        raise Refused([Problem("required", "idpAlias")])
    return str(given["idpAlias"])


def _minutes(given: Values) -> int:
    if "idleTimeout" not in given:
        raise Refused([Problem("required", "idleTimeout")])
    number = given["idleTimeout"]
    if number != int(number):
        raise Refused([Problem("type", "idleTimeout", {"accepted": "a whole number"})])
    return int(number)


SHOWN: Mapping[str, Shown] = MappingProxyType(
    {
        "autoRedirectSSO": Shown(
            setting=SSO_REDIRECT,
            fields={
                "enabled": {"type": "boolean"},
                "idpAlias": {"type": "string", "maxLength": SSO_REDIRECT.most},
            },
            show=lambda alias: {"enabled": bool(alias), "idpAlias": alias},
            read=_provider,
            named="idpAlias",
        ),
        "browserSessionTimeout": Shown(
            setting=IDLE_MINUTES,
            fields={
                "idleTimeout": {
                    "type": "number",
                    "minimum": IDLE_MINUTES.least,
                    "maximum": IDLE_MINUTES.most,
                    "description": "Minutes.",
                }
            },
            show=lambda minutes: {"idleTimeout": minutes},
            read=_minutes,
            named="idleTimeout",
        ),
        "logoutRedirectUri": Shown(
            setting=SIGNED_OUT_URL,
            fields={"uri": {"type": "string", "maxLength": SIGNED_OUT_URL.most}},
            show=lambda url: {"uri": url},
            read=lambda given: given.get("uri", ""),
            named="uri",
        ),
    }
)
_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = MappingProxyType(
    {
        "boolean": ((bool,), "true or false"),
        "string": ((str,), "text"),
        "number": ((int, float), "a number"),
    }
)


def _object(fields: Mapping[str, Schema]) -> Schema:
    return {"type": "object", "additionalProperties": False, "properties": dict(fields)}


ALL = component(
    "SecuritySettings",
    {
        **_object({key: _object(one.fields) for key, one in SHOWN.items()}),
        "required": list(SHOWN),
    },
)
ONE = component("SecuritySetting", {"anyOf": [_object(one.fields) for one in SHOWN.values()]})
_KEY = OpenApiParameter("key", {"type": "string", "enum": list(SHOWN)}, OpenApiParameter.PATH)


class SecuritySettings(APIView):
    @extend_schema(operation_id="listSecuritySettings", responses={200: ALL, **errors(400, 403)})
    def get(self, request: Request) -> Response:
        """How people sign in and out."""
        known_only(request, frozenset())
        services.need(acting(request), Permission.SETTING_VIEW)
        return Response({key: one.show(value_of(one.setting)) for key, one in SHOWN.items()})


class SecuritySetting(APIView):
    @extend_schema(
        operation_id="getSecuritySetting",
        parameters=[_KEY],
        responses={200: ONE, **errors(400, 403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """One of them."""
        known_only(request, frozenset())
        services.need(acting(request), Permission.SETTING_VIEW)
        one = _known(key)
        return Response(one.show(value_of(one.setting)))

    @extend_schema(
        operation_id="updateSecuritySetting",
        parameters=[_KEY],
        request={"application/json": ONE},
        responses={200: ONE, **errors(400, 403, 404, 413, 415)},
    )
    def put(self, request: Request, key: str) -> Response:
        """Change one; it holds from the next request on."""
        actor = acting(request)
        services.need(actor, Permission.SETTING_EDIT)
        one = _known(key)
        value = one.read(_given(one, request.data))
        try:
            services.change(actor, [services.Wanted(one.setting, value)])
        except Refused as error:
            raise Refused([replace(found, path=one.named) for found in error.problems]) from error
        return Response(one.show(value_of(one.setting)))


def _known(key: str) -> Shown:
    if key not in SHOWN:
        raise Http404
    return SHOWN[key]


def _given(one: Shown, body: Any) -> Values:
    if not isinstance(body, Mapping):
        raise Refused([Problem("type", "", {"accepted": "an object"})])
    problems = list(unknown_fields(body, one.fields))
    given = {name: value for name, value in body.items() if value is not None}
    for name, schema in one.fields.items():
        kinds, accepted = _TYPES[schema["type"]]
        value = given.get(name)
        is_bool = isinstance(value, bool) and bool not in kinds
        if name in given and (is_bool or not isinstance(value, kinds)):
            problems.append(Problem("type", name, {"accepted": accepted}))
    if problems:
        raise Refused(problems)
    return given
