"""Jobs of a cluster's scheduler that were not made with Gangline: listed, shown, cancelled."""

from typing import Any
from uuid import UUID

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gangline.access.actor import acting
from gangline.access.refusals import NotVisible
from gangline.accounts.models import User
from gangline.api.errors import Answer, answers
from gangline.api.paging import known_only
from gangline.api.schema import component
from gangline.clusters.models import Cluster
from gangline.drivers.jobs import OthersJob
from gangline.lib.answers import error_body
from gangline.resources.registry import get
from workloads.api import shapes
from workloads.api.views import user_of
from workloads.services import others_jobs

_JOB: dict[str, Any] = {
    "number": shapes.TEXT | {"description": "As the scheduler writes it: 120, or 120_3."},
    "name": shapes.TEXT,
    "owner": shapes.TEXT | {"description": "Its account on the cluster."},
    "state": shapes.TEXT | {"description": "In the scheduler’s own word."},
    "reason": shapes.TEXT | {"description": "Why it waits; else empty."},
    "partition": shapes.TEXT,
    "nodes": shapes.WHOLE,
    "priority": shapes.WHOLE,
    "submittedAt": shapes.MAYBE_TIME,
    "startAt": shapes.MAYBE_TIME
    | {"description": "When it started; of one that waits, when that is expected."},
    "timeLimit": shapes.TEXT | {"description": "As the scheduler writes it."},
}
_LISTED = component("ClusterJob", {"type": "object", "required": [*_JOB], "properties": _JOB})
_JOBS = component(
    "ClusterJobs",
    {
        "type": "object",
        "required": ["jobs"],
        "properties": {"jobs": {"type": "array", "items": _LISTED}},
    },
)
_SHOWN = component(
    "ClusterJobText",
    {
        "type": "object",
        "required": ["number", "text"],
        "properties": {
            "number": shapes.TEXT,
            "text": shapes.TEXT
            | {"description": "The details from the scheduler, and the script if it can be read."},
        },
    },
)
_OWNER = OpenApiParameter("owner", OpenApiTypes.STR, description="Only jobs of this account.")


class ClusterJobs(APIView):
    """Jobs of a cluster that were not made with Gangline."""

    @extend_schema(
        operation_id="listClusterJobs",
        parameters=[_OWNER],
        responses={200: _JOBS, **shapes.errors(400, 404, 409)},
    )
    def get(self, request: Request, cluster_id: UUID) -> Response:
        """Those that wait or run now. Only schedulers that list jobs, such as Slurm, have any."""
        known_only(request, frozenset({"owner"}))
        owner = request.query_params.get("owner", "")
        jobs = others_jobs.listed(_cluster(user_of(request), cluster_id))
        return Response({"jobs": [_listed(job) for job in jobs if owner in ("", job.owner)]})


class ClusterJob(APIView):
    """One of them."""

    @extend_schema(
        operation_id="getClusterJob", responses={200: _SHOWN, **shapes.errors(400, 404, 409)}
    )
    def get(self, request: Request, cluster_id: UUID, number: str) -> Response:
        known_only(request, frozenset())
        cluster = _cluster(user_of(request), cluster_id)
        return Response({"number": number, "text": others_jobs.text(cluster, number)})

    @extend_schema(
        operation_id="cancelClusterJob", responses={202: None, **shapes.errors(400, 403, 404, 409)}
    )
    def delete(self, request: Request, cluster_id: UUID, number: str) -> Response:
        """Cancel it; what belongs to a workload is stopped or deleted as that."""
        known_only(request, frozenset())
        cluster = _cluster(user_of(request), cluster_id)
        others_jobs.cancel(actor=acting(request), cluster=cluster, number=number)
        return Response(status=202)


def _cluster(user: User, cluster_id: UUID) -> Cluster:
    """One whose jobs the person may see. Raises NotVisible."""
    cluster: Cluster | None = get("cluster").visible(user).filter(pk=cluster_id).first()
    if cluster is None or not others_jobs.sees(user, cluster):
        raise NotVisible
    return cluster


def _listed(job: OthersJob) -> dict[str, Any]:
    return {
        "number": job.number,
        "name": job.name,
        "owner": job.owner,
        "state": job.state,
        "reason": job.reason,
        "partition": job.pool,
        "nodes": job.nodes,
        "priority": job.priority,
        "submittedAt": job.submitted_at,
        "startAt": job.started_at,
        "timeLimit": job.time_limit,
    }


@answers(others_jobs.CannotSay)
def _cannot_say(error: others_jobs.CannotSay) -> Answer:
    return 409, error_body(409, str(error))
