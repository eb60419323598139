"""Connecting Kubernetes clusters, giving them another credential, taking them away again."""

import logging
from collections.abc import Mapping
from typing import Any

from django.db import DatabaseError, transaction

from gangline.access.actor import Actor
from gangline.access.grants import can
from gangline.access.permissions import Permission
from gangline.access.refusals import NotAllowed
from gangline.audit import actions
from gangline.audit.services import record
from gangline.clusters import checks, connections, credentials
from gangline.clusters.models import Cluster, Credential
from gangline.clusters.services import clear_notices
from gangline.db.clock import db_now
from gangline.db.locks import locked
from gangline.drivers.facts import Health
from gangline.drivers.kubernetes.access import Access
from gangline.lib.sealing import CannotSeal
from gangline.scopes.models import Scope

from . import twins
from .intake import Intake
from .services import create_cluster

log = logging.getLogger(__name__)


class CannotRemove(Exception):
    """Why a cluster stays, in a sentence."""


def connect(*, actor: Actor | None, intake: Intake) -> Cluster:
    """Make a cluster with its credential, both or neither.

    Raises NameRefused, NotAllowed, AlreadyConnected or CannotSeal. ``intake`` is one without
    anything wrong.
    """
    access = _fit(intake)
    uid = twins.uid_at(access)
    with transaction.atomic():
        twins.hold()
        twins.refuse(uid)
        cluster = create_cluster(actor=actor, name=intake.typed.name, kind=connections.KUBERNETES)
        cluster.config = intake.config
        if uid:
            # Before the first check ends, too, it is known here.
            cluster.facts = {"detail": {"uid": uid}}
            cluster.save(update_fields=["facts"])
        credential = credentials.store(cluster, access, by=actor.user if actor else None)
        _record(actor, actions.CLUSTER_CREDENTIAL, cluster, detail=_shown(credential))
    return cluster


def replace(
    *, actor: Actor, cluster: Cluster, access: Access, even_without_rights: bool = False
) -> None:
    """Begin to sign in otherwise: the credential is stored once the whole check found it good.

    Until then, and for ever if it fails, the one that is there holds. Raises NotAllowed, or
    AlreadyConnected where that is known at once.
    """
    _need(actor, cluster)
    twins.refuse(twins.uid_at(access), but=cluster)
    revision = cluster.revision

    def keep(health: Health) -> str:
        with transaction.atomic():
            twins.hold()
            row = locked(Cluster.objects.filter(pk=cluster.pk)).first()
            if row is None:
                return "The cluster was removed meanwhile."
            if why := _overtaken(row, revision) or _twin(row, health) or _elsewhere(row, health):
                return why
            try:
                credential = credentials.store(row, access, by=actor.user)
            except CannotSeal as error:
                return str(error)
            changed(row, by=actor)
            _record(actor, actions.CLUSTER_CREDENTIAL, row, detail=_shown(credential))
        cluster.refresh_from_db()
        return ""

    def after(health: Health) -> None:
        if not health.reachable:
            detail = {"server": access.server}
            _told(
                actor, actions.CLUSTER_CREDENTIAL, cluster, detail=detail, result="denied",
                reason=health.reason,
            )  # fmt: skip

    checks.start(cluster, after=after, trial=checks.Trial(access, keep, even_without_rights))


def changed(row: Cluster, *, by: Actor) -> None:
    """Note who changed the settings, so that nobody overwrites it unseen. ``row`` is locked."""
    row.revision, row.changed_at, row.changed_by = row.revision + 1, db_now(), by.user
    row.save(update_fields=["revision", "changed_at", "changed_by"])


