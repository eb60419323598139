"""Everything that the pages of one workload show."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import OuterRef, Prefetch, Subquery, prefetch_related_objects

from gangline.access.permissions import Permission
from gangline.access.refusals import NotVisible
from gangline.accounts.models import User
from gangline.drivers.base import ObservedState
from gangline.drivers.kind import NativeObject
from gangline.organization.selectors import visible_projects
from gangline.spec.catalogue import SpecField, catalogue
from gangline.spec.frameworks import framework_of, places, role_of
from gangline.spec.problems import Role
from gangline.spec.sources import Source, from_json
from gangline.spec.values import half_of
from gangline.spec.workload import ReplicaSpec, WorkerSpec
from workloads.models import Attempt, Event, Replica, Workload
from workloads.models.attempt import NO_TRIES, USER_CAUSES

MAX_EVENTS = 500
MAX_ATTEMPTS = 100


def visible_workload(user: User, workload_id: UUID, *, even_deleted: bool = False) -> Workload:
    """The workload, if ``user`` may see it; raises NotVisible otherwise."""
    projects = visible_projects(user, Permission.WORKLOAD_VIEW)
    found = (
        Workload.objects.select_related(
            "project__scope__parent__parent__parent", "cluster", "owner", "template"
        )
        .filter(pk=workload_id, project__in=projects)
        .first()
    )
    if found is None or (found.deleted_at is not None and not even_deleted):
        raise NotVisible
    found.project.cluster = found.cluster  # the same row, not read twice
    return found


def attempts(workload: Workload) -> list[Attempt]:
    """The newest attempts, newest first; asked of the database once per workload object."""
    begun = Replica.objects.filter(attempt=OuterRef("pk"), started_at__isnull=False)
    newest = (
        Attempt.objects.filter(no__gt=workload.attempt_no - MAX_ATTEMPTS)
        .annotate(first_pod_at=Subquery(begun.order_by("started_at").values("started_at")[:1]))
        .order_by("-no")
    )
    prefetch_related_objects([workload], Prefetch("attempts", newest))
    return list(workload.attempts.all())


def _causes_of_this_run(workload: Workload) -> Iterator[str]:
    """Causes of the attempts since a person last started it, newest first."""
    rows = Attempt.objects.filter(workload=workload).order_by("-no")
    for cause in rows.values_list("cause", flat=True)[:MAX_ATTEMPTS]:
        yield cause
        if cause in USER_CAUSES:
            break


def tries_in_words(workload: Workload) -> str:
    """``1``, ``4 of 4``; ``6 (2 of 4)`` of one that was started again by hand before."""
    if not workload.backoff_limit:
        return str(workload.attempt_no)
    tries = 1
    if workload.attempt_no > 1:
        tries = sum(cause not in NO_TRIES for cause in _causes_of_this_run(workload))
    of = f"{tries} of {workload.backoff_limit + 1}"
    return of if tries == workload.attempt_no else f"{workload.attempt_no} ({of})"


def attempt_of(workload: Workload, no: int) -> Attempt | None:
    """One attempt: the object that `attempts` gave, if it gave it."""
    known = getattr(workload, "_prefetched_objects_cache", {}).get("attempts", ())
    found = next((attempt for attempt in known if attempt.no == no), None)
    return found or workload.attempts.filter(no=no).first()


def replicas(attempt: Attempt) -> list[Replica]:
    """Replicas in rank order; asked of the database once per attempt object."""
    ordered = Replica.objects.order_by("rank", "role", "index")
    prefetch_related_objects([attempt], Prefetch("replicas", ordered))
    return list(attempt.replicas.all())


def expected_replicas(workload: Workload, attempt: Attempt) -> list[Replica]:
    """What is or will be: rows as observed, or the replicas that were checked."""
    if found := replicas(attempt):
        return found
    gang = framework_of(workload.framework).gang(workload.configuration)
    workers = half_of(attempt.values, Role.WORKER) | {"numWorkers": workload.num_workers}
    return [
        Replica(attempt=attempt, role=role, index=index, rank=rank, state="Pending")
        for role, index, rank in places((role, role.count(workers)) for role in gang)
    ]


def rank_of(replica: Replica, framework: str) -> int | None:
    """The rank as the workload counts it; None for a launcher, which only starts the ranks."""
    return replica.rank if role_of(framework, replica.role).has_rank else None


def events(workload: Workload) -> list[Event]:
    """The newest events, newest first."""
    return list(workload.events.order_by("-at", "-id")[:MAX_EVENTS])


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of time in one state; ``ends`` None: it goes on."""

    word: str
    tone: str
    begins: datetime
    ends: datetime | None


