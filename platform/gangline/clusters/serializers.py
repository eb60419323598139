"""How the API writes and reads clusters, node pools and nodes."""

from collections.abc import Mapping
from typing import Any, ClassVar
from uuid import UUID, uuid5

from django.db.models import Count, Max, QuerySet, Sum
from django.http import HttpResponseBase
from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from pydantic import ValidationError
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gangline.api import filtering
from gangline.api.paging import BadQuery, known_only
from gangline.api.schema import component, errors
from gangline.api.telemetry import TELEMETRY, Aggregate, Group, Telemetry, added_up
from gangline.db.clock import db_now
from gangline.drivers.checks import State
from gangline.drivers.kind import Settings
from gangline.drivers.registry import DRIVERS
from gangline.lib.problems import Refused, of_model, under
from gangline.resources.api import ExtraRoute, IdField, ResourceSerializer, ResourceViewSet
from gangline.resources.registry import get

from .connections import site
from .models import DEFAULT_POOL, LONGEST_KEY, Cluster, NetworkTopology, Node, NodePool
from .selectors import health_of

STATES = {
    "Waiting to connect": "WaitingToConnect",
    "Connected": "Connected",
    "Not connected": "Disconnected",
    "Not reachable": "Disconnected",
    "Missing permission": "MissingPrerequisites",
    "Not watched": "ServiceIssues",
    "Updates delayed": "ServiceIssues",
}
CONDITIONS = {State.OK: "True", State.WARNING: "True", State.FAILED: "False"}


class SettingsField(serializers.DictField):
    """One part of what the kinds of clusters declare, named as in `ClusterKind`."""

    part: ClassVar[str]


class ConnectionField(SettingsField):
    """Settings as the kind of the cluster declares them."""

    part = "connection"


class CredentialField(SettingsField):
    """How to sign in, as the kind of the cluster declares it. Never given back."""

    part = "credential"


