"""Who may start: whole gangs take their slots under one lock per cluster, in order (R7, R7b)."""

import errno
import random
import socket
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from gangline.clusters.connections import acts_here
from gangline.clusters.models import Cluster
from gangline.clusters.services import OURS
from gangline.db.clock import db_now
from gangline.db.locks import locked
from gangline.organization.models import Project
from workloads import wakeup
from workloads.models import Attempt, CreateState, Desired, Workload
from workloads.services import quota, slots, status, walk
from workloads.wording import Reason


@dataclass(frozen=True, slots=True)
class Admitted:
    """Outcome of one walk."""

    placed: int = 0
    waiting: int = 0


def hands_out_slots(cluster: Cluster) -> bool:
    """Whether Gangline itself decides here who may start."""
    return bool(cluster.capacity.get("admission") == OURS)


def request(cluster_id: UUID) -> None:
    """Ask for a walk, after the commit that changed something; the ticker makes it at once."""
    Cluster.objects.filter(pk=cluster_id).update(admit_due=True)
    wakeup.ring()


_LONG = (
    "rendered", "effective", "tool_addresses", "refusal", "rests", "cause_lines",
    "workload__given", "workload__made_of", "workload__search_text",
)  # fmt: skip
"""What no walk needs, and takes long to read."""


class Standing:
    """What the gangs of a cluster hold and wait for now: read once, and not before it is needed."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    @cached_property
    def shares(self) -> quota.Shares:
        return quota.Shares(self.cluster)

    @cached_property
    def holding(self) -> list[Attempt]:
        """Attempts that hold slots, in the order of their placement."""
        held = [one for one in self._attempts if one.placement is not None]
        return sorted(held, key=lambda one: (one.placed_at or one.created_at, one.pk))

    @cached_property
    def waiting(self) -> list[Attempt]:
        """Attempts that want slots, in the order of the queue."""
        queue = [
            one
            for one in self._attempts
            if one.placement is None and one.no == one.workload.attempt_no
        ]
        return sorted(
            queue,
            key=lambda one: (-one.workload.priority, one.queued_at or one.created_at, one.pk),
        )

    @cached_property
    def _attempts(self) -> list[Attempt]:
        wants = Q(next_try_at=None) | Q(next_try_at__lte=db_now())
        wants &= Q(
            workload__desired=Desired.RUNNING,
            workload__deleted_at=None,
            placement__isnull=True,
            create_state=CreateState.NONE,
        )
        rows = Attempt.objects.filter(
            wants | Q(placement__isnull=False), workload__cluster=self.cluster, outcome=""
        )
        found = list(rows.select_related("workload").defer(*_LONG))
        for one in found:  # all of one cluster, whose facts are long to read
            one.workload.cluster = self.cluster
        return found


def preview(
    standing: Standing, *, project: Project, need: slots.Need, is_preemptible: bool = True
) -> walk.Verdict:
    """What admission would say now about a gang at the end of the queue; no lock, no change."""
    held, shares = standing.holding, standing.shares
    queue = [
        *_gangs(shares, standing.waiting),
        shares.gang(project.pk, need, is_preemptible=is_preemptible),
    ]
    return _walk(standing.cluster, queue, held, _gangs(shares, held)).verdicts[-1]


def name_in_words(cluster: Cluster) -> str:
    """``this machine`` for a local cluster: its name is a label, not a phrase."""
    return cluster.engine.phrase(cluster.name)


def admit(cluster_id: UUID) -> Admitted:
    """Walk over the waiting gangs and place each that fits, under the cluster's row lock."""
    with transaction.atomic():
        cluster = locked(Cluster.objects.filter(pk=cluster_id)).first()
        if cluster is None:  # removed meanwhile
            return Admitted()
        if cluster.admit_due:
            Cluster.objects.filter(pk=cluster_id).update(admit_due=False)
        if not hands_out_slots(cluster):
            return Admitted()
        now = db_now()
        standing = Standing(cluster)
        queue, held_now = standing.waiting, standing.holding
        if not queue and not held_now:
            return Admitted()
        # A stop may have come since the queue was read: lock the rows, in id order, and look again.
        held = {
            w.pk: w for w in locked(Workload.objects.filter(pk__in={a.workload_id for a in queue}))
        }
        queue = [a for a in queue if _is_wanted(a, held[a.workload_id])]
        placed, claimed, changed = _judge(standing, queue, held, now)
        status.settle_all(changed, now=now)
    if claimed:
        _reclaim(claimed)
    if placed or claimed:
        wakeup.ring()
    return Admitted(placed=placed, waiting=len(queue) - placed)


