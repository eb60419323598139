"""How the API writes and reads assets: ``{"meta": {…}, "spec": {…}}``."""

from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.utils.text import capfirst
from drf_spectacular.utils import (
    OpenApiParameter,
    extend_schema,
    extend_schema_field,
    extend_schema_serializer,
)
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assets import claims, flags
from assets.kinds import AssetKind, kind_of, kind_of_asset
from assets.models import Asset, Credential, Environment, Template
from assets.named_credentials import with_names
from assets.scopes import IDS, scope_named
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.api.paging import MAX_LIMIT, answer, known_only, page_of
from gangline.api.schema import component, errors
from gangline.audit.models import AuditEntry
from gangline.lib.problems import Problem, Refused, under, unknown_fields
from gangline.lib.texts import camel
from gangline.resources.api import ExtraRoute, IdField, ResourceSerializer, ResourceViewSet, of_drf
from gangline.resources.services import Saved
from gangline.scopes.models import Scope, ScopeKind
from gangline.spec.frameworks import PROGRAMS
from gangline.spec.problems import Role
from gangline.spec.values import flatten, nest
from gangline.spec.words import one_of
from gangline.spec.workload import SPEC

TYPES, FRAMEWORK = "workloadSupportedTypes", "distFramework"
_NEVER = ("auto_delete", "private")
SYSTEM = "system"
"""Who made what came with the installation: clients take no empty text, nor as a description."""


@extend_schema_field({"type": "integer"})
class NumberField(IdField):
    """An id that assets have as a number."""


class MetaSerializer(ResourceSerializer):
    """Name and place. ``scope`` is a kind of scope; the id of the same kind says which one."""

    kind = serializers.CharField(read_only=True)
    scope = serializers.ChoiceField(choices=ScopeKind.values)
    cluster_id = serializers.CharField(required=False, max_length=40)
    department_id = IdField(required=False)
    project_id = NumberField(required=False)
    auto_delete = serializers.BooleanField(required=False, write_only=True)
    private = serializers.BooleanField(required=False, write_only=True)
    """Clients say false of both where nothing is said; nothing else is there."""
    workload_supported_types = serializers.DictField(required=False)
    """All workloads here are distributed; ``distFramework`` says which an environment is for."""

    class Meta:
        model = Asset
        fields = (
            "id", "kind", "name", "description", "scope", "cluster_id", "department_id",
            "project_id", "auto_delete", "private", "workload_supported_types", "created_at",
            "updated_at",
        )  # fmt: skip
        read_only_fields = ("id", "created_at", "updated_at")

    def to_representation(self, obj: Asset | Credential | Template) -> dict[str, Any]:
        scope, kind = obj.scope, ScopeKind(obj.scope.kind)
        made_for = obj.framework if isinstance(obj, Asset | Template) else ""
        found: dict[str, Any] = {
            "id": str(obj.pk),
            "kind": obj.kind,
            "name": obj.name,
            **({"description": obj.description} if obj.description else {}),
            "scope": kind,
            TYPES: {"distributed": True} | ({FRAMEWORK: made_for} if made_for else {}),
            "createdBy": obj.created_by.username if obj.created_by else SYSTEM,
            "createdAt": obj.created_at,
            "updatedBy": obj.updated_by.username if obj.updated_by else SYSTEM,
            "updatedAt": obj.updated_at,
        }
        if kind in IDS:
            pk = getattr(scope, kind).pk
            found[IDS[kind]] = pk if kind == ScopeKind.PROJECT else str(pk)
        return found


@extend_schema_field(
    {
        "type": "object",
        "additionalProperties": True,
        "description": "Fields of the kind, named and validated as in the spec of a workload.",
    }
)
class SpecField(serializers.DictField):
    """Values by the names of the spec."""


class AssetSerializer(serializers.Serializer[Any]):
    meta = MetaSerializer()
    spec = SpecField(required=False)

    def to_representation(self, obj: Asset) -> dict[str, Any]:
        return {"meta": MetaSerializer().to_representation(obj), "spec": spec_of(obj)}


