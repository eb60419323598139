"""Claims of PVC data sources, and what their storage classes say of them on each cluster."""

from collections.abc import Iterator, Mapping
from typing import Any

from assets.kinds import AssetKind
from assets.models import Asset
from gangline.clusters.connections import driver_for
from gangline.clusters.models import Cluster
from gangline.clusters.storage import classes, storage_facts
from gangline.drivers.base import Unknown
from gangline.drivers.claims import ListsClaims
from gangline.drivers.classes import note
from gangline.drivers.facts import Choice, FieldNote
from gangline.drivers.kind import Unconnectable
from gangline.scopes.models import Scope, ScopeKind
from gangline.scopes.selectors import scopes_to
from gangline.spec.problems import Problem, Role
from gangline.spec.storage import Volume
from gangline.spec.storage_classes import CLASS


def clusters_of(scope: Scope) -> list[Cluster]:
    """Those in which the scope lies, or all of them."""
    line = [one.pk for one in scopes_to(scope) if one.kind == ScopeKind.CLUSTER]
    rows = Cluster.objects.filter(scope__in=line) if line else Cluster.objects.all()
    return list(rows.order_by("name"))


def note_for(scope: Scope) -> FieldNote:
    """What the form of a PVC data source offers there."""
    notes = [note(storage_facts(one), for_assets=True) for one in clusters_of(scope)]
    if len(notes) == 1:
        return notes[0]
    # Of several clusters nobody knows which: only the names are offered.
    listed = [one.value for told in notes for one in told.choices.get(CLASS, ()) if one.value]
    names = sorted(set(listed))
    first = Choice("", "Each cluster’s default")
    return FieldNote(choices={CLASS: (first, *map(Choice, names))} if names else {})


def existing(scope: Scope) -> list[str]:
    """Claims of a project that others made, as its cluster tells them now; none where it does not.

    One that does not answer is not asked: a form is not worth waiting for it.
    """
    if scope.kind != ScopeKind.PROJECT or scope.project.cluster.health != "Connected":
        return []
    try:
        driver = driver_for(scope.project.cluster)
    except Unconnectable:
        return []
    namespace = scope.project.claims_namespace
    found = driver.claims_there(namespace) if isinstance(driver, ListsClaims) else ()
    return [] if isinstance(found, Unknown) else list(found)


def completed(kind: AssetKind, values: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
    """``values`` with what the one cluster there gives to claims of the class."""
    item, found = kind.item_of(values), clusters_of(scope) if _makes_one(kind, values) else ()
    if len(found) != 1:
        return dict(values)
    return {**values, kind.item: [classes(found[0]).completed(item)]}


def problems(kind: AssetKind, values: Mapping[str, Any], scope: Scope) -> Iterator[Problem]:
    """What the claim asks for and its class does not allow, by cluster (V18)."""
    if not _makes_one(kind, values):
        return
    for cluster in clusters_of(scope):
        listed = storage_facts(cluster).get("storageClasses")
        if listed is None:
            continue
        known, item = classes(cluster), kind.named(values)
        volume = Volume.model_validate(known.completed(item))
        wanted = (volume.claim_info and volume.claim_info.storage_class) or ""
        names = [str(one["name"]) for one in listed]
        if wanted and wanted not in names:
            there = ", ".join(names) or "none"
            at = Problem("cluster:no_class_there", CLASS, {"accepted": there})
            yield _placed(kind, at.at(cluster=cluster.name))
            continue
        rules = known.of(wanted)
        for one in rules.breaches(volume, is_asset=True):
            source = f"storage class {rules.name}" if rules.name else f"cluster {cluster.name}"
            yield _placed(kind, one.at(source=source))


def _makes_one(kind: AssetKind, values: Mapping[str, Any]) -> bool:
    return kind.key == Asset.Kind.PVC and kind.item_of(values).get("existingPvc") is not True


def _placed(kind: AssetKind, problem: Problem) -> Problem:
    """``problem`` with a volume at its place among the values of the asset."""
    spec = kind.fields[kind.item].attribute(problem.path)
    label = problem.label or (spec.label if spec else problem.path)
    at = f"{kind.item}.0.{problem.path}"
    return problem.at(role=Role.WORKER, path=at, label=label)
