"""Data volumes as a resource."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import F, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from assets import sync
from assets.data_volumes import sharing
from assets.models import Asset, DataVolume, PvcSource
from assets.scopes import scope_choices
from assets.selectors.data import claim_of
from gangline.access.actor import Actor
from gangline.access.grants import holds_below, visible_scopes
from gangline.accounts.models import User
from gangline.db.locks import locked
from gangline.resources.registry import Uses, get, register, register_usage
from gangline.resources.resource import Nav, Resource, Wire
from gangline.resources.tables import ResourceTable, column, name_column, table, time_column
from gangline.scopes.models import Scope, ScopeKind
from gangline.tables import filters
from gangline.tables.filters import Kind
from gangline.web import components

NAME = re.compile(r"[a-z][-a-z0-9]{0,62}")
LONGEST_DESCRIPTION = 127


class _Volumes(ResourceTable):
    """Rows with the state of their claims, read for a page at once."""

    def fetch(self, *args: Any, **kwargs: Any) -> list[Any]:
        rows = super().fetch(*args, **kwargs)
        states = sharing.states_of(rows)
        for row in rows:
            row.claim_state = states[str(row.pk)]
        return rows


@dataclass(frozen=True, slots=True)
class _Look:
    """A state as it is drawn."""

    word: str
    tone: str
    shape: str


_LOOKS = {
    "ok": _Look("Ready", "good", "running"),
    "creating": _Look("Creating", "info", "initializing"),
    "deleting": _Look("Deleting", "neutral", "stopping"),
    "failed": _Look("Not ready", "bad", "failed"),
}


def _state(row: Any) -> SafeString:
    state: sync.State = row.claim_state
    return components.status(_LOOKS[state.state], state.problem)


class DataVolumes(Resource[DataVolume]):
    model = DataVolume
    key = "data_volume"
    path = "data-volumes"
    lede = "Claims of projects that other projects of the same cluster can read."
    empty_text = "A data volume lets other projects read the data of one."
    delete_text = "The claim and its data stay with their project."
    form = "assets.data_volumes.forms.DataVolumeForm"
    can_copy = True
    shows_yaml = True
    related = ("scope__parent__parent__parent", "scope__project__cluster", "origin",
               "created_by", "updated_by")  # fmt: skip
    nav = Nav(group="Assets", icon="server", order=45)
    table = table(
        "data_volumes",
        name_column("data_volume", "Data volume"),
        column(
            "state",
            "State",
            cell=_state,
            text=lambda row: _LOOKS[row.claim_state.state].word,
            width="m",
        ),
        column("project", "Project", "scope.name", sort="scope_name", width="m"),
        column("origin", "PVC data source", "origin.name", sort="origin_name", width="m"),
        column("used", "Workloads", "used_count", sort="used_count", right=True, width="m"),
        column("creator", "Created by", "created_by", width="m", is_default=False),
        time_column("created", "Created", "created_at", sort="created_at"),
        noun=("data volume", "data volumes"),
        of=_Volumes,
        search=("name", "description"),
        filters=(
            filters.choice("scope", "Project", "scope_id"),
            filters.dates("created", "Created", "created_at", wire="createdAt"),
            filters.for_clients("name", "name"),
            filters.for_clients("projectId", "scope__project", Kind.NUMBERS),
            filters.for_clients("projectName", "scope__name"),
            filters.for_clients("departmentId", "scope__project__department_id", Kind.NUMBERS),
            filters.for_clients("clusterId", "scope__project__cluster_id", Kind.ID),
        ),
    )
    wire = Wire(
        path="datavolumes",
        envelope="datavolumes",
        serializer="assets.data_volumes.api.DataVolumeSerializer",
        viewset="assets.data_volumes.api.DataVolumeViewSet",
        methods=frozenset({"list", "count", "create", "get", "patch", "delete"}),
    )

    def visible(self, user: User) -> QuerySet[DataVolume]:
        """Those of projects where one may see them, and those shared with where one may."""
        shares = Asset.shared.through._default_manager.filter(
            holds_below(user, self.permission("view"), "scope")
        )
        theirs = self.model.objects.filter(pk__in=shares.values("asset"))
        return super().visible(user) | theirs

    def rows(self, user: User) -> QuerySet[DataVolume]:
        named = super().rows(user)
        return named.annotate(scope_name=F("scope__name"), origin_name=F("origin__name"))

    def choices(self, user: User) -> Mapping[str, Sequence[tuple[str, str]]]:
        return {"scope": scope_choices(self.visible(user))}

    def check(self, obj: DataVolume, *, actor: Actor | None, before: DataVolume | None) -> None:
        wrong: dict[str, Any] = {}
        if not NAME.fullmatch(obj.name):
            words = "must have up to 63 lowercase letters, digits or “-”, and start with a letter."
            wrong["name"] = ValidationError(words, "format", {"value": obj.name[:63]})
        if len(obj.description) > LONGEST_DESCRIPTION:
            words = f"must have {LONGEST_DESCRIPTION} characters at most."
            wrong["description"] = ValidationError(words, "max_length")
        if before is not None and (before.origin_id, before.scope_id) != (
            obj.origin_id,
            obj.scope_id,
        ):
            wrong["origin"] = ValidationError("cannot be changed.", "fixed")
        elif before is None and not _is_origin(obj):
            words = "must be a PVC data source of a project."
            wrong["origin"] = ValidationError(words, "options")
        if not wrong and is_taken(obj.name, sharing.cluster_of(obj.scope), but=obj):
            wrong["name"] = ValidationError("This name is taken on its cluster.", "unique")
        if wrong:
            raise ValidationError(wrong)
        if before is None:
            obj.values = {"storage.dataVolume": [{"mountPath": f"/data-volumes/{obj.name}"}]}

    def snapshot(self, obj: DataVolume) -> dict[str, Any]:
        return {
            "name": obj.name,
            "description": obj.description,
            "origin": obj.origin.name if obj.origin else "",
            "shared": [one.label for one in sharing.shares_of(obj)],
        }

    def save_parts(self, obj: DataVolume, parts: Mapping[str, Any], *, actor: Actor | None) -> None:
        if "shared" not in parts:
            return
        wanted = {one.pk: one for one in parts["shared"] if one.pk != obj.scope_id}
        there = set(obj.shared.values_list("pk", flat=True))
        new = [one for pk, one in wanted.items() if pk not in there]
        cluster = sharing.cluster_of(obj.scope)
        seen = visible_scopes(actor.user, self.permission("view")) if actor else Scope.objects
        known = set(seen.filter(pk__in=[one.pk for one in new]).values_list("pk", flat=True))
        for one in new:
            if one.pk not in known or sharing.cluster_of(one) != cluster:
                raise refused_share()
        obj.shared.set(wanted)

    def facts_of(self, request: HttpRequest, obj: DataVolume) -> Iterable[tuple[str, Any]]:
        state = sharing.states_of([obj])[str(obj.pk)]
        yield "Status", state.sentence or "Ready"
        yield "Project", obj.scope.project
        if obj.origin:
            sources, user = get("pvc"), request.user
            name: Any = obj.origin.name
            if isinstance(user, User) and sources.visible(user).filter(pk=obj.origin_id).exists():
                name = format_html('<a href="{}">{}</a>', sources.url(obj.origin), name)
            yield "PVC data source", name
            yield "Claim", format_html("<code>{}</code>", claim_of(obj.origin))
        shares = [one.title for one in sharing.shares_of(obj)]
        yield "Shared with", ", ".join(shares) or "No other project yet"
        yield "Container path", format_html("<code>{}</code>", path_of(obj))


def path_of(obj: Asset) -> str:
    """Where it stands in pods, unless a workload says otherwise."""
    return str(obj.values["storage.dataVolume"][0]["mountPath"])


def _is_origin(obj: DataVolume) -> bool:
    origin = obj.origin
    is_claim = origin is not None and origin.kind == Asset.Kind.PVC
    return is_claim and obj.scope.kind == ScopeKind.PROJECT and origin.scope_id == obj.scope_id  # type: ignore[union-attr]


def is_taken(name: str, cluster: Scope | None, but: DataVolume | None = None) -> bool:
    """Whether a data volume of the cluster has the name. Two that ask at once wait in turn."""
    if cluster is None:
        return False
    locked(Scope.objects.filter(pk=cluster.pk)).first()
    rows = DataVolume.objects.filter(name=name, scope__parent__parent=cluster)
    return rows.exclude(pk=but.pk if but else None).exists()


def refused_share() -> Exception:
    words = "must be scopes of the same cluster in which you may see data volumes."
    return ValidationError({"shared": ValidationError(words, "options")})


def _sharing(source: Asset) -> Uses:
    volumes = DataVolumes()
    rows = DataVolume.objects.filter(origin=source.pk)
    return Uses("data volume", rows, volumes.visible, volumes.url)


register(DataVolumes())
register_usage(PvcSource, _sharing)
