"""How the API reads and writes configurations of storage classes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar
from uuid import UUID

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gangline.api.paging import BadQuery, flag, known_only
from gangline.api.schema import errors
from gangline.lib.problems import Problem, Refused, under, unknown_fields
from gangline.resources import services
from gangline.resources.api import ExtraRoute, ResourceViewSet
from gangline.resources.registry import get
from gangline.scopes.selectors import TENANT_ID
from gangline.spec.catalogue import catalogue
from gangline.spec.problems import Role
from gangline.spec.storage_classes import Parameters
from gangline.spec.values import validate

from .models import StorageClass
from .storage_classes import ACCESS, MODES, PERMISSIONS, SIZES, cleared

_UNITS = {"M": "MB", "Mi": "MiB", "G": "GB", "Gi": "GiB", "T": "TB", "Ti": "TiB"}


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
            "tenantId": TENANT_ID,
            "scopeType": "cluster",
            "scopeId": str(obj.cluster_id),
            "name": obj.name,
            "permissions": _named(obj, PERMISSIONS),
            "customization": {
                "accessMode": {
                    "required": obj.needs_access_mode,
                    **_default({mode: mode in obj.default_access for mode in ACCESS}),
                    "supportedValues": _named(obj, ACCESS),
                },
                "volumeMode": {
                    "required": obj.needs_volume_mode,
                    **_default(obj.default_volume_mode),
                    "supportedValues": _named(obj, MODES),
                },
                "claimSize": {
                    **{w: text for w, name in SIZES.items() if (text := getattr(obj, name))},
                    **({"supportedUnits": list(map(_UNITS.get, obj.size_units))}
                       if obj.size_units else {}),
                },
                "attributes": obj.parameters,
            },
        }  # fmt: skip


def _named(obj: StorageClass, names: Mapping[str, str]) -> dict[str, Any]:
    return {wire: getattr(obj, name) for wire, name in names.items()}


def _default(value: Any) -> dict[str, Any]:
    is_said = any(value.values()) if isinstance(value, dict) else value
    return {"default": value} if is_said else {}


_ACCESS, _VOLUME = ("customization", "accessMode"), ("customization", "volumeMode")
_SIZE = ("customization", "claimSize")
_GROUPS: Sequence[tuple[tuple[str, ...], Mapping[str, str], type]] = (
    (("permissions",), PERMISSIONS, bool),
    ((*_ACCESS, "supportedValues"), ACCESS, bool),
    ((*_VOLUME, "supportedValues"), MODES, bool),
    (_ACCESS, {"required": "needs_access_mode"}, bool),
    (_VOLUME, {"required": "needs_volume_mode", "default": "default_volume_mode"}, object),
    (_SIZE, SIZES, str),
)
"""Where the columns stand. ``object``: of the type that the column has."""
_BESIDE: Mapping[tuple[str, ...], tuple[str, ...]] = {
    _ACCESS: ("default", "supportedValues"),
    _VOLUME: ("supportedValues",),
    _SIZE: ("supportedUnits",),
}
"""Names at such a place that stand for no single column."""
_KNOWN = ("name", "scopeType", "scopeId", "tenantId", "permissions", "customization")
_PARTS = ("accessMode", "volumeMode", "claimSize", "attributes", "attributesToRemove")
_PATHS = {
    **{n: ".".join((*p, w)) for p, ns, _ in _GROUPS for w, n in ns.items()},
    "default_access": "customization.accessMode.default",
    "size_units": "customization.claimSize.supportedUnits",
    "parameters": "customization.attributes",
}


class StorageClassViewSet(ResourceViewSet):
    """Configurations; and the classes themselves, by cluster.

    A class is there as long as the cluster has it. To create a configuration is to configure a
    class that nobody has configured yet, to delete one is to take everything back.
    """

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
                # As the models of the first version call them.
                "cluster_id": str(row.cluster_id),
                "storage_class_name": row.name,
                "Spec": {"provisioner": row.provisioner, "is_default": row.is_default},
                **{
                    key: value
                    for key, value in self.present(row).items()
                    if key in ("permissions", "customization")
                },
            }
            for row in rows
        ]
        return Response({"items": found})

    # Writing

    def create(self, request: Request, **kwargs: Any) -> Response:
        values, _ = self.read(request.data)
        row = self._meant(dict(request.data))
        saved = self._store(row, values)
        return Response(self.present(saved.obj, saved), status=201)

    def destroy(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        self._store(self.object(pk), cleared())
        return Response(None, status=204)

    def _store(self, row: StorageClass, values: Mapping[str, Any]) -> services.Saved[Any]:
        try:
            return services.update(
                self.resource, actor=self.actor, obj=row, values=values, version=self.version(row)
            )
        except Refused as refused:
            raise _of_the_wire(refused) from None

    def _meant(self, data: Mapping[str, Any]) -> StorageClass:
        """The class that a new configuration is for."""
        wrong = []
        if data.get("scopeType") != "cluster":
            wrong.append(Problem("options", "scopeType", {"accepted": "cluster"}))
        here = [row for row in self.base_rows() if str(row.cluster_id) == str(data.get("scopeId"))]
        wanted = data.get("name")
        row: StorageClass | None = next((one for one in here if one.name == wanted), None)
        if not here:
            accepted = "the id of a cluster with storage classes that you may see"
            wrong.append(Problem("options", "scopeId", {"accepted": accepted}))
        elif row is None:
            accepted = f"a storage class of the cluster: {', '.join(one.name for one in here)}"
            wrong.append(Problem("options", "name", {"accepted": accepted}))
        elif row.is_configured:
            wrong.append(Problem("unique:configured", "name"))
        if wrong or row is None:
            raise Refused(wrong)
        return row

    def _change(self, request: Request, pk: Any, *, partial: bool) -> Response:
        try:
            return super()._change(request, pk, partial=partial)
        except Refused as refused:
            raise _of_the_wire(refused) from None

    def read(
        self, data: Any, obj: Any = None, *, partial: bool = False
    ) -> tuple[dict[str, Any], Mapping[str, Any]]:
        if not isinstance(data, Mapping):
            raise Refused([Problem("type", "", {"accepted": "an object"})])
        reading = _Reading(data, partial=partial)
        values = reading.values(obj)
        if reading.problems:
            raise Refused(reading.problems)
        return values, {}


class ClassesOfClusters(StorageClassViewSet):
    """The classes of a cluster at the addresses of other versions of the API."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        self.resource = get("storage_class")  # type: ignore[misc]
        super().initial(request, *args, **kwargs)

    @extend_schema(
        operation_id="listStorageClassesV2", responses={200: OpenApiTypes.OBJECT, **errors(400)}
    )
    def classes_v2(self, request: Request) -> Response:
        """The same as of version 1."""
        return self.classes(request)

    @extend_schema(
        operation_id="listStorageClassNames", responses={200: OpenApiTypes.OBJECT, **errors(400)}
    )
    def names(self, request: Request, cluster_id: UUID) -> Response:
        """Names alone."""
        known_only(request, frozenset({"includeNone"}))
        rows = self.base_rows().filter(cluster=cluster_id).order_by("name")
        return Response({"storageClasses": [row.name for row in rows]})


