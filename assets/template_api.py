"""How the API writes and reads templates: ``{"meta": …, "spec": …, "master": {"spec": …}}``."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assets.flags import project_of
from assets.layers import Mode, given_by, linked
from assets.models import Asset, Template
from assets.scopes import IDS, scope_named
from assets.selectors.fitness import forbidden, missing, problems_under
from assets.serializers import SYSTEM, SpecField
from assets.template_checks import FRAMEWORK, LINKABLE
from gangline.access.permissions import Permission
from gangline.api.paging import BadQuery, known_only, page_of, sorting
from gangline.api.schema import errors
from gangline.lib.problems import Problem, Refused, under, unknown_fields
from gangline.policies.selectors import effective_for
from gangline.resources import services
from gangline.resources.api import (
    LIST,
    ExtraRoute,
    ResourceSerializer,
    ResourceViewSet,
    Rows,
    of_drf,
)
from gangline.scopes.models import ScopeKind
from gangline.spec.frameworks import WORKERS_AND_MASTER, WORKERS_ONLY
from gangline.spec.problems import Role
from gangline.spec.sources import Values
from gangline.spec.values import flatten, nest
from gangline.spec.workload import SPEC

COMPLY = frozenset({"complyToProject", "complyToWorkloadType", "complyToReplicaType"})
_BODY = (
    "meta", "spec", "assets", "configuration", "masterSpecSameAsWorker", "master", "modes",
    "fieldsToClear",
)  # fmt: skip
_ROLES = (Role.WORKER, Role.MASTER)


class TemplateMetaSerializer(ResourceSerializer):
    """Name and place. ``scopeId`` is the id of the cluster, department or project."""

    scope_type = serializers.ChoiceField(choices=ScopeKind.values)
    scope_id = serializers.CharField(required=False, max_length=40)

    class Meta:
        model = Template
        fields = ("name", "description", "scope_type", "scope_id")

    def to_representation(self, obj: Template) -> dict[str, Any]:
        scope, kind = obj.scope, ScopeKind(obj.scope.kind)
        place = str(getattr(scope, kind).pk) if kind in IDS else str(scope.pk)
        found: dict[str, Any] = {
            "id": str(obj.pk),
            "name": obj.name,
            **({"description": obj.description} if obj.description else {}),
            "workloadType": "Distributed",
            "scopeType": kind,
            "scopeId": place,
            "createdBy": obj.created_by.username if obj.created_by else SYSTEM,
            "createdAt": obj.created_at,
            "updatedBy": obj.updated_by.username if obj.updated_by else SYSTEM,
            "updatedAt": obj.updated_at,
        }
        if kind in IDS:
            found[IDS[kind]] = int(place) if kind == ScopeKind.PROJECT else place
        return found


class LinksSerializer(serializers.Serializer[Any]):
    """Assets whose later changes flow into the template."""

    environment = serializers.UUIDField(required=False)
    compute = serializers.UUIDField(required=False)


class MasterSerializer(serializers.Serializer[Any]):
    """What a master has otherwise than the workers."""

    spec = SpecField(required=False)
    assets = LinksSerializer(required=False)


class RunnableSerializer(serializers.Serializer[Any]):
    is_runnable = serializers.BooleanField(source="isRunnable")
    issue = serializers.CharField(required=False)


class TemplateSerializer(serializers.Serializer[Any]):
    """A template. ``combinedSpec`` has the values of linked assets in it."""

    meta = TemplateMetaSerializer()
    spec = SpecField(required=False)
    assets = LinksSerializer(required=False)
    configuration = serializers.CharField(required=False)
    masterSpecSameAsWorker = serializers.BooleanField(required=False)  # noqa: N815  of the wire
    master = MasterSerializer(required=False)
    modes = serializers.DictField(
        child=serializers.ChoiceField(choices=Mode.values), required=False
    )
    combinedSpec = SpecField(read_only=True)  # noqa: N815  of the wire
    combinedMasterSpec = SpecField(read_only=True)  # noqa: N815  of the wire
    runnable = RunnableSerializer(read_only=True)
    complianceIssues = serializers.ListField(  # noqa: N815  of the wire
        child=serializers.DictField(), read_only=True
    )

    def to_representation(self, obj: Template) -> dict[str, Any]:
        assets: Mapping[str, Asset] | None = self.context.get("linked")
        combined = given_by(obj, assets)
        has_master = obj.configuration == WORKERS_AND_MASTER
        different = obj.master == Template.Master.DIFFERENCES
        found = {
            "meta": TemplateMetaSerializer().to_representation(obj),
            "spec": {FRAMEWORK: obj.framework, **spec_of_role(obj.values, Role.WORKER)},
            "assets": _links(obj, Role.WORKER),
            "configuration": obj.configuration,
            "masterSpecSameAsWorker": has_master and not different,
            "modes": wire_modes(obj),
            "combinedSpec": {
                FRAMEWORK: obj.framework,
                **spec_of_role(_plain(combined), Role.WORKER),
            },
        }
        if different:
            spec, assets_ = spec_of_role(obj.values, Role.MASTER), _links(obj, Role.MASTER)
            found["master"] = {"spec": spec, "assets": assets_}
            found["combinedMasterSpec"] = spec_of_role(_plain(combined), Role.MASTER)
        return found


def _plain(values: Values) -> dict[str, Any]:
    return {path: value.value for path, value in values.items()}


def spec_of_role(values: Mapping[str, Any], role: Role) -> dict[str, Any]:
    start = f"{role}."
    return nest({p.removeprefix(start): v for p, v in values.items() if p.startswith(start)})


def _links(template: Template, role: Role) -> dict[str, str]:
    found = {kind.key: template.links.get(f"{role}.{kind.key}") for kind in LINKABLE}
    return {key: pk for key, pk in found.items() if pk}


def wire_modes(template: Template) -> dict[str, str]:
    """By paths of a body."""
    return {_wire_path(path): mode for path, mode in template.modes.items()}


def _wire_path(qualified: str) -> str:
    role, _, path = qualified.partition(".")
    return f"master.spec.{path}" if role == Role.MASTER else f"spec.{path}"


def _qualified(wire: str) -> str:
    """``spec.image`` → ``worker.image``; anything else is as it is, and known by nobody."""
    for start, role in (("master.spec.", Role.MASTER), ("spec.", Role.WORKER)):
        if wire.startswith(start):
            return f"{role}.{wire.removeprefix(start)}"
    return wire


class TemplateViewSet(ResourceViewSet):
    """Bodies are read here: values by the spec itself, a scope by its kind and id."""

    extra_parameters: ClassVar[frozenset[str]] = COMPLY
    extra_routes: ClassVar[tuple[ExtraRoute, ...]] = (
        ExtraRoute("/workload-templates", {"get": "all_templates"}),
        ExtraRoute("/workload-templates/count", {"get": "all_count"}),
        ExtraRoute("/workload-templates/name-availability", {"get": "name_availability"}),
        ExtraRoute("/workload-templates/{id}", {"get": "any_template"}),
    )

    # Reading

    def base_rows(self) -> QuerySet[Any]:
        return super().base_rows().prefetch_related(*(f"scope__{kind}" for kind in IDS))

    def list(self, request: Request, **kwargs: Any) -> Response:
        known_only(request, LIST | COMPLY)
        column, descending = sorting(request, self.sorts(), "name")
        rows = self.filtered(request).order_by(f"{'-' if descending else ''}{column}", "pk")
        page = page_of(
            request,
        )
        some = list(rows[page.offset : page.offset + page.limit + 1])
        body: dict[str, Any] = {"entries": self.present_all(some[: page.limit])}
        body["pagination"] = {"limit": page.limit, "offset": page.offset}
        if len(some) > page.limit:
            body["next"] = body["pagination"]["nextOffset"] = page.offset + page.limit
        return Response(body)

    @extend_schema(
        operation_id="listAllTemplates",
        parameters=[
            OpenApiParameter("complyToProject", OpenApiTypes.INT),
            OpenApiParameter("filterBy", OpenApiTypes.STR),
            OpenApiParameter("search", OpenApiTypes.STR),
        ],
        responses={200: TemplateSerializer(many=True), **errors(400)},
    )
    def all_templates(self, request: Request, **kwargs: Any) -> Response:
        """Templates of every type; here all are distributed."""
        return self.list(request)

    @extend_schema(
        operation_id="countAllTemplates",
        responses={200: {"$ref": "#/components/schemas/Count"}, **errors(400)},
    )
    def all_count(self, request: Request, **kwargs: Any) -> Response:
        """How many templates the filters let through."""
        return self.count(request)

    @extend_schema(
        operation_id="getTemplateById", responses={200: TemplateSerializer, **errors(404)}
    )
    def any_template(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        """A template of any type."""
        return self.retrieve(request, pk=pk)

    @extend_schema(
        operation_id="templateNameAvailability",
        parameters=[
            OpenApiParameter("templateName", OpenApiTypes.STR, required=True),
            OpenApiParameter("scopeType", OpenApiTypes.STR, required=True, enum=ScopeKind.values),
            OpenApiParameter("scopeId", OpenApiTypes.STR),
        ],
        responses={204: None, **errors(400, 403, 409)},
    )
    def name_availability(self, request: Request, **kwargs: Any) -> Response:
        """204: the name is free in the scope; 409: it is taken."""
        known_only(request, frozenset({"templateName", "scopeType", "scopeId"}))
        given = {name: request.query_params.get(name, "") for name in ("scopeType", "scopeId")}
        name = request.query_params.get("templateName", "")
        if not name:
            raise BadQuery("templateName is required.")
        if given["scopeType"] not in ScopeKind.values:
            raise BadQuery(f"scopeType must be one of {', '.join(ScopeKind.values)}.")
        scope = scope_named(
            self.user, Permission.TEMPLATE_VIEW, given["scopeType"], given["scopeId"], "scopeId"
        )
        if Template.objects.filter(scope=scope, name=name).exists():
            raise Refused([Problem("unique:taken", "templateName")])
        return Response(status=204)

    def retrieve(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        known_only(request, COMPLY)
        return Response(self.present_all([self.object(pk)])[0])

    def present_all(self, rows: Iterable[Any]) -> Rows:
        rows = list(rows)
        assets, project = (
            linked(*rows),
            project_of(self.request.query_params.get("complyToProject", ""), self.user),
        )
        policy = effective_for(project) if project else None
        found = []
        for row in rows:
            shown = TemplateSerializer(context={"linked": assets}).to_representation(row)
            if policy is not None:
                problems = problems_under(row, policy, assets)
                shown["complianceIssues"] = [
                    {"field": p.path, "rule": p.rule, "details": p.sentence}
                    for p in problems
                    if p.source and p.rule != "required"
                ]
                issue = forbidden(problems) or missing(problems)
                shown["runnable"] = {"isRunnable": not issue, **({"issue": issue} if issue else {})}
            found.append(shown)
        return found

    def present(self, obj: Any, saved: services.Saved[Any] | None = None) -> dict[str, Any]:
        row = self.resource.rows(self.user).filter(pk=obj.pk).first() or obj
        return self.present_all([row])[0]

    # Writing

    def read(
        self, data: Any, obj: Template | None = None, *, partial: bool = False
    ) -> tuple[dict[str, Any], Mapping[str, Any]]:
        if not isinstance(data, Mapping):
            raise Refused([Problem("type", "", {"accepted": "an object"})])
        data = {name: value for name, value in data.items() if value is not None}
        self._refuse_unknown(data, partial=partial)
        values = self._meta(data.get("meta") if "meta" in data or not partial else None, obj)
        found = Body(data, obj if partial else None)
        values |= found.values()
        if found.problems:
            raise Refused(found.problems)
        return values, {}

    def _refuse_unknown(self, data: Mapping[str, Any], *, partial: bool) -> None:
        known = [name for name in _BODY if partial or name != "fieldsToClear"]
        if strange := unknown_fields(data, known):
            raise Refused(strange)

    def _meta(self, given: Any, obj: Template | None) -> dict[str, Any]:
        if given is None and obj is not None:
            return {}
        serializer = TemplateMetaSerializer(
            data={} if given is None else given, partial=obj is not None
        )
        try:
            if not serializer.is_valid():
                raise Refused(list(of_drf(serializer.errors)))
        except Refused as refused:
            raise Refused(list(under("meta", refused.problems))) from None
        found = dict(serializer.validated_data)
        values = {name: found[name] for name in ("name", "description") if name in found}
        if obj is None:
            values["scope"] = scope_named(
                self.user, Permission.TEMPLATE_VIEW, found["scope_type"],
                str(found.get("scope_id", "")), "meta.scopeId",
            )  # fmt: skip
        elif "scope_type" in found and found["scope_type"] != obj.scope.kind:
            raise Refused([Problem("fixed", "meta.scopeType")])
        return values


class Body:
    """What a body says beside its meta. ``before``: what a PATCH leaves as it is."""

    def __init__(self, data: Mapping[str, Any], before: Template | None) -> None:
        self.data, self.before = data, before
        self.problems: list[Problem] = []

    def values(self) -> dict[str, Any]:
        before = self.before
        master = self._object("master")
        specs = {Role.WORKER: self._spec(Role.WORKER, self.data.get("spec"), "spec")}
        specs[Role.MASTER] = self._spec(Role.MASTER, master.get("spec"), "master.spec")
        framework = specs[Role.WORKER].pop(FRAMEWORK, before.framework if before else "")
        values = dict(before.values) if before else {}
        for role, spec in specs.items():
            values |= {f"{role}.{path}": value for path, value in spec.items()}
        modes = dict(before.modes) if before else {}
        links = dict(before.links) if before else {}
        links |= self._links(Role.WORKER, self._object("assets"), "assets")
        links |= self._links(Role.MASTER, self._object("assets", master), "master.assets")
        for path, mode in self._object("modes").items():
            modes[_qualified(str(path))] = mode
        for path in self._cleared():
            for stored in (values, modes):
                stored.pop(_qualified(path), None)
            links.pop(path.replace("assets.", "worker.", 1), None)
        configuration, how = self._roles(str(framework))
        if how != Template.Master.DIFFERENCES and "master" not in self.data:
            values = {p: v for p, v in values.items() if not p.startswith("master.")}
            links = {p: v for p, v in links.items() if not p.startswith("master.")}
        if not framework:
            self._wrong(f"spec.{FRAMEWORK}", "required")
        return {
            "framework": str(framework)[:20],
            "configuration": configuration[:20],
            "master": how,
            "values": values,
            "links": links,
            "modes": modes,
        }

    def _wrong(self, path: str, code: str, accepted: str = "") -> None:
        self.problems.append(Problem(code, path, {"accepted": accepted}))

    def _object(self, name: str, data: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        given = (self.data if data is None else data).get(name)
        if given is None:
            return {}
        if not isinstance(given, Mapping):
            self._wrong(name, "type", "an object")
            return {}
        return {str(key): value for key, value in given.items() if value is not None}

    def _spec(self, role: Role, given: Any, at: str) -> dict[str, Any]:
        model = SPEC.worker if role is Role.WORKER else SPEC.master
        found, problems = flatten(model, {} if given is None else given, role)
        self.problems += under(at, problems)
        return found

    def _links(self, role: Role, given: Mapping[str, Any], at: str) -> dict[str, str]:
        known = {kind.key for kind in LINKABLE}
        found = {}
        for key, pk in given.items():
            if key not in known or not isinstance(pk, str):
                self._wrong(f"{at}.{key[:60]}", "unknown:link")
            else:
                found[f"{role}.{key}"] = pk.lower()
        return found

    def _cleared(self) -> list[str]:
        given = self.data.get("fieldsToClear", [])
        if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
            self._wrong("fieldsToClear", "type", "a list of field paths")
            return []
        return given

    def _roles(self, framework: str) -> tuple[str, str]:
        """Configuration and what the master is, as bodies of workloads say them."""
        before, master = self.before, Template.Master
        same = self.data.get("masterSpecSameAsWorker")
        if same is not None and not isinstance(same, bool):
            self._wrong("masterSpecSameAsWorker", "type", "true or false")
        given = self.data.get("configuration")
        if given is not None and not isinstance(given, str):
            self._wrong("configuration", "type", "text")
            given = None
        if "master" in self.data:
            if same:
                self._wrong("masterSpecSameAsWorker", "master")
            return given or WORKERS_AND_MASTER, master.DIFFERENCES
        if before is not None and same is None and given in (None, before.configuration):
            return before.configuration, before.master
        if given == WORKERS_ONLY or (not given and same is False):
            return WORKERS_ONLY, master.NONE
        alone = framework == "JAX" and not given and same is None
        return (WORKERS_ONLY, master.NONE) if alone else (given or WORKERS_AND_MASTER, master.SAME)
