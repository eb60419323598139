"""Metrics over time for clients: what pods used, and what they asked for, as strings in slots."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gangline.access.refusals import NotVisible
from gangline.drivers.metrics.declared import METRICS
from gangline.drivers.metrics.reader import Series
from workloads.api import shapes
from workloads.api.metric_queries import Asked, answered, plain, read_query
from workloads.api.representation import pod_id
from workloads.api.views import user_of
from workloads.models import Attempt, Replica, Workload
from workloads.selectors.details import visible_workload
from workloads.selectors.figures import asked, figures_of

MOST_ATTEMPTS = 20
USED = {metric.type: metric.name for metric in METRICS if metric.type}
_ASKED = {
    "CPU_REQUEST_CORES": "cpu",
    "CPU_MEMORY_REQUEST_BYTES": "memory",
    "CPU_LIMIT_CORES": "cpu_limit",
    "CPU_MEMORY_LIMIT_BYTES": "memory_limit",
}
_COUNTED = ("POD_COUNT", "RUNNING_POD_COUNT", "GPU_ALLOCATION")
_NIM = (
    "NIM_NUM_REQUESTS_RUNNING", "NIM_NUM_REQUESTS_WAITING", "NIM_NUM_REQUEST_MAX",
    "NIM_REQUEST_SUCCESS_TOTAL", "NIM_REQUEST_FAILURE_TOTAL", "NIM_GPU_CACHE_USAGE_PERC",
    "NIM_TIME_TO_FIRST_TOKEN_SECONDS", "NIM_E2E_REQUEST_LATENCY_SECONDS",
    "NIM_TIME_TO_FIRST_TOKEN_SECONDS_PERCENTILES", "NIM_E2E_REQUEST_LATENCY_SECONDS_PERCENTILES",
    "NVLINK_BANDWIDTH_TOTAL",
)  # fmt: skip
OF_WORKLOADS = (*USED, *_ASKED, *_COUNTED, "GPU_MEMORY_REQUEST_BYTES", *_NIM)
OF_PODS = (
    *USED, *_NIM,
    *(f"{name}_PER_GPU" for name in (
        "GPU_UTILIZATION", "GPU_MEMORY_USAGE_BYTES", "GPU_GRAPHICS_ENGINE_ACTIVITY",
        "GPU_SM_ACTIVITY", "GPU_SM_OCCUPANCY", "GPU_TENSOR_ACTIVITY", "GPU_FP64_ENGINE_ACTIVITY",
        "GPU_FP32_ENGINE_ACTIVITY", "GPU_FP16_ENGINE_ACTIVITY", "GPU_MEMORY_BANDWIDTH_UTILIZATION",
        "GPU_NVLINK_TRANSMITTED_BANDWIDTH", "GPU_NVLINK_RECEIVED_BANDWIDTH",
        "GPU_PCIE_TRANSMITTED_BANDWIDTH", "GPU_PCIE_RECEIVED_BANDWIDTH", "GPU_SWAP_MEMORY_BYTES",
        "NVLINK_BANDWIDTH_TOTAL",
    )),
)  # fmt: skip
"""Of those that nothing here measures, the values are empty, as clients expect."""


class WorkloadMetrics(APIView):
    """Metrics of all pods of one workload."""

    @extend_schema(
        operation_id="getWorkloadMetrics",
        parameters=shapes.metric_parameters(OF_WORKLOADS),
        responses={200: shapes.METRICS, **shapes.errors(400, 404)},
    )
    def get(self, request: Request, workload_id: UUID) -> Response | HttpResponse:
        """What the pods used together and asked for; percentages are means of the pods.

        Values are strings, as clients of this API expect. As CSV for ``Accept: text/csv``.
        """
        query = read_query(request, OF_WORKLOADS)
        workload = visible_workload(user_of(request), workload_id, even_deleted=True)
        runs = [_Run.of(workload, attempt) for attempt in _attempts(workload, query)]
        return _answer(request, query, runs)


class PodMetrics(APIView):
    """Metrics of one pod."""

    @extend_schema(
        operation_id="getWorkloadPodMetrics",
        parameters=shapes.metric_parameters(OF_PODS),
        responses={200: shapes.METRICS, **shapes.errors(400, 404)},
    )
    def get(self, request: Request, workload_id: UUID, pod_id: str) -> Response | HttpResponse:
        """What one pod used. Values are strings; as CSV for ``Accept: text/csv``."""
        query = read_query(request, OF_PODS)
        workload = visible_workload(user_of(request), workload_id, even_deleted=True)
        replica = _pod(workload, pod_id)
        return _answer(request, query, [_Run.of(workload, replica.attempt, [replica])])


@dataclass(frozen=True, slots=True)
class _Run:
    """One attempt with the pods that are asked about."""

    series: Series
    replicas: Sequence[Replica]
    asked: dict[str, dict[str, float]]

    @classmethod
    def of(
        cls, workload: Workload, attempt: Attempt, replicas: Sequence[Replica] | None = None
    ) -> "_Run":
        rows = list(attempt.replicas.all()) if replicas is None else replicas
        figures = figures_of(workload, attempt, [row.name for row in rows])
        return cls(figures.whole, rows, asked(workload, attempt))

    def value(self, name: str, begins: float, ends: float) -> str:
        """In one slot; empty where nothing is known."""
        if name in USED:
            mean = self.series.between(begins, ends).mean(USED[name])
            return "" if mean is None else plain(mean, is_whole=_is_whole(name))
        begun = [r for r in self.replicas if r.started_at and r.started_at.timestamp() < ends]
        live = [r for r in begun if r.ended_at is None or r.ended_at.timestamp() > begins]
        if not live:
            return ""
        if name in _ASKED:
            amounts = [self.asked.get(row.role, {}).get(_ASKED[name]) for row in live]
            known = [amount for amount in amounts if amount is not None]
            return plain(sum(known), is_whole=_is_whole(name)) if known else ""
        if name == "GPU_ALLOCATION":
            return plain(sum(row.gpus for row in live), is_whole=False)
        return str(len(live)) if name in _COUNTED else ""


def _attempts(workload: Workload, query: Asked) -> list[Attempt]:
    """Those that were there in the time asked for, oldest first."""
    begins, ends = (datetime.fromtimestamp(at, UTC) for at in (query.start, query.end))
    rows = workload.attempts.filter(created_at__lt=ends).filter(
        Q(ended_at__isnull=True) | Q(ended_at__gt=begins)
    )
    newest = rows.defer("rendered").prefetch_related("replicas").order_by("-no")[:MOST_ATTEMPTS]
    return list(reversed(newest))


def _pod(workload: Workload, wanted: str) -> Replica:
    """By the id that the list of pods gives."""
    rows = Replica.objects.filter(attempt__workload=workload).select_related("attempt")
    for row in rows.defer("attempt__rendered"):
        if pod_id(row) == wanted:
            return row
    raise NotVisible


def _answer(request: Request, query: Asked, runs: Sequence[_Run]) -> Response | HttpResponse:
    width = max((run.series.width for run in runs), default=1)
    slots = list(query.slots(width))
    found = [
        {"type": name, "labels": {}, "values": list(_values(name, runs, slots))}
        for name in query.types
    ]
    return answered(request, found)


def _values(
    name: str, runs: Sequence[_Run], slots: Sequence[tuple[float, float]]
) -> Iterator[dict[str, Any]]:
    for begins, ends in slots:
        # Attempts follow each other: the newest that knows tells.
        told = (run.value(name, begins, ends) for run in reversed(runs))
        if value := next(filter(None, told), ""):
            yield {"value": value, "timestamp": datetime.fromtimestamp(begins, UTC)}


def _is_whole(name: str) -> bool:
    return name.endswith("_BYTES")
