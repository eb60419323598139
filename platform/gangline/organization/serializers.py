"""How the API writes and reads departments and projects, with their quota per node pool."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NoReturn

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from gangline.clusters.models import Cluster, NodePool
from gangline.lib.problems import Problem, Refused, unknown_fields
from gangline.resources.api import IdField, NoticeField, ResourceSerializer

from . import quotas, usage
from .models import MOST_TYPES, RESOURCES, Department, Project, Quota, Rank

UNITS = {"Mib": 2**20, "MB": 10**6, "GB": 10**9}
WIRE = {"gpus": "gpu", "cpus": "cpu", "memory": "memory"}
RANKS = {rank.name.title().replace("_", ""): rank for rank in Rank}
_SCALE = {"gpus": Decimal(1), "cpus": Decimal(1000), "memory": 1 / Decimal(UNITS["MB"])}
"""The wire counts CPUs in thousandths; sizes are given in MB."""
_NUMBERS = ("deserved", "limit", "overQuotaWeight")


@extend_schema_field({"type": "array", "items": {"type": "object", "additionalProperties": True}})
class ResourcesField(serializers.Field):  # type: ignore[type-arg]
    """The quotas of every node pool: ``[{nodePool, gpu, cpu, memory, priority}]``."""

    def get_attribute(self, instance: Any) -> Any:
        return instance

    def to_representation(self, value: Any) -> list[dict[str, Any]]:
        return [_shown(one) for one in quotas.quotas_of(value)]

    def to_internal_value(self, data: Any) -> list[dict[str, Any]]:
        if not isinstance(data, list) or not all(isinstance(one, Mapping) for one in data):
            raise serializers.ValidationError("must be a list of objects", code="type")
        return [_read(f"resources.{number}", one) for number, one in enumerate(data)]


def _shown(quota: Quota) -> dict[str, Any]:
    weight = quota.weight if quota.over_quota else 0
    found: dict[str, Any] = {
        "nodePool": {"id": str(quota.node_pool_id), "name": quota.node_pool.name}
    }
    for one in RESOURCES:
        deserved, limit = scaled(one, quota.amount(one)), scaled(one, quota.ceiling(one))
        found[WIRE[one]] = {
            "deserved": -1 if deserved is None else deserved,
            "limit": -1 if limit is None else limit,
            "overQuotaWeight": weight,
        }
    found["memory"]["units"] = "MB"
    found["priority"] = next(name for name, rank in RANKS.items() if rank == quota.rank)
    return found


def scaled(resource: str, value: Any) -> float | None:
    """An amount as the wire counts it."""
    return None if value is None else float(Decimal(str(value)) * _SCALE[resource])


def _read(at: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """One entry as values of a quota; its node pool is looked up when the cluster is known."""
    _only(data, at, ("nodePool", *WIRE.values(), "priority"))
    pool = _object(data.get("nodePool") or {}, f"{at}.nodePool", ("id", "name"))
    found: dict[str, Any] = {"nodePool": pool}
    for resource, wire in WIRE.items():
        if data.get(wire) is not None:
            found |= _read_amounts(resource, data[wire], f"{at}.{wire}")
    if (rank := data.get("priority")) is not None:
        if not isinstance(rank, str) or rank not in RANKS:
            _refuse("choice", f"{at}.priority", rank, f"one of {', '.join(RANKS)}")
        found["rank"] = RANKS[rank]
    return found


def _read_amounts(resource: str, given: Any, at: str) -> dict[str, Any]:
    is_size = resource == "memory"
    given = _object(given, at, (*_NUMBERS, "units") if is_size else _NUMBERS)
    factor = 1 / _SCALE[resource]
    if is_size:
        units = given.get("units")
        if not isinstance(units, str) or units not in UNITS:
            _refuse("choice", f"{at}.units", units, f"one of {', '.join(UNITS)}")
        factor = Decimal(UNITS[units])
    for name in _NUMBERS:
        value = given.get(name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (is_number and abs(value) < 1e15):
            _refuse("type", f"{at}.{name}", value, "a number")
    found: dict[str, Any] = {}
    for name, column in (("deserved", resource), ("limit", f"{resource}_limit")):
        if name in given:
            value = given[name]
            exact = None if value in (None, -1) else Decimal(str(value)) * factor
            found[column] = int(exact) if is_size and exact is not None else exact
    weight = given.get("overQuotaWeight")
    if resource == "gpus" and weight is not None:
        if weight < 0:
            _refuse("min_value", f"{at}.overQuotaWeight", weight, "0 or more")
        found |= {"over_quota": weight > 0, "weight": round(weight) or None}
    return found


def _object(given: Any, at: str, known: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        _refuse("type", at, None, "an object")
    _only(given, at, known)
    return dict(given)


def _only(data: Mapping[str, Any], at: str, known: tuple[str, ...]) -> None:
    if strange := unknown_fields(data, known, at):
        raise Refused(strange)


def _refuse(code: str, path: str, value: Any, accepted: str) -> NoReturn:
    given = {} if value is None else {"value": str(value)[:60]}
    raise Refused([Problem(code, path, {"accepted": accepted, **given})])


class NodeTypesField(serializers.DictField):
    """``{"training": ["a100"]}``; workspaces are not this product's."""

    child = serializers.ListField(
        child=serializers.CharField(max_length=63), max_length=MOST_TYPES, allow_empty=True
    )

    def get_attribute(self, instance: Any) -> Any:
        return {"training": instance.node_types, "workspace": []}

    def to_internal_value(self, data: Any) -> Any:
        found = super().to_internal_value(data)
        _only(found, "nodeTypes", ("training", "workspace"))
        return found.get("training", [])


