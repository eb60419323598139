"""What workloads held and used over time: from what is known of their pods, not sampled."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from django.db.models import Q, QuerySet

from gangline.db.clock import db_now
from gangline.drivers.metrics.reader import Series
from workloads.models import Attempt, Replica
from workloads.selectors.figures import asked, figures_of

MOST_ATTEMPTS = 2_000
Span = tuple[float, float]


class TooMany(ValueError):
    """More attempts in this time than one answer adds up."""


@dataclass(frozen=True, slots=True)
class Holding:
    """What the pods of one role of an attempt held together, for a stretch of time."""

    workload: UUID
    begins: float
    ends: float
    gpus: float
    cpus: float
    memory: float

    def within(self, begins: float, ends: float) -> float:
        """Seconds of it between two times."""
        return max(min(self.ends, ends) - max(self.begins, begins), 0.0)


def attempts_between(where: Q, start: float, end: float) -> list[Attempt]:
    """Those that were there at some time, with their pods; raises TooMany."""
    begins, ends = (datetime.fromtimestamp(at, UTC) for at in (start, end))
    rows: QuerySet[Attempt] = Attempt.objects.filter(where, created_at__lt=ends).filter(
        Q(ended_at__isnull=True) | Q(ended_at__gt=begins)
    )
    rows = rows.select_related("workload__cluster").prefetch_related("replicas").defer("rendered")
    found = list(rows.order_by("pk")[: MOST_ATTEMPTS + 1])
    if len(found) > MOST_ATTEMPTS:
        raise TooMany
    return found


def holdings(attempts: Iterable[Attempt], nodes: Collection[str] | None = None) -> list[Holding]:
    """Of every pod; ``nodes``: of those that ran on one of these."""
    now = db_now().timestamp()
    return [one for attempt in attempts for one in _of_attempt(attempt, nodes, now)]


def _of_attempt(attempt: Attempt, nodes: Collection[str] | None, now: float) -> Iterator[Holding]:
    wants = asked(attempt.workload, attempt)
    rests = [
        (rest.started_at.timestamp(), rest.stopped_at.timestamp())
        for rest in attempt.rested
        if rest.started_at
    ]
    for replica in attempt.replicas.all():
        if nodes is not None and replica.node not in nodes:
            continue
        amounts = wants.get(replica.role, {})
        for begins, ends in (*rests, *_present(replica, attempt, now)):
            yield Holding(
                attempt.workload_id, begins, ends, replica.gpus,
                amounts.get("cpu", 0.0), amounts.get("memory", 0.0),
            )  # fmt: skip


def _present(replica: Replica, attempt: Attempt, now: float) -> Iterator[Span]:
    if replica.started_at:
        ended = replica.ended_at or attempt.ended_at
        yield replica.started_at.timestamp(), ended.timestamp() if ended else now


def waits(attempts: Iterable[Attempt], begins: float, ends: float) -> list[float]:
    """Seconds that each waited of those that began to run in this time."""
    found = ((one.started_at, one.asked_at) for one in attempts)
    return [
        (started - asked_at).total_seconds()
        for started, asked_at in found
        if started and begins <= started.timestamp() < ends
    ]


def used_on(node: str, attempts: Sequence[Attempt]) -> list[Series]:
    """What the pods that ran on a node used, as it was recorded."""
    found: list[Series] = []
    for attempt in attempts:
        pods = [one.name for one in attempt.replicas.all() if one.node == node]
        if pods:
            found += figures_of(attempt.workload, attempt, pods).by_pod.values()
    return found
