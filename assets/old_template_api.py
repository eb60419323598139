"""Templates at ``asset/workload-template``, as older clients know them: by ids of assets.

They are the templates of the newer address. The older shape knows none without an environment:
those are left out. Its ``specificEnv`` has every field of the spec, so that nothing is lost.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from assets import flags
from assets.kinds import SOURCE_KINDS, AssetKind, kind_of_asset
from assets.layers import linked
from assets.models import Asset, DataSource, Template
from assets.scopes import IDS
from assets.selectors.data import imposable, item_name
from assets.serializers import FRAMEWORK as MADE_FOR
from assets.serializers import TYPES, MetaSerializer, SpecField, meta_values
from assets.template_api import Body, TemplateViewSet, spec_of_role, wire_modes
from assets.template_checks import LINKABLE
from assets.templates import Templates
from gangline.api.paging import MAX_LIMIT, known_only
from gangline.lib.problems import Problem, Refused, unknown_fields
from gangline.resources.api import ExtraRoute, Rows
from gangline.resources.registry import get
from gangline.scopes.models import Scope
from gangline.spec.frameworks import WORKERS_AND_MASTER, WORKERS_ONLY
from gangline.spec.problems import Role

_RUN_AS = ("runAsUid", "runAsGid", "supplementalGroups")
"""Of ``security``: the older shape has them beside the other fields."""
_FRAMEWORK, _WORKERS = "distributedFramework", "numWorkers"
_SOURCES, _VOLUMES, _CONTAINER_PATH = "datasources", "workloadVolumes", "containerPath"
_MASTER = "spec.distributed.master"
_MOUNTS = ("mountPath", "path")
"""Where an item is in the container: the first that items of its list have."""
_QUERY = frozenset({flags.NAME, flags.LEVEL, flags.FRAMEWORK, *flags.TYPES[:3], *IDS.values()})


class RefusedHere(Refused):
    """With paths of the older shape."""


class OldHalfSerializer(serializers.Serializer[Any]):
    """Assets by their ids, and what is said beside them."""

    assets = serializers.DictField()
    specificEnv = SpecField(required=False)  # noqa: N815  of the wire


class OldSpecSerializer(OldHalfSerializer):
    """``distributed``: framework, number of workers and what a master has otherwise."""

    distributed = serializers.DictField(required=False)


class OldTemplateSerializer(serializers.Serializer[Any]):
    """A template as older clients know it; see /api/v1/workload-templates/distributed."""

    meta = MetaSerializer()
    spec = OldSpecSerializer(required=False)


class OldTemplateViewSet(TemplateViewSet):
    """The same templates; only shape and codes differ."""

    extra_routes: ClassVar[tuple[ExtraRoute, ...]] = ()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        self.resource = get("template")  # type: ignore[misc]
        super().initial(request, *args, **kwargs)

    # Reading

    def base_rows(self) -> QuerySet[Any]:
        rows = super().base_rows().filter(links__has_key=f"{Role.WORKER}.environment")
        return flags.narrowed(rows, self.request, self.user, self.resource.permission("view"))

    @extend_schema(
        parameters=[OpenApiParameter(name, OpenApiTypes.STR) for name in sorted(_QUERY)],
    )
    def list(self, request: Request, **kwargs: Any) -> Response:
        known_only(request, _QUERY)
        rows = self.base_rows().order_by("name", "pk")[: MAX_LIMIT * 20]
        return Response({"entries": self.present_all(rows)})

    def retrieve(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        known_only(request, frozenset())
        return Response(self.present_all([self.object(pk)])[0])

    def present_all(self, rows: Iterable[Any]) -> Rows:
        rows = [*rows]
        links, sources = linked(*rows), self._sources(rows)
        return [
            {
                "meta": MetaSerializer().to_representation(row),
                "spec": {
                    **_half(row, Role.WORKER, links, sources),
                    "distributed": _gang(row, links, sources),
                },
            }
            for row in rows
        ]

    def _sources(self, rows: Iterable[Template]) -> dict[str, Asset]:
        """Data sources that the caller may see, by the names that items of them have."""
        if not any(".storage." in path for row in rows for path in row.values):
            return {}
        visible = get("data_source").visible(self.user)
        return {item_name(one): one for one in DataSource.objects.filter(pk__in=visible)}

    # Writing

    def create(self, request: Request, **kwargs: Any) -> Response:
        return Response(super().create(request).data, status=202)

    def update(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        return Response(super().update(request, pk).data, status=202)

    def destroy(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        super().destroy(request, pk)
        return Response({"message": "Deleted."}, status=202)

    def read(
        self, data: Any, obj: Template | None = None, *, partial: bool = False
    ) -> tuple[dict[str, Any], Mapping[str, Any]]:
        body = _known("", data, ("meta", "spec"))
        spec = _known("spec", body.get("spec"), ("assets", "specificEnv", "distributed"))
        try:
            view = self.resource.permission("view")
            values = meta_values(body.get("meta"), obj, self.user, view)
        except Refused as refused:
            raise RefusedHere(refused.problems) from None
        types = values.pop(TYPES, {})
        scope = obj.scope if obj is not None else values["scope"]
        gang = _known(
            "spec.distributed", spec.get("distributed"), (_WORKERS, "noMaster", MADE_FOR, "master")
        )
        if not gang and obj is not None:
            # Older clients cannot say it, and so leave it as it is.
            gang = self.present_all([obj])[0]["spec"]["distributed"]
        new = self._body(spec, "spec", scope)
        if "environment" not in new["assets"]:
            raise RefusedHere([Problem("required", "spec.assets.environment")])
        self._add_gang(new, gang, types, scope)
        if obj is not None:
            new["modes"] = wire_modes(obj)
        found = Body(new, None)
        values |= found.values()
        if found.problems:
            raise Refused(found.problems)
        return values, {}

    def _add_gang(
        self, new: dict[str, Any], gang: Mapping[str, Any], types: Mapping[str, Any], scope: Scope
    ) -> None:
        """Framework, number of workers and the master, where the newer address has them."""
        framework = gang.get(MADE_FOR) or types.get(MADE_FOR) or self._made_for(new)
        if not framework:
            raise RefusedHere([Problem("required", f"meta.{TYPES}.{MADE_FOR}")])
        new["spec"][_FRAMEWORK] = framework
        if _WORKERS in gang:
            new["spec"][_WORKERS] = gang[_WORKERS]
        alone = gang.get("noMaster")
        if alone is not None and not isinstance(alone, bool):
            accepted = {"accepted": "true or false"}
            raise RefusedHere([Problem("type", "spec.distributed.noMaster", accepted)])
        if alone is not None:
            new["configuration"] = WORKERS_ONLY if alone else WORKERS_AND_MASTER
        if "master" in gang:
            half = _known(_MASTER, gang["master"], ("assets", "specificEnv"))
            new["master"] = self._body(half, _MASTER, scope)

    def _body(self, half: Mapping[str, Any], at: str, scope: Scope) -> dict[str, Any]:
        """``assets`` and ``spec`` as the newer address has them."""
        named = (*(kind.key for kind in LINKABLE), _SOURCES, _VOLUMES)
        given = _known(f"{at}.assets", half.get("assets"), named)
        spec = _known(f"{at}.specificEnv", half.get("specificEnv"))
        security = {name: spec.pop(name) for name in _RUN_AS if name in spec}
        if security:
            own = _known(f"{at}.specificEnv.security", spec.get("security"))
            spec["security"] = {**own, **security}
        if given.get(_VOLUMES):
            raise RefusedHere([Problem("unknown:link", f"{at}.assets.{_VOLUMES}")])
        storage = _known(f"{at}.specificEnv.storage", spec.get("storage"))
        for path, item in self._items(given.get(_SOURCES), f"{at}.assets.{_SOURCES}", scope):
            name = path.removeprefix("storage.")
            storage[name] = [*(storage.get(name) or ()), item]
        if storage:
            spec["storage"] = storage
        links = {
            kind.key: _id_of(given[kind.key], f"{at}.assets.{kind.key}")
            for kind in LINKABLE
            if kind.key in given
        }
        return {"spec": spec, "assets": links}

    def _items(self, given: Any, at: str, scope: Scope) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """List and item of each data source that is named."""
        if given is None:
            return
        if not isinstance(given, list):
            raise RefusedHere([Problem("type", at, {"accepted": "a list of objects"})])
        for number, one in enumerate(given):
            here = f"{at}.{number}"
            wanted = _known(here, one, ("id", "name", "kind", "overrides"))
            pk = _id_of(wanted.get("id"), f"{here}.id")
            source = next(imposable(scope, [pk]), None)
            if source is None:
                raise RefusedHere([Problem("options:unseen", f"{here}.id")])
            item = dict(source.item)
            over = _known(f"{here}.overrides", wanted.get("overrides"), (_CONTAINER_PATH,))
            if _CONTAINER_PATH in over:
                item[_mount_of(source.path)] = over[_CONTAINER_PATH]
            yield source.path, item

    def _made_for(self, new: Mapping[str, Any]) -> str:
        """The one framework that the environment is for, if it is for one."""
        pk = new["assets"]["environment"]
        rows = {str(row.pk): row for row in get("environment").visible(self.user)}
        return rows[pk].framework if pk in rows else ""

    def handle_exception(self, exc: Exception) -> Response:
        if type(exc) is Refused:
            exc = RefusedHere([replace(one, path=_older(one.path)) for one in exc.problems])
        return GenericViewSet.handle_exception(self, exc)


def _known(at: str, given: Any, known: Iterable[str] | None = None) -> dict[str, Any]:
    """An object, nulls left out; ``known``: its names. Raises RefusedHere."""
    if given is None and at:
        return {}
    if not isinstance(given, Mapping):
        raise RefusedHere([Problem("type", at, {"accepted": "an object"})])
    found = {str(name): value for name, value in given.items() if value is not None}
    if known is not None and (strange := unknown_fields(found, tuple(known), at)):
        raise RefusedHere(strange)
    return found


def _id_of(given: Any, at: str) -> str:
    """An id, as it is or in a reference as answers have it."""
    found = given.get("id") if isinstance(given, Mapping) else given
    if not isinstance(found, str):
        raise RefusedHere([Problem("type", at, {"accepted": "the id of an asset"})])
    return found.lower()


def _older(path: str) -> str:
    """``spec.image`` → ``spec.specificEnv.image``, ``assets.compute`` → ``spec.assets.compute``."""
    if path in (f"spec.{_FRAMEWORK}", f"spec.{_WORKERS}"):
        own = MADE_FOR if path.endswith(_FRAMEWORK) else _WORKERS
        return f"spec.distributed.{own}"
    for begin, at in (("master.", _MASTER), ("", "spec")):
        if begin and not path.startswith(begin):
            continue
        head, _, rest = path.removeprefix(begin).partition(".")
        if head == "assets":
            return f"{at}.assets.{rest}"
        if head == "spec":
            own = rest.removeprefix("security.")
            return f"{at}.specificEnv.{own if own in _RUN_AS else rest}"
    return path


def _half(
    template: Template, role: Role, links: Mapping[str, Asset], sources: Mapping[str, Asset]
) -> dict[str, Any]:
    """What one role has, as older clients know it."""
    assets: dict[str, Any] = {}
    for kind in LINKABLE:
        if asset := links.get(template.links.get(f"{role}.{kind.key}", "")):
            assets[kind.key] = {"id": str(asset.pk), "name": asset.name}
    values = dict(template.values)
    found = []
    for kind in SOURCE_KINDS:
        path = f"{role}.{kind.item}"
        items = values.pop(path, [])
        known = [(item, sources.get(str(item.get(kind.key_name, "")))) for item in items]
        found += [_reference(kind, item, asset) for item, asset in known if asset is not None]
        if rest := [item for item, asset in known if asset is None]:
            values[path] = rest
    if found:
        assets[_SOURCES] = found
    spec = spec_of_role(values, role)
    spec.pop(_WORKERS, None)
    security = dict(spec.pop("security", {}))
    spec |= {name: security.pop(name) for name in _RUN_AS if name in security}
    return {"assets": assets, "specificEnv": spec | ({"security": security} if security else {})}


def _reference(kind: AssetKind, item: Mapping[str, Any], asset: Asset) -> dict[str, Any]:
    mount = _mount_of(kind.item)
    own = kind_of_asset(asset).item_of(asset.values).get(mount)
    over = {} if item.get(mount) == own else {"overrides": {_CONTAINER_PATH: item.get(mount)}}
    return {"id": str(asset.pk), "name": asset.name, "kind": asset.kind, **over}


def _mount_of(path: str) -> str:
    """The attribute that says where items of a list are in the container."""
    kind = next(one for one in SOURCE_KINDS if one.item == path)
    names = [one.path for one in kind.attributes]
    return next(name for name in _MOUNTS if name in names)


def _gang(
    template: Template, links: Mapping[str, Asset], sources: Mapping[str, Asset]
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "noMaster": template.configuration == WORKERS_ONLY,
        MADE_FOR: template.framework,
    }
    workers = template.values.get(f"{Role.WORKER}.{_WORKERS}")
    if workers is not None:
        found[_WORKERS] = workers
    if template.master == Template.Master.DIFFERENCES:
        half = _half(template, Role.MASTER, links, sources)
        found["master"] = {name: part for name, part in half.items() if part}
    return found


class OldTemplates(Templates):
    """Templates at the address that older clients know."""

    entity = "template"

    def __init__(self) -> None:
        super().__init__()
        self.key = "old_template"
        self.wire = replace(
            self.wire,
            path="asset/workload-template",
            serializer="assets.old_template_api.OldTemplateSerializer",
            viewset="assets.old_template_api.OldTemplateViewSet",
            created=202,
            edited=202,
            deleted=202,
            is_paged=False,
            methods=frozenset({"list", "create", "get", "put", "delete"}),
        )

    @property
    def labels(self) -> str:
        return "Old templates"