class UnitSerializer(ResourceSerializer):
    """What departments and projects share on the wire."""

    id = IdField(read_only=True)
    cluster_id = serializers.UUIDField()
    node_types = NodeTypesField(required=False)
    resources = ResourcesField(required=False)
    total_resources = serializers.SerializerMethodField("get_total_resources")
    status = serializers.SerializerMethodField()
    created_by = serializers.SerializerMethodField("get_created_by")
    updated_by = serializers.SerializerMethodField("get_updated_by")
    notice = NoticeField()

    @extend_schema_field({"type": "object", "additionalProperties": {"type": ["number", "null"]}})
    def get_total_resources(self, node: Any) -> dict[str, float | None]:
        found = quotas.totals(quotas.quotas_of(node))
        return {f"{WIRE[one]}Quota": scaled(one, found[one]) for one in RESOURCES}

    def get_status(self, node: Any) -> dict[str, Any]:
        held = self.context.get("held", {}).get(node.pk) or usage.held_by(node)
        allocated = {WIRE[one]: scaled(one, getattr(held, one)) for one in RESOURCES}
        return {"quotaStatus": {"allocated": allocated}}

    def get_created_by(self, node: Any) -> str:
        return str(node.created_by or "")

    def get_updated_by(self, node: Any) -> str:
        return str(node.updated_by or "")

    def cluster_of(self, data: Mapping[str, Any]) -> Cluster | None:
        """The cluster whose node pools an entry may name."""
        if (node := self.context.get("node")) is not None:
            found: Cluster = node.cluster
            return found
        pk = data.get("cluster_id")
        return Cluster.objects.filter(pk=pk).first() if pk else None

    def parts(self, data: Any) -> Mapping[str, Any]:
        rows = data.pop("resources", None)
        cluster = self.cluster_of(data) if rows else None
        if cluster is None:
            return {}
        pools = quotas.pools_of(cluster)
        for number, row in enumerate(rows):
            row["node_pool"] = _pool(row.pop("nodePool"), pools, f"resources.{number}.nodePool")
        return {"quotas": rows}


def _pool(given: Mapping[str, Any], pools: list[NodePool], at: str) -> NodePool:
    """The node pool of an entry; the default one where it names none."""
    pk, name = given.get("id"), given.get("name")
    if pk is None and name is None:
        return pools[0]
    for pool in pools:
        if (pk is None or str(pool.pk) == str(pk)) and (name is None or pool.name == name):
            return pool
    there = ", ".join(f"{one.name} ({one.pk})" for one in pools)
    _refuse("pool", at, pk or name, there)


_SHARED = (
    "id", "name", "description", "cluster_id", "node_types", "resources", "total_resources",
    "status",
    "created_at", "updated_at", "created_by", "updated_by", "notice",
)  # fmt: skip


class DepartmentSerializer(UnitSerializer):
    class Meta:
        model = Department
        fields = _SHARED
        fixed = ("cluster_id",)


class ProjectSerializer(UnitSerializer):
    cluster_id = serializers.UUIDField(required=False)
    parent_id = IdField(source="department_id", required=False)
    parent = serializers.SerializerMethodField()  # type: ignore[assignment]  # name of the API
    requested_namespace = serializers.CharField(source="own_namespace", required=False)
    enforce_runai_scheduler = serializers.BooleanField(required=False, write_only=True)
    default_node_pools = serializers.ListField(
        child=serializers.CharField(max_length=63), source="default_pools", required=False
    )
    effective = serializers.SerializerMethodField()

    class Meta:
        model = Project
        fields = (
            *_SHARED, "parent_id", "parent", "requested_namespace", "enforce_runai_scheduler",
            "default_node_pools", "effective",
        )  # fmt: skip
        fixed = ("cluster_id", "department_id")

    def to_representation(self, instance: Project) -> dict[str, Any]:
        return super().to_representation(instance) | {
            "requestedNamespace": instance.namespace,
            "enforceRunaiScheduler": False,
        }

    def get_parent(self, project: Project) -> dict[str, str]:
        return {"id": str(project.department_id), "name": project.department.name}

    def get_effective(self, project: Project) -> dict[str, Any]:
        names = [one.name for one in quotas.pools_of(project.cluster)]
        of_department = project.department.node_types
        types = [one for one in project.node_types if one in of_department or not of_department]
        return {
            "defaultNodePools": project.default_pools or names,
            "nodeTypes": {"training": types or of_department, "workspace": []},
        }

    def get_status(self, node: Any) -> dict[str, Any]:
        return {"namespace": node.namespace, "phase": "Ready", **super().get_status(node)}

    def cluster_of(self, data: Mapping[str, Any]) -> Cluster | None:
        if self.context.get("node") is None and (pk := data.get("department_id")):
            row = Department.objects.filter(pk=pk).select_related("cluster").first()
            return row.cluster if row else None
        return super().cluster_of(data)
