"""Bring one workload nearer to what is wanted: claim, look, at most one effect, look again.

No transaction is open while a driver works. What is about to be done is committed before it is
done, and an answer that did not come is an answer: only the next observation tells.
"""

import logging
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from assets.credentials.store import CannotUse
from gangline.clusters import contact
from gangline.clusters.connections import acts_here, driver_for
from gangline.db import leases
from gangline.db.clock import db_now
from gangline.db.locks import locked
from gangline.drivers.base import (
    AttemptRef,
    Busy,
    Done,
    Driver,
    NotYet,
    Observation,
    ObservedState,
    Refused,
    ReplicaState,
    Result,
    Unknown,
)
from gangline.drivers.kind import Unconnectable
from gangline.lib.fail_points import fail_point
from gangline.lib.sentences import sentence
from gangline.spec.sources import from_json
from workloads import refs, wording
from workloads.models import Attempt, CreateState, Desired, Outcome, Workload
from workloads.services import (
    admission,
    claims,
    credentials,
    due_times,
    events,
    facts,
    lifecycle,
    observe,
    preparation,
    retries,
    sessions,
    status,
)
from workloads.services.claims import Claim, LostLease
from workloads.services.contact import wake_waiting
from workloads.services.dry_run import at_fields
from workloads.services.phases import Action, plan
from workloads.services.reasons import LONGEST, TOO_SLOW, slow_down
from workloads.wording import seconds_in_words

log = logging.getLogger(__name__)

