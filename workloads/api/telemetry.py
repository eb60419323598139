"""How many workloads there are and what they hold, in all or by groups."""

from django.db.models import Count, QuerySet, Sum
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gangline.api import filtering
from gangline.api.paging import BadQuery, known_only
from gangline.api.telemetry import TELEMETRY, Aggregate, Group, Telemetry, added_up
from workloads.api import shapes
from workloads.api.representation import CATEGORY, TYPE
from workloads.api.views import user_of
from workloads.models import Workload
from workloads.selectors.workload_list import visible

TOLD = Telemetry[Aggregate](
    figures={
        "WORKLOADS_COUNT": lambda rows: (rows, Count("pk")),
        "GPU_ALLOCATION": lambda rows: (rows, Sum("gpus_in_use")),
    },
    groups={
        "ClusterId": Group("cluster_id", "cluster__name"),
        "DepartmentId": Group("project__department_id", "project__department__name"),
        "ProjectId": Group("project_id", "project_name"),
        "Phase": Group("phase"),
        "Type": Group(value=TYPE),
        "Category": Group(value=CATEGORY),
    },
)
PHASES: tuple[str, ...] = tuple(shapes.PHASE["enum"])


class WorkloadTelemetry(APIView):
    """Figures of workloads."""

    @extend_schema(
        operation_id="workloadTelemetry",
        parameters=[
            *TOLD.parameters,
            OpenApiParameter("clusterId", shapes.UUID),
            OpenApiParameter("departmentId", shapes.TEXT),
            OpenApiParameter("filterByPhases", shapes.TEXT, description=f"Of {', '.join(PHASES)}."),
        ],
        responses={200: TELEMETRY, **shapes.errors(400)},
    )
    def get(self, request: Request) -> Response:
        """What the caller's workloads are and hold now."""
        known_only(
            request,
            frozenset({"telemetryType", "groupBy", "clusterId", "departmentId", "filterByPhases"}),
        )
        rows = visible(user_of(request))
        return Response(added_up(TOLD, request, _narrowed(request, rows)))


def _narrowed(request: Request, rows: QuerySet[Workload]) -> QuerySet[Workload]:
    query = request.query_params
    try:
        if cluster := query.get("clusterId"):
            rows = rows.filter(cluster_id=filtering.uuid(cluster))
        if department := query.get("departmentId"):
            rows = rows.filter(project__department_id=filtering.whole(department))
    except filtering.NotAValue as error:
        raise BadQuery(f"clusterId and departmentId must be ids, not {error}.") from error
    if phases := [one for one in query.get("filterByPhases", "").split(",") if one]:
        if unknown := [one for one in phases if one not in PHASES]:
            raise BadQuery(f"filterByPhases has no phase {unknown[0][:60]!r}. Accepted: "
                           f"{', '.join(PHASES)}.")  # fmt: skip
        rows = rows.filter(phase__in=phases)
    return rows