class _Reading:
    """One body. ``partial``: what it does not say stays."""

    def __init__(self, data: Mapping[str, Any], *, partial: bool) -> None:
        self.data, self.partial = data, partial
        self.problems: list[Problem] = []

    def values(self, obj: StorageClass | None) -> dict[str, Any]:
        self._unknown(self.data, _KNOWN, "")
        found = {} if self.partial else cleared()
        for path, names, kind in _GROUPS:
            part = self._descend(path)
            self._unknown(part, (*names, *_BESIDE.get(path, ())), ".".join(path))
            found |= self._columns(part, path, names, kind)
        custom = self._descend(("customization",))
        self._unknown(custom, _PARTS, "customization")
        access = self._descend((*_ACCESS, "default"))
        self._unknown(access, ACCESS, ".".join((*_ACCESS, "default")))
        if access:
            found["default_access"] = [mode for mode in ACCESS if access.get(mode) is True]
        if (units := self._descend(_SIZE).get("supportedUnits")) is not None:
            found["size_units"] = self._units(units)
        return found | self._parameters(custom, obj)

    def _columns(
        self, part: Mapping[str, Any], path: tuple[str, ...], names: Mapping[str, str], kind: type
    ) -> dict[str, Any]:
        found = {}
        for wire, name in names.items():
            value = part.get(wire)
            if value is None:
                continue
            wanted = kind if kind is not object else (bool if wire == "required" else str)
            if isinstance(value, wanted):
                found[name] = value
            else:
                word = "true or false" if wanted is bool else "text"
                self._wrong("type", ".".join((*path, wire)), word)
        return found

    def _units(self, given: Any) -> list[str]:
        names = {word: unit for unit, word in _UNITS.items()}
        if isinstance(given, list) and all(isinstance(u, str) and u in names for u in given):
            return [names[one] for one in given]
        path = "customization.claimSize.supportedUnits"
        self._wrong("options", path, f"a list of {', '.join(names)}")
        return []

    def _parameters(self, custom: Mapping[str, Any], obj: StorageClass | None) -> dict[str, Any]:
        given, gone = custom.get("attributes"), custom.get("attributesToRemove")
        before = list(obj.parameters) if obj is not None and self.partial else []
        if gone is not None:
            if not (isinstance(gone, list) and all(isinstance(one, str) for one in gone)):
                path = "customization.attributesToRemove"
                self._wrong("type", path, "a list of keys")
                return {}
            before = [one for one in before if one["key"] not in gone]
        if given is None:
            return {"parameters": before} if gone is not None else {}
        path = "attributes"
        found = validate(Parameters, Role.WORKER, {path: given})
        self.problems += under("customization", found)
        if found:
            return {}
        fields = catalogue(Parameters)[path]
        made = [{n: v for n, v in fields.flat(one).items() if v is not None} for one in given]
        keys = [one["key"] for one in made]
        return {"parameters": [*(o for o in before if o["key"] not in keys), *made]}

    def _unknown(self, given: Mapping[str, Any], known: Any, at: str) -> None:
        self.problems += unknown_fields(given, known, at)

    def _descend(self, path: tuple[str, ...]) -> Mapping[str, Any]:
        found: Any = self.data
        for number, step in enumerate(path, 1):
            found = found.get(step)
            if found is None:
                return {}
            if not isinstance(found, Mapping):
                self._wrong("type", ".".join(path[:number]), "an object")
                return {}
        return {str(name): value for name, value in found.items()}

    def _wrong(self, code: str, path: str, accepted: str) -> None:
        problem = Problem(code, path, {"accepted": accepted})
        if problem not in self.problems:
            self.problems.append(problem)


def _of_the_wire(refused: Refused) -> Refused:
    return Refused([replace(one, path=_PATHS.get(one.path, one.path)) for one in refused.problems])
