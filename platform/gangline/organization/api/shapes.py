"""What the endpoints of projects give, for the published description."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter

from gangline.api.schema import Schema, component, errors, reference

__all__ = ["errors"]

_TEXT: Schema = {"type": "string"}
_TIME: Schema = {"type": "string", "format": "date-time"}
_UUID: Schema = {"type": "string", "format": "uuid"}
_MAYBE_TIME: Schema = {"type": ["string", "null"], "format": "date-time"}
_MAYBE_TEXT: Schema = {"type": ["string", "null"]}
_NUMBER: Schema = {"type": ["number", "null"]}
_ANY: Schema = {"type": "object", "additionalProperties": True}


def _object(required: tuple[str, ...], **fields: Schema) -> Schema:
    return {"type": "object", "required": list(required), "properties": fields}


PROJECT = component(
    "Project",
    _object(
        ("id", "name", "description", "clusterId", "parentId", "status", "totalResources",
         "resources", "effective", "createdAt", "updatedAt"),
        id=_TEXT | {"description": "Decimal id."},
        name=_TEXT,
        description=_TEXT,
        clusterId=_UUID,
        parentId=_TEXT,
        parent=_object(("id", "name"), id=_TEXT, name=_TEXT),
        requestedNamespace=_MAYBE_TEXT,
        enforceRunaiScheduler={"type": "boolean"},
        status=_object((), namespace=_TEXT, phase=_TEXT),
        totalResources=_object((), gpuQuota=_NUMBER, cpuQuota=_NUMBER, memoryQuota=_NUMBER),
        resources={"type": "array", "items": _ANY},
        effective=_ANY,
        createdAt=_TIME,
        updatedAt=_TIME,
    ),
)  # fmt: skip
PROJECTS = component(
    "Projects",
    _object(
        ("projects",),
        projects={"type": "array", "items": PROJECT},
        next={"type": "integer"},
    ),
)
COUNT = reference("Count")


def _query(name: str, description: str, *values: str) -> OpenApiParameter:
    return OpenApiParameter(
        name,
        OpenApiTypes.STR,
        OpenApiParameter.QUERY,
        description=description,
        enum=list(values) or None,
    )


PROJECT_COUNT_PARAMETERS = [
    _query("filterBy", "Conditions joined by commas, such as name=^vis."),
    _query("search", "Text in the name."),
]
PROJECT_PARAMETERS = [
    *PROJECT_COUNT_PARAMETERS,
    OpenApiParameter("offset", OpenApiTypes.INT, OpenApiParameter.QUERY),
    OpenApiParameter("limit", OpenApiTypes.INT, OpenApiParameter.QUERY),
    _query("sortBy", "Field to sort by.", "name", "createdAt", "parentName"),
    _query("sortOrder", "asc or desc.", "asc", "desc"),
]
