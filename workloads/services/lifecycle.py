"""Stop, start again, run again, delete: what a person may want of a workload that exists.

These authorise and audit; `intents` writes the row, and `reconcile` carries it out.
"""

from collections.abc import Callable
from uuid import UUID

from django.db import IntegrityError, transaction

from gangline.access.actor import Actor
from gangline.access.grants import can, who_can
from gangline.access.permissions import Permission
from gangline.access.refusals import NotAllowed, NotVisible
from gangline.audit import actions
from gangline.audit.services import record, record_denied
from gangline.db.clock import db_now
from gangline.db.locks import locked
from gangline.organization.selectors import visible_projects, with_scopes
from gangline.spec.problems import InvalidSpec
from gangline.spec.sources import from_json
from workloads.models import Workload
from workloads.services import intents
from workloads.services.credentials import store_uses
from workloads.services.intents import AlreadyEnded, BeingDeleted, NotEnded
from workloads.services.snapshots import (
    columns_of,
    labels_of,
    searched,
    snapshot_spec,
    store_labels,
)
from workloads.services.submission import remember, replayed
from workloads.services.submission_types import IdempotencyConflict, Preview, SubmissionRequest
from workloads.services.validation import validate_submission

__all__ = [
    "AlreadyEnded",
    "BeingDeleted",
    "IdempotencyConflict",
    "NotEnded",
    "delete",
    "rerun",
    "resume",
    "stop",
]


def stop(*, actor: Actor | None, workload_id: UUID, cause: str = "user") -> Workload:
    """Ask for the end of the processes; ``actor`` None: a limit of its session does.

    Asking twice changes nothing. Raises AlreadyEnded, BeingDeleted, NotVisible, NotAllowed.
    """
    workload = _for(actor, workload_id, Permission.WORKLOAD_STOP, actions.WORKLOAD_STOP)
    by = actor.name if actor else ""
    return _audited(
        actor,
        workload,
        actions.WORKLOAD_STOP,
        lambda: intents.stop(workload_id=workload.pk, by=by, cause=cause),
    )


def resume(*, actor: Actor, workload_id: UUID) -> Workload:
    """Start a stopped workload again as it was submitted; harmless while it runs.

    Raises AlreadyEnded for one that completed or failed: that is `rerun`.
    """
    workload = _visible(actor, workload_id)
    _authorise(actor, workload, Permission.WORKLOAD_STOP, actions.WORKLOAD_RESUME)
    return _audited(
        actor,
        workload,
        actions.WORKLOAD_RESUME,
        lambda: intents.resume(workload_id=workload.pk, by=actor.name),
    )


def delete(*, actor: Actor | None, workload_id: UUID, cause: str = "user") -> Workload:
    """Ask for everything of it to be removed; ``actor`` None: auto-deletion."""
    workload = _for(actor, workload_id, Permission.WORKLOAD_DELETE, actions.WORKLOAD_DELETE)
    by = actor.name if actor else "auto-deletion"
    return _audited(
        actor,
        workload,
        actions.WORKLOAD_DELETE,
        lambda: intents.delete(workload_id=workload.pk, by=by, cause=cause),
    )


def rerun(*, actor: Actor, workload_id: UUID, key: str = "", request_hash: str = "") -> Workload:
    """Run an ended workload again as a new attempt, judged by today's policy (R2, R21a).

    With a ``key`` that did it before, answers that workload. Raises InvalidSpec, NotEnded,
    BeingDeleted, IdempotencyConflict, NotVisible, NotAllowed; then nothing has changed.
    """
    if (earlier := replayed(actor.user, key, request_hash)) is not None:
        return earlier
    workload = _visible(actor, workload_id)
    _authorise(actor, workload, Permission.WORKLOAD_CREATE, actions.WORKLOAD_RERUN)
    _authorise(actor, workload, Permission.WORKLOAD_STOP, actions.WORKLOAD_RERUN)
    judged = _judged_again(actor, workload)
    if judged.problems:
        raise InvalidSpec(judged.problems)

    def run_again() -> Workload:
        done = _rerun(actor, workload, judged)
        remember(actor.user, key, request_hash, done, now=db_now())
        return done

    try:
        return _audited(actor, workload, actions.WORKLOAD_RERUN, run_again)
    except (IntegrityError, NotEnded):
        # Perhaps by this very request, sent twice.
        if (earlier := replayed(actor.user, key, request_hash)) is None:
            raise
        return earlier


