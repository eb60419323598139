"""Orphans: what bears this installation's label on a cluster and belongs to no workload (§8.6).

A missing row proves nothing: a look lists the cluster before it reads the rows, two looks must
agree, and nothing is deleted unless a person says so of that one object.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from gangline.access.actor import Actor
from gangline.access.grants import can
from gangline.access.permissions import Permission
from gangline.access.refusals import NotAllowed, NotVisible
from gangline.audit import actions
from gangline.audit.services import record
from gangline.clusters.connections import driver_for
from gangline.clusters.models import Cluster, Orphan
from gangline.db.clock import db_now
from gangline.db.locks import locked
from gangline.drivers.base import (
    AttemptRef,
    Busy,
    Done,
    Driver,
    NotYet,
    OwnedObject,
    ReplicaState,
    Result,
    Unknown,
)
from gangline.drivers.kind import Unconnectable
from gangline.lib.texts import as_uuid
from workloads import refs
from workloads.models import Attempt, Workload

log = logging.getLogger(__name__)

EVERY = timedelta(minutes=5)
APART = timedelta(seconds=60)
"""Between the two looks that make an orphan sure."""
GONE_WITHIN = timedelta(seconds=10)
"""Between looks while the end of one is awaited that somebody asked to delete."""
AWAITED_FOR = timedelta(minutes=2)
MOST = 200
"""Orphans that are kept of one cluster, the oldest first."""
IGNORE, DELETE = "ignore", "delete"
_LIVES = (ReplicaState.STARTING, ReplicaState.RUNNING, ReplicaState.UNKNOWN)


class CannotDelete(Exception):
    """Why an orphan stays, in a sentence."""


def take_turn(cluster: Cluster) -> bool:
    """Whether a look is due; one process at a time gets a yes."""
    now = db_now()
    unsure = Orphan.objects.filter(cluster=OuterRef("pk"), is_sure=False)
    is_due = Q(searched_at=None) | Q(searched_at__lte=now - EVERY)
    soon = Q(Exists(unsure), searched_at__lte=now - APART - timedelta(seconds=5))
    asked = Orphan.objects.filter(cluster=OuterRef("pk"), decision=DELETE)
    going = asked.filter(decided_at__gte=now - AWAITED_FOR)
    at_once = Q(Exists(going), searched_at__lte=now - GONE_WITHIN)
    rows = Cluster.objects.filter(is_due | soon | at_once, pk=cluster.pk)
    return bool(rows.update(searched_at=now))


def search(cluster: Cluster, driver: Driver) -> bool:
    """One look; False when the cluster could not tell, and then nothing is changed."""
    owned = driver.owned_objects(refs.installation_id())
    if isinstance(owned, Unknown):
        log.info("the search for orphans on %s: %s", cluster.name, owned.reason)
        failed(cluster, owned.reason)
        return False
    # Only now: a submission writes its row before it makes anything.
    stray = _without_row(owned)
    known = set(Orphan.objects.filter(cluster=cluster).values_list("ext_uid", flat=True))
    stray.sort(key=lambda one: (one.ref.ext_uid not in known, _age(one)))
    kept = [one for one in stray if one.ref.ext_uid in known or not one.is_going][:MOST]
    pods = [_living(driver, one.ref) for one in kept]
    with transaction.atomic():
        # Of a cluster that was removed meanwhile, nothing is stored.
        if locked(Cluster.objects.filter(pk=cluster.pk)).first() is not None:
            _store(cluster, kept, pods)
    failed(cluster, "")
    return True


def failed(cluster: Cluster, why: str) -> None:
    """Keep for the cluster's page why a search could not tell; empty: it could."""
    rows = Cluster.objects.filter(pk=cluster.pk).exclude(search_trouble=why)
    rows.update(search_trouble=why)


def delete(*, actor: Actor, cluster: Cluster, orphan_id: int) -> Orphan:
    """Delete one object on the cluster, by its uid.

    Raises NotVisible, NotAllowed, or CannotDelete with the reason.
    """
    orphan = _decide(actor, cluster, orphan_id, DELETE, actions.ORPHAN_DELETE)
    owned = OwnedObject(ref=_ref(orphan), kind=orphan.kind)
    if not _without_row([owned]):
        _take_back(orphan)
        raise CannotDelete(f"{orphan} belongs to a workload now. Delete the workload.")
    try:
        result = driver_for(cluster).delete_object(owned)
    except Unconnectable as error:
        result = Unknown(str(error))
    if isinstance(result, Done):
        orphan.delete()
    elif not isinstance(result, NotYet):
        _take_back(orphan)
        why = _why_not(result)
        _record(actor, actions.ORPHAN_DELETE, cluster, orphan, result="failed", reason=why)
        raise CannotDelete(f"{orphan} was not deleted: {why}")
    return orphan


def ignore(*, actor: Actor, cluster: Cluster, orphan_id: int) -> Orphan:
    """Put it away; it stays on the cluster. Raises NotVisible or NotAllowed."""
    return _decide(actor, cluster, orphan_id, IGNORE, actions.ORPHAN_IGNORE)


def list_again(*, actor: Actor, cluster: Cluster, orphan_id: int) -> Orphan:
    """Show one that was put away. Raises NotVisible or NotAllowed."""
    return _decide(actor, cluster, orphan_id, "", actions.ORPHAN_LIST)


