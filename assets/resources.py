"""Environments and compute resources as resources."""

from collections.abc import Iterable
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import F, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.text import capfirst

from assets.kinds import AssetKind, kind_of
from assets.models import Asset, Compute, Environment
from gangline.access.actor import Actor
from gangline.accounts.models import User
from gangline.resources.registry import register
from gangline.resources.resource import M, Nav, Resource, Wire
from gangline.resources.tables import column, name_column, table, time_column
from gangline.scopes.models import Scope
from gangline.spec.catalogue import Kind
from gangline.spec_forms.words import item_in_words, readable
from gangline.tables import filters
from gangline.web import formats

_TAIL = (
    column("scope", "Scope", cell=lambda row: row.scope.title, sort="scope_name"),
    column("used", "Workloads", "used_count", sort="used_count", right=True, width="s"),
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

    @property
    def kind(self) -> AssetKind:
        return kind_of(self.model)  # type: ignore[arg-type]  # every model here is an asset

    def rows(self, user: User) -> QuerySet[M]:
        return super().rows(user).annotate(scope_name=F("scope__name"))  # type: ignore[return-value]

    def choices(self, user: User) -> Any:
        used = self.visible(user).order_by().values("scope")
        scopes = Scope.objects.filter(pk__in=used).order_by("kind", "name")
        return {"scope": [(str(scope.pk), scope.title) for scope in scopes]}

    def check(self, obj: Any, *, actor: Actor | None, before: Any) -> None:
        if before is not None and before.scope_id != obj.scope_id:
            raise ValidationError({"scope": ValidationError("cannot be changed.", "fixed")})
        if found := self.kind.problems(obj.values):
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


class Environments(Assets[Environment]):
    model = Environment
    key = "environment"
    path = "environments"
    icon = "variable"
    lede = "What a replica runs: image, command and variables, ready to choose in the form."
    empty_text = "An environment saves typing image, command and variables again."
    form = "assets.forms.EnvironmentForm"
    nav = Nav(group="Assets", icon="variable", order=20)
    table = table(
        "environments",
        name_column("environment", "Environment"),
        _value("image", "Image", width="l"),
        *_TAIL,
        noun=("environment", "environments"),
        search=("name", "description"),
        filters=_FILTERS,
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


class Computes(Assets[Compute]):
    model = Compute
    key = "compute"
    path = "compute-resources"
    icon = "cpu"
    lede = "What a replica runs on: GPUs, CPU and memory, ready to choose in the form."
    empty_text = "A compute resource names a size of pod, such as one GPU with eight cores."
    form = "assets.forms.ComputeForm"
    nav = Nav(group="Assets", icon="cpu", order=30)
    table = table(
        "computes",
        name_column("compute", "Compute resource"),
        _value("compute.gpuDevicesRequest", "GPUs per pod", right=True),
        _value("compute.cpuCoreRequest", "CPU request", right=True),
        _value("compute.cpuCoreLimit", "CPU limit", right=True, is_default=False),
        _value("compute.cpuMemoryRequest", "Memory request", right=True),
        _value("compute.cpuMemoryLimit", "Memory limit", right=True, is_default=False),
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


register(Environments())
register(Computes())
