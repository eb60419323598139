"""Who may mount a data volume, and where its claim can be mounted at all."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import Q, QuerySet

from assets import sync
from assets.models import Asset, DataVolume
from gangline.clusters.models import ClusterObject
from gangline.organization.models import Project
from gangline.scopes.models import Scope, ScopeKind
from gangline.scopes.selectors import scopes_to

PHASES = {"ok": "Ready", "creating": "Creating", "deleting": "Deleting", "failed": "NotReady"}
"""The state of the claim, in the words of Run:ai's clients."""


def shared_with(scopes: Iterable[int]) -> Q:
    """Data volumes that are shared with one of the scopes."""
    shares = Asset.shared.through._default_manager.filter(scope__in=list(scopes))
    return Q(kind=Asset.Kind.DATA_VOLUME, pk__in=shares.values("asset"))


def usable_in(project: Project) -> QuerySet[DataVolume]:
    """Those of the project itself, and those that are shared with it or a scope above it."""
    line = [scope.pk for scope in scopes_to(project.scope)]
    rows: QuerySet[DataVolume] = DataVolume.objects.filter(
        Q(scope=project.scope_id) | shared_with(line)
    )
    return rows.select_related("origin", "scope__project__cluster").order_by("name")


def why_not(volume: Asset, project: Project) -> str:
    """Why pods of ``project`` cannot mount the claim, as a clause; empty when they can."""
    home: Project = volume.scope.project
    if home.pk == project.pk or project.cluster.engine.shares_claims:
        return ""
    return (
        f"its claim is in the namespace {home.claims_namespace}, and pods of other namespaces "
        "cannot mount it. To share this data here, put it where every project reaches it, such as "
        "an NFS data source"
    )


def states_in(project: Project, volumes: Iterable[Asset]) -> Mapping[str, sync.State]:
    """By id, in one query: how the claim of each is, as a project sees it."""
    volumes = list(volumes)
    claims = states_of(volumes)
    found = {}
    for one in volumes:
        why = why_not(one, project)
        found[str(one.pk)] = sync.State("failed", f"{why}.") if why else claims[str(one.pk)]
    return found


def states_of(volumes: Iterable[Asset]) -> Mapping[str, sync.State]:
    """By id, in one query: how the claim of each is."""
    volumes = list(volumes)
    if not volumes:
        return {}
    rows = ClusterObject.objects.filter(
        owner_type=Asset.Kind.PVC, owner_id__in=[str(one.origin_id) for one in volumes]
    )
    states = {(row.owner_id, row.namespace): sync.state_of(row) for row in rows}
    missing = sync.State("creating")
    return {
        str(one.pk): states.get((str(one.origin_id), one.scope.project.claims_namespace), missing)
        for one in volumes
    }


def cluster_of(scope: Scope) -> Scope | None:
    """The cluster that a scope is or lies in; None for the whole installation."""
    return next((one for one in scopes_to(scope) if one.kind == ScopeKind.CLUSTER), None)


def shares_of(volume: Any) -> list[Scope]:
    return list(volume.shared.order_by("kind", "name"))
