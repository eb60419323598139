"""Storage classes as a resource: made by the cluster, configured here."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.http import HttpRequest

from gangline.access.actor import Actor
from gangline.accounts.models import User
from gangline.resources.resource import Nav, Resource, Wire
from gangline.resources.tables import column, name_column, table
from gangline.tables import filters

from . import storage
from .models import ACCESS_MODES, StorageClass

PERMISSIONS = {
    "allowedForWorkloads": "for_workloads",
    "allowedForAssets": "for_assets",
    "allowedForEphemeralVolumes": "ephemeral",
    "allowedForPersistentVolumes": "persistent",
    "allowDataSharing": "data_sharing",
}
ACCESS = ACCESS_MODES
MODES = {"filesystem": "filesystem", "block": "block"}
SIZES = {"default": "default_size", "min": "min_size", "max": "max_size", "step": "size_step"}
CONFIGURED = (
    *PERMISSIONS.values(),
    *ACCESS.values(),
    "default_access",
    "needs_access_mode",
    *MODES.values(),
    "default_volume_mode",
    "needs_volume_mode",
    *SIZES.values(),
    "size_units",
    "parameters",
)
"""Columns that an administrator fills in."""


def cleared() -> dict[str, Any]:
    """What a class says of which nobody has said anything."""
    columns = StorageClass._meta.concrete_fields
    return {one.name: one.get_default() for one in columns if one.name in CONFIGURED}


def _yes(*names: str) -> Any:
    """What of several things is allowed, in words."""

    def cell(row: StorageClass) -> str:
        fields = StorageClass._meta
        allowed = [str(fields.get_field(n).verbose_name) for n in names if getattr(row, n)]  # type: ignore[union-attr]
        return ", ".join(allowed) or "None"

    return cell


_access = _yes(*ACCESS.values())
_users = _yes(*PERMISSIONS.values())


def _sizes(row: StorageClass) -> str:
    parts = [
        f"{row.default_size} preselected" if row.default_size else "",
        f"at least {row.min_size}" if row.min_size else "",
        f"at most {row.max_size}" if row.max_size else "",
        f"in steps of {row.size_step}" if row.size_step else "",
    ]
    return ", ".join(filter(None, parts)) or "Any"


def _chosen(label: str, values: Sequence[str], *, is_needed: bool) -> Iterator[tuple[str, str]]:
    """What stands at first, and whether people must choose."""
    words = [str(_words.get(value, value)) for value in values if value]
    if words:
        yield f"{label} preselected", ", ".join(words)
    if is_needed:
        yield label, "Must be chosen"


def _parameter(given: Mapping[str, Any]) -> str:
    key = str(given["key"])
    label = given.get("display") or key
    return key if label == key else f"{label} ({key})"


_words = {mode: StorageClass._meta.get_field(name).verbose_name for mode, name in ACCESS.items()}  # type: ignore[union-attr]


class StorageClasses(Resource[StorageClass]):
    model = StorageClass
    key = "storage_class"
    entity = "cluster"
    path = "storage-classes"
    lede = "Where volumes of workloads come from, and which options each class offers."
    empty_text = "The storage classes of a Kubernetes cluster are listed here once it is checked."
    verbs = frozenset({"view", "edit"})
    scope_path = "cluster__scope"
    related = ("cluster__scope__parent",)
    form = "assets.class_forms.StorageClassForm"
    nav = Nav(group="Infrastructure", icon="database", order=40)
    wire = Wire(
        path="storage-class-configuration",
        envelope="storageClassConfigurations",
        serializer="gangline.clusters.storage_class_api.StorageClassSerializer",
        viewset="gangline.clusters.storage_class_api.StorageClassViewSet",
        methods=frozenset({"list", "count", "create", "get", "put", "patch", "delete"}),
    )
    table = table(
        "storage_classes",
        name_column("storage_class", "Storage class"),
        column("cluster", "Cluster", "cluster.name", sort="cluster__name", width="m"),
        column("provisioner", "Provisioner", "provisioner"),
        column("default", "Default", cell=lambda row: "Yes" if row.is_default else "No",
               text=lambda row: row.is_default, width="s"),
        column("access", "Access modes", cell=_access, text=_access),
        column("sizes", "Size", cell=_sizes, text=_sizes, width="l"),
        noun=("storage class", "storage classes"),
        filters=(
            filters.choice("cluster", "Cluster", "cluster_id"),
            filters.for_clients("name", "name"),
            filters.for_clients("scopeId", "cluster_id", filters.Kind.ID),
        ),
    )  # fmt: skip

    def choices(self, user: User) -> Mapping[str, Sequence[tuple[str, str]]]:
        rows = self.visible(user).values_list("cluster", "cluster__name").distinct()
        return {"cluster": [(str(pk), name) for pk, name in rows.order_by("cluster__name")]}

    def saved(self, obj: StorageClass, *, actor: Actor | None, changes: Mapping[str, Any]) -> None:
        storage.publish(obj.cluster)

    def facts_of(self, request: HttpRequest, obj: StorageClass) -> Sequence[tuple[str, Any]]:
        return (
            ("Cluster", obj.cluster),
            ("Provisioner", obj.provisioner),
            ("Default of the cluster", "Yes" if obj.is_default else "No"),
            ("May be used by", _users(obj)),
            ("Access modes", _access(obj)),
            *_chosen("Access modes", obj.default_access, is_needed=obj.needs_access_mode),
            ("Volume modes", _yes(*MODES.values())(obj)),
            *_chosen("Volume mode", [obj.default_volume_mode], is_needed=obj.needs_volume_mode),
            ("Size of a volume", _sizes(obj)),
            ("Units", ", ".join(f"{unit}B" for unit in obj.size_units) or "All"),
            ("Parameters", ", ".join(map(_parameter, obj.parameters)) or "None"),
        )
