"""Who may start: whole gangs take their slots under one lock per cluster, in order (R7, R7b)."""

import errno
import random
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from gangline.clusters.connections import acts_here
from gangline.clusters.models import Cluster
from gangline.clusters.services import OURS
from gangline.db.clock import db_now
from gangline.db.locks import locked
from workloads import work_bell
from workloads.models import Attempt, CreateState, Desired, Workload
from workloads.services import slots, status


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
    work_bell.ring()


def preview(*, cluster: Cluster, need: slots.Need) -> slots.Verdict:
    """What admission would say now about a gang at the end of the queue; no lock, no change."""
    room = _room(cluster)
    waiting = [_need(attempt) for attempt in _waiting(cluster.pk, db_now())]
    return slots.walk([*waiting, need], room, cluster=name_in_words(cluster))[-1]


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
        queue = _waiting(cluster_id, now)
        if not queue:
            return Admitted()
        # A stop may have come since the queue was read: lock the rows, in id order, and look again.
        held = {
            w.pk: w for w in locked(Workload.objects.filter(pk__in={a.workload_id for a in queue}))
        }
        queue = [a for a in queue if _still_waits(a, held[a.workload_id])]
        placed, changed = _judge(cluster, queue, held, now)
        status.settle_all(changed, now=now)
    if placed:
        work_bell.ring()
    return Admitted(placed=placed, waiting=len(queue) - placed)


def _judge(
    cluster: Cluster, queue: list[Attempt], held: Mapping[UUID, Workload], now: datetime
) -> tuple[int, list[Workload]]:
    needs = [_need(attempt) for attempt in queue]
    verdicts = slots.walk(needs, _room(cluster), cluster=name_in_words(cluster))
    placed = 0
    changed: list[Workload] = []
    for attempt, need, verdict in zip(queue, needs, verdicts, strict=True):
        values: dict[str, Any] = {
            "wait_reason": verdict.reason,
            "impossible": verdict.impossible,
            "next_try_at": None,
            "needs": need.as_json(),
        }
        if verdict.placement is not None:
            values["placement"] = [asdict(replica) for replica in verdict.placement]
            placed += 1
            Workload.objects.filter(pk=attempt.workload_id).update(due_at=now, rung_until=None)
        differing = {k: v for k, v in values.items() if getattr(attempt, k) != v}
        if differing:
            Attempt.objects.filter(pk=attempt.pk).update(**differing)
            changed.append(held[attempt.workload_id])
    # Rows are settled with what is stored, so they are read afresh there.
    return placed, sorted(changed, key=lambda workload: workload.pk)


def _waiting(cluster_id: UUID, now: datetime) -> list[Attempt]:
    """Attempts that want slots, in the order of the queue."""
    rows = (
        Attempt.objects.filter(
            Q(next_try_at=None) | Q(next_try_at__lte=now),
            workload__cluster_id=cluster_id,
            workload__desired=Desired.RUNNING,
            workload__deleted_at=None,
            placement__isnull=True,
            outcome="",
            create_state=CreateState.NONE,
        )
        .select_related("workload")
        .defer("rendered", "effective")
        .order_by("-workload__priority", "created_at", "id")
    )
    return [row for row in rows if row.no == row.workload.attempt_no]


def _still_waits(attempt: Attempt, workload: Workload) -> bool:
    return workload.desired == Desired.RUNNING and workload.attempt_no == attempt.no


def _need(attempt: Attempt) -> slots.Need:
    """What the attempt takes: as stored by an earlier walk, or from its values."""
    if attempt.needs is not None:
        return slots.need_from(attempt.needs)
    workload = attempt.workload
    return slots.need_of(
        framework=workload.framework,
        configuration=workload.configuration,
        num_workers=workload.num_workers,
        values={path: entry.get("value") for path, entry in attempt.effective.items()},
    )


def _room(cluster: Cluster) -> slots.Room:
    holding = Attempt.objects.filter(
        workload__cluster=cluster, outcome="", placement__isnull=False
    ).values_list("placement", flat=True)
    taken = [replica for placement in holding for replica in placement or ()]
    if not acts_here(cluster):
        return slots.room_of(cluster.capacity, taken, _believe)
    # A port is free only until somebody binds it, and a framework binds seconds later. Not always
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
