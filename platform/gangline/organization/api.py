"""Departments and projects in the API: what differs from other resources is their quota."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gangline.access.grants import holds, holds_below
from gangline.access.permissions import Permission
from gangline.api import filtering
from gangline.api.paging import BadQuery, known_only
from gangline.api.schema import component, errors
from gangline.api.telemetry import TELEMETRY, Group, Telemetry, answer
from gangline.clusters.connections import namespaces_of
from gangline.lib.problems import Problem, Refused
from gangline.resources import services
from gangline.resources.api import ExtraRoute, ResourceViewSet, Rows

from . import quotas, usage
from .models import RESOURCES, Department, Project, Quota
from .serializers import RANKS, WIRE, ResourcesField, scaled

PRIORITIES = component(
    "Priorities",
    {
        "type": "object",
        "required": ["priorities"],
        "properties": {
            "priorities": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["name", "value", "isDefault"],
                    "properties": {
                        "name": {"type": "string"},
                        "value": {"type": "integer"},
                        "isDefault": {"type": "boolean"},
                    },
                },
            }
        },
    },
)
_LIST = {"type": "array", "items": {"type": "object", "additionalProperties": True}}
_STORED = {
    "type": "array",
    "items": {
        "type": "object",
        "additionalProperties": True,
        "properties": {
            "notice": {
                "type": "string",
                "description": "What the change brings with it, if anything.",
            }
        },
    },
}
_OWN_PATHS = {
    "cluster": "clusterId",
    "department": "parentId",
    "department_id": "parentId",
    "default_pools": "defaultNodePools",
    "node_types": "nodeTypes",
    "own_namespace": "requestedNamespace",
}
_QUOTA_PATHS = {
    **{one: f"{WIRE[one]}.deserved" for one in RESOURCES},
    **{f"{one}_limit": f"{WIRE[one]}.limit" for one in RESOURCES},
    "node_pool": "nodePool",
    "weight": "gpu.overQuotaWeight",
    "rank": "priority",
}


UNIT_FIGURES = Telemetry[tuple[str, str]](
    figures={
        f"{word}_{what}": (figure, resource)
        for what, figure in (("QUOTA", "promised"), ("ALLOCATION", "held"))
        for word, resource in (("GPU", "gpus"), ("CPU", "cpus"), ("MEMORY", "memory"))
    },
    groups={
        "ClusterId": Group("cluster", "cluster_name"),
        "ParentId": Group("parent", "parent_name"),
    },
)


def _promised(unit: Department | Project, resource: str) -> float:
    """Its quota over all node pools; what has none promises nothing."""
    return float(sum(one.amount(resource) or 0 for one in quotas.quotas_of(unit)))


def _row(unit: Department | Project) -> dict[str, str]:
    parent = unit.department if isinstance(unit, Project) else unit.cluster
    return {
        "cluster": str(unit.cluster.pk),
        "cluster_name": unit.cluster.name,
        "parent": str(parent.pk),
        "parent_name": parent.name,
    }


class Priorities(APIView):
    """In which order departments and projects get what is left over."""

    @extend_schema(operation_id="listPriorities", responses={200: PRIORITIES, **errors()})
    def get(self, request: Request) -> Response:
        known_only(request, frozenset())
        default = Quota._meta.get_field("rank").default
        return Response(
            {
                "priorities": [
                    {"name": name, "value": int(rank), "isDefault": rank == default}
                    for name, rank in RANKS.items()
                ]
            }
        )


class UnitViewSet(ResourceViewSet):
    """Departments, and projects below."""

    extra_routes: ClassVar[tuple[ExtraRoute, ...]] = (
        ExtraRoute("{id}/resources", {"put": "replace_resources", "patch": "change_resources"}),
        ExtraRoute("telemetry", {"get": "telemetry"}),
    )

    @extend_schema(
        request={"application/json": _LIST},
        responses={200: _STORED, **errors(400, 403, 404, 412)},
    )
    def replace_resources(self, request: Request, pk: Any) -> Response:
        """The quota of every node pool; what is not named is as for a new one."""
        return self._resources(request, pk, is_whole=True)

    @extend_schema(
        request={"application/json": _LIST},
        responses={200: _STORED, **errors(400, 403, 404, 412)},
    )
    def change_resources(self, request: Request, pk: Any) -> Response:
        """Single values of the quota."""
        return self._resources(request, pk, is_whole=False)

    @extend_schema(
        parameters=[
            *UNIT_FIGURES.parameters,
            OpenApiParameter("clusterId", OpenApiTypes.UUID),
            OpenApiParameter("departmentId", OpenApiTypes.STR),
        ],
        responses={200: TELEMETRY, **errors(400)},
    )
    def telemetry(self, request: Request) -> Response:
        """What was promised to them, and what they hold now."""
        known_only(request, frozenset({"telemetryType", "groupBy", "clusterId", "departmentId"}))
        (figure, resource), groups = UNIT_FIGURES.asked(request)
        query = request.query_params
        rows = self.base_rows()
        try:
            if cluster := query.get("clusterId"):
                rows = rows.filter(cluster_id=filtering.uuid(cluster))
            if department := query.get("departmentId"):
                path = "department" if self.resource.model is Project else "pk"
                rows = rows.filter(**{path: filtering.whole(department)})
        except filtering.NotAValue as error:
            raise BadQuery(f"clusterId and departmentId must be ids, not {error}.") from error
        units = list(rows)
        held = usage.held_by_each(units) if figure == "held" else {}
        sums: dict[tuple[str, ...], float] = {}
        shown: dict[tuple[str, ...], dict[str, str]] = {}
        for unit in units:
            row = _row(unit)
            key = tuple(row[one.column] for one in groups.values())
            value = getattr(held[unit.pk], resource) if held else _promised(unit, resource)
            sums[key] = sums.get(key, 0.0) + float(scaled(resource, value) or 0)
            shown[key] = row
        if not groups and not sums:
            sums[()], shown[()] = 0.0, {}
        return Response(answer(((sums[key], shown[key]) for key in sums), groups))

    def _resources(self, request: Request, pk: Any, *, is_whole: bool) -> Response:
        obj = self.object(pk)
        _, parts = self.read({"resources": request.data}, obj, partial=True)
        rows = list(parts.get("quotas", ()))
        if is_whole:
            given = {row["node_pool"].pk: row for row in rows}
            fresh = [quotas.new_quota(obj, pool) for pool in quotas.pools_of(obj.cluster)]
            plain = {
                one.node_pool_id: {name: getattr(one, name) for name in Quota.VALUES}
                for one in fresh
            }
            rows = [{**plain[pk], **row} for pk, row in given.items()]
            rows += [
                {"node_pool": one.node_pool, **plain[one.node_pool_id]}
                for one in fresh
                if one.node_pool_id not in given
            ]
        saved = services.update(
            self.resource,
            actor=self.actor,
            obj=obj,
            values={},
            parts={"quotas": rows},
            version=self.version(obj),
        )
        told = {"notice": saved.notice} if saved.notice else {}
        return Response([one | told for one in ResourcesField().to_representation(saved.obj)])

    def base_rows(self) -> QuerySet[Any]:
        return super().base_rows().prefetch_related(*quotas.READ_WITH)

    def present_all(self, rows: Iterable[Any]) -> Rows:
        self.held = usage.held_by_each(list(rows))
        return super().present_all(rows)

    def get_serializer_context(self) -> dict[str, Any]:
        own = {"held": getattr(self, "held", {}), "node": getattr(self, "node", None)}
        return {**super().get_serializer_context(), **own}

    def read(
        self, data: Any, obj: Any = None, *, partial: bool = False
    ) -> tuple[dict[str, Any], Mapping[str, Any]]:
        self.node = obj
        values, parts = super().read(data, obj, partial=partial)
        values.pop("enforce_runai_scheduler", None)
        return values, parts

    def handle_exception(self, exc: Exception) -> Response:
        if isinstance(exc, Refused):
            exc = Refused([replace(one, path=_wire_path(one.path)) for one in exc.problems])
        return super().handle_exception(exc)


class ProjectViewSet(UnitViewSet):
    def read(
        self, data: Any, obj: Any = None, *, partial: bool = False
    ) -> tuple[dict[str, Any], Mapping[str, Any]]:
        values, parts = super().read(data, obj, partial=partial)
        cluster_id = values.pop("cluster_id", None)
        if obj is None:
            values["department"] = self._department(values.pop("department_id", None), cluster_id)
            cluster = values["department"].cluster
        else:
            cluster = obj.cluster
        name = str(values.get("name") or getattr(obj, "name", ""))
        if values.get("own_namespace") == (obj.namespace if obj else namespaces_of(cluster)(name)):
            del values["own_namespace"]  # what it has anyhow, as clients send it back
        return values, parts

    def _department(self, pk: int | None, cluster_id: Any) -> Department:
        """The one that is named, or the first of the cluster, of those that the caller knows."""
        known = holds_below(self.user, Permission.PROJECT_VIEW)
        known |= holds(self.user, Permission.PROJECT_CREATE)
        rows = Department.objects.filter(known).select_related("scope", "cluster").order_by("pk")
        if pk is None and cluster_id is None:
            raise Refused([Problem("required:cluster", "clusterId")])
        if pk is None:
            found = rows.filter(cluster=cluster_id).first()
            path, code = "clusterId", "not_there:cluster"
        else:
            found = rows.filter(pk=pk).first()
            path, code = "parentId", "not_there:department"
            if found and cluster_id not in (None, found.cluster_id):
                found, path, code = None, "clusterId", "not_there:other_cluster"
        if found is None:
            raise Refused([Problem(code, path)])
        return found


def _wire_path(path: str) -> str:
    if path in _OWN_PATHS:
        return _OWN_PATHS[path]
    head, _, rest = path.partition(".")
    if head != "quotas":
        return path
    number, _, field = rest.partition(".")
    return f"resources.{number}.{_QUOTA_PATHS.get(field, field)}"
