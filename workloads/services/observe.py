"""The one way in which what a cluster shows reaches the rows (R6, R6a)."""

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from django.db import DataError, transaction

from gangline.clusters.models import Cluster
from gangline.db.batches import update_rows
from gangline.db.clock import db_now
from gangline.db.locks import locked
from gangline.drivers.base import Observation, ObservedState
from gangline.lib.sentences import sentence
from gangline.lib.texts import as_uuid, printable
from workloads import wakeup
from workloads.models import Attempt, CreateState, Desired, Outcome, Workload
from workloads.services import events, facts, reasons, retries, status
from workloads.services.admission import hands_out_slots
from workloads.services.phases import Action, plan
from workloads.services.replicas import ReplicaRows

log = logging.getLogger(__name__)

BATCH = 200
PARSE_ERRORS = (ArithmeticError, AttributeError, DataError, LookupError, TypeError, ValueError)
"""What an observation of an unexpected shape may raise."""
MOST = 2**31 - 1
"""The highest number that an attempt can have in its row."""

NEVER_SEEN_SECONDS = 60.0
"""After so long without any answer about a sent create its state is Unknown."""

AWAY_SECONDS = 600.0
"""A finished job is kept for so long at least by whoever cleans up on a cluster: what is gone after
a longer silence may have finished before."""

STOP_LOST_SECONDS = 60.0
"""So long after a stop of which nothing shows, though a run is wanted again, it never arrived."""


@dataclass(frozen=True, slots=True)
class Stamped:
    """An observation and the database time from before its read began."""

    observation: Observation
    read_started_at: datetime


@dataclass(slots=True)
class Stored:
    """What came of a batch."""

    changed: int = 0
    stale: list[Observation] = field(default_factory=list)
    """Dropped because a newer read is stored already: worth another look if it was news."""
    woken: list[UUID] = field(default_factory=list)


def store(observations: Sequence[Stamped], *, wakes: bool = True) -> int:
    """Store observations; return how many workloads people see changed."""
    return store_batch(observations, wakes=wakes).changed


def store_batch(
    observations: Sequence[Stamped],
    *,
    guard: Callable[[], None] | None = None,
    wakes: bool = True,
) -> Stored:
    """Store at most 200 in one transaction. ``guard`` runs inside it and raises to undo it all.

    ``wakes``: whether what is stored makes its workload due. A pass that looks does not want that:
    it acts on what it saw, and what it finds itself would never let it rest.
    """
    total = Stored()
    batches = (observations[at : at + BATCH] for at in range(0, len(observations), BATCH))
    for part in (part for batch in batches for part in _parts(batch, guard, wakes=wakes)):
        total.changed += part.changed
        total.stale += part.stale
        total.woken += part.woken
    if total.woken:
        wakeup.ring()
    return total


def _parts(
    batch: Sequence[Stamped], guard: Callable[[], None] | None, *, wakes: bool
) -> list[Stored]:
    """The batch in one transaction; where that cannot be stored, each observation in its own."""
    try:
        with transaction.atomic():
            if guard is not None:
                guard()
            return [_store(batch, wakes=wakes)]
    except PARSE_ERRORS:
        if len(batch) > 1:
            # An unexpected one must not keep the others from being stored.
            return [part for one in batch for part in _parts([one], guard, wakes=wakes)]
        told = batch[0].observation
        log.exception("an observation of workload %s cannot be stored", told.workload)
        return []


def _store(observations: Sequence[Stamped], *, wakes: bool) -> Stored:
    now = db_now()
    stored = Stored()
    found = (as_uuid(stamped.observation.workload) for stamped in observations)
    ids = {key for key in found if key is not None}
    workloads = {
        workload.pk: workload
        for workload in locked(
            Workload.objects.select_related("cluster", "project").filter(pk__in=ids)
        )
    }
    attempts = _attempts(observations, workloads)
    pods = ReplicaRows(attempts.values(), now=now)
    kept: dict[int, Attempt] = {}
    touched: dict[UUID, Workload] = {}
    for stamped in sorted(observations, key=lambda s: s.read_started_at):
        seen = stamped.observation
        key = as_uuid(seen.workload)
        attempt = attempts.get((key, seen.attempt)) if key else None
        if key is None or attempt is None:
            continue
        step = _Step(workloads[key], attempt, stamped, now, pods, kept)
        if step.is_stale:
            stored.stale.append(seen)
        elif step.take():
            touched[key] = workloads[key]
            if wakes and step.wake():
                stored.woken.append(key)
    pods.write()
    update_rows(list(kept.values()))
    settled = [touched[key] for key in sorted(touched)]
    stored.changed = len(status.settle_all(settled, now=now, seen=attempts, pods=pods.of))
    return stored


def _attempts(
    observations: Sequence[Stamped], workloads: Collection[UUID]
) -> dict[tuple[UUID, int], Attempt]:
    """The attempts that were observed, without what takes long to read and is not needed here."""
    # A label may hold any number; one that no column can hold would fail the whole batch.
    numbers = {s.observation.attempt for s in observations if 0 < s.observation.attempt <= MOST}
    wanted = {(as_uuid(s.observation.workload), s.observation.attempt) for s in observations}
    rows = Attempt.objects.filter(workload__in=workloads, no__in=numbers)
    found = rows.defer("effective", "rendered")
    return {(a.workload_id, a.no): a for a in found if (a.workload_id, a.no) in wanted}


