"""How the API writes and reads credentials: values go in, and none comes out."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assets import flags
from assets.credentials import copies, store
from assets.credentials.resources import CredentialsOfType
from assets.credentials.types import EXISTING, TYPES, CredentialType, GenericSecret
from assets.models import Credential
from assets.scopes import IDS
from assets.serializers import AssetViewSet, MetaSerializer
from gangline.api.paging import flag
from gangline.lib.problems import Problem, Refused, under, unknown_fields
from gangline.resources.api import ResourceViewSet
from gangline.resources.registry import get, uses
from gangline.resources.services import Saved
from gangline.scopes.selectors import tenant_scope

_USERS = {"workload": "distributed", "template": "templates", "policy": "policies"}


@extend_schema_field(
    {
        "type": "object",
        "additionalProperties": True,
        "description": "The values, by type. Answers have none of them, but `keyId`, which rises"
        " whenever values are given.",
    }
)
class ValuesField(serializers.DictField):
    """Values of the credential."""


class CredentialSerializer(serializers.Serializer[Any]):
    """A credential of any type: its ``spec`` has one member, named like the type."""

    meta = MetaSerializer()
    spec = ValuesField(required=False)

    def to_representation(self, obj: Credential) -> dict[str, Any]:
        return {
            "meta": MetaSerializer().to_representation(obj),
            "spec": {obj.kind: _spec(obj)},
            "clusterInfo": {"resources": [{"name": obj.object_name}]},
        }


class CredentialOfTypeSerializer(CredentialSerializer):
    """A credential of one type: its ``spec`` are the values."""

    def to_representation(self, obj: Credential) -> dict[str, Any]:
        return super().to_representation(obj) | {"spec": _spec(obj)}


class PersonalCredentialSerializer(CredentialSerializer):
    """A credential of the caller."""

    def to_representation(self, obj: Credential) -> dict[str, Any]:
        found = super().to_representation(obj)
        found["meta"]["private"] = True
        del found["clusterInfo"]  # nobody needs the name, and nobody shall guess it
        return found


def _spec(obj: Credential) -> dict[str, Any]:
    found: dict[str, Any] = {"keyId": obj.rotations}
    if not obj.is_ours:
        found[EXISTING] = obj.object_name
    if obj.type.model is GenericSecret:
        return found | {"keyValuePairs": [{"key": key} for key in obj.shown.get("keys", ())]}
    return found | ({"url": obj.shown["url"]} if "url" in obj.shown else {})


class CredentialViewSet(AssetViewSet):
    """Credentials of every type. Bodies that change one may leave out the values."""

    extra_parameters = frozenset(
        {flags.NAME, flags.LEVEL, flags.BELOW, flags.USAGE, flags.STATUS, *IDS.values()}
    )

    def type_of(self, obj: Credential | None, spec: Any) -> tuple[CredentialType, Any, str]:
        """The type that a body is about, its values, and where they stand."""
        named = [name for name in spec if name in TYPES] if isinstance(spec, Mapping) else []
        if len(named) != 1 or len(spec) != 1:
            raise Refused([Problem("oneOf:none", "spec", {"accepted": ", ".join(TYPES)})])
        return TYPES[named[0]], spec[named[0]], f"spec.{named[0]}"

    def read(
        self, data: Any, obj: Any = None, *, partial: bool = False
    ) -> tuple[dict[str, Any], Mapping[str, Any]]:
        if not isinstance(data, Mapping):
            raise Refused([Problem("type", "", {"accepted": "an object"})])
        if unknown := unknown_fields(data, ("meta", "spec")):
            raise Refused(unknown)
        values = self._meta(data.get("meta"), obj)
        if obj is None or data.get("spec") is not None:
            kind, given, at = self.type_of(obj, data.get("spec") or {})
            if obj is not None and kind.key != obj.kind:
                raise Refused([Problem("fixed:type", at)])
            values["given"] = _read(kind, given, at)
            if obj is None:
                values["kind"] = kind.key
        return values, {}

    def present(self, obj: Any, saved: Saved[Any] | None = None) -> dict[str, Any]:
        found = ResourceViewSet.present(self, obj, saved)
        if saved is None and flag(self.request, flags.USAGE):
            found["usedBy"] = self._used_by(obj)
        if saved is None and flag(self.request, flags.STATUS):
            found["status"] = {"status": copies.status(obj)}
        return found

    def _used_by(self, obj: Any) -> Mapping[str, Any]:
        found: dict[str, Any] = {"distributed": [], "templates": [], "assets": []}
        for one in uses(obj, type(obj)):
            for row in one.rows.filter(pk__in=one.visible(self.user))[:100]:
                entry = {"id": str(row.pk), "name": str(row)}
                found.setdefault(_USERS.get(one.noun, "assets"), []).append(entry)
        return found


class CredentialOfTypeViewSet(CredentialViewSet):
    """Credentials of one type; one thing with all others in the audit log."""

    kind: ClassVar[CredentialType]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        if isinstance(self.resource, CredentialsOfType):
            self.kind = self.resource.of_type  # type: ignore[misc]
        self.resource = get("credential")  # type: ignore[misc]
        super().initial(request, *args, **kwargs)

    def get_serializer_class(self) -> Any:
        return CredentialOfTypeSerializer

    def type_of(self, obj: Credential | None, spec: Any) -> tuple[CredentialType, Any, str]:
        return self.kind, spec, "spec"

    def base_rows(self) -> Any:
        return super().base_rows().filter(kind=self.kind.key)

    def destroy(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        done = super().destroy(request, pk, **kwargs)
        return Response(status=204) if self.kind.deleted == 204 else done


class PersonalCredentialViewSet(CredentialViewSet):
    """The caller's own."""

    extra_parameters = frozenset({flags.NAME, flags.USAGE, flags.STATUS})

    def base_rows(self) -> QuerySet[Any]:
        rows = ResourceViewSet.base_rows(self)
        name = self.request.query_params.get(flags.NAME, "")
        return rows.filter(name=name) if name else rows

    def _meta(self, given: Any, obj: Any) -> dict[str, Any]:
        if not isinstance(given, Mapping):
            given = {} if given is None else given
        found: dict[str, Any] = {}
        given = given if isinstance(given, Mapping) else {}
        known = ("name", "description")
        problems = unknown_fields(given, known, "meta")
        for name, value in given.items():
            if name in known and not isinstance(value, str):
                problems.append(Problem("type", f"meta.{name}", {"accepted": "text"}))
            elif name in known:
                found[name] = value
        if obj is None and not problems and not found.get("name"):
            problems.append(Problem("required", "meta.name"))
        if problems:
            raise Refused(problems)
        return found | ({} if obj is not None else {"scope": tenant_scope()})


def _read(kind: CredentialType, given: Any, at: str) -> Mapping[str, Any]:
    """The values as they may be stored; problems at their place in the body."""
    if not isinstance(given, Mapping):
        raise Refused([Problem("type", at, {"accepted": "an object"})])
    known = {name: value for name, value in given.items() if name != "keyId" and value is not None}
    try:
        return store.read(kind, known).model_dump(by_alias=True)
    except Refused as refused:
        raise Refused(list(under(at, refused.problems))) from None
