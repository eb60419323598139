"""Figures of now, in all or by up to two groups, as clients ask for them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from gangline.db.clock import db_now

from .paging import BadQuery, one_of
from .schema import component

MOST_GROUPS = 2

TELEMETRY = component(
    "Telemetry",
    {
        "type": "object",
        "required": ["type", "timestamp", "values"],
        "properties": {
            "type": {"type": "string", "enum": ["Number"]},
            "timestamp": {"type": "string", "format": "date-time"},
            "values": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["value", "groups"],
                    "properties": {
                        "value": {"type": "string", "description": "A number."},
                        "groups": {
                            "type": "array",
                            "maxItems": MOST_GROUPS,
                            "items": {
                                "type": "object",
                                "required": ["key", "value"],
                                "properties": {
                                    "key": {"type": "string"},
                                    "value": {"type": "string"},
                                    "name": {"type": "string"},
                                },
                            },
                        },
                    },
                },
            },
        },
    },
)


@dataclass(frozen=True, slots=True)
class Group:
    """One thing to group by."""

    column: str = ""
    """Whose values are the groups; with none there is one group, ``value``."""
    name: str = ""
    """The column with what people call a group."""
    value: str = ""

    def of(self, key: str, row: Mapping[str, Any]) -> dict[str, str]:
        """The group of a row, for clients."""
        value = str(row[self.column]) if self.column else self.value
        return {"key": key, "value": value, "name": str(row[self.name]) if self.name else value}


Figure = TypeVar("Figure")


@dataclass(frozen=True)
class Telemetry(Generic[Figure]):
    """What can be asked about rows: figures, and what they are grouped by."""

    figures: Mapping[str, Figure]
    groups: Mapping[str, Group]

    @property
    def parameters(self) -> list[OpenApiParameter]:
        by = f"Up to {MOST_GROUPS} of these, joined by a comma: {', '.join(self.groups)}."
        return [
            OpenApiParameter(
                "telemetryType", OpenApiTypes.STR, required=True, enum=list(self.figures)
            ),
            OpenApiParameter("groupBy", OpenApiTypes.STR, description=by),
        ]

    def asked(self, request: Request) -> tuple[Figure, Mapping[str, Group]]:
        """The figure and the groups that the query names; raises BadQuery."""
        query = request.query_params
        figure = one_of(query.get("telemetryType", ""), "telemetryType", self.figures)
        given = [one for one in query.get("groupBy", "").split(",") if one]
        names = [one_of(one, "groupBy", self.groups) for one in given]
        if len(names) > MOST_GROUPS:
            raise BadQuery(f"groupBy takes at most {MOST_GROUPS} names.")
        return self.figures[figure], {name: self.groups[name] for name in names}


Aggregate = Callable[[QuerySet[Any]], tuple[QuerySet[Any], Any]]
"""Narrows the rows, and says what is added up of them."""


def added_up(told: Telemetry[Aggregate], request: Request, rows: QuerySet[Any]) -> dict[str, Any]:
    """The answer about rows of the database; raises BadQuery."""
    aggregate, groups = told.asked(request)
    rows, figure = aggregate(rows.order_by())
    columns = [c for one in groups.values() for c in (one.column, one.name) if c]
    if columns:
        found = list(rows.values(*columns).annotate(figure=figure).order_by(*columns))
    else:
        found = [rows.aggregate(figure=figure)]
    return answer(((row["figure"] or 0, row) for row in found), groups)


def answer(
    found: Iterable[tuple[float, Mapping[str, Any]]], groups: Mapping[str, Group]
) -> dict[str, Any]:
    """Values with the rows that say which group each is of."""
    values = [
        {"value": f"{value:.12g}", "groups": [one.of(key, row) for key, one in groups.items()]}
        for value, row in found
    ]
    return {"type": "Number", "timestamp": db_now(), "values": values}
