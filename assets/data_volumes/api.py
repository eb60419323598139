"""How the API writes and reads data volumes."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiParameter,
    extend_schema,
    extend_schema_serializer,
)
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assets.data_volumes import sharing
from assets.data_volumes.resources import is_taken
from assets.models import Asset, DataVolume, PvcSource
from assets.scopes import IDS, scope_named
from assets.selectors.data import claim_of
from gangline.access.grants import holds
from gangline.api.paging import BadQuery, known_only
from gangline.api.schema import errors
from gangline.lib.problems import Problem, Refused
from gangline.organization.models import Project
from gangline.resources import services
from gangline.resources.api import ExtraRoute, ResourceSerializer, ResourceViewSet
from gangline.scopes.models import Scope, ScopeKind

MODE, PROJECT = "requestType", "usableInProjectId"
ORIGINATED, USABLE = "Originated", "UsableInProject"
_SHARED_KINDS = tuple(kind.value for kind in IDS)


class ShareSerializer(serializers.Serializer[Any]):
    """A scope that may mount it."""

    scopeType = serializers.ChoiceField(choices=_SHARED_KINDS)  # noqa: N815  of the wire
    scopeId = serializers.CharField(max_length=40)  # noqa: N815  of the wire
    scopeName = serializers.CharField(read_only=True)  # noqa: N815  of the wire


class ShareChangeSerializer(serializers.Serializer[Any]):
    """Scopes that may mount it from now on, and those that no longer may."""

    add = ShareSerializer(many=True, required=False)
    remove = ShareSerializer(many=True, required=False)


@extend_schema_serializer(component_name="DataVolumeAsset")
class DataVolumeSerializer(ResourceSerializer):
    """A data volume. ``originPvcName`` is the claim of a PVC data source of the project."""

    project_id = serializers.CharField(max_length=40)
    origin_pvc_name = serializers.CharField(max_length=63)
    use_original_volume = serializers.BooleanField(required=False)
    should_delete_original_volume = serializers.BooleanField(required=False)

    class Meta:
        model = DataVolume
        fields = ("name", "description", "project_id", "origin_pvc_name",
                  "use_original_volume", "should_delete_original_volume")  # fmt: skip

    def to_representation(self, obj: Asset) -> dict[str, Any]:
        states = self.context.get("states") or sharing.states_of([obj])
        project: Project = obj.scope.project
        state = states[str(obj.pk)]
        return {
            "id": str(obj.pk),
            "name": obj.name,
            "description": obj.description,
            "projectId": str(project.pk),
            "projectName": project.name,
            "departmentId": str(project.department_id),
            "clusterId": str(project.cluster_id),
            "originPvcName": claim_of(obj.origin) if obj.origin else "",
            "useOriginalVolume": True,
            "shouldDeleteOriginalVolume": False,
            "status": {"phase": sharing.PHASES[state.state], "phaseMessage": state.sentence},
            "createdBy": obj.created_by.username if obj.created_by else "",
            "createdAt": obj.created_at,
            "updatedBy": obj.updated_by.username if obj.updated_by else "",
            "updatedAt": obj.updated_at,
        }


class DataVolumeViewSet(ResourceViewSet):
    """The claim is named by its project and its own name, scopes by their kind and id."""

    extra_parameters: ClassVar[frozenset[str]] = frozenset({MODE, PROJECT})
    extra_routes: ClassVar[tuple[ExtraRoute, ...]] = (
        ExtraRoute("name-availability", {"get": "name_availability"}),
        ExtraRoute("{id}/sharedScopes", {"get": "shared_scopes", "patch": "share"}),
        ExtraRoute("{id}/shared-scopes", {"get": "listed_scopes", "patch": "change_scopes"}),
    )

    # Reading

    def filtered(self, request: Request) -> QuerySet[Any]:
        rows, mode = super().filtered(request), request.query_params.get(MODE, "")
        view = self.resource.permission("view")
        if mode not in ("", ORIGINATED, USABLE):
            raise BadQuery(f"{MODE} must be {ORIGINATED} or {USABLE}.")
        if mode == ORIGINATED:
            return rows.filter(holds(self.user, view))
        if mode == USABLE:
            key = request.query_params.get(PROJECT, "")
            scope = scope_named(self.user, view, ScopeKind.PROJECT, key, PROJECT)
            return rows.filter(pk__in=sharing.usable_in(scope.project).values("pk"))
        return rows

    def count(self, request: Request, **kwargs: Any) -> Response:
        known_only(request, frozenset({"filterBy", "search"}) | self.extra_parameters)
        return Response({"count": self.filtered(request).count()})

    def present_all(self, rows: Any) -> list[dict[str, Any]]:
        rows = list(rows)
        self.writer.context["states"] = sharing.states_of(rows)
        return [dict(self.writer.to_representation(row)) for row in rows]

    def present(self, obj: Any, saved: services.Saved[Any] | None = None) -> dict[str, Any]:
        return {**super().present(obj, saved), "sharedScopes": _told(obj)}

    # Writing

    def read(
        self, data: Any, obj: Any = None, *, partial: bool = False
    ) -> tuple[dict[str, Any], Mapping[str, Any]]:
        values, parts = super().read(data, obj, partial=partial)
        told = {name: values.pop(name) for name in tuple(values) if name not in _OWN}
        if obj is not None:
            if told:
                raise Refused([Problem("fixed", n) for n in told])
            return values, parts
        for name, fit in (("use_original_volume", True), ("should_delete_original_volume", False)):
            if told.get(name, fit) is not fit:
                params = {"accepted": str(fit).lower()}
                raise Refused([Problem("options:stays", name, params)])
        scope = scope_named(
            self.user,
            self.resource.permission("view"),
            ScopeKind.PROJECT,
            told["project_id"],
            "project_id",
        )
        origin = self._origin(scope, told["origin_pvc_name"])
        return {**values, "scope": scope, "origin": origin}, parts

    def _origin(self, scope: Scope, name: str) -> Asset:
        claims = {claim_of(one): one for one in PvcSource.objects.filter(scope=scope)}
        if name not in claims:
            there = ", ".join(sorted(claims)[:12]) or "none yet: create a PVC data source first"
            params = {"accepted": there, "value": name}
            raise Refused([Problem("options:claim", "origin_pvc_name", params)])
        found: Asset = claims[name]
        return found

    @extend_schema(
        operation_id="dataVolumeNameAvailability",
        parameters=[
            OpenApiParameter("dataName", OpenApiTypes.STR, required=True),
            OpenApiParameter("clusterId", OpenApiTypes.UUID, required=True),
        ],
        responses={204: None, **errors(400, 403, 409)},
    )
    def name_availability(self, request: Request, **kwargs: Any) -> Response:
        """204: the name is free on the cluster; 409: it is taken."""
        known_only(request, frozenset({"dataName", "clusterId"}))
        name, key = (request.query_params.get(one, "") for one in ("dataName", "clusterId"))
        if not name:
            raise BadQuery("dataName is required.")
        clusters = Scope.objects.filter(kind=ScopeKind.CLUSTER).select_related("cluster")
        seen = self.resource.permission("view")
        below = Project.objects.filter(holds(self.user, seen)).values("cluster__scope")
        scope = next((s for s in clusters.filter(pk__in=below) if str(s.cluster.pk) == key), None)
        if scope is None:
            scope = scope_named(self.user, seen, ScopeKind.CLUSTER, key, "clusterId")
        if is_taken(name, scope):
            raise Refused([Problem("unique:taken", "dataName")])
        return Response(status=204)

    @extend_schema(
        operation_id="getDataVolumeSharedScopes",
        responses={200: ShareSerializer(many=True), **errors(404)},
    )
    def shared_scopes(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        """The scopes that may mount it beside its own project."""
        return Response(_told(self.object(pk)))

    @extend_schema(
        operation_id="patchDataVolumeSharedScopes",
        request=ShareChangeSerializer,
        responses={200: ShareSerializer(many=True), **errors(400, 403, 404)},
    )
    def share(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        """Add scopes that may mount it, and remove others."""
        obj = self.object(pk)
        body = request.data
        known = {"add", "remove"}
        if not isinstance(body, Mapping) or not known.issuperset(body):
            raise Refused([Problem("type", "", {"accepted": "an object of add and remove"})])
        wanted = {one.pk: one for one in sharing.shares_of(obj)}
        for one in self._scopes(body, "add"):
            wanted[one.pk] = one
        for one in self._scopes(body, "remove", of=list(wanted.values())):
            wanted.pop(one.pk, None)
        services.update(
            self.resource,
            actor=self.actor,
            obj=obj,
            values={},
            parts={"shared": list(wanted.values())},
        )
        return Response(_told(obj))

    @extend_schema(
        operation_id="listSharedScopesOfDataVolume",
        responses={200: ShareSerializer(many=True), **errors(404)},
    )
    def listed_scopes(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        """The same under the name that some clients use."""
        return self.shared_scopes(request, pk, **kwargs)

    @extend_schema(
        operation_id="changeSharedScopesOfDataVolume",
        request=ShareChangeSerializer,
        responses={200: ShareSerializer(many=True), **errors(400, 403, 404)},
    )
    def change_scopes(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        """The same under the name that some clients use."""
        return self.share(request, pk, **kwargs)

    def _scopes(
        self, body: Mapping[str, Any], name: str, of: list[Scope] | None = None
    ) -> list[Scope]:
        """``of``: those among which a scope is looked for, in place of all that one may see."""
        given = body.get(name) or []
        if not isinstance(given, list):
            raise Refused([Problem("type", name, {"accepted": "a list"})])
        found, there = [], {(s.kind, _id(s)): s for s in of or ()}
        for number, one in enumerate(given):
            kind, key = (
                (one.get(k) for k in ("scopeType", "scopeId"))
                if isinstance(one, Mapping)
                else (None, None)
            )
            if kind not in _SHARED_KINDS:
                params = {"accepted": f"one of {', '.join(_SHARED_KINDS)}"}
                raise Refused([Problem("options", f"{name}.{number}.scopeType", params)])
            scope = there.get((kind, str(key)))
            if of is None:
                view, at = self.resource.permission("view"), f"{name}.{number}.scopeId"
                scope = scope_named(self.user, view, kind, str(key or ""), at)
            if scope is not None:
                found.append(scope)
        return found


_OWN = ("name", "description")


def _id(scope: Scope) -> str:
    return str(getattr(scope, scope.kind).pk)


def _told(obj: Any) -> list[dict[str, str]]:
    return [
        {"scopeType": one.kind, "scopeId": _id(one), "scopeName": one.name}
        for one in sharing.shares_of(obj)
    ]