def remove(*, actor: Actor, cluster: Cluster) -> None:
    """Forget a cluster on which there are no projects; nothing on the cluster itself is touched.

    Raises CannotRemove with the reason, or NotAllowed.
    """
    _need(actor, cluster)
    if not is_removable(cluster):
        raise CannotRemove(f"{cluster.name} is this machine, which cannot be removed.")
    with transaction.atomic():
        row = locked(Cluster.objects.filter(pk=cluster.pk)).get()
        if why := reason_to_stay(row):
            raise CannotRemove(why)
        departments = list(row.departments.all())
        _record(actor, actions.CLUSTER_REMOVE, cluster, detail={"departments": len(departments)})
        scopes = [department.scope_id for department in departments]
        row.departments.all().delete()
        row.delete()
        Scope.objects.filter(pk__in=scopes).delete()
        Scope.objects.filter(pk=cluster.scope_id).delete()
        clear_notices(cluster)
    connections.forget(cluster.pk)


def is_removable(cluster: Cluster) -> bool:
    """Whether clusters of this kind can be removed at all."""
    return cluster.kind == connections.KUBERNETES


def reason_to_stay(cluster: Cluster) -> str:
    """Why the cluster cannot be removed now; empty when it can."""
    names = list(cluster.projects.order_by("name").values_list("name", flat=True)[:4])
    if not names:
        return ""
    more = cluster.projects.count() - 3
    shown = ", ".join(names[:3]) + (f" and {more} more" if more > 0 else "")
    noun = "project" if len(names) == 1 else "projects"
    return f"{cluster.name} still has the {noun} {shown}. Trainings and their history belong to it."


def check(*, actor: Actor, cluster: Cluster) -> None:
    """Begin a connection check; the audit log is told how it ended."""
    _need(actor, cluster)

    def after(health: Health) -> None:
        result = "ok" if health.reachable else "denied"
        _told(actor, actions.CLUSTER_CHECK, cluster, result=result, reason=health.reason)

    checks.start(cluster, after=after)


def _told(actor: Actor, action: str, cluster: Cluster, **more: Any) -> None:
    """Into the audit log, from the thread of a check, which goes on without it."""
    try:
        _record(actor, action, cluster, **more)
    except DatabaseError:
        log.exception("%s of %s could not be audited", action, cluster.name)


def _overtaken(row: Cluster, revision: int) -> str:
    if row.revision == revision:
        return ""
    who = row.changed_by.username if row.changed_by else "Somebody"
    return f"{who} changed the cluster during the check. Look at it, then try again."


def _twin(row: Cluster, health: Health) -> str:
    """Whether it leads to a cluster that another row is."""
    try:
        twins.refuse(_uid(health), but=row)
    except twins.AlreadyConnected as why:
        return str(why)
    return ""


def _uid(health: Health) -> str:
    return str(health.facts.detail.get("uid") or "") if health.facts else ""


def _elsewhere(row: Cluster, health: Health) -> str:
    """Whether it leads to another cluster than the one whose trainings are known here."""
    before, now = row.facts.get("detail", {}).get("uid"), _uid(health)
    if not before or before == now or not row.projects.exists():
        return ""
    if not now:
        return (
            "Whether it leads to the same cluster cannot be told: it may not read the namespace "
            "kube-system. Let it get namespaces."
        )
    return "It leads to another cluster. Connect that one as a cluster of its own."


def _fit(intake: Intake) -> Access:
    if intake.access is None:
        raise ValueError("an intake with something wrong cannot be connected")
    return intake.access


def _shown(credential: Credential) -> dict[str, str]:
    """What the audit log keeps: enough to tell which one it was."""
    return {
        "server": credential.server,
        "identity": credential.identity,
        "fingerprint": credential.fingerprint,
    }


def _need(actor: Actor, cluster: Cluster) -> None:
    if not can(actor.user, Permission.CLUSTER_EDIT, cluster.scope):
        raise NotAllowed(Permission.CLUSTER_EDIT, cluster.scope)


def _record(
    actor: Actor | None,
    action: str,
    cluster: Cluster,
    *,
    detail: Mapping[str, Any] | None = None,
    result: str = "ok",
    reason: str = "",
) -> None:
    record(
        actor=actor,
        action=action,
        object_type="cluster",
        object_id=str(cluster.pk),
        object_name=cluster.name,
        scope=None if action == actions.CLUSTER_REMOVE else cluster.scope,
        detail=detail,
        result=result,
        reason=reason,
    )
