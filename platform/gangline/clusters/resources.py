"""Clusters, node pools and nodes as resources."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Case, F, QuerySet, Sum, Value, When
from django.db.models.functions import Coalesce
from django.dispatch import Signal
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import ngettext
from pydantic import ValidationError as InvalidModel

from gangline.access.actor import Actor
from gangline.access.grants import can, holds
from gangline.access.permissions import Permission
from gangline.access.refusals import NotAllowed
from gangline.accounts.models import User
from gangline.db.expressions import total
from gangline.db.locks import locked
from gangline.drivers.registry import DRIVERS
from gangline.lib.problems import Problem, Refused, of_model
from gangline.lib.sealing import CannotSeal
from gangline.resources.registry import get, register
from gangline.resources.resource import Action, Nav, Panel, Resource, Wire
from gangline.resources.services import create, delete
from gangline.resources.tables import column, name_column, table, time_column
from gangline.tables import filters
from gangline.tables.cells import NONE
from gangline.tables.columns import two_lines
from gangline.web import components, formats

from . import checks, connections, credentials, duplicate_clusters, nodes, panels, services
from .connections import facts_of
from .models import DEFAULT_POOL, Cluster, Credential, NetworkTopology, Node, NodePool, Orphan
from .selectors import cluster_choices, health_of, visible_clusters
from .storage_classes import StorageClasses
from .topologies import NetworkTopologies

forgetting = Signal()
"""Sent with ``cluster`` within the transaction that forgets it with all that is on it."""


def _health(row: Cluster) -> SafeString:
    found = health_of(row)
    drawn = components.status(found, found.reason)
    if found.since is not None:
        since = components.time_ago(found.since)
        drawn = format_html('{}<span class="sub">Since {}</span>', drawn, since)
    if row.strays:  # type: ignore[attr-defined]  # annotated
        url = f"{get('cluster').url(row)}/checks#orphans"
        noun = ngettext("object", "objects", row.strays)  # type: ignore[attr-defined]
        more = '{}<a class="sub" href="{}">{} unmanaged {}</a>'
        drawn = format_html(more, drawn, url, row.strays, noun)  # type: ignore[attr-defined]
    return drawn


def _kind(row: Cluster) -> SafeString | str:
    """The engine, its version below."""
    version = row.facts.get("version")
    return two_lines(row.engine.label, version) if version else row.engine.label


_CLUSTER = filters.choice("cluster", "Cluster", "cluster_id")
_CLIENTS = (
    filters.for_clients("name", "name"),
    filters.for_clients("clusterId", "cluster_id", filters.Kind.ID),
)
_DATES = filters.dates("created", "Created", "created_at", wire="createdAt")
CLUSTERS_TABLE = table(
    "clusters",
    name_column("cluster", "Cluster"),
    column("health", "Connection", "health", cell=_health, sort="health", width="l"),
    column("kind", "Kind", "engine.label", sort="kind", cell=_kind, width="l", drops=3),
    column("version", "Version", "facts", text=lambda row: row.facts.get("version", ""),
           cell=lambda row: row.facts.get("version", "") or NONE, is_default=False),
    column("cpus", "CPU", "pk", cell=lambda row: panels.meter(row, "cpus"),
           text=lambda row: row.capacity.get("cpus", ""), width="m"),
    column("memory", "Memory", "pk", cell=lambda row: panels.meter(row, "memory"),
           text=lambda row: row.capacity.get("memory", ""), width="l", drops=1),
    column("gpus", "GPU", "gpu_count", cell=lambda row: panels.meter(row, "gpus"), width="s"),
    column("id", "ID", "pk", is_default=False),
    time_column("checked", "Last contact", "last_ok_at", is_default=False),
    noun=("cluster", "clusters"),
    search=("name", "description"),
    filters=(
        filters.choice("kind", "Kind", "kind"),
        _DATES,
        filters.for_clients("name", "name"),
    ),
)  # fmt: skip


class Clusters(Resource[Cluster]):
    model = Cluster
    key = "cluster"
    path = "clusters"
    lede = "Where workloads run."
    empty_text = "Clusters of your projects appear here. Ask an administrator for a role."
    delete_text = (
        "Gangline deletes the cluster’s policies and erases its credential. Nothing on the cluster "
        "itself is changed."
    )
    form = "gangline.clusters.forms.ClusterForm"
    table = CLUSTERS_TABLE
    related = ("scope__parent", "connection_check", "created_by", "updated_by")
    confirm_by_name = True
    detail_template = "clusters/detail.html"
    form_template = "clusters/form.html"
    delete_template = "clusters/delete.html"
    wire = Wire(
        path="clusters",
        serializer="gangline.clusters.serializers.ClusterSerializer",
        viewset="gangline.clusters.serializers.ClusterViewSet",
        deleted=202,
        edited=204,
        is_paged=False,
        methods=frozenset({"list", "create", "get", "put", "delete"}),
    )
    actions = (
        Action(
            label="Replace credential",
            icon="key",
            url=lambda row: reverse("cluster-credential", args=[row.pk]),
            when=lambda row: row.engine.credential is not None,
        ),
    )
    panels = panels.PANELS
    create_label, submit_label = "Connect a cluster", "Connect"

    def visible(self, user: User) -> QuerySet[Cluster]:
        return visible_clusters(user)

    def rows(self, user: User) -> QuerySet[Cluster]:
        sure = total(Orphan.objects.filter(is_sure=True, decision=""), "cluster")
        strays = Case(When(holds(user, Permission.CLUSTER_VIEW), then=sure), default=0)
        return super().rows(user).annotate(strays=strays)

    def choices(self, user: User) -> Mapping[str, Sequence[tuple[str, str]]]:
        return {"kind": [(kind.key, kind.label) for kind in DRIVERS.values()]}

    def detail_context(self, request: HttpRequest, obj: Cluster) -> dict[str, Any]:
        return panels.head(request, obj)

    def snapshot(self, obj: Cluster) -> dict[str, Any]:
        found = super().snapshot(obj)
        found.pop("config")
        credential = Credential.objects.filter(cluster=obj).first()
        shown = None
        if credential is not None:
            shown = f"{credential.identity} {credential.fingerprint} for {credential.server}"
        return found | dict(obj.config) | {"signs_in_with": shown}

    def check(self, obj: Cluster, *, actor: Actor | None, before: Cluster | None) -> None:
        if before is None:
            duplicate_clusters.hold()
        if before is not None and before.kind != obj.kind:
            raise ValidationError({"kind": ValidationError("It cannot be changed.", "fixed")})
        model = obj.engine.connection
        try:
            stored = model.model_validate(obj.config)
        except InvalidModel as error:
            names = {str(info.alias): name for name, info in model.model_fields.items()}
            problems = of_model(error, by_alias=names)
            raise ValidationError(
                {one.path: ValidationError(one.told, one.code) for one in problems}
            ) from None
        if problems := list(obj.engine.connection_problems(stored, connections.site())):
            raise ValidationError(
                {one.path: ValidationError(one.told, one.code) for one in problems}
            )
        old = model.model_validate(before.config) if before is not None else None
        for name in model.model_fields:
            options = {one.value: one for one in obj.engine.options(name, facts_of(obj))}
            value = getattr(stored, name)
            if options and value not in options:
                says = f"Choose one of: {', '.join(one for one in options if one)}."
                raise ValidationError({name: ValidationError(says, "choice")})
            if options and not options[value].is_there and value != getattr(old, name, None):
                says = f"{options[value].title} is {options[value].note}."
                raise ValidationError({name: ValidationError(says, "not_there")})

    def save_parts(self, obj: Cluster, parts: Mapping[str, Any], *, actor: Actor | None) -> None:
        if not obj.pools.exists():
            values = {"cluster": obj, "name": DEFAULT_POOL, "is_default": True}
            create(get("node_pool"), actor=None, values=values)
        if parts.get("access") is None:
            return
        duplicate_clusters.hold()
        duplicate_clusters.refuse(str(parts.get("uid") or ""), but=obj)
        try:
            credentials.store(obj, parts["access"], by=actor.user if actor else None)
        except CannotSeal as why:
            raise Refused([Problem("sealing", "", {"said": str(why)})]) from why
        if parts.get("uid"):
            # Before the first check ends, too, it is known here.
            obj.facts = {
                **obj.facts,
                "detail": {**obj.facts.get("detail", {}), "uid": parts["uid"]},
            }
            obj.save(update_fields=["facts"])

    def saved(self, obj: Cluster, *, actor: Actor | None, changes: Mapping[str, Any]) -> None:
        is_new_here = not changes and obj.credential_at is not None
        if actor is not None and (is_new_here or "scheduler" in changes):
            checks.check(actor=actor, cluster=obj)

    def kept_because(self, obj: Cluster) -> Problem | None:
        if obj.engine.credential is not None:
            return None
        return Problem("own", "", {"value": obj.name})

    def delete(self, obj: Cluster, *, actor: Actor | None) -> None:
        services.clear_notices(obj)
        pk = obj.pk
        super().delete(obj, actor=actor)
        connections.forget(pk)

    def forget(self, obj: Cluster, *, actor: Actor) -> None:
        """With everything that uses it: asked for by name and in so many words.

        What higher apps keep about it goes by `forgetting`.
        """
        with transaction.atomic():
            row = locked(Cluster.objects.filter(pk=obj.pk)).get()
            place = self.place(row, "delete")
            if not can(actor.user, self.permission("delete"), place):
                raise NotAllowed(self.permission("delete"), place)
            forgetting.send(Cluster, cluster=row)
            delete(self, actor=actor, obj=row)


class NodePools(Resource[NodePool]):
    model = NodePool
    key = "node_pool"
    path = "node-pools"
    lede = "Nodes of a cluster that share a label. Quota is assigned per pool."
    form = "gangline.clusters.forms.NodePoolForm"
    nav = Nav(group="Infrastructure", icon="stack", order=20)
    scope_path = "cluster__scope"
    related = ("cluster__scope__parent", "network_topology", "created_by", "updated_by")
    delete_text = "Its nodes move to the next pool whose label they have, or to the default pool."
    wire = Wire(
        path="node-pools",
        envelope="nodepools",
        serializer="gangline.clusters.serializers.NodePoolSerializer",
        methods=frozenset({"list", "count", "create", "get", "put", "patch", "delete"}),
    )
    table = table(
        "node_pools",
        name_column("node_pool", "Node pool"),
        column("cluster", "Cluster", "cluster.name", sort="cluster__name"),
        column("label", "Label", "label_key", cell=panels.pool_label,
               text=lambda row: f"{row.label_key}={row.label_value}" if row.label_key else ""),
        column("nodes", "Nodes", "node_count", sort="node_count", right=True, width="s"),
        column("gpus", "GPUs", "gpu_sum", sort="gpu_sum", right=True, width="s"),
        noun=("node pool", "node pools"),
        search=("name", "description", "label_key", "label_value"),
        filters=(_CLUSTER, _DATES, *_CLIENTS,
                 filters.for_clients("updatedAt", "updated_at", filters.Kind.DATES)),
    )  # fmt: skip
    panels = (
        Panel(title="Nodes", template="clusters/parts/nodes.html", context=panels.pool_nodes),
    )

    def facts_of(self, request: HttpRequest, obj: NodePool) -> Sequence[tuple[str, Any]]:
        return (
            ("Cluster", obj.cluster),
            ("Label", panels.pool_label(obj)),
            ("Network topology", obj.network_topology),
        )

    def rows(self, user: User) -> QuerySet[NodePool]:
        nodes = Node.objects.all()
        return (
            super()
            .rows(user)
            .annotate(
                node_count=total(nodes, "pool"),
                gpu_sum=total(nodes, "pool", Sum("gpus")),
            )
        )

    def choices(self, user: User) -> Mapping[str, Sequence[tuple[str, str]]]:
        return {"cluster": cluster_choices(user)}

    def check(self, obj: NodePool, *, actor: Actor | None, before: NodePool | None) -> None:
        topologies = NetworkTopology.objects.filter(cluster_id=obj.cluster_id)
        chosen = obj.network_topology_id
        if chosen and not topologies.filter(pk=chosen).exists():
            says = "The cluster has no such network topology."
            raise ValidationError({"network_topology_id": ValidationError(says, "not_there")})
        if obj.is_default:
            if obj.label_key or obj.label_value:
                says = "The default pool holds the nodes of no other pool, so it has no label."
                raise ValidationError({"label_key": ValidationError(says, "default")})
            return
        missing = [name for name in ("label_key", "label_value") if not getattr(obj, name)]
        if missing:
            required = ValidationError("This field is required.", "required")
            raise ValidationError(dict.fromkeys(missing, required))
        same = NodePool.objects.filter(
            cluster_id=obj.cluster_id, label_key=obj.label_key, label_value=obj.label_value
        ).exclude(pk=obj.pk)
        if other := same.first():
            says = f"Node pool {other.name} already has this label."
            raise ValidationError({"label_value": ValidationError(says, "unique")})

    def saved(self, obj: NodePool, *, actor: Actor | None, changes: Mapping[str, Any]) -> None:
        nodes.sort_into_pools(obj.cluster)

    def kept_because(self, obj: NodePool) -> Problem | None:
        if not obj.is_default:
            return None
        return Problem("default")

    def delete(self, obj: NodePool, *, actor: Actor | None) -> None:
        cluster = obj.cluster
        super().delete(obj, actor=actor)
        nodes.sort_into_pools(cluster)


class Nodes(Resource[Node]):
    model = Node
    key = "node"
    path = "nodes"
    lede = "Machines of all clusters, as of the last check."
    empty_text = "The nodes of a cluster are listed here once it is connected."
    nav = Nav(group="Infrastructure", icon="cpu", order=30)
    verbs = frozenset({"view"})
    scope_path = "cluster__scope"
    related = ("cluster__scope__parent", "pool")
    wire = Wire(
        path="nodes",
        envelope="nodes",
        serializer="gangline.clusters.serializers.NodeSerializer",
        viewset="gangline.clusters.serializers.NodeViewSet",
        methods=frozenset({"list", "count"}),
    )
    table = table(
        "nodes",
        name_column("node", "Node"),
        column("cluster", "Cluster", "cluster.name", sort="cluster__name", width="m", drops=2),
        column("pool", "Node pool", "pool_name", sort="pool_name", width="m", drops=1),
        column("status", "Status", "status", cell=panels.node_status, sort="status", width="m"),
        column("gpus", "GPUs", "gpus", sort="gpus", right=True, width="s"),
        column("gpu_type", "GPU type", "gpu_type", sort="gpu_type", width="m", drops=3),
        column("cpu", "CPU", "cpu", cell=lambda row: f"{row.cpu:g}", right=True,
               width="s"),
        column("memory", "Memory", "memory", cell=lambda row: formats.size(row.memory),
               sort="memory", right=True, width="m"),
        noun=("node", "nodes"),
        filters=(
            _CLUSTER,
            filters.choice("status", "Status", "status", wire="status",
                           choices=tuple((one, one) for one in nodes.STATUSES)),
            *_CLIENTS,
            filters.for_clients("nodePool", "pool_name"),
            filters.for_clients("gpuType", "gpu_type"),
            filters.for_clients("clusterUuid", "cluster_id", filters.Kind.ID),
        ),
    )  # fmt: skip
    panels = (Panel(title="Labels and taints", template="clusters/parts/node.html",
                    context=lambda request, obj: {"node": obj}),)  # fmt: skip

    def rows(self, user: User) -> QuerySet[Node]:
        pool = Coalesce(F("pool__name"), Value(""))
        return super().rows(user).annotate(pool_name=pool)

    def choices(self, user: User) -> Mapping[str, Sequence[tuple[str, str]]]:
        return {"cluster": cluster_choices(user)}

    def facts_of(self, request: HttpRequest, obj: Node) -> Sequence[tuple[str, Any]]:
        return (
            ("Cluster", obj.cluster),
            ("Node pool", obj.pool),
            ("Status", panels.node_status(obj)),
            ("CPU cores", f"{obj.cpu:g}"),
            ("Memory", formats.size(obj.memory)),
            ("GPUs", f"{obj.gpus} × {obj.gpu_type}" if obj.gpu_type else str(obj.gpus)),
        )


register(Clusters())
register(NodePools())
register(Nodes())
register(NetworkTopologies())
register(StorageClasses())
