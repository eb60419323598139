"""Objects that Gangline keeps on clusters: applied until what is there is what is wanted.

Level-triggered: a row says what should be there and when it is looked at next. Whoever reconciles
reads the row, applies or removes the object, and writes down how it went; doing it twice, or after
a crash, comes to the same.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Model, QuerySet

from gangline.db.clock import db_now
from gangline.db.locks import locked
from gangline.drivers.base import Kept, KeptObject, ObjectKeeper
from gangline.drivers.kind import Unconnectable
from gangline.lib.problems import Problem

from . import contact
from .connections import acts_here, driver_for
from .models import Cluster, ClusterObject, ObjectState

log = logging.getLogger(__name__)

AGAIN = timedelta(minutes=10)
"""After so long an object is applied again, whatever became of it on the cluster."""
SOON = timedelta(seconds=30)
"""After a failure."""
HELD = timedelta(minutes=2)
"""So long one process may take for an object before another one tries."""


class CannotFill(Exception):
    """What belongs into an object cannot be had, in words why."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A manifest with what is never stored, and the texts that no answer may repeat."""

    manifest: Mapping[str, Any] = field(repr=False)
    hidden: tuple[str, ...] = field(default=(), repr=False)


_fillers: dict[str, Callable[[ClusterObject], Filled]] = {}
LEAST_HIDDEN = 6
"""Shorter texts are everywhere."""
LEAST_HIDDEN_LINE = 16


def fill_with(owner_type: str, filler: Callable[[ClusterObject], Filled]) -> None:
    """Let a higher app put what is secret into its objects while they are applied."""
    _fillers[owner_type] = filler


def want(cluster: Cluster, owner: tuple[str, str], wanted: Mapping[str, Any]) -> ClusterObject:
    """Keep ``wanted`` (a manifest) on the cluster for ``owner`` (key of a resource, id).

    Without content it is an object that others made, which is only looked for.
    """
    meta = wanted["metadata"]
    is_others = KeptObject(wanted["kind"], "", meta["name"], wanted).is_others
    with transaction.atomic():
        row, _ = ClusterObject.objects.get_or_create(
            cluster=cluster,
            kind=wanted["kind"],
            namespace=meta.get("namespace", ""),
            name=meta["name"],
            looked_for_by=owner[1] if is_others else "",
            defaults={"owner_type": owner[0], "owner_id": owner[1]},
        )
        row = locked(ClusterObject.objects.filter(pk=row.pk)).get()
        digest = hash_of(wanted)
        if row.wanted_hash == digest and row.state != ObjectState.DELETING:
            return row
        row.owner_type, row.owner_id = owner
        row.wanted, row.wanted_hash = dict(wanted), digest
        row.state, row.problem, row.due_at = ObjectState.WAITING, None, db_now()
        row.save()
    return row


def unwant(rows: QuerySet[ClusterObject]) -> int:
    """Take the objects away; their rows go once the cluster says that they are gone."""
    return rows.update(state=ObjectState.DELETING, due_at=db_now(), problem=None)


def of(owner: Model, key: str) -> QuerySet[ClusterObject]:
    """The objects that are kept for one of ours."""
    return ClusterObject.objects.filter(owner_type=key, owner_id=str(owner.pk))


def reconcile_due(limit: int = 20) -> int:
    """One turn: every object that is due, each taken by one process; returns how many."""
    done = 0
    for pk in _due().values_list("pk", flat=True)[:limit]:
        if (row := _take(pk)) is not None:
            _reconcile(row)
            done += 1
    return done


def hash_of(wanted: Mapping[str, Any]) -> str:
    """The same for the same content, whatever its order."""
    return hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()


def _due() -> QuerySet[ClusterObject]:
    return ClusterObject.objects.filter(due_at__lte=db_now()).order_by("due_at", "pk")


def _take(pk: int) -> ClusterObject | None:
    """The row, if it is still due: nobody else takes it for a while."""
    with transaction.atomic():
        row = locked(_due().filter(pk=pk)).select_related("cluster").first()
        if row is None:
            return None
        if not acts_here(row.cluster) or contact.is_resting(row.cluster):
            ClusterObject.objects.filter(pk=pk).update(due_at=db_now() + SOON)
            return None
        row.due_at = db_now() + HELD
        row.save(update_fields=["due_at"])
        return row


def _reconcile(row: ClusterObject) -> None:
    """Ask the cluster, outside of any transaction, and store what came of it."""
    wanted = KeptObject(row.kind, row.namespace, row.name, row.wanted)
    try:
        driver = driver_for(row.cluster)
        if not isinstance(driver, ObjectKeeper):
            raise Unconnectable(
                f"The cluster {row.cluster.name} does not support objects of this kind."
            )
        is_unwanted = row.state == ObjectState.DELETING
        kept = driver.remove(wanted) if is_unwanted else _apply(driver, row, wanted)
    except (Unconnectable, CannotFill) as why:
        kept = Kept("failed", Problem("unconnectable", "", {"said": str(why)}))
    _store(row, kept)


def _apply(driver: ObjectKeeper, row: ClusterObject, wanted: KeptObject) -> Kept:
    filler = _fillers.get(row.owner_type)
    if filler is None:
        return driver.apply(wanted)
    filled = filler(row)
    kept = driver.apply(replace(wanted, wanted=filled.manifest))
    if kept.problem is None:
        return kept

    forms = sorted(_forms(filled.hidden), key=len, reverse=True)

    def redacted(text: str) -> str:
        for form in forms:
            text = text.replace(form, "[redacted]")
        return text

    return replace(kept, problem=kept.problem.cleaned(redacted))


def _forms(hidden: Iterable[str]) -> set[str]:
    """What a message may repeat of secrets: the whole, as it is or quoted, or a line of it."""
    found = set()
    for secret in hidden:
        if len(secret) >= LEAST_HIDDEN:
            found |= {
                secret,
                json.dumps(secret)[1:-1],
                json.dumps(secret, ensure_ascii=False)[1:-1],
            }
        found |= {line for line in secret.splitlines() if len(line) >= LEAST_HIDDEN_LINE}
    return found


def _store(row: ClusterObject, kept: Kept) -> None:
    """Only where the row still wants the same: a change meanwhile is looked at anew."""
    own = ClusterObject.objects.filter(
        pk=row.pk, wanted_hash=row.wanted_hash, state=row.state, due_at=row.due_at
    )
    if kept.state == "gone":
        own.delete()
        return
    is_deleting = row.state == ObjectState.DELETING
    values: dict[str, Any] = {
        "problem": kept.problem.as_stored() if kept.problem else None,
        "due_at": db_now() + (AGAIN if kept.state == "ok" and not is_deleting else SOON),
    }
    if not is_deleting:
        values["state"] = ObjectState(kept.state)
        if kept.state == "ok":
            values["applied_hash"] = row.wanted_hash
    if kept.problem is not None:
        log.info("%s of %s: %s", row, row.cluster_id, kept.problem.message)
    own.update(**values)
