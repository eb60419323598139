"""What data sources need on clusters: claims that are made at once, objects that must be there.

A claim lies in the namespace of each project that can use it: a cluster shares none between them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assets.credentials import copies
from assets.credentials.references import references
from assets.credentials.types import PREFIXES
from assets.kinds import kind_of_asset
from assets.models import Asset, Credential
from assets.scopes import projects_below
from assets.selectors.data import claim_of, item_name
from gangline.clusters import objects
from gangline.clusters.models import ClusterObject, ObjectState
from gangline.clusters.storage import classes
from gangline.drivers import claims
from gangline.organization.models import Project
from gangline.scopes.models import Installation
from gangline.scopes.selectors import scopes_to
from gangline.spec.problems import Role
from gangline.spec.storage import Volume

SYNCED = (Asset.Kind.PVC, Asset.Kind.CONFIG_MAP, Asset.Kind.SECRET)
"""Kinds that need something on the clusters."""


def needs_object(asset: Asset) -> bool:
    """Whether something must be on the clusters: of a credential, Gangline makes the Secret."""
    if asset.kind != Asset.Kind.SECRET:
        return asset.kind in SYNCED
    name = str(kind_of_asset(asset).item_of(asset.values).get("secret", ""))
    return not name.startswith(PREFIXES)


@dataclass(frozen=True, slots=True)
class State:
    """How a data source is in one project."""

    state: str
    """``ok``, ``creating``, ``failed`` or ``deleting``."""
    problem: str = ""

    @property
    def sentence(self) -> str:
        """Why it cannot be used now; empty when it can."""
        words = {
            "creating": "It is being created on this cluster.",
            "deleting": "It is being deleted.",
            "failed": f"Not on this cluster: {self.problem or 'it could not be created.'}",
        }
        return words.get(self.state, "")


def keep(asset: Asset) -> None:
    """Want what the data source needs in every project that can use it."""
    if needs_object(asset):
        for project in projects_below(asset.scope_id):
            keep_in(asset, project)


def keep_in(asset: Asset, project: Project) -> None:
    objects.want(project.cluster, (asset.kind, str(asset.pk)), _wanted(asset, project))


def keep_for(project: Project) -> None:
    """Everything that a new project can use of the scopes above it."""
    line = [scope.pk for scope in scopes_to(project.scope)]
    for asset in Asset.objects.filter(kind__in=SYNCED, scope__in=line):
        if needs_object(asset):
            keep_in(asset, project)
    for credential in Credential.objects.filter(is_ours=False, scope__in=line):
        copies.keep(credential)


def let_go(asset: Asset) -> None:
    """Take away what was made for it; what was there before stays."""
    objects.unwant(objects.of(asset, asset.kind))


def states_in(project: Project, assets: Iterable[Asset]) -> Mapping[str, State]:
    """By id of the data source, in one query: only those that need something on the cluster."""
    wanted = [asset for asset in assets if needs_object(asset)]
    if not wanted:
        return {}
    rows = ClusterObject.objects.filter(
        cluster=project.cluster_id,
        namespace=project.claims_namespace,
        owner_type__in=SYNCED,
        owner_id__in=[str(asset.pk) for asset in wanted],
    )
    found = {row.owner_id: state_of(row) for row in rows}
    missing = State("creating")
    return {str(asset.pk): found.get(str(asset.pk), missing) for asset in wanted}


def states_of(assets: Sequence[Asset]) -> Mapping[str, list[tuple[ClusterObject, State]]]:
    """The state in each place, by id of the data source, in one query."""
    ids = [str(asset.pk) for asset in assets if needs_object(asset)]
    rows = ClusterObject.objects.filter(owner_type__in=SYNCED, owner_id__in=ids)
    found: dict[str, list[tuple[ClusterObject, State]]] = {one: [] for one in ids}
    for row in rows.select_related("cluster").order_by("cluster__name", "namespace"):
        found[row.owner_id].append((row, state_of(row)))
    return found


def state_of(row: ClusterObject) -> State:
    match row.state:
        case ObjectState.OK:
            return State("ok")
        case ObjectState.WAITING:
            return State("creating")
        case ObjectState.DELETING:
            return State("deleting")
        case _:
            return State("failed", row.why)


def _wanted(asset: Asset, project: Project) -> dict[str, Any]:
    """The manifest. Without content it is an object that others made: it is only looked for."""
    kind, namespace = kind_of_asset(asset), project.claims_namespace
    item = kind.item_of(asset.values)
    if asset.kind == Asset.Kind.CONFIG_MAP:
        return claims.manifest(claims.CONFIG_MAP, namespace, item["configMap"])
    if asset.kind == Asset.Kind.SECRET:
        return claims.manifest(claims.SECRET, namespace, item["secret"])
    if item.get("existingPvc"):
        return claims.manifest(claims.CLAIM, namespace, claim_of(asset))
    install = str(Installation.objects.values_list("pk", flat=True).get())
    marks = {
        "app.kubernetes.io/managed-by": "gangline",
        "gangline.dev/install": install,
        "gangline.dev/data-source": str(asset.pk),
    }
    given = kind.named(asset.values, item_name(asset))
    volume = Volume.model_validate(classes(project.cluster).completed(given))
    return claims.claim(namespace, claim_of(asset), volume, marks)


def told(asset: Asset) -> dict[str, Any]:
    """The state over all places, in the words of Run:ai's clients."""
    if not needs_object(asset):
        credential = _credential_of(asset)
        return {"status": copies.status(credential) if credential else "No status"}
    places = states_of([asset])[str(asset.pk)]
    failed = [(row, state) for row, state in places if state.state == "failed"]
    words = {"creating": "Creating", "deleting": "Deleting"}
    others = [words[state.state] for _, state in places if state.state in words]
    below = projects_below(asset.scope_id) if failed else ()
    ids = {(one.cluster_id, one.claims_namespace): one.pk for one in below}
    return {
        "status": "Issues found" if failed else next(iter(others), "No issues found"),
        "issues": [
            {
                "scopeType": "project",
                "scopeId": str(ids.get((row.cluster_id, row.namespace), "")),
                "issue": "NotCreated",
                "message": state.problem,
            }
            for row, state in failed
        ],
    }


def _credential_of(asset: Asset) -> Credential | None:
    """The one that the data source names; its copies are what a cluster needs."""
    given = {f"{Role.WORKER}.{path}": value for path, value in asset.values.items()}
    name = next((one.name for one in references(given)), "")
    return Credential.objects.filter(object_name=name).first() if name else None