def spec_of(obj: Asset) -> dict[str, Any]:
    """What an asset says, by the names of the spec."""
    kind = kind_of_asset(obj)
    if kind.item:
        reads, items = kind.fields[kind.item].reads, [dict(kind.item_of(obj.values))]
        return dict((reads.show(items) if reads and reads.show else items)[0])
    return nest({path.removeprefix(kind.prefix): value for path, value in obj.values.items()})


class EnvironmentSerializer(AssetSerializer):
    """An environment."""


@extend_schema_serializer(component_name="ComputeAsset")
class ComputeSerializer(AssetSerializer):
    """A compute resource."""


@cache
def source_serializer(kind: AssetKind) -> type[AssetSerializer]:
    """That of a type of data source."""
    about = {"__doc__": f"{capfirst(kind.word)}.", "__module__": __name__}
    return type(f"{kind.model.__name__}Serializer", (AssetSerializer,), about)


class DataSourceSerializer(AssetSerializer):
    """A data source of any type: its spec stands under the name of the type."""

    def to_representation(self, obj: Asset) -> dict[str, Any]:
        found = super().to_representation(obj)
        return {**found, "spec": {kind_of_asset(obj).wire: found["spec"]}}


def meta_values(given: Any, obj: Any, user: User, view: Permission) -> dict[str, Any]:
    """Name, description, scope and `TYPES` of a ``meta``, as far as it has them. Raises Refused.

    ``obj``: what is changed; None: it is made, and ``view`` is what one needs to know its scope.
    """
    serializer = MetaSerializer(data=given if given is not None else {}, partial=obj is not None)
    try:
        if not serializer.is_valid():
            raise Refused(list(of_drf(serializer.errors)))
    except Refused as refused:
        raise Refused(list(under("meta", refused.problems))) from None
    found = dict(serializer.validated_data)
    if set_ := [camel(name) for name in _NEVER if found.get(name)]:
        params = {"value": "true", "accepted": "false"}
        raise Refused([Problem("options", f"meta.{name}", params) for name in set_])
    values = {name: found[name] for name in ("name", "description") if name in found}
    if "workload_supported_types" in found:
        values[TYPES] = found["workload_supported_types"]
    if obj is None:
        kind = ScopeKind(found["scope"])
        key = str(found.get(f"{kind}_id", ""))
        values["scope"] = scope_named(user, view, kind, key, f"meta.{IDS.get(kind, 'scope')}")
    elif "scope" in found and found["scope"] != obj.scope.kind:
        raise Refused([Problem("fixed", "meta.scope")])
    return values


