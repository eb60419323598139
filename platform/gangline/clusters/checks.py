"""The connection check of a cluster, run beside the request that asked for it.

A page shows the steps as they come; they are kept with the cluster until the next check.
"""

import logging
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db import DatabaseError, close_old_connections, connections, transaction

from gangline.access.actor import Actor
from gangline.access.refusals import NotAllowed
from gangline.audit import actions
from gangline.audit.services import record
from gangline.db.clock import db_now
from gangline.drivers.checks import PERMISSIONS, State, Step
from gangline.drivers.facts import Health
from gangline.drivers.kind import Unconnectable
from gangline.lib.problems import Refused
from gangline.resources.registry import get
from gangline.resources.services import Conflict, update

from . import duplicate_clusters, services
from .connections import access_of, connection_of, site
from .models import Cluster, ConnectionCheck

log = logging.getLogger(__name__)

LONGEST = timedelta(seconds=40)
"""A check that has run for longer broke off: its process ended."""

CREDENTIAL = "Credential"
"""The last step of a trial: whether the new credential is stored."""
After = Callable[[Health], None]


@dataclass(frozen=True, slots=True)
class Trial:
    """A credential that is stored only if the check finds it good. Nobody else has it."""

    access: Any
    keep: Callable[[Health], str]
    """Store it; the reason why it was not, in words, or nothing."""
    even_without_rights: bool = False


@dataclass(frozen=True, slots=True)
class Progress:
    """Where the last check of a cluster is."""

    steps: tuple[Step, ...]
    to_come: tuple[str, ...]
    started_at: datetime
    ended_at: datetime | None
    is_running: bool
    broke_off: bool
    is_trial: bool


def progress(cluster: Cluster) -> Progress | None:
    """The last check; None before the first one."""
    row = ConnectionCheck.objects.filter(cluster=cluster).first()
    if row is None:
        return None
    steps = tuple(Step.from_json(one) for one in row.steps)
    is_old = db_now() - row.started_at > LONGEST
    is_running = row.ended_at is None and not is_old
    seen = {step.name for step in steps}
    names = (*cluster.engine.check_names, *([CREDENTIAL] if row.is_trial else ()))
    return Progress(
        steps,
        tuple(name for name in names if name not in seen),
        row.started_at,
        row.ended_at,
        is_running,
        broke_off=row.ended_at is None and not is_running,
        is_trial=row.is_trial,
    )


def start(
    cluster: Cluster, *, after: After = lambda health: None, trial: Trial | None = None
) -> threading.Thread:
    """Begin a check in a thread of its own; ``after`` is told how it ended.

    With a ``trial``, of a credential that is only in this thread: when the process ends, it is gone
    and the old one holds. One that still runs is overtaken: it goes on and writes nothing any more.
    """
    run = uuid.uuid4()
    ConnectionCheck.objects.update_or_create(
        cluster=cluster,
        defaults={
            "run": run,
            "is_trial": trial is not None,
            "steps": [],
            "started_at": db_now(),
            "ended_at": None,
        },
    )
    thread = threading.Thread(
        target=_run, args=(cluster.pk, run, after, trial), name=f"check-{cluster.name}", daemon=True
    )
    thread.start()
    return thread


def _run(cluster_id: uuid.UUID, run: uuid.UUID, after: After, trial: Trial | None) -> None:
    try:
        look(Cluster.objects.get(pk=cluster_id), run, after, trial)
    except Cluster.DoesNotExist:
        pass
    except Exception:
        log.exception("the check of cluster %s broke", cluster_id)
        _broke(cluster_id, run)
    finally:
        connections.close_all()


def _broke(cluster_id: uuid.UUID, run: uuid.UUID) -> None:
    """A check that goes no further says so, and has ended."""
    row = ConnectionCheck.objects.filter(cluster_id=cluster_id, run=run).first()
    if row is not None and row.ended_at is None:
        told = Step("Connection check", State.FAILED, "Internal error. See the server log.")
        row.steps, row.ended_at = [*row.steps, told.as_json()], db_now()
        row.save(update_fields=["steps", "ended_at"])


