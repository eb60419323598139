"""Forms of departments and projects, each with its quota for every node pool."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.forms.models import fields_for_model

from gangline.access.grants import can
from gangline.access.permissions import Permission
from gangline.clusters.connections import (
    facts_of,
    names_node_types,
    namespaces_of,
    scheduler_of,
)
from gangline.clusters.models import DEFAULT_POOL, Cluster, NodePool
from gangline.resources.forms import ResourceForm
from gangline.spec.shapes import split_names
from gangline.spec.types import quantity_bytes

from . import queues, quotas
from .models import NOT_NEGATIVE, RESOURCES, Department, Project, Quota

_HINTS = {"memory": "Such as 64G or 16Gi. "}
_LABELS = {"gpus": "GPUs", "cpus": "CPU cores", "memory": "Memory"}
_LIMITS = {"gpus": "At most GPUs", "cpus": "At most CPU cores", "memory": "At most memory"}
_PARTS = (
    ("Quota", RESOURCES),
    ("Limit", tuple(f"{one}_limit" for one in RESOURCES)),
    ("Above the quota", ("over_quota", "rank", "weight")),
)
_UNITS = (
    ("Ti", 2**40), ("T", 10**12), ("Gi", 2**30), ("G", 10**9), ("Mi", 2**20), ("M", 10**6)
)  # fmt: skip


class SizeField(forms.Field):
    """A size such as ``64G`` or ``16Gi``; empty: None."""

    def to_python(self, value: Any) -> Any:
        text = str(value or "").strip()[:24]
        if not text:
            return None
        try:
            size = quantity_bytes(text.replace(" ", "").removesuffix("B"))
        except ValueError as error:
            raise forms.ValidationError(f"It {error}.", "size", {"value": text}) from None
        if text.isdigit() and 0 < size < _UNITS[-1][1]:
            # Nobody shares out bytes: a unit was forgotten.
            words = f"It needs a unit, such as {text}G or {text}Gi: {text} alone are bytes."
            raise forms.ValidationError(words, "unit", {"value": text})
        return size

    def prepare_value(self, value: Any) -> Any:
        return _size_text(value) if isinstance(value, int) else value


class NamesField(forms.CharField):
    """Names in their order, separated by commas."""

    def to_python(self, value: Any) -> Any:
        return split_names(super().to_python(value) or "")

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(map(str, value)) if isinstance(value, list) else value

    def validate(self, value: Any) -> None:
        """The model judges the names."""

    def run_validators(self, value: Any) -> None:
        """Those of a text are about the length of it."""

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(self.to_python(data) != list(initial or ()))


def _size_text(size: int) -> str:
    """The shortest exact quantity: ``64G``, ``16Gi``, ``1500M``."""
    exact = (f"{size // factor}{unit}" for unit, factor in _UNITS if size and size % factor == 0)
    return next(exact, str(size))


class UnitForm(ResourceForm):
    """Fields of the unit itself, then those of its quota: ``quotas.<number>.<field>``."""

    first: tuple[str, ...] = ()

    def prepare(self) -> None:
        self.pools = self._pools()
        node = self.instance
        known = {one.node_pool_id: one for one in quotas.quotas_of(node)} if self.is_edit else {}
        sections = [("", self.first)]
        for number, pool in enumerate(self.pools):
            quota = known.get(pool.pk) or quotas.new_quota(node, pool)
            self._add_quota(prefix := f"quotas.{number}", quota)
            of = "" if len(self.pools) == 1 else f" in node pool {pool.name}"
            for title, names in _PARTS:
                sections.append((f"{title}{of}", tuple(f"{prefix}.{name}" for name in names)))
        self.sections = tuple(sections)

    def _add_scheduling(self, *names: str) -> None:
        """What the cluster knows of nodes; on one without node types there is nothing to say."""
        cluster = self._cluster()
        if cluster is None or not names_node_types(cluster):
            for name in names:
                del self.fields[name]
            return
        known = facts_of(cluster).detail.get("suggestions", {}).get("nodeType") or []
        offered = f" Nodes have {', '.join(known[:12])}." if known else ""
        self.fields["node_types"] = NamesField(
            label="Node types for training",
            required=False,
            initial=self.instance.node_types,
            help_text="Every new workload must choose one of these, separated by commas."
            f" Empty: any node.{offered}",
        )
        if "default_pools" in names:
            pools = ", ".join(one.name for one in self.pools)
            self.fields["default_pools"] = NamesField(
                label="Node pools in order",
                required=False,
                initial=self.instance.default_pools,
                help_text="Workloads try them in this order unless they or a policy name others."
                f" Separated by commas. Empty: no preference. There is {pools}.",
            )
        self.sections = (*self.sections, ("Scheduling rules", names))

    def above(self) -> Cluster | Department | None:
        """The unit's parent: stored, posted, given in the address, or the only one."""
        name = self._meta.model.parent_field
        if self.is_edit:
            found: Cluster | Department = getattr(self.instance, name)
            return found
        rows = self.fields[name].queryset  # type: ignore[attr-defined]
        chosen = self.data.get(name) if self.is_bound else self.initial.get(name)
        try:
            return rows.filter(pk=chosen).first() if chosen else None
        except (ValueError, TypeError, OverflowError, forms.ValidationError):
            return None

    def parts(self) -> Mapping[str, Any]:
        rows = []
        for number, pool in enumerate(self._pools() if self.above() else ()):
            prefix = f"quotas.{number}."
            if prefix + "gpus" not in self.data:
                continue  # not on the page, or not theirs to change: it stays as it is
            row: dict[str, Any] = {"node_pool": pool}
            for name in Quota.VALUES:
                value = self.cleaned_data.get(prefix + name)
                if value or name != "rank":
                    row[name] = value
            rows.append(row)
        return {"quotas": rows} if rows else {}

    def _cluster(self) -> Cluster | None:
        above = self.above()
        return above.cluster if isinstance(above, Department) else above

    def _pools(self) -> list[NodePool]:
        cluster = self._cluster()
        # Every cluster has a default pool, whichever is chosen in the end.
        return quotas.pools_of(cluster) if cluster else [NodePool(name=DEFAULT_POOL)]

    def _add_quota(self, prefix: str, quota: Quota) -> None:
        made = fields_for_model(Quota, fields=Quota.VALUES)
        made["memory"] = SizeField()
        made["memory_limit"] = SizeField()
        for name, label in _LABELS.items():
            hint, limit = _HINTS.get(name, ""), made[f"{name}_limit"]
            made[name].label, made[name].help_text = label, f"{hint}Empty: no quota."
            limit.label, limit.help_text = _LIMITS[name], f"{hint}Empty: no limit."
            made[name].validators = limit.validators = NOT_NEGATIVE
        if cluster := self._cluster():
            own_queue = getattr(self.instance, "own_queue", "")
            made["over_quota"].help_text = queues.enforcement(cluster, own_queue).above
        made["rank"].help_text = "Higher ranks get spare capacity first."
        made["weight"].help_text = "Share of spare capacity in its rank. Empty: by its GPUs."
        if not quotas.shows_cpus(quota):
            del made["cpus"], made["cpus_limit"]
        above = self.above()
        may = above is None or can(self.actor.user, Permission.QUOTA_EDIT, above.scope)
        for name, field in made.items():
            field.initial = getattr(quota, name)
            field.required = False
            field.disabled = not may
            self.fields[f"{prefix}.{name}"] = field


