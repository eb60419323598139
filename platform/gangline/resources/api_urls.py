"""Addresses and OpenAPI operations of the API of every resource."""

from collections.abc import Iterator
from typing import Any

from django.db.models import Model
from django.urls import URLPattern, path
from django.utils.module_loading import import_string
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiParameter,
    extend_schema,
    extend_schema_serializer,
    inline_serializer,
)
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gangline.api.paging import MAX_LIMIT
from gangline.api.schema import errors

from .registry import resources
from .resource import Resource


def urlpatterns_of(resource: Resource[Any]) -> Iterator[URLPattern]:
    wire = resource.wire
    if wire is None:
        return
    base = import_string(wire.viewset)
    name = resource.key.title().replace("_", "")
    views: Any = type(f"{name}ViewSet", (_described(base, resource),), {"resource": resource})
    both = {"get": "list", "post": "create"}
    many = {m: a for m, a in both.items() if a in wire.methods}
    one = {
        method: action
        for method, action, needed in (
            ("get", "retrieve", "get"),
            ("put", "update", "put"),
            ("patch", "partial_update", "patch"),
            ("delete", "destroy", "delete"),
        )
        if needed in wire.methods
    }
    kind = _converter(resource.model, wire.lookup)
    if many:
        yield path(wire.path, views.as_view(many))
    if "count" in wire.methods:
        yield path(f"{wire.path}/count", views.as_view({"get": "count"}))
    for extra in base.extra_routes:
        at = extra.path.replace("{id}", f"<{kind}:pk>")
        whole = at.removeprefix("/") if at.startswith("/") else f"{wire.path}/{at}"
        yield path(whole, views.as_view(extra.actions))
    if one:
        yield path(f"{wire.path}/<{kind}:pk>", views.as_view(one))


def _converter(model: type[Model], lookup: str) -> str:
    field: Any = model._meta.pk if lookup == "pk" else model._meta.get_field(lookup)
    whole = dict.fromkeys(("BigAutoField", "AutoField", "IntegerField"), "int")
    return {"UUIDField": "uuid", **whole}.get(field.get_internal_type(), "str")


def _described(base: Any, resource: Resource[Any]) -> Any:
    """The viewset with OpenAPI operations of this resource's names."""
    one = resource.key.title().replace("_", "")
    many = "".join(c for c in resource.labels.title() if c.isalnum())
    serializer = resource.serializer_class
    wire = resource.wire
    assert wire is not None  # noqa: S101  no address without
    listed = serializer(many=True)
    query = [
        OpenApiParameter("filterBy", OpenApiTypes.STR, description="Conditions joined by commas."),
        OpenApiParameter("search", OpenApiTypes.STR),
    ]
    pages = [
        OpenApiParameter(
            "sortBy", OpenApiTypes.STR, enum=[f.wire for f in resource.table.filters if f.wire]
        ),
        OpenApiParameter("sortOrder", OpenApiTypes.STR, enum=["asc", "desc"]),
    ]
    if wire.is_paged:
        pages += [
            OpenApiParameter("offset", {"type": "integer", "minimum": 0, "maximum": 10_000}),
            OpenApiParameter("limit", {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT}),
        ]
    if wire.envelope:
        listed = _envelope(resource, many)
    described: dict[str, Any] = {
        "list": extend_schema(
            operation_id=f"list{many}",
            parameters=[*query, *pages],
            responses={200: listed, **errors(400)},
        ),
        "count": extend_schema(
            operation_id=f"count{many}",
            parameters=query,
            responses={200: {"$ref": "#/components/schemas/Count"}, **errors(400)},
        ),
        "create": extend_schema(
            operation_id=f"create{one}",
            request=serializer,
            responses={wire.created: serializer, **errors(400, 403, 404, 409, 413, 415)},
        ),
        "retrieve": extend_schema(
            operation_id=f"get{one}", responses={200: serializer, **errors(404)}
        ),
        "update": extend_schema(
            operation_id=f"update{one}",
            request=serializer,
            responses={
                wire.edited: None if wire.edited == 204 else serializer,
                **errors(400, 403, 404, 409, 412, 415),
            },
        ),
        "partial_update": extend_schema(
            operation_id=f"patch{one}",
            request=serializer,
            responses={wire.edited: serializer, **errors(400, 403, 404, 409, 412, 415)},
        ),
        "destroy": extend_schema(
            operation_id=f"delete{one}",
            responses={wire.deleted: None, **errors(403, 404, wire.in_use, 412)},
        ),
    }
    own = type(base.__name__, (base,), {"__doc__": f"{resource.labels}."})
    for name, describe in described.items():
        # A method of its own per resource: its description is kept on the function.
        setattr(own, name, describe(_copy(getattr(base, name))))
    return own


def _copy(function: Any) -> Any:
    def method(self: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
        answered: Response = function(self, request, *args, **kwargs)
        return answered

    method.__doc__ = function.__doc__
    method.__name__ = function.__name__
    return method


def _envelope(resource: Resource[Any], many: str) -> Any:
    wire = resource.wire
    assert wire is not None  # noqa: S101  no address without
    found = inline_serializer(
        f"{many}Page",
        {
            wire.envelope: resource.serializer_class(many=True),
            "next": serializers.IntegerField(required=False),
        },
    )
    # The list is in the envelope; without this the envelope itself would be listed.
    return extend_schema_serializer(many=False)(type(found))()


def all_urls() -> list[URLPattern]:
    return [one for resource in resources() for one in urlpatterns_of(resource)]
