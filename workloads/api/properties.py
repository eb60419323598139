"""What kinds, categories and priorities of workloads there are: the same for everybody."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID, uuid5

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gangline.api.paging import BadQuery, flag, known_only, sorting
from gangline.spec.placement import DEFAULT_PRIORITY, PRIORITIES
from workloads.api import shapes
from workloads.api.representation import CATEGORY, TYPE, priority_class

_NAMES = UUID("6f1d3c52-2a57-4d8c-9f5e-8c1f3f5f0c11")
GROUP = "gangline"
SOURCE = "Built-in"


def _id(kind: str, name: str) -> UUID:
    """The same in every installation: nobody makes these."""
    return uuid5(_NAMES, f"{kind}/{name}")


CATEGORIES = [
    {
        "id": _id("category", CATEGORY),
        "name": CATEGORY,
        "description": "Workloads that train a model.",
    }
]
TYPES = [
    {
        "id": _id("type", TYPE),
        "name": TYPE,
        "group": GROUP,
        "categoryId": _id("category", CATEGORY),
        "categoryName": CATEGORY,
        "priorityId": _id("priority", priority_class(DEFAULT_PRIORITY)),
        "priorityName": priority_class(DEFAULT_PRIORITY),
    }
]
LEVELS: list[dict[str, Any]] = [
    {"id": _id("priority", name), "name": name, "value": value, "source": SOURCE}
    for name, value in PRIORITIES.items()
]


class Categories(APIView):
    """Categories of workloads."""

    @extend_schema(
        operation_id="listWorkloadCategories", responses={200: shapes.CATEGORIES, **shapes.errors()}
    )
    def get(self, request: Request) -> Response:
        known_only(request, frozenset())
        return Response({"categories": CATEGORIES})


class Category(APIView):
    """One category."""

    @extend_schema(
        operation_id="getWorkloadCategory", responses={200: shapes.CATEGORY, **shapes.errors(404)}
    )
    def get(self, request: Request, category_id: UUID) -> Response:
        return Response(_one(CATEGORIES, category_id))


class Types(APIView):
    """Kinds of workloads."""

    @extend_schema(
        operation_id="listWorkloadTypes",
        parameters=[
            shapes.one_of("externalTypesOnly", ("true", "false"), "Only kinds made here: none."),
            shapes.FILTERED_EXACTLY,
        ],
        responses={200: shapes.TYPES, **shapes.errors(400)},
    )
    def get(self, request: Request) -> Response:
        known_only(request, frozenset({"externalTypesOnly", "filterBy"}))
        types = [] if flag(request, "externalTypesOnly") else TYPES
        return Response({"types": _matching(request, types, ("name", "group"))})


class Type(APIView):
    """One kind."""

    @extend_schema(
        operation_id="getWorkloadType", responses={200: shapes.TYPE_OF, **shapes.errors(404)}
    )
    def get(self, request: Request, type_id: UUID) -> Response:
        return Response(_one(TYPES, type_id))


class Priorities(APIView):
    """Priorities of workloads."""

    @extend_schema(
        operation_id="listWorkloadPriorities",
        parameters=[*shapes.sorted_by(("name", "source", "value")), shapes.FILTERED_EXACTLY],
        responses={200: shapes.PRIORITIES, **shapes.errors(400)},
    )
    def get(self, request: Request) -> Response:
        """From the lowest to the highest, unless it is sorted otherwise."""
        known_only(request, frozenset({"sortBy", "sortOrder", "filterBy"}))
        names = {name: name for name in ("name", "source", "value")}
        column, descending = sorting(request, names, "value")
        found = _matching(request, LEVELS, tuple(names))
        return Response(
            {"priorities": sorted(found, key=lambda one: one[column], reverse=descending)}
        )


def _one(rows: Iterable[dict[str, Any]], wanted: UUID) -> dict[str, Any]:
    found = next((one for one in rows if one["id"] == wanted), None)
    if found is None:
        raise Http404
    return found


def _matching(
    request: Request, rows: Iterable[dict[str, Any]], fields: tuple[str, ...]
) -> list[dict[str, Any]]:
    """Rows that every condition holds for. Few rows, no table: only equality is of use."""
    found = list(rows)
    for part in ",".join(request.query_params.getlist("filterBy")).split(","):
        if not part:
            continue
        name, is_equal, value = part.partition("==")
        if not is_equal or name not in fields:
            raise BadQuery(f"filterBy takes field==value here. Fields: {', '.join(fields)}.")
        found = [one for one in found if str(one[name]) == value]
    return found