class AssetViewSet(ResourceViewSet):
    """Bodies are read here: a scope is named by its kind and id, values by the spec itself."""

    extra_parameters = flags.PARAMETERS

    def base_rows(self) -> QuerySet[Any]:
        rows = super().base_rows().prefetch_related(*(f"scope__{kind}" for kind in IDS))
        return flags.narrowed(rows, self.request, self.user, self.resource.permission("view"))

    def present(self, obj: Any, saved: Saved[Any] | None = None) -> dict[str, Any]:
        found = super().present(obj, saved)
        return found if saved else {**found, **self.asked.answers(obj)}

    @cached_property
    def asked(self) -> flags.Questions:
        """What the client wants to know about each asset."""
        return flags.Questions(self.request, self.user)

    def read(
        self, data: Any, obj: Any = None, *, partial: bool = False
    ) -> tuple[dict[str, Any], Mapping[str, Any]]:
        if not isinstance(data, Mapping):
            raise Refused([Problem("type", "", {"accepted": "an object"})])
        if problems := unknown_fields(data, ("meta", "spec")):
            raise Refused(problems)
        values = self._meta(data.get("meta"), obj)
        if obj is None or data.get("spec") is not None:
            scope = values["scope"] if obj is None else obj.scope
            values["values"] = self._values(data.get("spec") or {}, scope)
        return values, {}

    def _meta(self, given: Any, obj: Any) -> dict[str, Any]:
        values = meta_values(given, obj, self.user, self.resource.permission("view"))
        return values | self._made_for(values.pop(TYPES, None))

    def _made_for(self, types: Mapping[str, Any] | None) -> dict[str, Any]:
        """The framework of an environment, where the body says one; other assets have none."""
        if types is None or self.resource.model is not Environment:
            return {}
        wanted = types.get(FRAMEWORK)
        if wanted not in (None, "", *PROGRAMS):
            params = {"value": str(wanted)[:60], "accepted": one_of(list(PROGRAMS))}
            raise Refused([Problem("options", f"meta.{TYPES}.{FRAMEWORK}", params)])
        return {"framework": wanted or ""}

    def _values(self, given: Any, scope: Scope) -> dict[str, Any]:
        kind = kind_of(self.resource.model)
        if not isinstance(given, Mapping):
            raise Refused([Problem("type", "spec", {"accepted": "an object"})])
        given = with_names(kind, _of_its_own(kind, given), scope)
        values, problems = flatten(SPEC.worker, _nested(kind, given), Role.WORKER)
        if problems:
            raise kind.refused(problems)
        if kind.item:
            item = dict(kind.item_of(values))
            item.pop(kind.fields[kind.item].item_key, None)
            return claims.completed(kind, {kind.item: [item]}, scope)
        return values


HISTORY = component(
    "AssetHistory",
    {
        "type": "object",
        "required": ["records"],
        "properties": {
            "records": {"type": "array", "items": {"type": "object", "additionalProperties": True}},
            "next": {"type": "integer"},
        },
    },
)
_PHASES = {"create": "Created", "edit": "Updated", "copy": "Created"}


class PvcViewSet(AssetViewSet):
    """PVC data sources also tell what became of them."""

    extra_routes: ClassVar[tuple[ExtraRoute, ...]] = (
        ExtraRoute("{id}/history", {"get": "history"}),
    )

    @extend_schema(
        operation_id="getPvcHistory",
        parameters=[
            OpenApiParameter("offset", {"type": "integer", "minimum": 0, "maximum": 10_000}),
            OpenApiParameter("limit", {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT}),
        ],
        responses={200: HISTORY, **errors(400, 404)},
    )
    def history(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        """When it was made and changed, newest first, as far as the audit log goes back."""
        known_only(request, frozenset({"offset", "limit"}))
        page = page_of(request)
        obj = self.object(pk)
        rows = AuditEntry.objects.filter(
            object_type=self.resource.key, object_id=self.resource.id_of(obj), result="ok"
        ).order_by("-at", "-pk")
        found = [
            {
                "meta": {"creationTimestamp": row.at, "type": "PhaseUpdate"},
                "spec": {"phaseUpdate": {
                    "phase": _PHASES.get(row.action.rpartition(".")[2], "Updated"),
                    "phaseMessage": f"By {row.actor_name or 'the system'}",
                }},
            }
            for row in rows[page.offset : page.offset + page.limit + 1]
        ]  # fmt: skip
        return Response(answer("records", found, page))


def _of_its_own(kind: AssetKind, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """``given`` without the word that each project has a claim of its own."""
    if kind.key != Asset.Kind.PVC or "dataSharing" not in given:
        return given
    if given["dataSharing"] not in (None, False):
        raise Refused([Problem("options:sharing", "spec.dataSharing")])
    return {name: value for name, value in given.items() if name != "dataSharing"}


def _nested(kind: AssetKind, given: Any) -> Any:
    """``given`` where a workload would have it."""
    if kind.item:
        group, _, name = kind.item.partition(".")
        return {group: {name: [given]}}
    name = kind.prefix.rstrip(".")
    return {name: given} if name else given