class DepartmentForm(UnitForm):
    not_edited = frozenset({"cluster"})
    first = ("cluster", "name", "description")

    class Meta:
        model = Department
        fields = ("cluster", "name", "description", "node_types")

    def prepare(self) -> None:
        clusters = self.places(Cluster.objects.order_by("name"))
        self.fields["cluster"].queryset = clusters  # type: ignore[attr-defined]
        if not self.is_edit and clusters.count() == 1:
            self.initial.setdefault("cluster", clusters.get().pk)
        super().prepare()
        self._add_scheduling("node_types")


class ProjectForm(UnitForm):
    not_edited = frozenset({"department", "own_namespace"})
    first = ("department", "name", "description")

    class Meta:
        model = Project
        fields = (
            "department", "name", "description", "own_namespace", "own_queue",
            "default_pools", "node_types",
        )  # fmt: skip

    def prepare(self) -> None:
        rows = Department.objects.select_related("cluster", "scope__parent").order_by("name")
        departments = self.places(rows)
        field: Any = self.fields["department"]
        field.queryset = departments
        field.label_from_instance = lambda row: f"{row.name} on {row.cluster.name}"
        self.cluster_id = str(self.initial.get("cluster") or "")
        here = [one for one in departments if self.cluster_id in ("", str(one.cluster_id))]
        self.lacks_department = not self.is_edit and not here
        if not self.is_edit and here and (self.cluster_id or len(here) == 1):
            self.initial.setdefault("department", here[0].pk)
        super().prepare()
        self._add_scheduling("default_pools", "node_types")
        self.sections = (*self.sections, ("", ("own_namespace", "own_queue")))
        above = self.above()
        if isinstance(above, Department):
            may = can(self.actor.user, Permission.CLUSTER_EDIT, above.cluster.scope)
            if not may or not scheduler_of(above.cluster):
                del self.fields["own_queue"]
            if not may or not namespaces_of(above.cluster)("any"):
                del self.fields["own_namespace"]

    def sums(self) -> list[str]:
        """How the department's quota stands with what is typed, a sentence each."""
        above = self.above()
        if not isinstance(above, Department):
            return []
        asked = None
        if self.is_bound:
            self.is_valid()
            asked = {row["node_pool"].pk: row for row in self.parts().get("quotas", ())}
        node = self.instance if self.is_edit else Project(department=above, cluster=above.cluster)
        is_one = len(self.pools) == 1
        found = [
            one.sentence if is_one else f"{one.pool.name}: {one.sentence}"
            for one in quotas.balances(node, asked)
        ]
        return found or [f"Department {above.name} has no quota of its own to share out."]
