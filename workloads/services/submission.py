"""The one way a workload comes into being (R21a): form, API and command line all call `submit`."""

from dataclasses import replace
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import F

from assets.models import Asset, Template
from gangline.access.actor import Actor
from gangline.accounts.models import User
from gangline.audit import actions
from gangline.audit.services import record, record_denied
from gangline.clusters.models import Cluster
from gangline.db.clock import db_now
from gangline.lib.fail_points import fail_point
from gangline.organization.models import Project
from gangline.policies.effective import EffectivePolicy
from gangline.policies.engine import Resolution
from gangline.policies.selectors import versions_to
from gangline.spec.problems import InvalidSpec
from gangline.spec.sources import asset_ids, to_json
from workloads.models import Attempt, IdempotencyKey, Workload
from workloads.selectors.ingredients import made_of
from workloads.services import events, intents, tool_addresses
from workloads.services.admission import Standing
from workloads.services.credentials import store_uses
from workloads.services.names import name_taken, prefix_problems, prefixed
from workloads.services.snapshots import (
    columns_of,
    labels_of,
    searched,
    snapshot_spec,
    store_labels,
)
from workloads.services.submission_types import (
    ClusterUnreachable,
    IdempotencyConflict,
    NameTaken,
    NoSuchProject,
    Preview,
    SubmissionRequest,
    Submitted,
    Totals,
)
from workloads.services.validation import Place, find_place, not_allowed, validate_submission

KEY_HOURS = 24
MAX_WAITING = 1_000
"""Workloads of one project that wait to be created; one more is refused."""

__all__ = [
    "ClusterUnreachable",
    "IdempotencyConflict",
    "NameTaken",
    "NoSuchProject",
    "Place",
    "Preview",
    "SubmissionRequest",
    "Submitted",
    "TooManyWaiting",
    "Totals",
    "checked_preview",
    "preview",
    "replayed",
    "submit",
]


class TooManyWaiting(Exception):
    """The project's queue is full (429)."""

    def __init__(self, project: Project) -> None:
        super().__init__(
            f"Project {project.name} has {MAX_WAITING:,} workloads waiting to be created."
        )


class _PolicyMoved(Exception):
    """A policy was saved between judging and storing."""


def preview(
    *,
    actor: Actor,
    request: SubmissionRequest,
    place: Place | None = None,
    policy: EffectivePolicy | None = None,
    standing: Standing | None = None,
    resolution: Resolution | None = None,
) -> Preview:
    """What `submit` would store, with every problem. Never raises for bad values.

    ``place``, ``policy``, ``standing`` and ``resolution`` are those that the caller has already.
    """
    return validate_submission(
        actor.user, request, place=place, policy=policy, standing=standing, resolution=resolution
    )


def checked_preview(*, actor: Actor, request: SubmissionRequest) -> Preview:
    """`preview` for one who may create there; raises NoSuchProject and NotAllowed as `submit`."""
    _authorised(actor, request)
    return preview(actor=actor, request=request)


def submit(
    *, actor: Actor, request: SubmissionRequest, key: str = "", request_hash: str = ""
) -> Submitted:
    """Store the workload and wake the system; raises with every problem and stores nothing.

    ``key`` makes repeating harmless: the same content gives the same workload. Raises InvalidSpec,
    NameTaken, IdempotencyConflict, ClusterUnreachable, TooManyWaiting, NoSuchProject, NotAllowed.
    """
    if (earlier := replayed(actor.user, key, request_hash)) is not None:
        return Submitted(earlier, replayed=True)
    place, project = _authorised(actor, request)
    for _ in range(3):
        asked = _with_suffix(request)
        try:
            judged = _acceptable(actor, asked, place)
            attempt = _store(actor, asked, judged, key, request_hash)
        except _PolicyMoved:
            continue
        except NameTaken:
            # Perhaps by this very request, sent twice and committed a moment ago.
            if (earlier := replayed(actor.user, key, request_hash)) is not None:
                return Submitted(earlier, replayed=True)
            raise
        except IntegrityError as error:
            if (earlier := replayed(actor.user, key, request_hash)) is not None:
                return Submitted(earlier, replayed=True)
            if not _is_name_conflict(error):
                raise
            if request.is_prefix:
                continue
            raise NameTaken(name_taken(request.name, project)) from error
        fail_point("submit.after_commit")
        return Submitted(attempt.workload, replayed=False, attempt=attempt)
    raise InvalidSpec(preview(actor=actor, request=request).problems)


def _with_suffix(request: SubmissionRequest) -> SubmissionRequest:
    """Under the name that it will have, if it is to have a suffix and can have one."""
    if not request.is_prefix or any(prefix_problems(request.name)):
        return request
    name = prefixed(request.name)
    return replace(request, name=name, requested_name=request.name, is_prefix=False)


def _authorised(actor: Actor, request: SubmissionRequest) -> tuple[Place, Project]:
    place = find_place(actor.user, request)
    project = place.project
    if project is None:
        problems = preview(actor=actor, request=request, place=place).problems
        is_named = request.project_id not in ("", None)
        raise NoSuchProject(problems) if is_named else InvalidSpec(problems)
    if not place.may_create:
        refusal = not_allowed(project)
        record_denied(
            actor=actor,
            action=actions.WORKLOAD_CREATE,
            object_type="workload",
            object_name=str(request.name),
            scope=project.scope,
            reason=refusal.sentence,
        )
        raise refusal
    return place, project


