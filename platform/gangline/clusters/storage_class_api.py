"""How the API reads and writes configurations of storage classes."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gangline.api.paging import BadQuery, flag, known_only
from gangline.api.schema import errors
from gangline.lib.problems import Problem, Refused, unknown_fields
from gangline.resources.api import ExtraRoute, ResourceViewSet

from .models import StorageClass
from .storage_classes import ACCESS, MODES, PERMISSIONS, SIZES


@extend_schema_field({"type": "object", "additionalProperties": True})
class Part(serializers.DictField):
    """A part of a configuration, as clients know it."""


class StorageClassSerializer(serializers.Serializer[Any]):
    """What volumes may ask of a storage class."""

    id = serializers.UUIDField(read_only=True)
    tenantId = serializers.IntegerField(read_only=True)  # noqa: N815  of the wire
    scopeType = serializers.CharField(required=False)  # noqa: N815  of the wire
    scopeId = serializers.CharField(required=False)  # noqa: N815  of the wire
    name = serializers.CharField(required=False)
    permissions = Part(required=False)
    customization = Part(required=False)

    def to_representation(self, obj: StorageClass) -> dict[str, Any]:
        return {
            "id": str(obj.pk),
            "tenantId": 1,
            "scopeType": "cluster",
            "scopeId": str(obj.cluster_id),
            "name": obj.name,
            "permissions": {wire: getattr(obj, name) for wire, name in PERMISSIONS.items()},
            "customization": {
                "accessMode": {
                    "supportedValues": {wire: getattr(obj, name) for wire, name in ACCESS.items()}
                },
                "volumeMode": {
                    "supportedValues": {wire: getattr(obj, name) for wire, name in MODES.items()}
                },
                "claimSize": {
                    wire: text for wire, name in SIZES.items() if (text := getattr(obj, name))
                },
            },
        }


_GROUPS: Mapping[str, tuple[tuple[str, ...], Mapping[str, str], type]] = {
    "permissions": (("permissions",), PERMISSIONS, bool),
    "accessMode": (("customization", "accessMode", "supportedValues"), ACCESS, bool),
    "volumeMode": (("customization", "volumeMode", "supportedValues"), MODES, bool),
    "claimSize": (("customization", "claimSize"), SIZES, str),
}
_KNOWN = ("name", "scopeType", "scopeId", "tenantId", "permissions", "customization")


class StorageClassViewSet(ResourceViewSet):
    """Configurations; and the classes themselves, by cluster."""

    extra_routes: ClassVar[tuple[ExtraRoute, ...]] = (
        ExtraRoute("/storage-classes", {"get": "classes"}),
    )

    @extend_schema(
        operation_id="listStorageClassesOfCluster",
        parameters=[
            OpenApiParameter("clusterId", OpenApiTypes.UUID, required=True),
            OpenApiParameter("name", OpenApiTypes.STR),
            OpenApiParameter("includeNone", OpenApiTypes.BOOL),
        ],
        responses={200: OpenApiTypes.OBJECT, **errors(400)},
    )
    def classes(self, request: Request, **kwargs: Any) -> Response:
        """The storage classes that volumes on a cluster may have."""
        known_only(request, frozenset({"clusterId", "name", "includeNone"}))
        wanted = request.query_params.get("clusterId", "")
        flag(request, "includeNone")
        if not wanted:
            raise BadQuery("clusterId is required.")
        rows = [row for row in self.base_rows() if str(row.cluster_id) == wanted.lower()]
        if name := request.query_params.get("name", ""):
            rows = [row for row in rows if row.name == name]
        found = [
            {
                "clusterId": str(row.cluster_id),
                "storageClassName": row.name,
                "spec": {"provisioner": row.provisioner, "isDefault": row.is_default},
                **{
                    key: value
                    for key, value in self.present(row).items()
                    if key in ("permissions", "customization")
                },
            }
            for row in rows
        ]
        return Response({"items": found})

    def _change(self, request: Request, pk: Any, *, partial: bool) -> Response:
        try:
            return super()._change(request, pk, partial=partial)
        except Refused as refused:
            named = {n: ".".join((*p, w)) for p, ns, _ in _GROUPS.values() for w, n in ns.items()}
            found = [replace(one, path=named.get(one.path, one.path)) for one in refused.problems]
            raise Refused(found) from None

    def read(
        self, data: Any, obj: Any = None, *, partial: bool = False
    ) -> tuple[dict[str, Any], Mapping[str, Any]]:
        problems: list[Problem] = []
        if not isinstance(data, Mapping):
            raise Refused([Problem("type", "", {"accepted": "an object"})])
        problems += unknown_fields(data, _KNOWN)
        values: dict[str, Any] = {}
        for path, names, kind in _GROUPS.values():
            if not partial:
                values |= dict.fromkeys(names.values(), True if kind is bool else "")
            part = _descend(problems, data, path)
            problems += unknown_fields(part, names, ".".join(path))
            for wire, name in names.items():
                value = part.get(wire)
                if value is None:
                    continue
                if isinstance(value, kind):
                    values[name] = value
                else:
                    word = "true or false" if kind is bool else "a text"
                    at = ".".join((*path, wire))
                    problems.append(Problem("type", at, {"accepted": word}))
        custom = data.get("customization")
        if isinstance(custom, Mapping):
            known = ("accessMode", "volumeMode", "claimSize")
            problems += unknown_fields(custom, known, "customization")
        if problems:
            raise Refused(problems)
        return values, {}


def _descend(
    problems: list[Problem], data: Mapping[str, Any], path: tuple[str, ...]
) -> Mapping[str, Any]:
    found: Any = data
    for step in path:
        found = found.get(step) if isinstance(found, Mapping) else None
        if found is None:
            return {}
        if not isinstance(found, Mapping):
            problems.append(Problem("type", path[0], {"accepted": "an object"}))
            return {}
    return {str(name): value for name, value in found.items()}
