"""Storage classes as a resource: made by the cluster, configured here."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django import forms
from django.http import HttpRequest

from gangline.access.actor import Actor
from gangline.accounts.models import User
from gangline.resources.forms import ResourceForm
from gangline.resources.resource import Nav, Resource, Wire
from gangline.resources.tables import column, name_column, table
from gangline.tables import filters

from . import storage
from .models import StorageClass

PERMISSIONS = {
    "allowedForWorkloads": "for_workloads",
    "allowedForAssets": "for_assets",
    "allowedForEphemeralVolumes": "ephemeral",
    "allowedForPersistentVolumes": "persistent",
}
ACCESS = {
    "readWriteOnce": "read_write_once",
    "readOnlyMany": "read_only_many",
    "readWriteMany": "read_write_many",
}
MODES = {"filesystem": "filesystem", "block": "block"}
SIZES = {"min": "min_size", "max": "max_size", "step": "size_step"}


class StorageClassForm(ResourceForm):
    sections: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("", ("description",)),
        ("May be used by", tuple(PERMISSIONS.values())),
        ("Access modes", tuple(ACCESS.values())),
        ("Volume modes", tuple(MODES.values())),
        ("Size of a volume", tuple(SIZES.values())),
    )

    class Meta:
        model = StorageClass
        fields: ClassVar[tuple[str, ...]] = (
            "description", *PERMISSIONS.values(), *ACCESS.values(), *MODES.values(),
            *SIZES.values(),
        )  # fmt: skip
        widgets: ClassVar[dict[str, Any]] = {
            name: forms.TextInput(attrs={"placeholder": "10Gi"}) for name in SIZES.values()
        }


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
        f"at least {row.min_size}" if row.min_size else "",
        f"at most {row.max_size}" if row.max_size else "",
        f"in steps of {row.size_step}" if row.size_step else "",
    ]
    return ", ".join(filter(None, parts)) or "Any"


class StorageClasses(Resource[StorageClass]):
    model = StorageClass
    key = "storage_class"
    entity = "cluster"
    path = "storage-classes"
    icon = "database"
    lede = "Where volumes of workloads come from, and what may be asked of each class."
    empty_text = "The storage classes of a Kubernetes cluster are listed here once it is checked."
    verbs = frozenset({"view", "edit"})
    scope_path = "cluster__scope"
    related = ("cluster__scope__parent",)
    form = "gangline.clusters.storage_classes.StorageClassForm"
    nav = Nav(group="Infrastructure", icon="database", order=40)
    wire = Wire(
        path="storage-class-configuration",
        envelope="storageClassConfigurations",
        serializer="gangline.clusters.storage_class_api.StorageClassSerializer",
        viewset="gangline.clusters.storage_class_api.StorageClassViewSet",
        methods=frozenset({"list", "count", "get", "put", "patch"}),
    )
    table = table(
        "storage_classes",
        name_column("storage_class", "Storage class"),
        column("cluster", "Cluster", "cluster.name", sort="cluster__name", width="m"),
        column("provisioner", "Provisioner", "provisioner", width="l"),
        column("default", "Default", cell=lambda row: "Yes" if row.is_default else "",
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
            ("Volume modes", _yes(*MODES.values())(obj)),
            ("Size of a volume", _sizes(obj)),
        )
