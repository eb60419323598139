"""Clusters in the API, until they are a resource."""

from typing import Any
from uuid import UUID

from django.http import Http404
from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gangline.accounts.models import User
from gangline.api.paging import BadQuery, known_only
from gangline.api.schema import Schema, component, errors
from gangline.clusters.models import Cluster
from gangline.clusters.selectors import visible_clusters

STATES = {"Connected": "Connected", "Unreachable": "Disconnected"}
_TEXT: Schema = {"type": "string"}
_TIME: Schema = {"type": "string", "format": "date-time"}
_UUID: Schema = {"type": "string", "format": "uuid"}
_MAYBE_TIME: Schema = {"type": ["string", "null"], "format": "date-time"}
_MAYBE_TEXT: Schema = {"type": ["string", "null"]}
_NUMBER: Schema = {"type": ["number", "null"]}
_ANY: Schema = {"type": "object", "additionalProperties": True}


def _object(required: tuple[str, ...], **fields: Schema) -> Schema:
    return {"type": "object", "required": list(required), "properties": fields}


CLUSTER = component(
    "Cluster",
    _object(
        ("uuid", "tenantId", "name", "kind", "createdAt"),
        uuid=_UUID,
        tenantId={"type": "integer"},
        name=_TEXT,
        kind=_TEXT,
        createdAt=_TIME,
        version=_TEXT,
        lastLiveness=_MAYBE_TIME,
        updatedAt=_TIME,
        deletedAt=_MAYBE_TIME,
        status=_object(
            ("state",),
            state={"type": "string", "enum": ["Connected", "Disconnected", "Unknown"]},
            reason=_TEXT,
            conditions={"type": "array", "items": _ANY},
            frameworks={
                "type": "array",
                "items": _object(
                    ("framework", "available"),
                    framework=_TEXT,
                    available={"type": "boolean"},
                    reason=_TEXT,
                ),
            },
        ),
    ),
)
CLUSTERS: Schema = {"type": "array", "items": CLUSTER}


def _query(name: str, description: str, *values: str) -> OpenApiParameter:
    return OpenApiParameter(
        name,
        OpenApiTypes.STR,
        OpenApiParameter.QUERY,
        description=description,
        enum=list(values) or None,
    )


VERBOSITY = _query("verbosity", "metadata leaves the status out.", "full", "metadata")


class Clusters(APIView):
    """Clusters."""

    @extend_schema(
        operation_id="listClusters",
        parameters=[VERBOSITY],
        responses={200: CLUSTERS, **errors(400)},
    )
    def get(self, request: Request) -> Response:
        """All clusters that the caller may use, as a bare array."""
        full = _is_full(request)
        clusters = visible_clusters(_user(request)).order_by("name")
        return Response([_cluster(cluster, full=full) for cluster in clusters])


class ClusterOne(APIView):
    """One cluster."""

    @extend_schema(
        operation_id="getCluster",
        parameters=[VERBOSITY],
        responses={200: CLUSTER, **errors(400, 404)},
    )
    def get(self, request: Request, cluster_id: UUID) -> Response:
        """One cluster with what it offers."""
        full = _is_full(request)
        cluster = visible_clusters(_user(request)).filter(pk=cluster_id).first()
        if cluster is None:
            raise Http404
        return Response(_cluster(cluster, full=full))


def _user(request: Request) -> User:
    user = request.user
    if not isinstance(user, User):
        raise TypeError("the permission classes let a stranger in")
    return user


def _is_full(request: Request) -> bool:
    known_only(request, frozenset({"verbosity", "includeRequestedForDelete"}))
    verbosity = request.query_params.get("verbosity", "full")
    if verbosity not in ("full", "metadata"):
        raise BadQuery("verbosity must be full or metadata.")
    return verbosity == "full"


def _cluster(cluster: Cluster, *, full: bool) -> dict[str, Any]:
    body: dict[str, Any] = {
        "uuid": cluster.pk,
        "tenantId": 1,
        "name": cluster.name,
        "kind": cluster.kind,
        "createdAt": cluster.created_at,
        "version": cluster.facts.get("version", ""),
        "lastLiveness": cluster.last_ok_at,
        "updatedAt": cluster.health_since or cluster.created_at,
        "deletedAt": None,
    }
    if full:
        body["status"] = {
            "state": STATES.get(cluster.health, "Unknown"),
            "reason": cluster.health_reason,
            "conditions": [],
            "frameworks": [
                {
                    "framework": offer["framework"],
                    "available": offer["available"],
                    "reason": offer.get("reason", ""),
                }
                for offer in cluster.facts.get("frameworks", ())
            ],
        }
    return body


urlpatterns = [
    path("clusters", Clusters.as_view()),
    path("clusters/<uuid:cluster_id>", ClusterOne.as_view()),
]