def _rerun(actor: Actor, workload: Workload, judged: Preview) -> Workload:
    columns = columns_of(judged)
    for name, value in columns.items():
        setattr(workload, name, value)
    columns["search_text"] = searched(workload, judged)
    frozen = snapshot_spec(workload, judged)
    store_uses(workload, frozen.credentials)
    labels = labels_of(judged)
    if labels != dict(workload.labels.values_list("key", "value")):
        workload.labels.all().delete()
        store_labels(workload, labels)
    return intents.rerun(
        workload_id=workload.pk,
        by=actor.name,
        effective=frozen.effective,
        rendered=frozen.rendered,
        spec_hash=frozen.spec_hash,
        columns=columns,
    )


def _audited(
    actor: Actor | None, workload: Workload, action: str, change: Callable[[], Workload]
) -> Workload:
    """Change and audit row in one transaction; what changed nothing leaves no audit row."""
    with transaction.atomic():
        before = (
            locked(Workload.objects.filter(pk=workload.pk))
            .values_list("desired_gen", flat=True)
            .get()
        )
        changed = change()
        if changed.desired_gen != before:
            record(
                actor=actor,
                action=action,
                object_type="workload",
                object_id=str(workload.pk),
                object_name=workload.name,
                scope=workload.project.scope,
            )
    return changed


def _for(actor: Actor | None, workload_id: UUID, permission: Permission, action: str) -> Workload:
    """The workload, if ``actor`` may do this with it; Gangline itself, None, may."""
    if actor is None:
        return Workload.objects.select_related("project__scope").get(pk=workload_id)
    workload = _visible(actor, workload_id)
    _authorise(actor, workload, permission, action)
    return workload


def _visible(actor: Actor, workload_id: UUID) -> Workload:
    workload = (
        Workload.objects.select_related("cluster")
        .filter(pk=workload_id, deleted_at__isnull=True)
        .first()
    )
    project = None
    if workload is not None:
        seen = visible_projects(actor.user, Permission.WORKLOAD_VIEW)
        project = with_scopes(seen.filter(pk=workload.project_id)).first()
    if workload is None or project is None:
        raise NotVisible("There is no such workload, or you do not have access to it.")
    workload.project = project
    return workload


def _authorise(actor: Actor, workload: Workload, permission: Permission, action: str) -> None:
    scope = workload.project.scope
    if can(actor.user, permission, scope, owner_id=workload.owner_id):
        return
    refusal = NotAllowed(permission, scope, [p.username for p in who_can(permission, scope)])
    record_denied(
        actor=actor,
        action=action,
        object_type="workload",
        object_id=str(workload.pk),
        object_name=workload.name,
        scope=scope,
        reason=refusal.sentence,
    )
    raise refusal


def _judged_again(actor: Actor, workload: Workload) -> Preview:
    """Today's judgement of what was said then; its own name does not count as taken."""
    judged = validate_submission(
        actor.user,
        SubmissionRequest(
            name=workload.name,
            project_id=workload.project_id,
            cluster_id=workload.cluster_id,
            framework=workload.framework,
            configuration=workload.configuration,
            master=workload.master,
            given=from_json(workload.given),
        ),
        with_forecast=False,
        owner=workload.owner,
    )
    own = [p for p in judged.problems if p.rule == "unique" and p.path == "name"]
    for problem in own:
        judged.problems.remove(problem)
    return judged
