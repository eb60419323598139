"""Where an asset can be used: the projects in which it holds, the nodes that are large enough."""

from collections.abc import Iterator

from django.db.models import Count, Q, QuerySet

from assets.claims import clusters_of
from assets.models import Asset, Compute
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.clusters.models import Cluster
from gangline.organization.models import Project
from gangline.organization.selectors import visible_projects
from gangline.resources.registry import get
from gangline.scopes.models import ScopeKind
from gangline.spec.types import quantity_bytes


def projects_with(user: User, asset: Asset) -> QuerySet[Project]:
    """Projects in which the asset holds and the person may create workloads."""
    rows = visible_projects(user, Permission.WORKLOAD_CREATE)
    if asset.scope.kind == ScopeKind.TENANT:
        return rows
    scope = asset.scope_id
    return rows.filter(Q(scope=scope) | Q(department__scope=scope) | Q(cluster__scope=scope))


def nodes_for(user: User, compute: Compute) -> Iterator[tuple[Cluster, int, int]]:
    """Of each cluster where it holds: how many ready nodes can hold such a pod, and how many
    nodes there are. Whether anything runs on them does not matter."""
    there = [one.pk for one in clusters_of(compute.scope)]
    clusters = get("cluster").visible(user).filter(pk__in=there)
    values = compute.values
    cores = values.get("compute.cpuCoreRequest") or 0
    gpus = values.get("compute.gpuDevicesRequest") or 0
    size = quantity_bytes(values.get("compute.cpuMemoryRequest") or "0")
    fits = Q(nodes__status="Ready", nodes__cpu__gte=cores, nodes__memory__gte=size)
    counted = clusters.annotate(
        fit=Count("nodes", filter=fits & Q(nodes__gpus__gte=gpus)), count=Count("nodes")
    )
    for one in counted.filter(count__gt=0).order_by("name"):
        yield one, one.fit, one.count
