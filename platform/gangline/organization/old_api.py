"""Projects, departments and node pools below ``/v1/k8s/clusters/{id}``, as old clients know them.

What is read and written is what the newer addresses read and write; only names and numbers differ.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from gangline.access.refusals import NotVisible
from gangline.api.paging import known_only
from gangline.api.schema import Schema, component, errors
from gangline.lib.problems import Problem, Refused, unknown_fields
from gangline.resources import services
from gangline.resources.api import ResourceViewSet
from gangline.resources.registry import get
from gangline.scopes.selectors import TENANT_ID

from .api import ProjectViewSet, UnitViewSet
from .serializers import UNITS, WIRE

MIB = UNITS["Mib"] / UNITS["MB"]
_ASKED = frozenset({"excludePermissions", "memoryUnitMb"})
_UNLIMITED = -1
_AMOUNTS = {"deserved": "deserved", "maxAllowed": "limit", "overQuotaWeight": "overQuotaWeight"}
"""Old name → new name."""
_GPUS = {
    "deservedGpus": "deserved",
    "maxAllowedGpus": "limit",
    "gpuOverQuotaWeight": "overQuotaWeight",
}
_PROJECT = ("name", "departmentId", "namespace", "defaultNodePools", "nodePoolsResources", *_GPUS)
_POOL = ("name", "labelKey", "labelValue", "overProvisioningRatio", "placementStrategy")


def _text(**more: Schema) -> Schema:
    return {"type": "object", "properties": more, "additionalProperties": True}


_NUMBER: Schema = {"type": "number"}
_WORD: Schema = {"type": "string"}
_AMOUNT = {"type": "object", "properties": dict.fromkeys(_AMOUNTS, _NUMBER)}
_QUOTAS: Schema = {
    "type": "array",
    "items": _text(nodePool=_text(id=_NUMBER, name=_WORD), **dict.fromkeys(WIRE.values(), _AMOUNT)),
}
OLD_PROJECT = component(
    "OldProject",
    _text(
        id={"type": "integer"}, name=_WORD, clusterUuid=_WORD, departmentId={"type": "integer"},
        departmentName=_WORD, namespace=_WORD, nodePoolsResources=_QUOTAS, notice=_WORD,
        **dict.fromkeys(_GPUS, _NUMBER),
    ),
)  # fmt: skip
OLD_PROJECT_REQUEST = component(
    "OldProjectRequest",
    {
        "type": "object",
        "required": ["name"],
        "additionalProperties": False,
        "properties": {
            "name": _WORD,
            "departmentId": {"type": "integer"},
            "namespace": _WORD,
            "defaultNodePools": {"type": "array", "items": _WORD},
            "nodePoolsResources": _QUOTAS,
            **dict.fromkeys(_GPUS, _NUMBER),
        },
    },
)
OLD_DEPARTMENT = component(
    "OldDepartment",
    _text(id={"type": "integer"}, name=_WORD, clusterUuid=_WORD, nodePoolsResources=_QUOTAS),
)
OLD_POOL = component(
    "OldNodePool",
    _text(id={"type": "integer"}, name=_WORD, clusterId=_WORD, labelKey=_WORD, labelValue=_WORD),
)
OLD_POOL_REQUEST = component(
    "OldNodePoolRequest",
    {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "name": _WORD,
            "labelKey": _WORD,
            "labelValue": _WORD,
            "overProvisioningRatio": {"type": "integer", "enum": [1]},
            "placementStrategy": _text(cpu=_WORD, gpu=_WORD),
        },
    },
)
_PARAMETERS = [OpenApiParameter(name, OpenApiTypes.BOOL) for name in sorted(_ASKED)]


class _OfCluster(ResourceViewSet):
    """Only what is on the cluster of the address."""

    key: ClassVar[str]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        self.resource = get(self.key)  # type: ignore[misc]
        super().initial(request, *args, **kwargs)

    def base_rows(self) -> QuerySet[Any]:
        return super().base_rows().filter(cluster=self.kwargs["cluster_id"])

    def shown(self, request: Request) -> list[dict[str, Any]]:
        """All of them as the newer address writes them. 404: nobody may know the cluster."""
        known_only(request, _ASKED)
        cluster = get("cluster").visible(self.user).filter(pk=self.kwargs["cluster_id"])
        if not cluster.exists():
            raise NotVisible
        return self.present_all(self.base_rows().order_by("pk"))


class OldDepartments(_OfCluster, UnitViewSet):
    key = "department"

    @extend_schema(
        operation_id="listOldDepartments",
        deprecated=True,
        parameters=_PARAMETERS,
        responses={200: {"type": "array", "items": OLD_DEPARTMENT}, **errors(400, 404)},
    )
    def list(self, request: Request, **kwargs: Any) -> Response:
        """Departments of a cluster; see /api/v1/org-unit/departments."""
        return Response([_unit(one) for one in self.shown(request)])


class OldProjects(_OfCluster, ProjectViewSet):
    key = "project"

    @extend_schema(
        operation_id="listOldProjects",
        deprecated=True,
        parameters=_PARAMETERS,
        responses={200: {"type": "array", "items": OLD_PROJECT}, **errors(400, 404)},
    )
    def list(self, request: Request, **kwargs: Any) -> Response:
        """Projects of a cluster; see /api/v1/org-unit/projects."""
        return Response([_project(one) for one in self.shown(request)])

    @extend_schema(
        operation_id="createOldProject",
        deprecated=True,
        parameters=_PARAMETERS,
        request={"application/json": OLD_PROJECT_REQUEST},
        responses={200: OLD_PROJECT, **errors(400, 403, 404, 409, 413, 415)},
    )
    def create(self, request: Request, **kwargs: Any) -> Response:
        """A project; see /api/v1/org-unit/projects."""
        return self._answered(super().create(request))

    @extend_schema(
        operation_id="getOldProject",
        deprecated=True,
        parameters=_PARAMETERS,
        responses={200: OLD_PROJECT, **errors(404)},
    )
    def retrieve(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        """One project."""
        return self._answered(super().retrieve(request, pk))

    @extend_schema(
        operation_id="updateOldProject",
        deprecated=True,
        parameters=_PARAMETERS,
        request={"application/json": OLD_PROJECT_REQUEST},
        responses={200: OLD_PROJECT, **errors(400, 403, 404, 409, 412, 413, 415)},
    )
    def update(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        """Change a project."""
        return self._answered(super().update(request, pk))

    @extend_schema(
        operation_id="deleteOldProject",
        deprecated=True,
        responses={200: OLD_PROJECT, **errors(403, 404, 409, 412)},
    )
    def destroy(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        """Delete a project."""
        obj = self.object(pk)
        shown = self.present(obj)
        services.delete(self.resource, actor=self.actor, obj=obj, version=self.version(obj))
        return Response(_project(shown))

    def read(
        self, data: Any, obj: Any = None, *, partial: bool = False
    ) -> tuple[dict[str, Any], Mapping[str, Any]]:
        body = _body(data, _PROJECT)
        new: dict[str, Any] = (
            {} if obj is not None else {"clusterId": str(self.kwargs["cluster_id"])}
        )
        for old, name in (
            ("name", "name"), ("departmentId", "parentId"), ("namespace", "requestedNamespace"),
            ("defaultNodePools", "defaultNodePools"),
        ):  # fmt: skip
            if old in body:
                new[name] = body[old]
        if resources := list(_resources(body)):
            new["resources"] = resources
        return super().read(new, obj, partial=partial)

    def _answered(self, answer: Response) -> Response:
        return Response(_project(answer.data))


class OldNodePools(_OfCluster):
    key = "node_pool"

    @extend_schema(
        operation_id="listOldNodePools",
        deprecated=True,
        responses={200: {"type": "array", "items": OLD_POOL}, **errors(400, 404)},
    )
    def list(self, request: Request, **kwargs: Any) -> Response:
        """Node pools of a cluster; see /api/v1/node-pools."""
        return Response([_pool(one) for one in self.shown(request)])

    @extend_schema(
        operation_id="createOldNodePool",
        deprecated=True,
        request={"application/json": OLD_POOL_REQUEST},
        responses={201: None, **errors(400, 403, 404, 409, 413, 415)},
    )
    def create(self, request: Request, **kwargs: Any) -> Response:
        """A node pool; see /api/v1/node-pools."""
        super().create(request)
        return Response(status=201)

    @extend_schema(
        operation_id="updateOldNodePool",
        deprecated=True,
        request={"application/json": OLD_POOL_REQUEST},
        responses={202: None, **errors(400, 403, 404, 409, 412, 413, 415)},
    )
    def update(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        """Change a node pool."""
        super().update(request, pk)
        return Response(status=202)

    @extend_schema(
        operation_id="labelOldNodePool",
        deprecated=True,
        request={"application/json": OLD_POOL_REQUEST},
        responses={202: None, **errors(400, 403, 404, 409, 412, 413, 415)},
    )
    def labels(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        """Which label its nodes have."""
        super().update(request, pk)
        return Response(status=202)

    @extend_schema(
        operation_id="deleteOldNodePool",
        deprecated=True,
        responses={202: None, **errors(403, 404, 409, 412)},
    )
    def destroy(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        """Delete a node pool."""
        super().destroy(request, pk)
        return Response(status=202)

    def read(
        self, data: Any, obj: Any = None, *, partial: bool = False
    ) -> tuple[dict[str, Any], Mapping[str, Any]]:
        body = _body(data, _POOL)
        body.pop("placementStrategy", None)  # the scheduler of the cluster decides
        if obj is None:
            body["clusterId"] = str(self.kwargs["cluster_id"])
        return super().read(body, obj, partial=partial)


def _body(data: Any, known: tuple[str, ...]) -> dict[str, Any]:
    """What was given, nulls left out. Raises Refused."""
    if not isinstance(data, Mapping):
        raise Refused([Problem("type", "", {"accepted": "an object"})])
    given = {name: value for name, value in data.items() if value is not None}
    if strange := unknown_fields(given, known):
        raise Refused(strange)
    return given


def _resources(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Quotas as the newer address reads them. Wrong types are told by that."""
    gpus = {name: body[old] for old, name in _GPUS.items() if old in body}
    rows = body.get("nodePoolsResources", [])
    if not isinstance(rows, list) or not all(isinstance(one, Mapping) for one in rows):
        raise Refused([Problem("type", "nodePoolsResources", {"accepted": "a list of objects"})])
    if gpus and not rows:
        yield {"gpu": gpus}
    for row in rows:
        new = {"nodePool": row.get("nodePool")}
        for wire in WIRE.values():
            given = row.get(wire)
            if isinstance(given, Mapping):
                new[wire] = {_AMOUNTS.get(str(k), str(k)): v for k, v in given.items()}
                if wire == "memory":
                    new[wire]["units"] = "Mib"
        strange = unknown_fields(row, ("id", "nodePool", *WIRE.values()), "nodePoolsResources")
        if strange:
            raise Refused(strange)
        yield new


