"""Environments and compute resources as resources."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import F, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.text import capfirst

import assets.credentials.resources
import assets.data_volumes.resources  # noqa: F401  registers them
from assets import claims, sync, users
from assets.credentials.choices import unknown
from assets.kinds import SOURCE_KINDS, AssetKind, kind_of, kind_of_asset
from assets.models import Asset, Compute, DataSource, Environment
from assets.scopes import scope_choices
from assets.selectors.places import nodes_for, projects_with
from assets.templates import Templates
from assets.trial_views import panel_of
from assets.trials import SOURCES
from gangline.access.actor import Actor
from gangline.accounts.models import User
from gangline.clusters import trials
from gangline.resources.registry import register
from gangline.resources.resource import Action, M, Nav, Panel, Resource, Wire
from gangline.resources.tables import column, name_column, table, time_column
from gangline.spec import shares
from gangline.spec.catalogue import Kind
from gangline.spec.frameworks import PROGRAMS, framework_of
from gangline.spec_forms.words import count, item_in_words, readable
from gangline.tables import filters
from gangline.web import formats

_TAIL = (
    column("scope", "Scope", cell=lambda row: row.scope.title, sort="scope_name", width="l"),
    column("used", "Workloads", "used_count", sort="used_count", right=True, width="m"),
    column("creator", "Created by", "created_by", width="m"),
    time_column("created", "Created", "created_at", sort="created_at"),
)
_FILTERS = (
    filters.choice("scope", "Scope", "scope_id"),
    filters.dates("created", "Created", "created_at", wire="createdAt"),
    filters.for_clients("name", "name"),
)


class Assets(Resource[M]):
    """What all kinds share: they hold in their scope and in every project below it."""

    related = ("scope__parent__parent__parent", "created_by", "updated_by")
    seen_from_below = True
    can_copy = True
    shows_yaml = True

    @property
    def kind(self) -> AssetKind:
        return kind_of(self.model)  # type: ignore[arg-type]  # every model here is an asset

    def rows(self, user: User) -> QuerySet[M]:
        return super().rows(user).annotate(scope_name=F("scope__name"))  # type: ignore[return-value]

    def choices(self, user: User) -> Any:
        return {"scope": scope_choices(self.visible(user))}

    def check(self, obj: Any, *, actor: Actor | None, before: Any) -> None:
        if before is not None and before.scope_id != obj.scope_id:
            raise ValidationError({"scope": ValidationError("cannot be changed.", "fixed")})
        if found := self.kind.problems(obj.values):
            raise self.kind.refused(found)
        if before is None and (found := list(unknown(obj.values, obj.scope))):
            raise self.kind.refused(found)

    def facts_of(self, request: HttpRequest, obj: Any) -> Iterable[tuple[str, Any]]:
        yield "Scope", obj.scope.title
        for path, field in self.kind.fields.items():
            value = obj.values.get(path)
            if field.kind is Kind.ITEMIZED:
                for item in value or ():
                    label = f"{capfirst(field.ui.item)} {item.get(field.item_key, '')}"
                    yield label, format_html("<code>{}</code>", item_in_words(field, item))
            elif value not in (None, ""):
                words = readable(field, value)
                is_code = field.kind in (Kind.STRING, Kind.COMMAND)
                yield field.label, format_html("<code>{}</code>", words) if is_code else words


def _value(path: str, label: str, **more: Any) -> Any:
    """A column of one value."""

    def cell(row: Asset) -> str:
        field = kind_of(type(row)).fields[path]
        value = row.values.get(path)
        return formats.NOTHING if value in (None, "") else readable(field, value)

    return column(path.rpartition(".")[2], label, cell=cell, text=cell, **more)


def _gpus(row: Asset) -> str:
    """Parts of devices as well."""
    return shares.of_pod_in_words(row.values) or formats.NOTHING


def _use(of: str) -> Action:
    """Opens the form with the asset chosen."""
    return Action(
        label="Use in a new workload",
        icon="plus",
        url=lambda obj: f"{reverse('workload-new')}?{of}={obj.pk}",
        allowed=lambda user, obj: projects_with(user, obj).exists(),
    )


def _made_for(row: Environment) -> str:
    """The framework in words; empty: any."""
    return framework_of(row.framework).label


class Environments(Assets[Environment]):
    model = Environment
    key = "environment"
    path = "environments"
    lede = "What a replica runs: image, command and variables, ready to choose in the form."
    empty_text = "An environment saves typing image, command and variables again."
    form = "assets.forms.EnvironmentForm"
    nav = Nav(group="Assets", icon="variable", order=20)
    actions = (_use("environment"),)
    table = table(
        "environments",
        name_column("environment", "Environment"),
        _value("image", "Image", width="l"),
        column(
            "framework",
            "Made for",
            cell=lambda row: _made_for(row) or formats.NOTHING,
            text=_made_for,
            sort="framework",
            width="m",
        ),
        *_TAIL,
        noun=("environment", "environments"),
        search=("name", "description"),
        filters=(
            filters.choice(
                "framework",
                "Made for",
                "framework",
                choices=[(one.name, one.label) for one in PROGRAMS.values()],
            ),
            *_FILTERS,
        ),
    )
    wire = Wire(
        path="asset/environment",
        envelope="entries",
        serializer="assets.serializers.EnvironmentSerializer",
        viewset="assets.serializers.AssetViewSet",
        created=202,
        edited=202,
        deleted=202,
    )

    def facts_of(self, request: HttpRequest, obj: Environment) -> Iterable[tuple[str, Any]]:
        scope, *values = super().facts_of(request, obj)
        yield from (scope, ("Made for", _made_for(obj) or "any framework"), *values)


class Computes(Assets[Compute]):
    model = Compute
    key = "compute"
    path = "compute-resources"
    lede = "What a replica runs on: GPUs, CPU and memory, ready to choose in the form."
    empty_text = "A compute resource names a size of pod, such as one GPU with eight cores."
    form = "assets.forms.ComputeForm"
    nav = Nav(group="Assets", icon="cpu", order=30)
    actions = (_use("compute"),)
    table = table(
        "computes",
        name_column("compute", "Compute resource"),
        column("gpuDevicesRequest", "GPUs per pod", cell=_gpus, text=_gpus, width="m", right=True),
        _value("compute.cpuCoreRequest", "CPU request", width="m", right=True),
        _value("compute.cpuCoreLimit", "CPU limit", width="m", right=True, is_default=False),
        _value("compute.cpuMemoryRequest", "Memory request", width="l", right=True),
        _value("compute.cpuMemoryLimit", "Memory limit", width="l", right=True, is_default=False),
        *_TAIL,
        noun=("compute resource", "compute resources"),
        search=("name", "description"),
        filters=_FILTERS,
    )
    wire = Wire(
        path="asset/compute",
        envelope="entries",
        serializer="assets.serializers.ComputeSerializer",
        viewset="assets.serializers.AssetViewSet",
        created=202,
        edited=202,
        deleted=202,
    )

    def facts_of(self, request: HttpRequest, obj: Compute) -> Iterable[tuple[str, Any]]:
        yield from super().facts_of(request, obj)
        if isinstance(request.user, User):
            for cluster, fit, nodes in nodes_for(request.user, obj):
                yield f"Fits on {cluster.name}", f"{fit} of {count(nodes, 'node')}"


def _source(row: Asset) -> str:
    """Where the data is, in a few words: those of the first attributes that were given."""
    kind = kind_of_asset(row)
    item = kind.item_of(row.values)
    listed = kind.fields[kind.item]
    values = listed.telling(listed.flat(item))
    place = item.get("mountPath") or item.get("path")
    told = (
        readable(one, values[one.path])
        for one in kind.attributes
        if values[one.path] not in (None, "", place, True, False)
    )
    return " · ".join(list(told)[:2]) or formats.NOTHING


def _target(row: Asset) -> str:
    item = kind_of_asset(row).item_of(row.values)
    return str(item.get("mountPath") or item.get("path") or formats.NOTHING)


class DataSources(Assets[M]):
    """What all types share: values are given once, and nothing goes while it is used."""

    entity = "data_source"
    lede = "Existing data, and where replicas find it."
    empty_text = "A data source saves everyone from typing where the data is."

    @property
    def create_label(self) -> str:
        return f"New {self.model._meta.verbose_name}"

    @property
    def submit_label(self) -> str:
        return f"Create {self.model._meta.verbose_name}"

    @property
    def empty_title(self) -> str:
        return f"No {self.model._meta.verbose_name_plural} yet"

    @property
    def panels(self) -> tuple[Panel, ...]:  # type: ignore[override]
        return (panel_of(self),) if trials.TEST in self.pages else ()

    def check(self, obj: Any, *, actor: Actor | None, before: Any) -> None:
        super().check(obj, actor=actor, before=before)
        if before is None and (found := list(claims.problems(self.kind, obj.values, obj.scope))):
            raise self.kind.refused(found)
        if before is not None and before.values != obj.values:
            raise ValidationError({"values": ValidationError("cannot be changed.", "fixed")})

    def saved(self, obj: Any, *, actor: Actor | None, changes: Any) -> None:
        if not changes:
            sync.keep(obj)

    def delete(self, obj: Any, *, actor: Actor | None) -> None:
        sync.let_go(obj)
        super().delete(obj, actor=actor)

    def facts_of(self, request: HttpRequest, obj: Any) -> Iterable[tuple[str, Any]]:
        yield "Scope", obj.scope.title
        kind = kind_of_asset(obj)
        for row, state in sync.states_of([obj]).get(str(obj.pk), ()):
            yield (
                f"On {row.cluster.name}",
                format_html(
                    "<code>{}</code> in {}: {}", row.name, row.namespace, state.sentence or "ready"
                ),
            )
        yield "Type", kind.label
        listed = kind.fields[kind.item]
        values = listed.telling(listed.complete(kind.item_of(obj.values)))
        for one in kind.attributes:
            if values[one.path] not in (None, ""):
                words = readable(one, values[one.path])
                is_code = one.kind in (Kind.STRING, Kind.COMMAND)
                yield one.label, format_html("<code>{}</code>", words) if is_code else words


_DATA_TAIL = tuple(
    replace(one, is_default=False) if one.name == "creator" else one for one in _TAIL
)
_SOURCE = column("source", "Source", cell=_source, text=_source)
_TARGET = column("target", "Container path", cell=_target, text=_target, width="l")


class SourcesOfType(DataSources[Any]):
    """The resource of one type: its pages, its form and its part of the API."""

    def __init__(self, kind: AssetKind) -> None:
        self.model, self.key = kind.model, kind.resource_key
        self.path = f"data-sources/{self.key.replace('_', '-')}"
        self.delete_text = _DELETION.get(kind.key, "")
        self.pages = _TESTED if kind.key in SOURCES else {}
        self.table = table(
            f"{self.key}_sources",
            name_column(self.key, "Data source"),
            _SOURCE,
            _TARGET,
            *_DATA_TAIL,
            noun=(str(self.model._meta.verbose_name), str(self.model._meta.verbose_name_plural)),
            search=("name", "description"),
            filters=_FILTERS,
        )
        self.wire = Wire(
            path=f"asset/datasource/{kind.path}",
            envelope="entries",
            serializer="assets.serializers.source_serializer",
            viewset=f"assets.serializers.{'Pvc' if self.key == 'pvc' else 'Asset'}ViewSet",
            created=202,
            edited=202,
            deleted=202,
        )
        super().__init__()

    form = "assets.forms.source_form"

    @property
    def form_class(self) -> Any:
        return super().form_class(self.kind)

    @property
    def serializer_class(self) -> Any:
        return super().serializer_class(self.kind)


_TESTED = {trials.TEST: "assets.trial_views.TestView"}
_DELETION: Mapping[str, str] = {
    "pvc": (
        "A claim that was created for it is deleted with all its data. An existing claim is kept."
    )
}
_TYPES = [(kind.key, kind.label) for kind in SOURCE_KINDS]


class AllDataSources(DataSources[DataSource]):
    """One list of every type; what is done with one is done with its own resource."""

    model = DataSource
    key = "data_source"
    path = "data-sources"
    verbs = frozenset({"view", "create"})
    can_copy = shows_yaml = False
    form = "assets.forms.TypeForm"
    form_template = "assets/data_source_type.html"
    nav = Nav(group="Assets", icon="database", order=40)
    table = table(
        "data_sources",
        name_column("data_source", "Data source"),
        column(
            "type",
            "Type",
            cell=lambda row: kind_of_asset(row).label,
            text=lambda row: kind_of_asset(row).label,
            sort="kind",
            width="m",
        ),
        _SOURCE,
        _TARGET,
        *_DATA_TAIL,
        noun=("data source", "data sources"),
        search=("name", "description"),
        filters=(
            filters.choice("type", "Type", "kind", choices=_TYPES),
            *_FILTERS,
        ),
    )
    wire = Wire(
        path="asset/datasource",
        envelope="entries",
        serializer="assets.serializers.DataSourceSerializer",
        viewset="assets.serializers.AssetViewSet",
        methods=frozenset({"list"}),
    )

    def url(self, obj: Any, page: str = "detail") -> str:
        return reverse(f"{kind_of_asset(obj).resource_key}-{page}", args=[obj.pk])


# Types first: the address of the list of all ends in what could be the id of one.
_RESOURCES: tuple[Resource[Any], ...] = (
    Templates(),
    Environments(),
    Computes(),
    *map(SourcesOfType, SOURCE_KINDS),
    AllDataSources(),
)
for _resource in _RESOURCES:
    register(_resource)
    if trials.TEST in _resource.pages:
        trials.register(_resource)
users.register()