@dataclass(frozen=True, slots=True)
class Timeline:
    """One attempt as stretches of time, with what it was started for."""

    attempt: Attempt
    title: str
    stretches: Sequence[Stretch]


_UNPLACED = (ObservedState.HELD, ObservedState.PENDING)
_CAUSES = {
    "submit": "",
    "retry": "retry",
    "moved": "moved",
    "preempt": "stopped for another project",
    "resume": "started again",
    "rerun": "run again",
}


def timeline(attempt: Attempt) -> Timeline:
    """Waiting, starting, running and the end of one of `attempts`, from its own times."""
    cause = _CAUSES.get(attempt.cause, attempt.cause)
    title = f"Attempt {attempt.no}" + (f", {cause}" if cause else "")
    return Timeline(attempt, title, list(_stretches(attempt)))


def _stretches(attempt: Attempt) -> Iterator[Stretch]:
    asked_at = attempt.created_at
    for rest in attempt.rested:
        placed = max(rest.placed_at, asked_at) if rest.placed_at else None
        yield from _run(asked_at, placed, rest.started_at, rest.stopped_at)
        yield Stretch("stopped", "neutral", rest.stopped_at, rest.resumed_at)
        asked_at = rest.resumed_at
    stopped_at = _at_rest_since(attempt)
    placed = _placed_at(attempt, asked_at)
    yield from _run(asked_at, placed, attempt.started_at, attempt.ended_at or stopped_at)
    if stopped_at:
        yield Stretch("stopped", "neutral", stopped_at, None)


def _run(
    asked_at: datetime, placed: datetime | None, started: datetime | None, ends: datetime | None
) -> Iterator[Stretch]:
    """One run, from the moment that it was asked for."""
    marks = [
        ("waited" if placed or started or ends else "waiting", "warn", asked_at),
        ("starting", "info", placed),
        ("running", "good", started),
    ]
    known = [(word, tone, at) for word, tone, at in marks if at is not None]
    for position, (word, tone, begins) in enumerate(known):
        following = known[position + 1][2] if position + 1 < len(known) else ends
        yield Stretch(word, tone, begins, following)


def _at_rest_since(attempt: Attempt) -> datetime | None:
    """When it was stopped, of one that keeps its object and may go on."""
    workload = attempt.workload
    is_current = attempt.no == workload.attempt_no
    return workload.ended_at if is_current and not attempt.outcome else None


def _placed_at(attempt: Attempt, asked_at: datetime) -> datetime | None:
    """When its waiting was over: told by our own admission, or by the first pod that began."""
    if attempt.placement is not None:
        return attempt.sent_at
    if attempt.observed_state in _UNPLACED and not attempt.outcome:
        return None
    begun: datetime | None = getattr(attempt, "first_pod_at", None)
    # The cluster's clock may be behind, and tells whole seconds.
    return max(begun, asked_at) if begun else None


@dataclass(frozen=True, slots=True)
class SpecValue:
    """One effective value with its origin."""

    field: SpecField
    value: Any
    source: Source


def spec_values(attempt: Attempt, role: Role) -> list[SpecValue]:
    """Effective values of one role in order of declaration; for the master, all it has."""
    model = WorkerSpec if role is Role.WORKER else ReplicaSpec
    effective = from_json(attempt.effective)
    found = []
    for path, field in catalogue(model).items():
        value = effective.get(f"{role}.{path}")
        if value is not None and value.value not in (None, "", []):
            found.append(SpecValue(field, value.value, value.source))
    return found


def native_object(workload: Workload, attempt: Attempt) -> NativeObject | None:
    """The object of an attempt on its cluster, as it was frozen; the cluster is not asked."""
    frozen = attempt.rendered
    if not isinstance(frozen, dict):
        return None
    return workload.cluster.engine.native(frozen, workload.name)