def _quotas(new: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "id": int(one["nodePool"]["id"]),
            "nodePool": {"id": int(one["nodePool"]["id"]), "name": one["nodePool"]["name"]},
            **{wire: _amount(wire, one[wire]) for wire in WIRE.values()},
        }
        for one in new["resources"]
    ]


def _amount(wire: str, given: Mapping[str, Any]) -> dict[str, Any]:
    by = MIB if wire == "memory" else 1

    def old(value: float) -> float:
        return value if value == _UNLIMITED else value / by

    found = {name: given[new] for name, new in _AMOUNTS.items() if given[new] is not None}
    return {**found, "deserved": old(found["deserved"]), "maxAllowed": old(found["maxAllowed"])}


def _gpus(quotas: list[dict[str, Any]]) -> dict[str, float]:
    def total(name: str) -> float:
        each = [one["gpu"][name] for one in quotas]
        return _UNLIMITED if _UNLIMITED in each else sum(each)

    return {"deservedGpus": total("deserved"), "maxAllowedGpus": total("maxAllowed")}


def _unit(new: Mapping[str, Any]) -> dict[str, Any]:
    quotas = _quotas(new)
    return {
        "id": int(new["id"]),
        "name": new["name"],
        "tenantId": TENANT_ID,
        "clusterUuid": str(new["clusterId"]),
        "createdAt": new["createdAt"],
        "nodePoolsResources": quotas,
        **_gpus(quotas),
    }


def _project(new: Mapping[str, Any]) -> dict[str, Any]:
    return _unit(new) | {
        "departmentId": int(new["parentId"]),
        "departmentName": new["parent"]["name"],
        "namespace": new["requestedNamespace"],
        "defaultNodePools": new["effective"]["defaultNodePools"],
        "phase": new["status"]["phase"],
        "status": {"namespace": new["status"]["namespace"]},
        **{name: new[name] for name in ("notice",) if name in new},
    }


def _pool(new: Mapping[str, Any]) -> dict[str, Any]:
    names = (
        "name", "labelKey", "labelValue", "clusterId", "createdAt", "createdBy", "updatedAt",
        "updatedBy", "isDefault",
    )  # fmt: skip
    return {
        "id": int(new["id"]),
        "status": new["phase"],
        "overProvisioningRatio": 1,
        **{name: new[name] for name in names},
    }