def _without_row(owned: Iterable[OwnedObject]) -> list[OwnedObject]:
    """Those of which no workload lives, on whatever cluster: two names may mean the same one.

    Also copies, which only have the labels of a living one.
    """
    found = list(owned)
    ids = {key for one in found if (key := as_uuid(one.ref.workload)) is not None}
    asked, live = sorted(ids), dict[UUID, dict[int, str]]()
    for start in range(0, len(asked), 500):
        rows = Attempt.objects.filter(
            workload__in=asked[start : start + 500], workload__deleted_at=None
        )
        for key, number, uid in rows.values_list("workload_id", "no", "ext_uid"):
            live.setdefault(key, {})[number] = uid
    return [one for one in found if not _is_held(one, live)]


def _is_held(one: OwnedObject, live: Mapping[UUID, Mapping[int, str]]) -> bool:
    key = as_uuid(one.ref.workload)
    if key is None or key not in live:
        return False
    # Until it was seen for the first time, its uid is unknown.
    return live[key].get(one.ref.attempt, "") in ("", one.ref.ext_uid)


def _living(driver: Driver, ref: AttemptRef) -> int | None:
    """How many of its pods live; None when there is no telling."""
    if not ref.workload:
        return 0
    seen = driver.observe(ref)
    if not seen.replicas and seen.reason:
        return None
    return sum(one.state in _LIVES for one in seen.replicas)


def _store(cluster: Cluster, kept: Sequence[OwnedObject], pods: Sequence[int | None]) -> None:
    now = db_now()
    there = [one.ref.ext_uid for one in kept]
    Orphan.objects.filter(cluster=cluster).exclude(ext_uid__in=there).delete()
    known = {row.ext_uid: row for row in Orphan.objects.filter(cluster=cluster)}
    reasons = _reasons(kept)
    for one, living in zip(kept, pods, strict=True):
        seen = _values(one, reasons.get(one.ref.workload, "Its workload is unknown here."))
        seen |= {"seen_at": now} | ({} if living is None else {"pods": living})
        uid = one.ref.ext_uid
        if (row := known.get(uid)) is None:
            Orphan.objects.create(cluster=cluster, ext_uid=uid, first_seen_at=now, **seen)
            continue
        if now - row.first_seen_at >= APART:
            seen["is_sure"] = True
        # Not the whole row, which may be decided about or deleted at the same time.
        Orphan.objects.filter(pk=row.pk).update(**seen)


def _values(one: OwnedObject, why: str) -> dict[str, Any]:
    """The columns of an object."""
    return {
        "kind": one.kind,
        "name": one.ref.name,
        "namespace": one.ref.namespace,
        "workload": one.ref.workload,
        "attempt": one.ref.attempt,
        "labels": dict(one.labels),
        "gpus": one.gpus,
        "created_at": one.created_at,
        "is_going": one.is_going,
        "why": why if one.ref.workload else "It names no workload.",
    }


def _reasons(stray: Sequence[OwnedObject]) -> dict[str, str]:
    """Why they are here, by workload."""
    ids = {key for one in stray if (key := as_uuid(one.ref.workload)) is not None}
    rows = Workload.objects.filter(pk__in=ids).values_list("pk", "name", "deleted_at")
    return {
        str(key): "Its workload was deleted."
        if deleted_at
        else f"It is a copy: it has the labels of {name}, which has an object of its own."
        for key, name, deleted_at in rows
    }


def _age(one: OwnedObject) -> datetime:
    return one.created_at or datetime.max.replace(tzinfo=UTC)


def _decide(actor: Actor, cluster: Cluster, orphan_id: int, decision: str, action: str) -> Orphan:
    if not can(actor.user, Permission.CLUSTER_EDIT, cluster.scope):
        raise NotAllowed(Permission.CLUSTER_EDIT, cluster.scope)
    with transaction.atomic():
        rows = Orphan.objects.filter(cluster=cluster, pk=orphan_id, is_sure=True)
        orphan = locked(rows).first()
        if orphan is None:
            raise NotVisible
        orphan.decision = decision
        orphan.decided_at, orphan.decided_by = db_now(), actor.user
        orphan.save(update_fields=["decision", "decided_at", "decided_by"])
        _record(actor, action, cluster, orphan)
    return orphan


def _take_back(orphan: Orphan) -> None:
    """The decision had no effect: it can be made again."""
    Orphan.objects.filter(pk=orphan.pk).update(decision="", decided_at=None, decided_by=None)


def _ref(orphan: Orphan) -> AttemptRef:
    return AttemptRef(
        install=refs.installation_id(),
        workload=orphan.workload,
        attempt=orphan.attempt,
        name=orphan.name,
        namespace=orphan.namespace,
        ext_uid=orphan.ext_uid,
    )


def _why_not(result: Result) -> str:
    if isinstance(result, Busy):
        return result.reason or "The cluster is busy. Try again in a minute."
    return getattr(result, "reason", "") or "The cluster gave no reason."


def _record(
    actor: Actor,
    action: str,
    cluster: Cluster,
    orphan: Orphan,
    *,
    result: str = "ok",
    reason: str = "",
) -> None:
    record(
        actor=actor,
        action=action,
        object_type="orphan",
        object_id=orphan.ext_uid,
        object_name=f"{orphan.namespace}/{orphan.name}",
        scope=cluster.scope,
        result=result,
        reason=reason,
        detail={"kind": orphan.kind, "cluster": cluster.name, "workload": orphan.workload},
    )