def replayed(user: User, key: str, request_hash: str) -> Workload | None:
    """The workload that an earlier request with this key made; IdempotencyConflict for another.

    A key whose day is over is forgotten here, so that it can be remembered anew.
    """
    if not key:
        return None
    known = IdempotencyKey.objects.select_related("workload").filter(user=user, key=key).first()
    if known is None:
        return None
    if known.expires_at <= db_now():
        known.delete()
        return None
    if known.request_hash != request_hash:
        raise IdempotencyConflict
    return known.workload


def remember(user: User, key: str, request_hash: str, workload: Workload, *, now: datetime) -> None:
    """Keep the answer for a day; the unique index decides between two at the same moment."""
    if not key:
        return
    IdempotencyKey.objects.create(
        user=user,
        key=key,
        request_hash=request_hash,
        workload=workload,
        expires_at=now + timedelta(hours=KEY_HOURS),
    )


def _acceptable(actor: Actor, request: SubmissionRequest, place: Place) -> Preview:
    # Whether the name is free is for the database to say, unless something else is wrong as well.
    judged = validate_submission(actor.user, request, place=place, is_to_store=True)
    if judged.problems:
        judged = validate_submission(
            actor.user, request, place=place, resolution=judged.resolution, with_forecast=False
        )
        raise InvalidSpec(judged.problems)
    cluster = judged.cluster
    if (
        cluster is not None
        and cluster.health == "Unreachable"
        and cluster.when_unreachable == "reject"
    ):
        raise ClusterUnreachable(cluster.name)
    return judged


def _store(
    actor: Actor,
    request: SubmissionRequest,
    judged: Preview,
    key: str,
    request_hash: str,
) -> Attempt:
    project, cluster = judged.project, judged.cluster
    if project is None or cluster is None:
        raise InvalidSpec(judged.problems)
    workload = _new_workload(actor, request, judged, project, cluster)
    chosen = asset_ids(request.assets)
    workload.made_of = made_of(workload.template_id, chosen)
    frozen = snapshot_spec(workload, judged)
    with transaction.atomic():
        if versions_to(project.scope) != judged.policy.versions:
            raise _PolicyMoved
        _check_queue(project)
        now = db_now()
        workload.created_at = workload.due_at = now
        workload.save(force_insert=True)
        if taken := tool_addresses.take(workload, judged.resolution):
            raise InvalidSpec(taken)
        if judged_labels := labels_of(judged):
            store_labels(workload, judged_labels)
        attempt = Attempt.objects.create(
            workload=workload,
            no=1,
            cause="submit",
            effective=frozen.effective,
            rendered=frozen.rendered,
            spec_hash=frozen.spec_hash,
            created_at=now,
        )
        remember(actor.user, key, request_hash, workload, now=now)
        if frozen.credentials:
            store_uses(workload, frozen.credentials)
        if chosen := {*map(str, chosen), *map(str, frozen.volumes)}:
            used = Asset.objects.filter(pk__in=chosen)
            workload.assets.set(used)
            used.update(used_count=F("used_count") + 1, last_used_at=now)
        if workload.template_id is not None:
            Template.objects.filter(pk=workload.template_id).update(
                used_count=F("used_count") + 1, last_used_at=now
            )
        events.record(
            events.NewEvent(
                workload=workload,
                kind=events.SUBMITTED,
                message=f"Submitted by {actor.name}{_as_a_copy(workload)}.",
                source_key="submitted",
                at=now,
                actor_name=actor.name,
            )
        )
        record(
            actor=actor,
            action=actions.WORKLOAD_CREATE,
            object_type="workload",
            object_id=str(workload.pk),
            object_name=workload.name,
            scope=project.scope,
            detail={
                "framework": workload.framework,
                "pods": workload.pods_total,
                "gpus": workload.gpus,
                "given": sorted(workload.given),
                **({"copied_from": str(request.copied_from)} if request.copied_from else {}),
            },
            at=now,
        )
        intents.begin(workload, attempt, now=now)
        fail_point("submit.before_commit")
    return attempt


def _new_workload(
    actor: Actor, request: SubmissionRequest, judged: Preview, project: Project, cluster: Cluster
) -> Workload:
    workload = Workload(
        name=request.name,
        requested_name=request.requested_name,
        project=project,
        cluster=cluster,
        owner=actor.user,
        channel=actor.channel,
        framework=judged.framework,
        configuration=judged.configuration,
        master="none" if judged.totals.masters == 0 else request.master,
        given=to_json(request.everything),
        template_id=request.template_id or None,
        copied_from=request.copied_from,
        desired_by=actor.name,
        **columns_of(judged),
    )
    workload.search_text = searched(workload, judged)
    return workload


def _as_a_copy(workload: Workload) -> str:
    """Whose copy it is, by name where everybody who sees the copy may see the original too."""
    if workload.copied_from is None:
        return ""
    original = Workload.objects.filter(pk=workload.copied_from, project=workload.project_id).first()
    return f" as a copy of {original.name}" if original else " as a copy of another workload"


def _check_queue(project: Project) -> None:
    waiting = Workload.objects.filter(
        project=project, deleted_at__isnull=True, status__in=("Creating", "Pending")
    )
    if waiting.count() >= MAX_WAITING:
        raise TooManyWaiting(project)


def _is_name_conflict(error: IntegrityError) -> bool:
    text = str(error)
    return "workload_name_in_project" in text or (
        "workloads_workload.project_id" in text and "workloads_workload.name" in text
    )
