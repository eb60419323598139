"""Rows of pods, for a whole batch of observations: read in one statement, written in one."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from gangline.clusters.drivers.base import ReplicaObservation, ReplicaState
from gangline.lib.texts import printable
from gangline.spec.frameworks import has_gpus
from workloads.models import Attempt, Replica, Workload

_Key = tuple[int, str, int]


class ReplicaRows:
    """The replicas of some attempts whose workloads the caller has locked.

    What `take` changes is in the database once `write` was called.
    """

    def __init__(self, attempts: Iterable[Attempt], *, now: datetime) -> None:
        self._now = now
        found = Replica.objects.filter(attempt__in=[attempt.pk for attempt in attempts])
        self._known: dict[_Key, Replica] = {(r.attempt_id, r.role, r.index): r for r in found}
        self._of: defaultdict[int, list[Replica]] = defaultdict(list)
        for replica in found:
            self._of[replica.attempt_id].append(replica)
        self._fresh: list[Replica] = []
        self._moved: dict[int, Replica] = {}

    def take(
        self, attempt: Attempt, workload: Workload, observed: Sequence[ReplicaObservation]
    ) -> None:
        """What was seen of an attempt's pods; those of which nothing was seen stay as they are."""
        gpus = _gpus(attempt, workload)
        for seen in observed:
            row = self._known.get((attempt.pk, seen.role, seen.index))
            values = _values(seen)
            if row is not None and _has_lost_its_pod(row, seen):
                values |= {name: getattr(row, name) for name in _OF_THE_POD}
                values["ended_at"] = row.ended_at or self._now
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

    def of(self, attempt: Attempt) -> list[Replica]:
        """All that is known of its replicas once `write` was called, by rank."""
        return sorted(self._of[attempt.pk], key=lambda row: (row.rank, row.pk))

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


def _gpus(attempt: Attempt, workload: Workload) -> Callable[[str, int], int]:
    """GPUs of a replica: those it was given or, where the cluster gives them, those asked for."""
    if attempt.placement is not None:
        placed = {(p["role"], p["index"]): len(p["gpus"]) for p in attempt.placement}
        return lambda role, index: placed.get((role, index), 0)

    def asked(role: str, index: int) -> int:
        if not has_gpus(workload.framework, role):
            return 0
        said = attempt.effective.get(f"{role}.compute.gpuDevicesRequest", {})
        return int(said.get("value") or 0)

    return asked


def _has_lost_its_pod(row: Replica, seen: ReplicaObservation) -> bool:
    """Whether a pod that is there no more ended with this: where it ran is known from before."""
    is_over = seen.state in (ReplicaState.SUCCEEDED, ReplicaState.FAILED, ReplicaState.STOPPED)
    return is_over and not seen.pod_uid and seen.started_at is None and row.started_at is not None


def _values(seen: ReplicaObservation) -> dict[str, object]:
    return {
        "rank": seen.rank,
        "state": str(seen.state),
        "reason": printable(seen.reason, 400),
        "pod_uid": printable(seen.pod_uid, 100),
        "node": printable(seen.node, 253),
        "exit_code": seen.exit_code,
        "signal": seen.signal,
        "peak_memory": seen.peak_memory,
        "restarts": seen.restarts,
        "started_at": seen.started_at,
        "ended_at": seen.ended_at,
    }


_OF_THE_POD = ("pod_uid", "node", "started_at", "restarts", "peak_memory")
_FIELDS = tuple(_values(ReplicaObservation("", 0, 0, ReplicaState.PENDING)))