class SettingsSchema(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    """Any of what the kinds declare, each with its own fields: the whitelist of a body."""

    target_class = SettingsField
    match_subclasses = True

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        models = [getattr(kind, self.target.part) for kind in DRIVERS.values()]
        return {"anyOf": [m.model_json_schema(by_alias=True) for m in models if m]}


class ClusterSerializer(ResourceSerializer):
    uuid = serializers.UUIDField(source="id", read_only=True)
    tenant_id = serializers.SerializerMethodField(method_name="get_tenant_id")
    version = serializers.CharField(required=False, write_only=True, max_length=63)
    """Clients of Run:ai send it: the version is what the cluster itself tells."""
    connection = ConnectionField(source="config", required=False)
    credential = CredentialField(required=False, write_only=True)

    class Meta:
        model = Cluster
        fields = (
            "uuid", "tenant_id", "name", "description", "kind", "domain", "version",
            "when_unreachable", "connection", "credential", "created_at", "updated_at",
        )  # fmt: skip
        fixed = ("kind",)

    def get_tenant_id(self, obj: Cluster) -> int:
        return 1

    def to_representation(self, obj: Cluster) -> dict[str, Any]:
        found: dict[str, Any] = super().to_representation(obj)
        found |= {
            "version": obj.facts.get("version", ""),
            "lastLiveness": obj.last_ok_at,
            "deletedAt": None,
        }
        if self.context.get("verbosity") != "metadata":
            found["status"] = _status(obj)
        return found

    def parts(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """The credential as an access that was judged; settings by their whitelist."""
        values: dict[str, Any] = data  # type: ignore[assignment]
        values.pop("version", None)
        given = values.pop("credential", None)
        kind = DRIVERS.get(str(values.get("kind") or getattr(self.instance, "kind", "kubernetes")))
        if kind is None:
            return {}
        if "config" in values:
            _read(kind.connection, "connection", values["config"])
        if given is None or kind.credential is None:
            return {}
        found = kind.admit(_read(kind.credential, "credential", given), site(), db_now())
        if found.problems:
            raise Refused(list(under("credential", list(found.problems))))
        return {"access": found.access, "uid": kind.uid(found.access, site())}


def _read(model: type[Settings], path: str, given: Mapping[str, Any]) -> Settings:
    try:
        return model.model_validate(given, by_alias=True, by_name=False)
    except ValidationError as error:
        raise Refused(list(under(path, of_model(error)))) from None


def _status(cluster: Cluster) -> dict[str, Any]:
    health = health_of(cluster)
    row: Any = getattr(cluster, "connection_check", None)
    steps = row.steps if row is not None and not row.is_trial else ()
    frameworks = cluster.facts.get("frameworks", ())
    return {
        "state": STATES.get(health.word, "Unknown"),
        "reason": health.reason,
        "conditions": [
            {
                "type": step["name"],
                "status": CONDITIONS.get(State(step["state"]), "Unknown"),
                "reason": str(step["state"]).capitalize(),
                "message": step["sentence"],
                "lastTransitionTime": row.ended_at or row.started_at,
            }
            for step in steps
        ],
        "platform": {"kubeVersion": cluster.facts.get("version", "")},
        "dependencies": {
            "required": {},
            "optional": {
                one["framework"]: {"available": one["available"], "reason": one.get("reason", "")}
                for one in frameworks
            },
        },
    }


INSTALL_INFO = component(
    "ClusterInstallInfo",
    {
        "type": "object",
        "required": ["installationStr", "repositoryName", "chartRepoURL", "clientSecret"],
        "properties": {
            "installationStr": {
                "type": "string",
                "description": "Commands; empty: none.",
            },
            "manifest": {"type": "string", "description": "What they apply, as YAML."},
            "repositoryName": {"type": "string"},
            "chartRepoURL": {"type": "string"},
            "clientSecret": {"type": "string"},
        },
    },
)


class ClusterViewSet(ResourceViewSet):
    extra_routes = (
        ExtraRoute("{id}/nodes", {"get": "nodes"}),
        ExtraRoute("{id}/nodes/count", {"get": "node_count"}),
        ExtraRoute("{id}/cluster-install-info", {"get": "install_info"}),
    )
    extra_parameters: ClassVar[frozenset[str]] = frozenset(
        {"verbosity", "includeRequestedForDelete"}
    )

    def get_serializer_context(self) -> dict[str, Any]:
        verbosity = self.request.query_params.get("verbosity", "full")
        if verbosity not in ("full", "metadata"):
            raise BadQuery("verbosity must be full or metadata.")
        return {**super().get_serializer_context(), "verbosity": verbosity}

    @extend_schema(
        operation_id="listClusterNodes", responses={200: OpenApiTypes.OBJECT, **errors(404)}
    )
    def nodes(self, request: Request, pk: Any) -> HttpResponseBase:
        """The nodes of one cluster."""
        return self._nodes(pk).list(request)

    @extend_schema(
        operation_id="countClusterNodes",
        responses={200: {"$ref": "#/components/schemas/Count"}, **errors(404)},
    )
    def node_count(self, request: Request, pk: Any) -> Response:
        """How many they are."""
        return self._nodes(pk).count(request)

    @extend_schema(
        operation_id="getClusterInstallInfo",
        parameters=[
            OpenApiParameter("version", OpenApiTypes.STR),
            OpenApiParameter("remoteClusterUrl", OpenApiTypes.STR),
        ],
        responses={200: INSTALL_INFO, **errors(400, 404)},
    )
    def install_info(self, request: Request, pk: Any) -> Response:
        """What to run on the cluster. Nothing is installed there but an account with its roles."""
        known_only(request, frozenset({"version", "remoteClusterUrl"}))
        guide = self.object(pk).engine.guide()
        return Response(
            {
                "installationStr": guide.commands if guide else "",
                "manifest": guide.manifest if guide else "",
                # There is no chart, and no agent of ours that would need a secret.
                "repositoryName": "",
                "chartRepoURL": "",
                "clientSecret": "",
            }
        )

    def _nodes(self, pk: Any) -> "NodeViewSet":
        return NodeViewSet(
            resource=get("node"), request=self.request, format_kwarg=None, cluster=self.object(pk)
        )

    def destroy(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        """``force=true``: with everything that is on it."""
        if request.query_params.get("force", "").lower() != "true":
            return super().destroy(request, pk, **kwargs)
        self.resource.forget(self.object(pk), actor=self.actor)  # type: ignore[attr-defined]
        return Response({"message": "Deleted."}, status=202)


class InstallFile(ClusterViewSet):
    """The manifest alone, where old clients look for it."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        self.resource = get("cluster")  # type: ignore[misc]
        super().initial(request, *args, **kwargs)

    @extend_schema(
        operation_id="getInstallFile",
        deprecated=True,
        parameters=[
            OpenApiParameter(name, OpenApiTypes.STR) for name in ("cloud", "clusterip", "format")
        ],
        responses={200: OpenApiTypes.STR, **errors(400, 404)},
    )
    def retrieve(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        """YAML in a JSON text; see …/cluster-install-info."""
        known_only(request, frozenset({"cloud", "clusterip", "format"}))
        guide = self.object(pk).engine.guide()
        return Response(guide.manifest if guide else "")


class _OfCluster(ResourceSerializer):
    """What node pools and network topologies say alike."""

    tenant_id = serializers.SerializerMethodField(method_name="get_tenant_id")
    cluster_id = serializers.UUIDField()
    cluster_name = serializers.CharField(source="cluster.name", read_only=True)
    created_by = serializers.SerializerMethodField(method_name="get_created_by")
    updated_by = serializers.SerializerMethodField(method_name="get_updated_by")

    def get_tenant_id(self, obj: Any) -> int:
        return 1

    def get_created_by(self, obj: Any) -> str:
        return str(obj.created_by or "")

    def get_updated_by(self, obj: Any) -> str:
        return str(obj.updated_by or "")


class NetworkTopologySerializer(_OfCluster):
    levels = serializers.ListField(child=serializers.CharField(max_length=LONGEST_KEY))
    node_pools = serializers.SerializerMethodField(method_name="get_node_pools")
    phase = serializers.CharField(read_only=True)

    class Meta:
        model = NetworkTopology
        fields = (
            "id", "tenant_id", "name", "description", "levels", "cluster_id", "cluster_name",
            "node_pools", "phase", "created_at", "created_by", "updated_at", "updated_by",
        )  # fmt: skip
        fixed = ("cluster_id", "name")

    def get_node_pools(self, obj: NetworkTopology) -> list[str]:
        return sorted(pool.name for pool in obj.pools.all())


class NodePoolSerializer(_OfCluster):
    id = IdField(read_only=True)
    network_topology_id = serializers.UUIDField(required=False)
    network_topology_name = serializers.CharField(source="network_topology.name", read_only=True)
    phase = serializers.SerializerMethodField()
    over_provisioning_ratio = serializers.ChoiceField([1], required=False, write_only=True)
    gpu_network_acceleration_detection = serializers.ChoiceField(
        ["Auto"], required=False, write_only=True
    )
    """Clients of Run:ai send these two with every pool; no other value has an effect here."""

    class Meta:
        model = NodePool
        fields = (
            "id", "tenant_id", "name", "description", "label_key", "label_value", "cluster_id",
            "cluster_name", "is_default", "network_topology_id", "network_topology_name", "phase",
            "over_provisioning_ratio", "gpu_network_acceleration_detection", "created_at",
            "created_by", "updated_at", "updated_by",
        )  # fmt: skip
        read_only_fields = ("is_default",)
        fixed = ("cluster_id", "name")

    def parts(self, data: Any) -> Mapping[str, Any]:
        for name in ("over_provisioning_ratio", "gpu_network_acceleration_detection"):
            data.pop(name, None)
        return {}

    def to_representation(self, obj: NodePool) -> dict[str, Any]:
        """The default pool has the nodes of no other, and no label; clients take no empty one."""
        found: dict[str, Any] = super().to_representation(obj)
        return found | {n: DEFAULT_POOL for n in ("labelKey", "labelValue") if not found[n]}

    def get_phase(self, obj: NodePool) -> str:
        return "Ready" if getattr(obj, "node_count", 0) else "Empty"


def node_id(cluster_id: UUID, name: str) -> str:
    """What clients call a node by: it stays when the probe finds the node anew."""
    return str(uuid5(cluster_id, name))


class NodeSerializer(ResourceSerializer):
    id = serializers.SerializerMethodField(method_name="get_id")
    cluster_uuid = serializers.UUIDField(source="cluster_id", read_only=True)
    node_pool = serializers.CharField(source="pool.name", read_only=True, default="")

    class Meta:
        model = Node
        fields = ("id", "name", "cluster_uuid", "status", "node_pool", "taints", "labels")

    def get_id(self, obj: Node) -> str:
        return node_id(obj.cluster_id, obj.name)

    def to_representation(self, obj: Node) -> dict[str, Any]:
        found: dict[str, Any] = super().to_representation(obj)
        found["status"] = "NotReady" if obj.status == "Cordoned" else obj.status
        return found | {
            "conditions": [],
            "gpuInfo": {"gpuType": obj.gpu_type, "gpuCount": obj.gpus},
            "cpu": obj.cpu,
            "memory": obj.memory,
            "createdAt": obj.created_at,
            "updatedAt": obj.seen_at,
        }


def _with_gpus(rows: QuerySet[Node]) -> QuerySet[Node]:
    return rows.filter(gpus__gt=0)


NODE_FIGURES = Telemetry[Aggregate](
    figures={
        "TOTAL_GPU_NODES": lambda rows: (_with_gpus(rows), Count("pk")),
        "READY_GPU_NODES": lambda rows: (_with_gpus(rows).filter(status="Ready"), Count("pk")),
        "TOTAL_GPUS": lambda rows: (rows, Sum("gpus")),
        "READY_GPUS": lambda rows: (rows.filter(status="Ready"), Sum("gpus")),
        "TOTAL_CPU_CORES": lambda rows: (rows, Sum("cpu")),
        "TOTAL_CPU_MEMORY_BYTES": lambda rows: (rows, Sum("memory")),
    },
    groups={
        "ClusterId": Group("cluster_id", "cluster__name"),
        "Nodepool": Group("pool_id", "pool_name"),
        "Node": Group("pk", "name"),
    },
)


class NodeViewSet(ResourceViewSet):
    cluster: Cluster | None = None
    """Whose nodes these are; None: all that the caller sees."""

    def base_rows(self) -> QuerySet[Any]:
        rows = super().base_rows()
        return rows if self.cluster is None else rows.filter(cluster=self.cluster)

    def versions(self) -> object:
        return tuple(self.base_rows().aggregate(Count("pk"), Max("seen_at")).values())

    extra_routes: ClassVar[tuple[ExtraRoute, ...]] = (
        ExtraRoute("telemetry", {"get": "telemetry"}),
    )

    @extend_schema(
        operation_id="nodeTelemetry",
        parameters=[
            *NODE_FIGURES.parameters,
            OpenApiParameter("clusterId", OpenApiTypes.UUID),
            OpenApiParameter("nodepoolName", OpenApiTypes.STR),
        ],
        responses={200: TELEMETRY, **errors(400)},
    )
    def telemetry(self, request: Request) -> Response:
        """What the nodes are, as the last look found them."""
        known_only(request, frozenset({"telemetryType", "groupBy", "clusterId", "nodepoolName"}))
        rows, query = self.base_rows(), request.query_params
        if cluster := query.get("clusterId"):
            try:
                rows = rows.filter(cluster_id=filtering.uuid(cluster))
            except filtering.NotAValue as error:
                raise BadQuery(f"clusterId must be {error}.") from error
        if pool := query.get("nodepoolName"):
            rows = rows.filter(pool_name=pool)
        return Response(added_up(NODE_FIGURES, request, rows))