def look(cluster: Cluster, run: uuid.UUID, after: After, trial: Trial | None = None) -> None:
    """The check itself: writes each step as it is known, then what was learned."""
    own = ConnectionCheck.objects.filter(cluster=cluster, run=run)
    steps: list[Step] = []

    def tell(step: Step) -> None:
        steps.append(step)
        own.update(steps=[one.as_json() for one in steps])
        # The next step may take seconds: no connection is held while a cluster is waited for.
        close_old_connections()

    try:
        health = cluster.engine.check(
            connection_of(cluster),
            access_of(cluster) if trial is None else trial.access,
            site=site(),
            host_id=cluster.host_id,
            tell=tell,
        )
    except Unconnectable as why:
        if trial is None:
            tell(Step(CREDENTIAL, State.FAILED, str(why)))
        health = Health(reachable=False, reason=str(why))
    if own.exists():
        if trial is not None:
            health = _tried(trial, health, steps, tell)
        if trial is None or health.reachable:
            services.store_health(cluster, health)
        if health.reachable:
            services.store_capacity(cluster, health.capacity)
    own.update(ended_at=db_now())
    after(health)


def _tried(trial: Trial, health: Health, steps: list[Step], tell: Callable[[Step], None]) -> Health:
    """Store the credential, or say why not; the answer is unreachable unless it is stored."""
    rights = next((s.state for s in steps if s.name == PERMISSIONS), None)
    has_rights = rights in (State.OK, State.WARNING)
    fix = ""
    if not health.reachable:
        why = health.reason
    elif health.facts is None or not health.are_rights_known:
        # Neither its rights are known then, nor which cluster it leads to.
        why, fix = "The check did not finish.", "Try again."
    elif not has_rights and not trial.even_without_rights:
        why = "Gangline would lack permissions that it needs."
        fix = "Grant these permissions first, or choose to save the credential anyway."
    else:
        why = trial.keep(health)
    if why:
        says = f"Not saved: {why} The previous credential is still in use."
        tell(Step(CREDENTIAL, State.FAILED, says, fix))
        return replace(health, reachable=False, reason=why)
    tell(Step(CREDENTIAL, State.OK, "Saved. The previous credential was erased."))
    return health


def check(*, actor: Actor, cluster: Cluster) -> None:
    """Begin a check once what was changed is stored; the audit log gets its end."""

    def after(health: Health) -> None:
        _audit(actor, actions.CLUSTER_CHECK, cluster, health)

    def begin() -> None:
        start(cluster, after=after)

    transaction.on_commit(begin)


def replace_credential(
    *, actor: Actor, cluster: Cluster, access: Any, even_without_rights: bool = False
) -> None:
    """Begin to sign in otherwise: the credential is stored once the whole check found it good.

    Until then, and for ever if it fails, the one that is there holds. Raises Refused where another
    cluster is connected by it, as far as that is known at once.
    """
    duplicate_clusters.refuse(cluster.engine.uid(access, site()), but=cluster)
    resource, version = get("cluster"), cluster.version

    def keep(health: Health) -> str:
        uid = str(health.facts.detail.get("uid") or "") if health.facts else ""
        parts = {"access": access, "uid": uid}
        try:
            with transaction.atomic():
                if why := duplicate_clusters.leads_elsewhere(cluster, uid):
                    return why
                update(resource, actor=actor, obj=cluster, values={}, parts=parts, version=version)
        except Refused as refused:
            return refused.problems[0].message
        except Conflict as conflict:
            who = getattr(conflict.current, "updated_by", None) or "The system"
            return f"{who} changed the cluster during the check. Review the change, then try again."
        except NotAllowed:
            return "You no longer have permission to edit this cluster."
        except Cluster.DoesNotExist:
            return "The cluster was removed during the check."
        cluster.refresh_from_db()
        return ""

    def after(health: Health) -> None:
        if not health.reachable:
            _audit(actor, actions.CLUSTER_CREDENTIAL, cluster, health)

    start(cluster, after=after, trial=Trial(access, keep, even_without_rights))


def _audit(actor: Actor, action: str, cluster: Cluster, health: Health) -> None:
    """From the thread of a check, which goes on without it."""
    try:
        record(
            actor=actor,
            action=action,
            object_type="cluster",
            object_id=str(cluster.pk),
            object_name=cluster.name,
            scope=cluster.scope,
            result="ok" if health.reachable else "failed",
            reason=health.reason,
        )
    except DatabaseError:
        log.exception("%s of %s could not be audited", action, cluster.name)
