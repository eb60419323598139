"""Rows of pods, for a whole batch of observations: read in one statement, written in one."""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any

from gangline.drivers.base import ReplicaObservation, ReplicaState
from gangline.lib.texts import printable
from gangline.spec import shares
from gangline.spec.frameworks import role_of
from workloads.models import Attempt, Replica, Workload

_Key = tuple[int, str, int]
GONE = "Its pod is gone and was not replaced."
REMOVED = "Removed with the workload, outside Gangline."


class ReplicaRows:
    """The replicas of some attempts whose workloads the caller has locked.

    What `take` changes is in the database once `write` was called.
    """

    def __init__(self, attempts: Collection[Attempt], *, now: datetime) -> None:
        self._now = now
        found = Replica.objects.filter(attempt__in=[attempt.pk for attempt in attempts])
        self._known: dict[_Key, Replica] = {(r.attempt_id, r.role, r.index): r for r in found}
        self._of: defaultdict[int, list[Replica]] = defaultdict(list)
        for replica in found:
            self._of[replica.attempt_id].append(replica)
        self._new = [a.pk for a in attempts if a.placement is None and a.pk not in self._of]
        """Attempts of which no replica was known: the first that is asked for all of them."""
        self._effective: dict[int, Any] = {}
        self._fresh: list[Replica] = []
        self._moved: dict[int, Replica] = {}

    def take(
        self, attempt: Attempt, workload: Workload, observed: Sequence[ReplicaObservation]
    ) -> None:
        """What was seen of an attempt's pods; those of which nothing was seen stay as they are."""
        gpus = self._gpus(attempt, workload)
        for seen in observed:
            row = self._known.get((attempt.pk, seen.role, seen.index))
            values = _values(seen)
            if row is not None and _has_lost_its_pod(row, attempt, seen):
                values |= _of_the_lost(row, seen, self._now)
            if row is None:
                row = Replica(attempt=attempt, role=seen.role, index=seen.index)
                row.gpus = gpus(seen.role, seen.index)
                self._known[(attempt.pk, seen.role, seen.index)] = row
                self._of[attempt.pk].append(row)
                self._fresh.append(row)
            elif all(getattr(row, name) == value for name, value in values.items()):
                continue
            elif row.pk is not None:
                self._moved[row.pk] = row
            for name, value in values.items():
                setattr(row, name, value)

    def gone(self, attempt: Attempt) -> None:
        """The whole attempt is there no more: what still ran of it has ended."""
        for row in self._of[attempt.pk]:
            if ReplicaState(row.state).is_terminal:
                continue
            row.state, row.reason = str(ReplicaState.STOPPED), REMOVED
            row.ended_at = row.ended_at or self._now
            if row.pk is not None:
                self._moved[row.pk] = row

    def of(self, attempt: Attempt) -> list[Replica]:
        """All that is known of its replicas once `write` was called, by rank."""
        return sorted(self._of[attempt.pk], key=lambda row: (row.rank, row.pk))

    def _gpus(self, attempt: Attempt, workload: Workload) -> Callable[[str, int], float]:
        """Of a replica: those it was given or, where the cluster gives them, those asked for."""
        if attempt.placement is not None:
            placed = {
                (p["role"], p["index"]): len(p["gpus"]) * p.get("gpu_share", 1.0)
                for p in attempt.placement
            }
            return lambda role, index: placed.get((role, index), 0)

        def asked(role: str, index: int) -> float:
            known = role_of(workload.framework, role)
            if not known.has_gpus:
                return 0
            if attempt.pk not in self._effective:
                self._effective |= _effective({attempt.pk, *self._new})
                self._new = []
            said = self._effective[attempt.pk]
            asked = {path: said.get(f"{known.half}.{path}", {}) for path in shares.ASKED}
            return shares.of_pod({path: one.get("value") for path, one in asked.items()})

        return asked

    def write(self) -> None:
        """Store what has changed. An upsert: `bulk_update` costs ten times as much."""
        fresh, self._fresh = self._fresh, []
        moved, self._moved = self._moved, {}
        Replica.objects.bulk_create(fresh)
        Replica.objects.bulk_create(
            [moved[key] for key in sorted(moved)],
            update_conflicts=True,
            unique_fields=["id"],
            update_fields=_FIELDS,
        )


def _effective(attempts: Collection[int]) -> dict[int, Any]:
    """It is large, and deferred wherever attempts are read in numbers."""
    return dict(Attempt.objects.filter(pk__in=attempts).values_list("pk", "effective"))


def _has_lost_its_pod(row: Replica, attempt: Attempt, seen: ReplicaObservation) -> bool:
    """Whether the pod of the row is gone and was not replaced."""
    if seen.pod_uid or seen.started_at or not (row.node or row.started_at):
        return False
    if seen.state == ReplicaState.PENDING:
        return not _is_of_an_earlier_run(row, attempt)
    return seen.state.is_terminal


def _is_of_an_earlier_run(row: Replica, attempt: Attempt) -> bool:
    """A stopped attempt that goes on has all its pods still to come."""
    at = row.started_at or row.ended_at
    return bool(attempt.rests) and at is not None and at < attempt.asked_at


def _of_the_lost(row: Replica, seen: ReplicaObservation, now: datetime) -> dict[str, object]:
    """Where and when it ran. Until another comes it is told as ended: a pending one has no node.

    A cluster may remove pods before it says that the attempt is over.
    """
    kept: dict[str, object] = {name: getattr(row, name) for name in _OF_THE_POD}
    kept["ended_at"] = row.ended_at or now
    if row.state in _ENDED_BY_ITSELF:
        return kept | {name: getattr(row, name) for name in _OF_THE_END}
    if seen.state == ReplicaState.PENDING:
        return kept | {"state": str(ReplicaState.STOPPED), "reason": GONE}
    return kept


def _values(seen: ReplicaObservation) -> dict[str, object]:
    return {
        "rank": seen.rank,
        "state": str(seen.state),
        "reason": printable(seen.reason, 400),
        "reason_code": seen.reason_code,
        "pod_uid": printable(seen.pod_uid, 100),
        "node": printable(seen.node, 253),
        "exit_code": seen.exit_code,
        "signal": seen.signal,
        "peak_memory": seen.peak_memory,
        "restarts": seen.restarts,
        "started_at": seen.started_at,
        "ended_at": seen.ended_at,
    }


_ENDED_BY_ITSELF = (ReplicaState.SUCCEEDED, ReplicaState.FAILED)
_OF_THE_END = ("state", "reason", "reason_code", "exit_code", "signal")
_OF_THE_POD = ("pod_uid", "node", "started_at", "restarts", "peak_memory")
_FIELDS = tuple(_values(ReplicaObservation("", 0, 0, ReplicaState.PENDING)))
