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
from gangline.clusters.drivers.base import Health
from gangline.clusters.drivers.kubernetes.access import Access
from gangline.clusters.models import Cluster, Credential
from gangline.db.locks import locked

from .intake import Intake
from .models import Scope
from .services import create_cluster

log = logging.getLogger(__name__)


class CannotRemove(Exception):
    """Why a cluster stays, in a sentence."""


def connect(*, actor: Actor | None, intake: Intake) -> Cluster:
    """Make a cluster with its credential, both or neither.

    Raises NameRefused, NotAllowed or CannotSeal. ``intake`` is one without anything wrong.
    """
    access = _fit(intake)
    with transaction.atomic():
        cluster = create_cluster(actor=actor, name=intake.typed.name, kind=connections.KUBERNETES)
        cluster.config = intake.config
        credential = credentials.store(cluster, access, by=actor.user if actor else None)
        _record(actor, actions.CLUSTER_CREDENTIAL, cluster, detail=_shown(credential))
    return cluster


def replace(*, actor: Actor, cluster: Cluster, access: Access) -> Credential:
    """Sign in otherwise from now on. The old credential is forgotten."""
    _need(actor, cluster)
    with transaction.atomic():
        row = locked(Cluster.objects.filter(pk=cluster.pk)).get()
        credential = credentials.store(row, access, by=actor.user)
        _record(actor, actions.CLUSTER_CREDENTIAL, cluster, detail=_shown(credential))
    return credential


def remove(*, actor: Actor, cluster: Cluster) -> None:
    """Forget a cluster on which there are no projects; nothing on the cluster itself is touched.

    Raises CannotRemove with the reason, or NotAllowed.
    """
    _need(actor, cluster)
    if cluster.kind != connections.KUBERNETES:
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
    connections.forget(cluster.pk)


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
        try:
            _record(
                actor,
                actions.CLUSTER_CHECK,
                cluster,
                result="ok" if health.reachable else "denied",
                reason=health.reason,
            )
        except DatabaseError:
            log.exception("the check of %s could not be audited", cluster.name)

    checks.start(cluster, after=after)


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
    if not can(actor.user, Permission.CLUSTER_MANAGE, cluster.scope):
        raise NotAllowed(Permission.CLUSTER_MANAGE, cluster.scope)


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
