"""Metrics below ``/v1/k8s/clusters/{id}``, as older clients know them: now, and over time.

They are figures of the newer addresses in another shape. Of quotas nothing before now is stored: it
stands at every time.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db.models import Q
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gangline.access.permissions import Permission
from gangline.access.refusals import NotVisible
from gangline.api.paging import known_only
from gangline.api.schema import between, component
from gangline.clusters.models import Cluster, NodePool
from gangline.db.clock import db_now
from gangline.organization import quotas
from gangline.organization.models import RESOURCES, Department, Project
from gangline.organization.serializers import WIRE, scaled
from gangline.resources.registry import get
from workloads.api import shapes
from workloads.api.metric_queries import Span, span_of
from workloads.api.place_metrics import WIDTH, attempts_in, cluster_of, names_of, pool_of
from workloads.api.views import user_of
from workloads.models import Attempt
from workloads.selectors.holdings import Holding, holdings

_ASKED = frozenset({"start", "end", "numberOfSamples", "nodepoolName"})
_ROW = {"type": "object", "additionalProperties": True}
_PARTS = {"type": "object", "properties": {"resources": {"type": "array", "items": _ROW}}}
OLD_METRICS = component(
    "OldMetrics",
    {
        "type": "object",
        "required": ["metadata", "current"],
        "properties": {"metadata": _ROW, "current": _PARTS, "timeRange": _PARTS},
    },
)
_ALL = {"type": "object", "properties": {"data": {"type": "array", "items": OLD_METRICS}}}
_PARAMETERS = [
    OpenApiParameter("start", OpenApiTypes.DATETIME),
    OpenApiParameter("end", OpenApiTypes.DATETIME),
    OpenApiParameter("numberOfSamples", between(0, shapes.MOST_SAMPLES)),
    OpenApiParameter("nodepoolName", OpenApiTypes.STR),
]
_MOMENT = 1.0
"""Seconds over which "now" is measured."""

Unit = Department | Project
Pools = Mapping[NodePool, frozenset[str]]
"""Node pools with the names of their nodes."""


@dataclass(frozen=True)
class _Place:
    """Of what is told: its workloads, and node pools with their nodes and what they promise it."""

    where: Q
    pools: Pools
    quotas: Mapping[int, Mapping[str, float]]

    def current(self) -> list[dict[str, Any]]:
        now = db_now().timestamp()
        slot = (now - _MOMENT, now)
        attempts = attempts_in(self.where, *slot)
        return [
            {"nodepoolName": pool.name, **next(self._rows(attempts, {pool: nodes}, [slot]))}
            for pool, nodes in self.pools.items()
        ]

    def over(self, span: Span) -> list[dict[str, Any]]:
        attempts = attempts_in(self.where, span.start, span.end)
        slots = list(span.slots(WIDTH))
        rows = self._rows(attempts, self.pools, slots)
        return [
            {"timestamp": datetime.fromtimestamp(begins, UTC), **row}
            for (begins, _), row in zip(slots, rows, strict=True)
        ]

    def _rows(
        self,
        attempts: Sequence[Attempt],
        pools: Pools,
        slots: Iterable[tuple[float, float]],
    ) -> Iterator[dict[str, Any]]:
        held = holdings(attempts, frozenset().union(*pools.values()))
        for begins, ends in slots:
            found: dict[str, Any] = {
                "numberOfPendingWorkloads": len(set(_pending(attempts, list(pools), ends)))
            }
            for resource in RESOURCES:
                mean = sum(_amount(one, resource) * one.within(begins, ends) for one in held)
                promised = (self.quotas.get(pool.pk, {}).get(resource, 0.0) for pool in pools)
                found[WIRE[resource]] = {
                    "quota": sum(promised),
                    "allocated": float(scaled(resource, mean / (ends - begins)) or 0),
                }
            yield found


def _amount(held: Holding, resource: str) -> float:
    return float(getattr(held, resource))


def _pending(attempts: Iterable[Attempt], pools: Sequence[NodePool], at: float) -> Iterator[UUID]:
    """Workloads that wait at a time for nodes of these pools; the default pool is for the rest."""
    names = {pool.name for pool in pools}
    has_default = any(pool.is_default for pool in pools)
    for one in attempts:
        begun = one.started_at or one.ended_at
        if one.asked_at.timestamp() > at or (begun and begun.timestamp() <= at):
            continue
        wanted = {str(item.get("name")) for item in one.value("worker.nodePools") or ()}
        if wanted & names or (not wanted and has_default):
            yield one.workload_id


def _promised(units: Iterable[Unit]) -> dict[int, dict[str, float]]:
    """Quotas by node pool, as the wire counts them; what has none promises nothing."""
    found: dict[int, dict[str, float]] = {}
    for unit in units:
        for quota in quotas.quotas_of(unit):
            row = found.setdefault(quota.node_pool_id, dict.fromkeys(RESOURCES, 0.0))
            for resource in RESOURCES:
                row[resource] += float(scaled(resource, quota.amount(resource)) or 0)
    return found


class _OldMetrics(APIView):
    def pools(self, request: Request, cluster: Cluster) -> Pools:
        """Those that are asked about."""
        known_only(request, _ASKED)
        name = request.query_params.get("nodepoolName", "")
        found = [pool_of(cluster, name)] if name else quotas.pools_of(cluster)
        return {pool: names_of(pool) for pool in found}

    def answer(self, request: Request, place: _Place) -> dict[str, Any]:
        span = span_of(request)
        return {"current": {"resources": place.current()}} | (
            {"timeRange": {"resources": place.over(span)}} if span else {}
        )

    def projects(self, request: Request, cluster: Cluster) -> Any:
        rows = get("project").visible(user_of(request)).filter(cluster=cluster)
        return rows.select_related("department").prefetch_related(*quotas.READ_WITH).order_by("pk")

    def departments(self, request: Request, cluster: Cluster) -> Any:
        rows = get("department").visible(user_of(request)).filter(cluster=cluster)
        return rows.prefetch_related(*quotas.READ_WITH).order_by("pk")

    def of_project(self, request: Request, pools: Pools, project: Project) -> dict[str, Any]:
        of_it = self.answer(request, _of_project(project, pools))
        about = _about(project.department)
        return {
            "metadata": {"projectId": project.pk, "projectName": project.name, **about},
            **of_it,
        }

    def of_department(self, request: Request, pools: Pools, one: Department) -> dict[str, Any]:
        where = Q(workload__project__department=one)
        found = self.answer(request, _Place(where, pools, _promised([one])))
        rows = self.projects(request, one.cluster).filter(department=one)
        found["current"]["projectResources"] = list(_by_project(pools, rows))
        return {"metadata": _about(one), **found}


def _of_project(project: Project, pools: Pools) -> _Place:
    return _Place(Q(workload__project=project), pools, _promised([project]))


def _by_project(pools: Pools, rows: Iterable[Project]) -> Iterator[dict[str, Any]]:
    for row in rows:
        names = {"projectName": row.name, "departmentName": row.department.name}
        yield from ({**names, **one} for one in _of_project(row, pools).current())


def _about(department: Department) -> dict[str, Any]:
    cluster = department.cluster
    return {
        "departmentId": department.pk,
        "departmentName": department.name,
        "clusterId": str(cluster.pk),
        "clusterName": cluster.name,
    }


def _one(rows: Any, pk: Any) -> Any:
    found = rows.filter(pk=pk).first()
    if found is None:
        raise NotVisible
    return found


def _seen(request: Request, pk: UUID) -> Cluster:
    """The cluster of an address below which one may see something. Raises NotVisible."""
    found: Cluster = _one(get("cluster").visible(user_of(request)), pk)
    return found


class OldClusterMetrics(_OldMetrics):
    """Metrics of a cluster."""

    @extend_schema(
        operation_id="getOldClusterMetrics", deprecated=True, parameters=_PARAMETERS,
        responses={200: OLD_METRICS, **shapes.errors(400, 403, 404)},
    )  # fmt: skip
    def get(self, request: Request, cluster_id: UUID) -> Response:
        """What is held on a cluster; see /api/v1/clusters/{id}/metrics."""
        cluster = cluster_of(request, cluster_id, Permission.CLUSTER_VIEW)
        pools, units = self.pools(request, cluster), self.departments(request, cluster)
        place = _Place(Q(workload__cluster=cluster), pools, _promised(units))
        found = self.answer(request, place)
        rows = self.projects(request, cluster)
        found["current"]["projectResources"] = list(_by_project(pools, rows))
        about = {"clusterId": str(cluster.pk), "clusterName": cluster.name}
        return Response({"metadata": about, **found})


class OldProjectsMetrics(_OldMetrics):
    """Metrics of every project of a cluster."""

    @extend_schema(
        operation_id="listOldProjectMetrics", deprecated=True, parameters=_PARAMETERS,
        responses={200: _ALL, **shapes.errors(400, 404)},
    )  # fmt: skip
    def get(self, request: Request, cluster_id: UUID) -> Response:
        """What each project holds; see /api/v1/org-unit/projects/{id}/metrics."""
        cluster = _seen(request, cluster_id)
        pools, rows = self.pools(request, cluster), self.projects(request, cluster)
        return Response({"data": [self.of_project(request, pools, one) for one in rows]})


class OldProjectMetrics(_OldMetrics):
    """Metrics of a project."""

    @extend_schema(
        operation_id="getOldProjectMetrics", deprecated=True, parameters=_PARAMETERS,
        responses={200: OLD_METRICS, **shapes.errors(400, 404)},
    )  # fmt: skip
    def get(self, request: Request, cluster_id: UUID, pk: int) -> Response:
        """What a project holds."""
        cluster = _seen(request, cluster_id)
        found = _one(self.projects(request, cluster), pk)
        return Response(self.of_project(request, self.pools(request, cluster), found))


class OldDepartmentsMetrics(_OldMetrics):
    """Metrics of every department of a cluster."""

    @extend_schema(
        operation_id="listOldDepartmentMetrics", deprecated=True, parameters=_PARAMETERS,
        responses={200: _ALL, **shapes.errors(400, 404)},
    )  # fmt: skip
    def get(self, request: Request, cluster_id: UUID) -> Response:
        """What each department holds; see /api/v1/org-unit/departments/{id}/metrics."""
        cluster = _seen(request, cluster_id)
        pools, rows = self.pools(request, cluster), self.departments(request, cluster)
        return Response({"data": [self.of_department(request, pools, one) for one in rows]})


class OldDepartmentMetrics(_OldMetrics):
    """Metrics of a department."""

    @extend_schema(
        operation_id="getOldDepartmentMetrics", deprecated=True, parameters=_PARAMETERS,
        responses={200: OLD_METRICS, **shapes.errors(400, 404)},
    )  # fmt: skip
    def get(self, request: Request, cluster_id: UUID, pk: int) -> Response:
        """What a department holds, with its projects."""
        cluster = _seen(request, cluster_id)
        found = _one(self.departments(request, cluster), pk)
        return Response(self.of_department(request, self.pools(request, cluster), found))
