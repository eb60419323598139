"""Network topologies as a resource: which labels of nodes are near to each other."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join

from gangline.accounts.models import User
from gangline.resources.registry import Uses, get, register_usage
from gangline.resources.resource import Nav, Resource, Wire
from gangline.resources.tables import column, name_column, table
from gangline.tables import filters

from .models import NetworkTopology, NodePool
from .selectors import cluster_choices


def _levels(row: NetworkTopology) -> str:
    return " → ".join(row.levels)


class NetworkTopologies(Resource[NetworkTopology]):
    model = NetworkTopology
    key = "network_topology"
    entity = "node_pool"
    path = "network-topologies"
    lede = (
        "Node labels that describe how close nodes are to each other. Workloads can stay within "
        "one level."
    )
    empty_text = "A network topology names labels of nodes, from the farthest level to the closest."
    form = "gangline.clusters.forms.NetworkTopologyForm"
    nav = Nav(group="Infrastructure", icon="stack", order=35)
    scope_path = "cluster__scope"
    related = ("cluster__scope__parent", "created_by", "updated_by")
    wire = Wire(
        path="network-topologies",
        envelope="networkTopologies",
        serializer="gangline.clusters.serializers.NetworkTopologySerializer",
        methods=frozenset({"list", "count", "create", "get", "put", "delete"}),
    )
    table = table(
        "network_topologies",
        name_column("network_topology", "Network topology"),
        column("cluster", "Cluster", "cluster.name", sort="cluster__name", width="m"),
        column("levels", "Levels", cell=_levels, text=_levels, width="l"),
        column("phase", "Status", "phase", width="s"),
        noun=("network topology", "network topologies"),
        search=("name", "description"),
        filters=(
            filters.choice("cluster", "Cluster", "cluster_id"),
            filters.for_clients("name", "name"),
            filters.for_clients("clusterId", "cluster_id", filters.Kind.ID),
        ),
    )

    def rows(self, user: User) -> QuerySet[NetworkTopology]:
        return super().rows(user).prefetch_related("pools")

    def choices(self, user: User) -> Mapping[str, Sequence[tuple[str, str]]]:
        return {"cluster": cluster_choices(user)}

    def facts_of(self, request: HttpRequest, obj: NetworkTopology) -> Sequence[tuple[str, Any]]:
        levels = format_html_join("", "<div>{}</div>", ((one,) for one in obj.levels))
        return (("Cluster", obj.cluster), ("Levels", levels), ("Status", obj.phase))


def _pools_of(topology: Any) -> Uses:
    pools = get("node_pool")
    rows = NodePool.objects.filter(network_topology=topology)
    return Uses("node pool", rows, pools.visible, pools.url)


register_usage(NetworkTopology, _pools_of)
