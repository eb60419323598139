"""How the API writes and reads identity providers: with the names that Run:ai's clients use."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gangline.lib.problems import Problem, Refused, under, unknown_fields
from gangline.resources.api import ResourceSerializer, ResourceViewSet

from .models import DISCOVERY, IdentityProvider
from .resources import SECRET
from .views import redirect_uri

_OIDC = ("clientId", "clientSecret", "discoverDocumentUrl", "issuer", "scopes")
_MAPPERS = {
    "username": "username_claim",
    "email": "email_claim",
    "name": "name_claim",
    "groups": "groups_claim",
}
_TEXT = {"type": "string"}


@extend_schema_field(
    {
        "type": "object",
        "properties": {
            "clientId": _TEXT,
            "clientSecret": {**_TEXT, "writeOnly": True, "description": "Empty: a public client."},
            "issuer": _TEXT,
            "discoverDocumentUrl": {**_TEXT, "description": f"The issuer and {DISCOVERY}."},
            "scopes": {"type": "array", "items": _TEXT},
        },
    }
)
class OidcData(serializers.DictField):
    pass


@extend_schema_field(
    {
        "type": "object",
        "description": "The claim that each is read from.",
        "properties": dict.fromkeys(_MAPPERS, _TEXT),
    }
)
class Mappers(serializers.DictField):
    pass


class IdentityProviderSerializer(ResourceSerializer):
    type = serializers.ChoiceField(choices=["oidc"], required=False)
    redirect_uri = serializers.CharField(read_only=True)
    oidc_data = OidcData(required=False)
    mappers = Mappers(required=False)

    class Meta:
        model = IdentityProvider
        fields = (
            "alias", "name", "type", "redirect_uri", "oidc_data", "mappers", "makes_users",
            "is_enabled", "created_at", "updated_at",
        )  # fmt: skip
        fixed = ("alias", "issuer")

    def to_representation(self, obj: IdentityProvider) -> dict[str, Any]:
        return {
            "alias": obj.alias,
            "name": obj.name,
            "type": "oidc",
            "redirectUri": redirect_uri(self.context["request"]._request, obj),
            "oidcData": {
                "clientId": obj.client_id,
                "issuer": obj.issuer,
                "discoverDocumentUrl": obj.discovery_url,
                "scopes": obj.scopes.split(),
            },
            "mappers": {name: getattr(obj, field) for name, field in _MAPPERS.items()},
            "makesUsers": obj.makes_users,
            "isEnabled": obj.is_enabled,
            "createdAt": obj.created_at,
            "updatedAt": obj.updated_at,
        }

    def to_internal_value(self, data: Any) -> Any:
        values = super().to_internal_value(data)
        values.pop("type", None)
        values |= _of_oidc(values.pop("oidc_data", {}))
        mappers = _texts("mappers", values.pop("mappers", {}), tuple(_MAPPERS))
        return values | {_MAPPERS[name]: text for name, text in mappers.items()}

    def parts(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        assert isinstance(data, dict)  # noqa: S101  the validated copy
        return {SECRET: data.pop(SECRET)} if SECRET in data else {}


class IdentityProviderViewSet(ResourceViewSet):
    """What is wrong is named where it stands in the body."""

    def create(self, request: Request, **kwargs: Any) -> Response:
        with _by_their_places():
            return super().create(request, **kwargs)

    def _change(self, request: Request, pk: Any, *, partial: bool) -> Response:
        with _by_their_places():
            return super()._change(request, pk, partial=partial)


_PLACES = {
    "issuer": "oidcData.issuer",
    "scopes": "oidcData.scopes",
    "client_id": "oidcData.clientId",
    SECRET: "oidcData.clientSecret",
    **{field: f"mappers.{name}" for name, field in _MAPPERS.items()},
}


@contextmanager
def _by_their_places() -> Iterator[None]:
    try:
        yield
    except Refused as refused:
        raise Refused(
            [replace(one, path=_PLACES.get(one.path, one.path)) for one in refused.problems]
        ) from None


def _of_oidc(given: Mapping[str, Any]) -> dict[str, Any]:
    scopes = given.get("scopes")
    if scopes is not None and not (
        isinstance(scopes, list) and all(isinstance(one, str) for one in scopes)
    ):
        raise Refused([Problem("type", "oidcData.scopes", {"accepted": "a list of strings"})])
    texts = _texts("oidcData", {k: v for k, v in given.items() if k != "scopes"}, _OIDC)
    found: dict[str, Any] = {"scopes": " ".join(scopes)} if scopes is not None else {}
    if address := texts.get("issuer") or texts.get("discoverDocumentUrl"):
        found["issuer"] = address.removesuffix(DISCOVERY)
    for wire, field in (("clientId", "client_id"), ("clientSecret", SECRET)):
        if wire in texts:
            found[field] = texts[wire]
    return found


def _texts(path: str, given: Mapping[str, Any], known: tuple[str, ...]) -> dict[str, str]:
    problems = list(unknown_fields(given, dict.fromkeys(known)))
    for name, value in given.items():
        if name in known and value is not None and not isinstance(value, str):
            problems.append(Problem("type", name, {"accepted": "text"}))
    if problems:
        raise Refused(list(under(path, problems)))
    return {name: value for name, value in given.items() if value is not None}