def is_over(seen: Observation, cluster: Cluster) -> bool:
    """Whether it has ended for good; a stopped one has where slots are ours (R2)."""
    is_stopped = seen.state == ObservedState.SUSPENDED
    return seen.state.is_terminal or (is_stopped and hands_out_slots(cluster))


class _Step:
    """One observation meets one attempt."""

    def __init__(
        self,
        workload: Workload,
        attempt: Attempt,
        stamped: Stamped,
        now: datetime,
        pods: ReplicaRows,
        kept: dict[int, Attempt],
    ) -> None:
        self.workload, self.attempt, self.now, self.pods = workload, attempt, now, pods
        self.kept = kept
        """Attempts that are stored with the whole batch, by key."""
        self.seen, self.read_at = stamped.observation, stamped.read_started_at

    @property
    def is_stale(self) -> bool:
        """A read stored for a time to come is no newer: the clock has been put back since."""
        last = self.attempt.read_started_at
        return last is not None and self.read_at <= last <= self.now

    def take(self) -> bool:
        """Store it; False when it has nothing that may be stored."""
        attempt, seen = self.attempt, self.seen
        if attempt.ext_uid and seen.ext_uid and attempt.ext_uid != seen.ext_uid:
            return False
        if attempt.outcome:
            return self._after_the_end()
        match seen.state:
            case ObservedState.UNKNOWN:
                return self._unknown()
            case ObservedState.ABSENT:
                return self._absent()
            case ObservedState.CONFLICT:
                return self._conflict()
            case _:
                return self._present()

    def wake(self) -> bool:
        """Make the workload due if the reconciler has something to do now."""
        if not self._is_current:
            return False
        situation = facts.to_plan(self.attempt, self.workload, self.seen, now=self.now)
        if plan(situation) in (Action.NOTHING, Action.WAIT, Action.PLACE):
            return False
        Workload.objects.filter(pk=self.workload.pk).update(due_at=self.now, rung_until=None)
        return True

    @property
    def _is_current(self) -> bool:
        return self.attempt.no == self.workload.attempt_no

    def _unknown(self) -> bool:
        attempt = self.attempt
        attempt.unknown_since = min(attempt.unknown_since or self.read_at, self.read_at)
        is_silent = self.seen.is_cut_off or not self.seen.reason
        attempt.trouble = "" if is_silent else printable(sentence(self.seen.reason), 400)
        waited = self.read_at - attempt.unknown_since
        if (
            attempt.create_state == CreateState.SENT
            and attempt.first_seen_at is None
            and waited > timedelta(seconds=NEVER_SEEN_SECONDS)
        ):
            attempt.observed_state = ObservedState.UNKNOWN
        attempt.save(update_fields=["unknown_since", "observed_state", "trouble"])
        return True

    def _absent(self) -> bool:
        attempt = self.attempt
        if attempt.sent_at is not None and self.read_at < attempt.sent_at <= self.now:
            return False
        last_seen = attempt.read_started_at
        if attempt.observed_state == ObservedState.SUSPENDED and self._is_current:
            attempt.ended_at = attempt.ended_at or self.workload.ended_at
        self._heard()
        attempt.observed_state = ObservedState.ABSENT
        if attempt.create_state == CreateState.SENT:
            attempt.absent_since = min(attempt.absent_since or self.read_at, self.read_at)
        elif attempt.create_state == CreateState.SEEN:
            attempt.create_state = CreateState.GONE
            outcome = self._stopped_or_lost()
            if outcome == Outcome.LOST and last_seen and self._was_away(last_seen):
                outcome = Outcome.AWAY
                attempt.observed_reason = reasons.while_away(last_seen, self.read_at)
            self.pods.gone(attempt)
            self._end(outcome)
            return True
        attempt.save()
        return True

    def _was_away(self, last_seen: datetime) -> bool:
        return self.read_at - last_seen > timedelta(seconds=AWAY_SECONDS)

    def _conflict(self) -> bool:
        attempt = self.attempt
        self._heard()
        attempt.observed_state = ObservedState.CONFLICT
        attempt.observed_reason = printable(self.seen.reason, 400)
        attempt.create_state = CreateState.NONE
        self._end(
            Outcome.FAILED if self.workload.desired == Desired.RUNNING else Outcome.STOPPED,
            may_retry=False,
        )
        return True

    def _present(self) -> bool:
        attempt, seen = self.attempt, self.seen
        self._heard()
        attempt.create_state = CreateState.SEEN
        attempt.first_seen_at = attempt.first_seen_at or self.read_at
        attempt.ext_uid = attempt.ext_uid or printable(seen.ext_uid, 100)
        attempt.absent_since = None
        attempt.released = attempt.released or seen.state != ObservedState.HELD
        if not self._knows_less():
            attempt.observed_reason = printable(seen.reason, 400)
            self._note_code()
        attempt.observed_state = seen.state
        attempt.is_preempted = attempt.is_preempted or seen.is_preempted
        attempt.incomplete = seen.incomplete
        attempt.impossible = seen.is_impossible
        attempt.first_failure = attempt.first_failure or printable(seen.first_failure, 40)
        if seen.tool_addresses is not None:
            told = seen.tool_addresses.items()
            attempt.tool_addresses = {n: printable(at, 300) for n, at in told}
        if self._stop_was_lost():
            attempt.stop_sent_at = None
        if seen.state == ObservedState.RUNNING:
            attempt.started_at = attempt.started_at or seen.started_at or self.now
        elif seen.state.is_terminal:
            attempt.started_at = attempt.started_at or seen.started_at
        self.pods.take(attempt, self.workload, seen.replicas)
        if seen.state.is_terminal:
            attempt.ended_at = seen.ended_at or self.now
            self._end(retries.ended_as(attempt), is_preempted=attempt.is_preempted)
        elif is_over(seen, self.workload.cluster):
            attempt.ended_at = seen.ended_at or self.now
            self._end(self._stopped_or_lost())
        else:
            self.kept[attempt.pk] = attempt
        return True

    def _note_code(self) -> None:
        attempt, seen = self.attempt, self.seen
        if attempt.reason_code != seen.reason_code:
            attempt.reason_since = self.read_at if seen.reason_code else None
        attempt.reason_code, attempt.reason_params = seen.reason_code, dict(seen.reason_params)

    def _knows_less(self) -> bool:
        """The pod that failed first is gone by now: what the operator says of it is no better."""
        was_ending = self.attempt.observed_state == ObservedState.TERMINATING
        is_told = was_ending and self.attempt.first_failure and self.attempt.observed_reason
        is_ending = self.seen.state in (ObservedState.TERMINATING, ObservedState.FAILED)
        return bool(is_told) and is_ending and not self.seen.first_failure

    def _stop_was_lost(self) -> bool:
        sent = self.attempt.stop_sent_at
        is_on = self.seen.state in (ObservedState.PENDING, ObservedState.RUNNING)
        if sent is None or not is_on or self.workload.desired != Desired.RUNNING:
            return False
        return self.read_at - sent > timedelta(seconds=STOP_LOST_SECONDS)

    def _stopped_or_lost(self) -> Outcome:
        is_asked_for = self.attempt.stop_sent_at or self.workload.desired != Desired.RUNNING
        return Outcome.STOPPED if is_asked_for else Outcome.LOST

    def _after_the_end(self) -> bool:
        """Terminal is final (P5): only what a deletion must know is stored."""
        attempt, seen = self.attempt, self.seen
        is_going = self._is_current and self.workload.desired == Desired.DELETED
        is_absent = seen.state == ObservedState.ABSENT
        if seen.state == ObservedState.UNKNOWN:
            return False
        if not is_going and not is_absent:
            return self._anomaly() if self._lives_on() else False
        left = printable(sentence(seen.reason), 400) if self._is_going_away else ""
        is_known = (attempt.observed_state, attempt.trouble) == (seen.state, left)
        if is_known and attempt.create_state != CreateState.SENT:
            return False
        self._heard()
        attempt.trouble = left
        attempt.observed_state = seen.state
        if is_absent and attempt.create_state == CreateState.SEEN:
            attempt.create_state = CreateState.GONE
        elif not is_absent and seen.state != ObservedState.CONFLICT:
            attempt.create_state = CreateState.SEEN
        attempt.save()
        return is_going

    @property
    def _is_going_away(self) -> bool:
        return self.seen.state == ObservedState.TERMINATING

    def _lives_on(self) -> bool:
        # What is on its way out is as it should be: its job makes room for the next attempt, or
        # was given up.
        if self._is_going_away or self.attempt.delete_sent_at is not None:
            return False
        return not is_over(self.seen, self.workload.cluster)

    def _anomaly(self) -> bool:
        """Something lives that has ended by our books: say so, once."""
        events.record(
            events.NewEvent(
                workload=self.workload,
                attempt_no=self.attempt.no,
                kind=events.ANOMALY,
                message=(
                    f"Attempt {self.attempt.no} had ended, but the cluster shows it as "
                    f"{self.seen.state}. The stored result is kept."
                ),
                source_key=f"anomaly:{self.attempt.no}:{self.seen.state}",
                at=self.now,
                severity="warning",
            )
        )
        return False

    def _heard(self) -> None:
        self.attempt.read_started_at = self.read_at
        self.attempt.unknown_since = None
        self.attempt.trouble = ""

    def _end(self, outcome: Outcome, *, may_retry: bool = True, is_preempted: bool = False) -> None:
        self.pods.write()  # what is concluded may name the pod that failed first
        if self._is_current:
            retries.conclude(
                workload=self.workload,
                attempt=self.attempt,
                outcome=outcome,
                now=self.now,
                may_retry=may_retry,
                is_preempted=is_preempted,
            )
        else:
            self.attempt.outcome = outcome
            self.attempt.save()
