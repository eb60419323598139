"""The pods of one workload, and of all that the caller may see."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import F, Q, QuerySet, TextField, Value
from django.db.models.functions import Cast, Concat
from django.http import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gangline.accounts.models import User
from gangline.api import filtering
from gangline.api.paging import BadQuery, Page, answer, flag, known_only, one_of, page_of, sorting
from gangline.api.unchanged import unless_unchanged
from gangline.clusters.models import Node
from gangline.tables.query import MAX_SEARCH, printable
from workloads.api import representation, shapes
from workloads.api.views import user_of
from workloads.api.workload_list import places_of
from workloads.models import Replica
from workloads.selectors.details import visible_workload

COMPLETED = ("all", "true", "false")
VERBOSITY = ("brief", "full")
_ONLY_LISTED = frozenset({"completed", "verbosity"})
_NEWEST = Q(attempt__no=F("attempt__workload__attempt_no"))
_FILTERS = frozenset({"deleted", "filterBy", "search"})


def _in_pool(name: str) -> Q:
    return Q(node__in=Node.objects.filter(pool__name=name).values("name"))


FIELDS: Mapping[str, filtering.Filter] = {
    "clusterId": filtering.identifier("attempt__workload__cluster_id"),
    "workloadId": filtering.identifier("attempt__workload_id"),
    "nodeName": filtering.Filter("node"),
    "currentNodepool": filtering.Filter("node", where=_in_pool),
    "createdAt": filtering.time("attempt__created_at"),
    "completedAt": filtering.time("ended_at"),
    "deletedAt": filtering.time("attempt__workload__deleted_at"),
}
SORTS = {name: one.column for name, one in FIELDS.items() if one.where is None}


class WorkloadPods(APIView):
    """Pods of one workload."""

    @extend_schema(
        operation_id="listWorkloadPods",
        parameters=[*shapes.PAGE, shapes.SEARCH, shapes.DELETED],
        responses={200: shapes.PODS, **shapes.errors(400, 404)},
    )
    def get(self, request: Request, workload_id: UUID) -> HttpResponseBase:
        """Pods of the newest attempt; with ``deleted=true`` those of the earlier ones."""
        known_only(request, frozenset({"offset", "limit", "search", "deleted"}))
        page = page_of(request)
        workload = visible_workload(user_of(request), workload_id, even_deleted=True)
        rows = Replica.objects.filter(attempt__workload=workload)
        rows = rows.exclude(_NEWEST) if flag(request, "deleted") else rows.filter(_NEWEST)
        rows = _searched(rows, request).order_by("attempt__no", "rank", "id")
        return _answered(request, rows, page)


class PodList(APIView):
    """Pods of every workload that the caller may see."""

    @extend_schema(
        operation_id="listPods",
        parameters=[
            *shapes.PAGE,
            *shapes.filtered(FIELDS),
            *shapes.sorted_by(SORTS),
            shapes.one_of("completed", COMPLETED, "Only pods that ended, or only others."),
            shapes.one_of("verbosity", VERBOSITY, "Both give every field."),
        ],
        responses={200: shapes.PODS, **shapes.errors(400)},
    )
    def get(self, request: Request) -> HttpResponseBase:
        """Pods of newest attempts; with ``deleted=true`` those of earlier ones and of deleted
        workloads."""
        known_only(request, _FILTERS | {"offset", "limit", "sortBy", "sortOrder"} | _ONLY_LISTED)
        page = page_of(request)
        column, descending = sorting(request, SORTS, "attempt__created_at")
        query = request.query_params
        ended = one_of(query.get("completed", "all"), "completed", COMPLETED)
        one_of(query.get("verbosity", "brief"), "verbosity", VERBOSITY)
        rows = _matching(user_of(request), request)
        if ended != "all":
            rows = rows.filter(ended_at__isnull=ended == "false")
        rows = rows.order_by(f"{'-' if descending else ''}{column}", "pk")
        return _answered(request, rows, page)


class PodCount(APIView):
    """Number of pods."""

    @extend_schema(
        operation_id="countPods",
        parameters=shapes.filtered(FIELDS),
        responses={200: shapes.COUNT, **shapes.errors(400)},
    )
    def get(self, request: Request) -> Response:
        """How many pods the filters let through."""
        known_only(request, _FILTERS)
        return Response({"count": _matching(user_of(request), request).count()})


def _matching(user: User, request: Request) -> QuerySet[Replica]:
    rows = Replica.objects.filter(attempt__workload__project__in=list(places_of(user)))
    is_there = _NEWEST & Q(attempt__workload__deleted_at__isnull=True)
    rows = rows.exclude(is_there) if flag(request, "deleted") else rows.filter(is_there)
    rows = rows.filter(filtering.conditions(request.query_params.getlist("filterBy"), FIELDS))
    return _searched(rows, request)


def _searched(rows: QuerySet[Replica], request: Request) -> QuerySet[Replica]:
    """Those whose name or node has the text of ``search``."""
    text = printable(request.query_params.get("search", ""))
    if len(text) > MAX_SEARCH:
        raise BadQuery(f"search must have at most {MAX_SEARCH} characters.")
    if not text:
        return rows
    name = Concat(
        "attempt__workload__name",
        Value("-"),
        "role",
        Value("-"),
        Cast("index", TextField()),
        output_field=TextField(),
    )
    return rows.annotate(whole_name=name).filter(
        Q(whole_name__icontains=text) | Q(node__icontains=text)
    )


def _answered(request: Request, rows: QuerySet[Replica], page: Page) -> HttpResponseBase:
    """A page of them: nothing numbers the changes of a pod, so its row tells whether it changed."""
    found = list(
        rows.select_related("attempt__workload").defer("attempt__rendered")[
            page.offset : page.offset + page.limit + 1
        ]
    )
    columns = [one.attname for one in Replica._meta.concrete_fields]
    versions = [
        (*(getattr(row, name) for name in columns), row.attempt.workload.project_name)
        for row in found
    ]

    def body() -> dict[str, Any]:
        shown = [representation.pod(row, row.attempt, row.attempt.workload) for row in found]
        return answer("pods", shown, page)

    return unless_unchanged(request, versions, body)