MOST_PASSES = 10
BUDGET_SECONDS = 30.0
REFUSED_PAUSE = 600.0
ELSEWHERE_PAUSE = 5.0
LEFTOVERS_PAUSE = 1.0
_NOTHING_THERE = (ObservedState.ABSENT, ObservedState.CONFLICT, ObservedState.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Pass:
    """What one call did: ``claimed`` 0 means that it had no lease, so it did nothing."""

    claimed: int = 0
    effects: int = 0


@dataclass(frozen=True, slots=True)
class _After:
    """How a pass ended: when to look next, and what to remember with it."""

    next_due: datetime | None
    failed: bool | None = False
    """None: the cluster was not asked."""
    answered: bool = False


def reconcile(workload_id: UUID) -> Pass:
    """Work on one workload while it is due, within the budget."""
    deadline = time.monotonic() + BUDGET_SECONDS
    done = Pass()
    while done.claimed < MOST_PASSES and time.monotonic() < deadline:
        held = claims.claim(workload_id)
        if held is None:
            break
        done = Pass(done.claimed + 1, done.effects + _pass(held))
    return done


def _pass(held: Claim) -> int:
    fail_point("reconcile.after_claim")
    work = _Work(held)
    try:
        after = work.run()
    except LostLease:
        # Somebody took over, or the person changed their mind: then the row is due already.
        claims.release(held, next_due=db_now())
        return work.effects
    except Exception as error:  # noqa: BLE001  a bug must neither lose nor hot-loop the row
        after = work.bug(error)
    fail_point("reconcile.before_release")
    with transaction.atomic():
        is_ours = claims.release(held, next_due=after.next_due, failed=after.failed)
        if is_ours and after.answered:
            Attempt.objects.filter(pk=work.attempt.pk).update(create_answered=True)
    return work.effects


class _Work:
    """One pass over one workload."""

    def __init__(self, held: Claim) -> None:
        self.held = held
        self.effects = 0
        self.workload, self.attempt = _load(held.workload_id)

    def run(self) -> _After:
        now = db_now()
        if (after := self._of_age(now)) is not None:
            return after
        if due_times.is_at_rest(self.workload, self.attempt, now):
            return _After(due_times.rest_due(self.workload, self.attempt, now))
        if not acts_here(self.workload.cluster):
            return _After(now + timedelta(seconds=ELSEWHERE_PAUSE))
        if contact.is_resting(self.workload.cluster):
            return _After(self.workload.cluster.backoff_until, failed=None)
        try:
            driver = driver_for(self.workload.cluster)
        except Unconnectable as why:
            return self._no_contact(str(why), now)
        seen = self._look(driver)
        if seen.retry_after is not None:
            return self._rest(seen.retry_after, now)
        self._note_contact(seen)
        if self.workload.attempt_no != self.attempt.no:
            return _After(db_now())
        return self._next(driver, seen)

    def _of_age(self, now: datetime) -> _After | None:
        """Delete it when its time after the end is over, and stop a session at its limit."""
        end = sessions.end_of(self.workload, self.attempt)
        is_over = end is not None and end.at <= now
        if not is_over and not self._wants_to_go(now):
            return None
        if (until := leases.ages_held_until()) is not None:
            return _After(until)
        if end is not None and is_over:
            lifecycle.stop(actor=None, workload_id=self.workload.pk, cause=end.cause)
        else:
            lifecycle.delete(actor=None, workload_id=self.workload.pk, cause="auto")
        return _After(now)

    def _next(self, driver: Driver, seen: Observation) -> _After:
        if self._landed_late(seen):
            if due_times.is_fresh(self.attempt.delete_sent_at, now := db_now()):
                return self._wait(driver, now)
            is_given_up = self.attempt.delete_sent_at is not None
            how = preparation.before_delete if is_given_up else preparation.before_removing_late
            return self._effect(driver, Action.DELETE, how)
        if due_times.is_given_up(self.workload, self.attempt, db_now()):
            return self._give_up(driver)
        return self._act(driver, seen)

    def bug(self, error: Exception) -> _After:
        """An exception is a fault of ours: keep an id of it, go on later."""
        number = uuid.uuid4().hex[:8]
        log.error("pass %s over workload %s failed", number, self.held.workload_id, exc_info=error)
        try:
            self._tell_trouble(f"Internal error {number}; Gangline tries again. Nothing was lost.")
        except LostLease:
            log.info("the lease of %s was lost", self.held.workload_id)
        return self._failed(db_now())

    def _look(self, driver: Driver) -> Observation:
        """One strong read, stored; the rows are read again afterwards."""
        ref = refs.attempt_ref(self.workload, self.attempt)
        read_at = db_now()
        seen = driver.observe(ref)
        fail_point("reconcile.after_observe")
        if seen.retry_after is not None:
            return seen
        before = self.attempt
        is_news = before.create_state != CreateState.NONE or before.unknown_since is not None
        if seen.state != ObservedState.ABSENT or is_news:
            observe.store([observe.Stamped(seen, read_at)], wakes=False)
            self.workload, self.attempt = _load(self.held.workload_id, before.no)
            self._adopt(before, seen)
        fail_point("reconcile.after_store")
        return seen

    def _note_contact(self, seen: Observation) -> None:
        if seen.is_cut_off:
            contact.lost(self.workload.cluster_id)
        elif seen.state != ObservedState.UNKNOWN and contact.heard(self.workload.cluster):
            wake_waiting(self.workload.cluster_id)

    def _adopt(self, before: Attempt, seen: Observation) -> None:
        """Found: what an earlier pass sent without living to read the answer."""
        is_there = self.attempt.create_state == CreateState.SEEN
        if not is_there or before.create_answered or before.sent_fence == self.held.fence:
            return
        with claims.fenced(self.held) as workload:
            if not seen.incomplete:
                Attempt.objects.filter(pk=self.attempt.pk).update(create_answered=True)
                self.attempt.create_answered = True
            events.record(
                events.NewEvent(
                    workload=workload,
                    attempt_no=self.attempt.no,
                    kind=events.ADOPTED,
                    message=f"Attempt {self.attempt.no} was found on the cluster and adopted.",
                    source_key=f"adopted:{self.attempt.no}",
                    at=db_now(),
                )
            )

    def _act(self, driver: Driver, seen: Observation) -> _After:
        now = db_now()
        situation = facts.to_plan(
            self.attempt, self.workload, seen, now=now, in_flight_max=driver.in_flight_max
        )
        action = plan(situation)
        if action.is_effect:
            return self._effect(driver, action, preparation.PREPARATIONS[action])
        match action:
            case Action.PLACE:
                admission.request(self.workload.cluster_id)
                return _After(due_times.resync_at(now))
            case Action.END:
                return self._conclude(Outcome.STOPPED)
            case Action.VANISH:
                return self._on_missing(driver, now)
            case Action.WAIT if seen.state == ObservedState.UNKNOWN:
                return self._on_unknown(seen, now)
            case Action.WAIT:
                return self._wait(driver, now)
        if seen.state == ObservedState.UNKNOWN:
            return self._on_unknown(seen, now)
        return _After(due_times.rest_due(self.workload, self.attempt, now))

    def _give_up(self, driver: Driver) -> _After:
        """Its image cannot be pulled: the attempt has failed, and what is left of it goes.

        The tombstone brings later passes back until the object is gone.
        """
        with claims.fenced(self.held, same_intent=True) as workload:
            now = db_now()
            attempt = locked(Attempt.objects.all()).get(pk=self.attempt.pk)
            if workload.attempt_no != attempt.no:
                raise LostLease
            attempt.delete_sent_at = now
            retries.mark_deleted(attempt, now)
            retries.conclude(
                workload=workload, attempt=attempt, outcome=Outcome.FAILED, now=now, may_retry=False
            )
            left = attempt.replicas.filter(ended_at=None)
            left.update(state=ReplicaState.STOPPED, ended_at=now)
            status.settle(workload, now=now)
        self.workload, self.attempt = workload, attempt
        result = driver.delete(refs.attempt_ref(workload, attempt))
        self.effects += 1
        if isinstance(result, Busy | Refused | Unknown):
            return self._judge(Action.DELETE, result)
        return _After(due_times.rest_due(workload, attempt, db_now()))

    def _wait(self, driver: Driver, now: datetime) -> _After:
        return _After(due_times.wait_due(self.attempt, now, in_flight_max=driver.in_flight_max))

    def _effect(self, driver: Driver, action: Action, prepare: preparation.Preparation) -> _After:
        if self.held.is_too_old:
            return self._no_contact(TOO_SLOW, db_now())
        secrets: Mapping[str, Mapping[str, str]] = {}
        if action is Action.CREATE and self.workload.cluster.engine.takes_secrets:
            try:
                secrets = credentials.values_of(self.workload)
            except CannotUse as why:
                return self._no_contact(str(why), db_now())
        with claims.fenced(self.held, same_intent=True) as workload:
            now = db_now()
            attempt = locked(Attempt.objects.all()).get(pk=self.attempt.pk)
            if workload.attempt_no != attempt.no:
                raise LostLease
            prepare(workload, attempt, self.held.fence, now)
            status.settle(workload, now=now)
        self.workload, self.attempt = workload, attempt
        fail_point(f"reconcile.before_{action}")
        if self.held.is_too_old:
            raise LostLease
        ref = replace(refs.attempt_ref(workload, attempt), secrets=secrets)
        result = _method(driver, action)(ref)
        self.effects += 1
        fail_point(f"reconcile.after_{action}")
        return self._judge(action, result)

    def _judge(self, action: Action, result: Result) -> _After:
        now = db_now()
        match result:
            case Busy():
                return self._busy(action, result, now)
            case Refused():
                return self._refused(action, result, now)
            case Unknown():
                return self._in_doubt(result, now)
        if self.attempt.wait_code:
            # Fenced: what the watch stores of the attempt meanwhile would bring the words back.
            with claims.fenced(self.held):
                rows = Attempt.objects.filter(pk=self.attempt.pk)
                rows.update(wait_code="", wait_params={}, trouble="")
        return _After(now, answered=action == Action.CREATE)

    def _rest(self, seconds: float, now: datetime) -> _After:
        """The whole cluster wants to be left alone; that is no failure, and contact there is."""
        contact.rest(self.workload.cluster_id, seconds)
        self._tell_trouble(slow_down(seconds, now))
        return _After(now + timedelta(seconds=seconds))

    def _busy(self, action: Action, busy: Busy, now: datetime) -> _After:
        """Not now, and nothing was done: a create need not be waited for."""
        if busy.is_for_all:
            contact.rest(self.workload.cluster_id, busy.retry_after)
        pause = seconds_in_words(busy.retry_after)
        trouble = f"{sentence(busy.reason)[:-1]}; next try in {pause}."
        if busy.is_for_all or not busy.reason:
            trouble = slow_down(busy.retry_after, now)
        with claims.fenced(self.held) as workload:
            rows = Attempt.objects.filter(pk=self.attempt.pk)
            if action == Action.CREATE:
                rows.filter(create_state=CreateState.SENT).update(create_state=CreateState.NONE)
            rows.update(trouble=trouble[:400])
            status.settle(workload, now=now)
        return _After(now + timedelta(seconds=busy.retry_after))

    def _refused(self, action: Action, refused: Refused, now: datetime) -> _After:
        """The cluster will not: a start ends there, anything else is shown and tried later."""
        clean = sentence(refused.reason)
        if action == Action.RESUME:
            return self._conclude(Outcome.STOPPED)
        if action not in (Action.CREATE, Action.COMMIT):
            self._tell_of_write(f"The cluster refused it: {clean}"[:LONGEST], now)
            return _After(now + timedelta(seconds=REFUSED_PAUSE), failed=True)
        with claims.fenced(self.held) as workload:
            attempt = locked(Attempt.objects.all()).get(pk=self.attempt.pk)
            if action == Action.CREATE:
                attempt.create_state = CreateState.NONE
            attempt.observed_reason = clean[:400]
            told = at_fields(refused.problems, from_json(attempt.effective), workload.master)
            attempt.refusal = [problem.as_stored() for problem in told]
            retries.conclude(
                workload=workload, attempt=attempt, outcome=Outcome.FAILED, now=now, may_retry=False
            )
            status.settle(workload, now=now)
        return _After(now)

    def _in_doubt(self, unknown: Unknown, now: datetime) -> _After:
        """Whether it was done, the next looks tell; until then the row says what was heard."""
        self._tell_of_write(sentence(unknown.reason)[:LONGEST], now)
        return self._failed(now)

    def _tell_of_write(self, said: str, now: datetime) -> None:
        """Looks clear ``trouble``, as contact there is; the reason to wait stays until then."""
        with claims.fenced(self.held) as workload:
            rows = Attempt.objects.filter(pk=self.attempt.pk)
            rows.update(trouble=said)
            sent = rows.exclude(create_state=CreateState.NONE)
            sent.update(wait_code=wording.CLUSTER, wait_params={"text": said})
            status.settle(workload, now=now)

    def _conclude(self, outcome: Outcome) -> _After:
        with claims.fenced(self.held) as workload:
            now = db_now()
            attempt = locked(Attempt.objects.all()).get(pk=self.attempt.pk)
            if not attempt.outcome and workload.attempt_no == attempt.no:
                if attempt.create_state == CreateState.SENT:
                    attempt.create_state = CreateState.GONE
                if attempt.create_state != CreateState.SEEN:
                    retries.mark_deleted(attempt, now)
                retries.conclude(workload=workload, attempt=attempt, outcome=outcome, now=now)
                status.settle(workload, now=now)
        return _After(now)

    def _on_missing(self, driver: Driver, now: datetime) -> _After:
        """Nothing is left: the name is free from here on (R3)."""
        if self.attempt.no > 1:
            # An attempt that never came may have been to take over what the one before it kept.
            if self.held.is_too_old:
                return self._no_contact(TOO_SLOW, now)
            told = driver.delete(refs.attempt_ref(self.workload, self.attempt))
            if isinstance(told, NotYet):
                return _After(now + timedelta(seconds=LEFTOVERS_PAUSE))
            if not isinstance(told, Done):
                return self._judge(Action.DELETE, told)
        with claims.fenced(self.held, same_intent=True) as workload:
            attempt = locked(Attempt.objects.all()).get(pk=self.attempt.pk)
            retries.mark_deleted(attempt, now)
            if attempt.create_state == CreateState.SENT:
                attempt.create_state = CreateState.GONE
            attempt.outcome = attempt.outcome or Outcome.STOPPED
            attempt.ended_at = attempt.ended_at or now
            attempt.save()
            workload.deleted_at = now
            workload.save(update_fields=["deleted_at"])
            retries.free_slots_later(workload)
            credentials.let_go(workload)
            status.settle(workload, now=now)
        return _After(retries.late_look(attempt, now))

    def _landed_late(self, seen: Observation) -> bool:
        """It lives although its attempt is over: a create that came in after all."""
        if not self.attempt.outcome or observe.is_over(seen, self.workload.cluster):
            return False
        return seen.state not in _NOTHING_THERE and self.workload.desired != Desired.DELETED

    def _wants_to_go(self, now: datetime) -> bool:
        is_kept = self.workload.desired != Desired.DELETED and bool(self.attempt.outcome)
        at = retries.auto_deletion_at(self.workload, self.attempt) if is_kept else None
        return at is not None and at <= now

    def _on_unknown(self, seen: Observation, now: datetime) -> _After:
        """What is known of it has been stored with the look, unless it had ended before."""
        return self._no_contact("" if self.attempt.unknown_since else seen.reason, now)

    def _no_contact(self, reason: str, now: datetime) -> _After:
        if reason:
            self._tell_trouble(sentence(reason))
        return self._failed(now)

    def _failed(self, now: datetime) -> _After:
        delay = due_times.backoff_seconds(self.workload.fail_count + 1)
        return _After(now + timedelta(seconds=delay), failed=True)

    def _tell_trouble(self, text: str) -> None:
        with claims.fenced(self.held) as workload:
            Attempt.objects.filter(pk=self.attempt.pk).update(trouble=text[:400])
            status.settle(workload, now=db_now())


def _load(workload_id: UUID, attempt_no: int | None = None) -> tuple[Workload, Attempt]:
    workload = Workload.objects.select_related("cluster", "project").get(pk=workload_id)
    no = attempt_no or workload.attempt_no
    return workload, Attempt.objects.get(workload=workload, no=no)


def _method(driver: Driver, action: Action) -> Callable[[AttemptRef], Result]:
    return {
        Action.CREATE: driver.create,
        Action.COMMIT: driver.commit,
        Action.SUSPEND: driver.suspend,
        Action.RESUME: driver.resume,
        Action.DELETE: driver.delete,
    }[action]