def _judge(
    standing: Standing,
    queue: list[Attempt],
    rows: Mapping[UUID, Workload],
    now: datetime,
) -> tuple[int, list[Attempt], list[Workload]]:
    shares, holding = standing.shares, standing.holding
    gangs, held = _gangs(shares, queue), _gangs(shares, holding)
    walked = _walk(standing.cluster, gangs, holding, held)
    placed = 0
    changed: list[Workload] = []
    for attempt, gang, verdict in zip(queue, gangs, walked.verdicts, strict=True):
        reason = _named(verdict, attempt, queue)
        values: dict[str, Any] = {
            "wait_code": reason.code,
            "wait_params": reason.params,
            "impossible": verdict.impossible,
            "next_try_at": None,
            "needs": gang.need.as_json(),
        }
        if verdict.placement is not None:
            values["placement"] = [asdict(replica) for replica in verdict.placement]
            values["placed_at"] = now
            values["over_quota"] = verdict.over_quota
            placed += 1
            Workload.objects.filter(pk=attempt.workload_id).update(due_at=now, rung_until=None)
        differing = {k: v for k, v in values.items() if getattr(attempt, k) != v}
        if differing:
            Attempt.objects.filter(pk=attempt.pk).update(**differing)
            changed.append(rows[attempt.workload_id])
    _note_quota(holding, held)
    chosen = {id(gang) for gang in walked.reclaimed}
    claimed = [one for one, gang in zip(holding, held, strict=True) if id(gang) in chosen]
    # Rows are settled with what is stored, so they are read afresh there.
    return placed, claimed, sorted(changed, key=lambda workload: workload.pk)


def _note_quota(holding: Sequence[Attempt], held: Sequence[walk.Gang]) -> None:
    """Store which of the placed ones their quota covers now."""
    for over in (True, False):
        moved = [
            attempt.pk
            for attempt, gang in zip(holding, held, strict=True)
            if gang.over_quota is over and attempt.over_quota is not over
        ]
        if moved:
            Attempt.objects.filter(pk__in=moved).update(over_quota=over)


def _reclaim(claimed: Sequence[Attempt]) -> None:
    """Let whole gangs end, with their grace: the next passes over them do it.

    In a transaction of its own, since rows are locked in the order of their ids; what a crash in
    between leaves out, the next walk claims again.
    """
    attempts = {attempt.workload_id: attempt for attempt in claimed}
    with transaction.atomic():
        now = db_now()
        changed = []
        for workload in locked(Workload.objects.filter(pk__in=attempts)):
            attempt = attempts[workload.pk]
            rows = Attempt.objects.filter(pk=attempt.pk, outcome="", reclaimed_at=None)
            if _is_wanted(attempt, workload) and rows.update(reclaimed_at=now):
                Workload.objects.filter(pk=workload.pk).update(due_at=now, rung_until=None)
                workload.due_at, workload.rung_until = now, None
                changed.append(workload)
        status.settle_all(changed, now=now)


def _walk(
    cluster: Cluster,
    gangs: Sequence[walk.Gang],
    holding: Sequence[Attempt],
    held: Sequence[walk.Gang],
) -> walk.Walk:
    room = _room(cluster, holding)
    return walk.Walk(gangs, room, cluster=name_in_words(cluster), held=held)


def _gangs(shares: quota.Shares, attempts: Sequence[Attempt]) -> list[walk.Gang]:
    found = []
    for attempt in attempts:
        workload = attempt.workload
        gang = shares.gang(
            workload.project_id,
            need_of(attempt),
            workload.priority,
            is_preemptible=workload.is_preemptible,
        )
        gang.is_leaving = attempt.reclaimed_at is not None or workload.desired != Desired.RUNNING
        found.append(gang)
    return found


def _named(verdict: walk.Verdict, attempt: Attempt, queue: list[Attempt]) -> Reason:
    """The reason, with the workload ahead by name where it is of the same project."""
    reason = verdict.reason
    if verdict.behind is None:
        return reason
    ahead, own = queue[verdict.behind].workload, attempt.workload
    name = ahead.name if ahead.project_id == own.project_id else ""
    return Reason(reason.code, {**reason.params, "name": name})


def _is_wanted(attempt: Attempt, workload: Workload) -> bool:
    return workload.desired == Desired.RUNNING and workload.attempt_no == attempt.no


def need_of(attempt: Attempt) -> slots.Need:
    """What the attempt takes: as stored by an earlier walk, or from its values."""
    if attempt.needs is not None:
        return slots.need_from(attempt.needs)
    workload = attempt.workload
    return slots.need_of(
        framework=workload.framework,
        configuration=workload.configuration,
        num_workers=workload.num_workers,
        values=attempt.values,
        gpu_memory=workload.cluster.capacity.get("gpu_memory") or 0,
    )


def _room(cluster: Cluster, holding: Sequence[Attempt]) -> slots.Room:
    taken = [replica for attempt in holding for replica in attempt.placement or ()]
    if not acts_here(cluster):
        return slots.room_of(cluster.capacity, taken, _believe)
    # A port is free only until a process binds it, and a framework binds seconds later. Not always
    # the lowest one: other installations, and gangs that ended just now, choose from them too.
    begin = random.randrange(*cluster.capacity.get("ports", slots.PORTS))  # noqa: S311  no secret
    return slots.room_of(cluster.capacity, taken, _is_port_free, begin)


def _is_port_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            # Frameworks bind the wildcard address; it is refused too where one address is taken.
            probe.bind(("", port))
        except OSError as error:
            return error.errno not in (errno.EADDRINUSE, errno.EACCES)
    return True


def _believe(port: int) -> bool:
    return True
