"""Metrics over time of clusters, node pools, nodes, departments and projects.

They are added up from what is known of workloads. Of what nothing here stores, such as quotas of
before, the values are empty, as clients expect.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gangline.access.grants import can
from gangline.access.permissions import Permission
from gangline.access.refusals import NotAllowed, NotVisible
from gangline.api.paging import BadQuery
from gangline.clusters.models import Cluster, Node, NodePool
from gangline.clusters.serializers import node_id
from gangline.drivers.metrics.reader import NOTHING, together
from gangline.resources.registry import get
from workloads.api import shapes
from workloads.api.metric_queries import Asked, answered, plain, read_query
from workloads.api.views import user_of
from workloads.models import Attempt
from workloads.selectors import holdings
from workloads.selectors.holdings import Holding

OF_CLUSTERS = (
    "TOTAL_GPU_NODES", "GPU_UTILIZATION", "GPU_UTILIZATION_DISTRIBUTION", "GPU_MEMORY_UTILIZATION",
    "CPU_UTILIZATION", "CPU_MEMORY_UTILIZATION", "TOTAL_GPU", "GPU_QUOTA", "ALLOCATED_GPU",
    "UNALLOCATED_GPU", "AVG_WORKLOAD_WAIT_TIME", "WORKLOADS_COUNT",
)  # fmt: skip
OF_UNITS = (
    "GPU_QUOTA", "CPU_QUOTA_MILLICORES", "CPU_MEMORY_QUOTA_MB", "GPU_ALLOCATION",
    "CPU_ALLOCATION_MILLICORES", "CPU_MEMORY_ALLOCATION_MB", "GPU_MEMORY_UTILIZATION",
)  # fmt: skip
_PER_GPU = (
    "GPU_UTILIZATION", "GPU_MEMORY_UTILIZATION", "GPU_MEMORY_USAGE_BYTES", "GPU_ALLOCATION",
    "GPU_MEMORY_ALLOCATION_BYTES", "GPU_IDLE_TIME_SECONDS", "GPU_OOMKILL_BURST_COUNT",
    "GPU_OOMKILL_IDLE_COUNT", "GPU_OOMKILL_SWAP_OUT_OF_RAM_COUNT", "GPU_GRAPHICS_ENGINE_ACTIVITY",
    "GPU_SM_ACTIVITY", "GPU_SM_OCCUPANCY", "GPU_TENSOR_ACTIVITY", "GPU_FP64_ENGINE_ACTIVITY",
    "GPU_FP32_ENGINE_ACTIVITY", "GPU_FP16_ENGINE_ACTIVITY", "GPU_MEMORY_BANDWIDTH_UTILIZATION",
    "GPU_NVLINK_TRANSMITTED_BANDWIDTH", "GPU_NVLINK_RECEIVED_BANDWIDTH",
    "GPU_PCIE_TRANSMITTED_BANDWIDTH", "GPU_PCIE_RECEIVED_BANDWIDTH", "NVLINK_BANDWIDTH_TOTAL",
)  # fmt: skip
_USED = {
    "CPU_USAGE_CORES": "cpu",
    "CPU_MEMORY_USAGE_BYTES": "memory",
    "GPU_UTILIZATION": "gpu",
    "GPU_MEMORY_USAGE_BYTES": "gpu_memory",
}
_SHARES = {"CPU_UTILIZATION": "cpu", "CPU_MEMORY_UTILIZATION": "memory"}
OF_NODES = (*_USED, *_SHARES, "GPU_MEMORY_UTILIZATION", "NVLINK_BANDWIDTH_TOTAL",
            *(f"{name}_PER_GPU" for name in _PER_GPU))  # fmt: skip

Slot = Callable[[float, float], float | None]
"""Begin and end of a slot → its value; None: nothing is known."""
_POOL = OpenApiParameter("nodepoolName", OpenApiTypes.STR)


def _mean(held: Sequence[Holding], amount: Callable[[Holding], float]) -> Slot:
    """What was held at a time, on average."""
    return lambda b, e: sum(amount(one) * one.within(b, e) for one in held) / (e - b)


def _count(held: Sequence[Holding]) -> Slot:
    return lambda b, e: len({one.workload for one in held if one.within(b, e)})


def _wait(attempts: Sequence[Attempt]) -> Slot:
    def mean(begins: float, ends: float) -> float | None:
        found = holdings.waits(attempts, begins, ends)
        return sum(found) / len(found) if found else None

    return mean


class _Metrics(APIView):
    """What all of them share: the query, the slots, the answer."""

    def measured(
        self, request: Request, query: Asked, known: Mapping[str, Slot]
    ) -> Response | HttpResponse:
        slots = list(query.slots(WIDTH))
        found = []
        for name in query.types:
            value = known.get(name, _unknown)
            found.append({"type": name, "labels": {}, "values": _values(name, value, slots)})
        return answered(request, found)

    def held(
        self, where: Q, query: Asked, nodes: frozenset[str] | None = None
    ) -> tuple[list[Attempt], list[Holding]]:
        attempts = attempts_in(where, query.start, query.end)
        return attempts, holdings.holdings(attempts, nodes)


WIDTH = 60
"""Seconds of the finest slots."""


def _unknown(begins: float, ends: float) -> None:
    return None


def _values(name: str, value: Slot, slots: Sequence[tuple[float, float]]) -> list[dict[str, Any]]:
    told = ((begins, value(begins, ends)) for begins, ends in slots)
    whole = name.endswith(("_BYTES", "_COUNT"))
    return [
        {"value": plain(one, is_whole=whole), "timestamp": datetime.fromtimestamp(begins, UTC)}
        for begins, one in told
        if one is not None
    ]


def attempts_in(where: Q, start: float, end: float) -> list[Attempt]:
    """Those that were there at some time. Raises BadQuery."""
    try:
        return holdings.attempts_between(where, start, end)
    except holdings.TooMany:
        most = holdings.MOST_ATTEMPTS
        says = f"More than {most} runs of workloads are in this time. Request a shorter one."
        raise BadQuery(says) from None


def names_of(pool: NodePool) -> frozenset[str]:
    return frozenset(pool.nodes.values_list("name", flat=True))


class _ClusterMetrics(_Metrics):
    def of(
        self, request: Request, query: Asked, cluster: Cluster, nodes: frozenset[str] | None
    ) -> Response | HttpResponse:
        attempts, held = self.held(Q(workload__cluster=cluster), query, nodes)
        if nodes is not None:
            there = {one.workload for one in held}
            attempts = [one for one in attempts if one.workload_id in there]
        known: dict[str, Slot] = {
            "ALLOCATED_GPU": _mean(held, lambda one: one.gpus),
            "WORKLOADS_COUNT": _count(held),
            "AVG_WORKLOAD_WAIT_TIME": _wait(attempts),
        }
        return self.measured(request, query, known)


class ClusterMetrics(_ClusterMetrics):
    """Metrics of a cluster, or of one of its node pools."""

    @extend_schema(
        operation_id="getClusterMetrics",
        parameters=[*shapes.metric_parameters(OF_CLUSTERS), _POOL],
        responses={200: shapes.METRICS, **shapes.errors(400, 403, 404)},
    )
    def get(self, request: Request, cluster_id: UUID) -> Response | HttpResponse:
        """GPUs that workloads held, how many ran, and how long they had waited, in slots."""
        query = read_query(request, OF_CLUSTERS, also={"nodepoolName"})
        cluster = cluster_of(request, cluster_id, Permission.CLUSTER_VIEW)
        name = request.query_params.get("nodepoolName", "")
        nodes = names_of(pool_of(cluster, name)) if name else None
        return self.of(request, query, cluster, nodes)


class NodePoolMetrics(_ClusterMetrics):
    """Metrics of a node pool."""

    @extend_schema(
        operation_id="getNodePoolMetrics",
        parameters=shapes.metric_parameters(OF_CLUSTERS),
        responses={200: shapes.METRICS, **shapes.errors(400, 403, 404)},
    )
    def get(self, request: Request, cluster_id: UUID, name: str) -> Response | HttpResponse:
        """The same of the nodes that are in the pool now."""
        query = read_query(request, OF_CLUSTERS)
        cluster = cluster_of(request, cluster_id, Permission.NODE_POOL_VIEW)
        return self.of(request, query, cluster, names_of(pool_of(cluster, name)))


def cluster_of(request: Request, pk: UUID, permission: Permission) -> Cluster:
    cluster: Cluster | None = get("cluster").visible(user_of(request)).filter(pk=pk).first()
    if cluster is None:
        raise NotVisible
    if not can(user_of(request), permission, cluster.scope):
        raise NotAllowed(permission, cluster.scope)
    return cluster


def pool_of(cluster: Cluster, name: str) -> NodePool:
    pool: NodePool | None = cluster.pools.filter(name=name[:63]).first()
    if pool is None or "\0" in name:
        raise NotVisible
    return pool


class _UnitMetrics(_Metrics):
    """Of a department or project."""

    key: str
    path: str

    def of(self, request: Request, pk: int) -> Response | HttpResponse:
        query = read_query(request, OF_UNITS, also={"nodepoolName"})
        unit = get(self.key).visible(user_of(request)).filter(pk=pk).first()
        if unit is None:
            raise NotVisible
        name = request.query_params.get("nodepoolName", "")
        nodes = names_of(pool_of(unit.cluster, name)) if name else None
        _, held = self.held(Q(**{self.path: unit}), query, nodes)
        known: dict[str, Slot] = {
            "GPU_ALLOCATION": _mean(held, lambda one: one.gpus),
            "CPU_ALLOCATION_MILLICORES": _mean(held, lambda one: one.cpus * 1000),
            "CPU_MEMORY_ALLOCATION_MB": _mean(held, lambda one: one.memory / 10**6),
        }
        return self.measured(request, query, known)


class ProjectMetrics(_UnitMetrics):
    """Metrics of a project."""

    key, path = "project", "workload__project"

    @extend_schema(
        operation_id="getProjectMetrics",
        parameters=[*shapes.metric_parameters(OF_UNITS), _POOL],
        responses={200: shapes.METRICS, **shapes.errors(400, 404)},
    )
    def get(self, request: Request, pk: int) -> Response | HttpResponse:
        """What its workloads held, on average of each slot."""
        return self.of(request, pk)


class DepartmentMetrics(_UnitMetrics):
    """Metrics of a department."""

    key, path = "department", "workload__project__department"

    @extend_schema(
        operation_id="getDepartmentMetrics",
        parameters=[*shapes.metric_parameters(OF_UNITS), _POOL],
        responses={200: shapes.METRICS, **shapes.errors(400, 404)},
    )
    def get(self, request: Request, pk: int) -> Response | HttpResponse:
        """What the workloads of all its projects held, on average of each slot."""
        return self.of(request, pk)


class NodeMetrics(_Metrics):
    """Metrics of a node."""

    @extend_schema(
        operation_id="getNodeMetrics",
        parameters=shapes.metric_parameters(OF_NODES),
        responses={200: shapes.METRICS, **shapes.errors(400, 404)},
    )
    def get(self, request: Request, node: str) -> Response | HttpResponse:
        """What the pods of workloads used on it; whatever else runs there is not measured."""
        query = read_query(request, OF_NODES)
        row = _node(request, node)
        on_it = Q(workload__cluster=row.cluster, pk__in=_with_pods_on(row))
        series = (
            together(holdings.used_on(row.name, attempts_in(on_it, query.start, query.end)))
            or NOTHING
        )
        whole = {"cpu": row.cpu, "memory": float(row.memory)}

        def used(name: str, share: bool) -> Slot:
            def mean(begins: float, ends: float) -> float | None:
                value = series.between(begins, ends).mean(name)
                if value is None or not share:
                    return value
                return 100 * value / whole[name] if whole[name] else None

            return mean

        known = {word: used(name, False) for word, name in _USED.items()}
        known |= {word: used(name, True) for word, name in _SHARES.items()}
        return self.measured(request, query, known)


def _with_pods_on(node: Node) -> Any:
    return Attempt.objects.filter(replicas__node=node.name).values("pk")


def _node(request: Request, wanted: str) -> Node:
    """By the id that the list gives, or by a name that one alone has."""
    rows = get("node").visible(user_of(request)).select_related("cluster")
    if "\0" in wanted:
        raise NotVisible
    named = list(rows.filter(name=wanted[:253])[:2])
    if len(named) == 1:
        return named[0]  # type: ignore[no-any-return]
    ids = rows.values_list("pk", "cluster_id", "name")
    pk = next((pk for pk, cluster, name in ids if node_id(cluster, name) == wanted.lower()), None)
    if pk is None:
        raise NotVisible
    found: Node = rows.get(pk=pk)
    return found
