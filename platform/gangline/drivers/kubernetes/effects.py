"""What the driver changes on a cluster, repeatable, and never on what is not ours.

An object is ours by three labels and its uid. Writes that depend on a read carry the object's
``resourceVersion``; deletions carry its uid.
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gangline.drivers.base import (
    AttemptRef,
    Busy,
    Done,
    NotYet,
    Refused,
    Result,
    Unknown,
)

from . import errors, manifests, refusals
from .claims import Claims
from .client import Answer, Doubt
from .deadlines import InTime, in_time
from .jobs import INTENT, RUN, STOP, Job
from .mapping import Place
from .namespaces import Namespaces
from .objects import Objects, is_attempt, is_workload
from .pods import Pod
from .resources import CLAIMS, INGRESSES, SERVICES, Resource
from .schedulers import ADAPTERS, Change

log = logging.getLogger(__name__)

PATIENCE = 15.0
"""Seconds in which what is in the way may go before a call gives up; its budget is 30."""
BRIEF = 8.0
LOOK_EVERY = 0.2
LONGEST_PAUSE = 2.0
TRIES = 4
DEPENDENTS = {
    (r.api_version, r.kind): r
    for r in (CLAIMS, SERVICES, INGRESSES, *(r for a in ADAPTERS.values() for r in a.reads))
}
"""What may stand beside a job, by version and kind."""

CatchUp = Callable[[list[Pod]], None]
"""Fetches what is left of the logs of pods that are about to go, within a short time."""


class Effects:
    """Raises Doubt: the caller answers Unknown."""

    def __init__(self, client: InTime, objects: Objects, catch_up: CatchUp) -> None:
        self.client, self.objects, self.catch_up = client, objects, catch_up
        self._namespaces = Namespaces(self.client)
        self._claims = Claims(self.client, self.objects, self._namespaces.refusal)

    @in_time
    def create(self, ref: AttemptRef) -> Result:
        """Make the object, held. What an earlier attempt left under the name goes first (R2a)."""
        kind, namespace = self.objects.place(ref)
        if kind is None:
            return Refused("Gangline has no object for this framework.")
        body = manifests.job(ref)
        deadline = time.monotonic() + PATIENCE
        is_prepared = False
        pause = LOOK_EVERY
        while True:
            answer = self.client.create(kind.resource, namespace, body)
            if answer.ok:
                return NotYet()
            if answer.status == 409:
                told = self._taken(ref, deadline, pause)
                pause = min(LONGEST_PAUSE, 2 * pause)
            elif errors.lacks_kind(answer):
                told = Refused(errors.NO_OPERATOR)
            elif errors.lacks_namespace(answer) or errors.missing_right(answer):
                if not is_prepared:
                    told = self._namespaces.prepare(namespace, ref.install)
                    is_prepared = True
                elif errors.missing_right(answer) and not self._namespaces.is_settling(namespace):
                    told = self._said(ref, namespace, answer, ("job",))
                else:
                    # One API server of several, or its cache, may not know yet what is there.
                    told = self._namespaces.settle(namespace, deadline, pause)
                    pause = min(LONGEST_PAUSE, 2 * pause)
            else:
                told = self._said(ref, namespace, answer, ("job",))
            if told is not None:
                return told

    @in_time
    def commit(self, ref: AttemptRef) -> Result:
        """Make what belongs to the job, then let it go. Of a job that was stopped, nothing.

        What is refused is taken back whole: half of it would hold quota and names for nothing.
        """
        told = self._change(ref, self._let_go, only_held=True)
        if isinstance(told, Refused):
            self._take_back(ref)
        return told

    @in_time
    def resume(self, ref: AttemptRef) -> Result:
        """Let a stopped job go on as the same attempt."""
        return self._change(ref, self._let_go, only_held=False)

    @in_time
    def suspend(self, ref: AttemptRef) -> Result:
        """Let the operator end the pods; the object stays."""
        for _ in range(TRIES):
            job = self.objects.job(ref)
            pods = self._living(ref, job)
            is_over = job is None or not is_attempt(job, ref) or job.has_ended or job.is_deleting
            if job is None or is_over or (job.is_suspended and job.intent == STOP):
                return NotYet() if pods else Done()
            self.catch_up(pods)
            # Before: what was stopped once is not stopped again.
            self._claims.empty(ref, job.namespace)
            answer = self._turn(job, STOP, job.adapter.hold_back())
            if answer.ok:
                return NotYet()
            if answer.status not in (404, 409):
                return errors.result(answer)
        return Unknown("The object kept changing while it was to be stopped.")

    @in_time
    def delete(self, ref: AttemptRef) -> Result:
        """Delete the object and, through its ownership, everything of it."""
        jobs = self._own(ref)
        pods = self._living(ref, jobs[0] if jobs else None)
        for job in jobs:
            if job.is_deleting:
                continue
            self.catch_up(self.objects.pods(ref, job.namespace))
            if ref.goes_on and (told := self._claims.let_go(ref, job)):
                return told
            answer = self._delete(job)
            if not answer.ok and answer.status not in (404, 409):
                return errors.result(answer)
        if pods or not self._is_gone(ref, time.monotonic() + BRIEF):
            return NotYet()
        namespace = jobs[0].namespace if jobs else ref.namespace
        return Done() if ref.goes_on or self._claims.collect(ref, namespace) else NotYet()

    def _change(
        self, ref: AttemptRef, change: Callable[[AttemptRef, Job], Answer | Result], only_held: bool
    ) -> Result:
        for _ in range(TRIES):
            job = self.objects.job(ref)
            if job is None or not is_attempt(job, ref) or job.is_deleting:
                return NotYet() if only_held else Refused("It is no longer on the cluster.")
            if job.has_ended or job.intent == RUN or (only_held and job.intent == STOP):
                return Done()
            told = change(ref, job)
            if not isinstance(told, Answer):
                return told
            if told.ok:
                return NotYet()
            if told.status not in (404, 409):
                return errors.result(told)
        return Unknown("The object kept changing while it was to be let go.")

    def _let_go(self, ref: AttemptRef, job: Job) -> Answer | Result:
        if told := self._claims.take_over(ref, job):
            return told
        for index, body in enumerate(manifests.dependents(ref, job.uid)):
            resource = DEPENDENTS[(body["apiVersion"], body["kind"])]
            if resource == CLAIMS:
                if told := self._claims.make(ref, job, body):
                    return told
                continue
            answer = self.client.create(resource, job.namespace, body)
            if answer.status == 409 and not self._is_of(resource, job, body):
                name = body["metadata"]["name"]
                return Refused(
                    f"{body['kind']} {name} already exists and does not belong to this workload."
                )
            if errors.lacks_kind(answer):
                return Refused(errors.no_scheduler(resource, job.adapter.title))
            if not answer.ok and answer.status != 409:
                return self._said(ref, job.namespace, answer, ("dependents", str(index)))
        return self._turn(job, RUN, job.adapter.let_go(job.queue))

    def _take_back(self, ref: AttemptRef) -> None:
        """The job that was not let go, with what it owns; not what earlier attempts have kept.

        Where that fails, the workload's next attempt or its deletion removes it.
        """
        try:
            job = self.objects.job(ref)
            is_held = job is not None and is_attempt(job, ref) and not job.intent
            if job is None or not is_held or job.is_deleting:
                return
            if ref.attempt > 1 and self._claims.let_go(ref, job):
                return
            self._delete(job)
        except Doubt as why:
            log.warning("what was made of %s was not taken back: %s", ref.name, why)

    def _said(self, ref: AttemptRef, namespace: str, answer: Answer, within: Place) -> Result:
        """What an answer to a create means; a refusal also at the fields it is about."""
        told = self._namespaces.refusal(namespace, answer)
        if not isinstance(told, Refused) or ref.submission is None:
            return told
        return replace(told, problems=refusals.problems(ref, within, answer))

    def _is_of(self, resource: Resource, job: Job, body: Mapping[str, Any]) -> bool:
        """Whether what bears the dependent's name was made for this very job."""
        answer = self.client.get(resource, job.namespace, body["metadata"]["name"])
        if answer.status == 404:
            raise Doubt("Objects of the workload are still being removed.")
        if not answer.ok:
            raise Doubt(errors.reading(answer), answer)
        owners = answer.body.get("metadata", {}).get("ownerReferences") or ()
        return any(owner.get("uid") == job.uid for owner in owners)

    def _turn(self, job: Job, intent: str, change: Change) -> Answer:
        """Make the change, the scheduler's own objects first: what we intend is written last.

        So a call that breaks off in between is seen as one that did not happen, and is repeated.
        """
        more = change.without_theirs
        for resource, patch in change.theirs.items():
            for raw in self.objects.every(resource, job.namespace, ""):
                if not owned_by(raw, job):
                    continue
                more, meta = {}, raw["metadata"]
                guarded = _guarded(patch, meta["uid"], meta["resourceVersion"])
                answer = self.client.patch(resource, job.namespace, meta["name"], guarded)
                if not answer.ok:
                    return answer
        body = _merged(_guarded(change.job, job.uid, job.version), more)
        if change.suspend is not None:
            body = _merged(body, job.kind.suspending(change.suspend))
        body = _merged(body, {"metadata": {"annotations": {INTENT: intent}}})
        return self.client.patch(job.kind.resource, job.namespace, job.name, body)

    def _delete(self, job: Job) -> Answer:
        return self.client.delete(job.kind.resource, job.namespace, job.name, uid=job.uid)

    def _taken(self, ref: AttemptRef, deadline: float, pause: float) -> Result | None:
        """The name is in use: what that means; None when it is worth another try at once."""
        job = self.objects.job(ref)
        if job is None:
            # It is just going, or a read does not show yet what a write meets.
            if time.monotonic() + pause >= deadline:
                return Busy(2.0, "The name is in use.")
            time.sleep(pause)
            return None
        if job.install != ref.install or is_attempt(job, ref):
            return NotYet()  # found, or somebody else's: the next observation says which
        if not is_workload(job, ref):
            return Busy(5.0, "Another workload of its name is still on the cluster.")
        if job.attempt > ref.attempt:
            return Refused(f"Attempt {job.attempt} of it is on the cluster already.")
        if job.attempt == ref.attempt:
            return NotYet()
        return self._replace(ref, job, deadline)

    def _replace(self, ref: AttemptRef, old: Job, deadline: float) -> Result | None:
        """Remove the object of an earlier attempt, its logs first."""
        before = AttemptRef(ref.install, ref.workload, old.attempt, old.name, old.namespace)
        if not old.is_deleting:
            self.catch_up(self.objects.pods(before, old.namespace))
            if told := self._claims.let_go(ref, old):
                return told
            answer = self._delete(old)
            if not answer.ok and answer.status not in (404, 409):
                return errors.result(answer)
        while time.monotonic() < deadline:
            raw = self.objects.raw_job(old.kind, old.namespace, old.name)
            if raw is None or raw["metadata"].get("uid") != old.uid:
                return None
            time.sleep(LOOK_EVERY)
        return Busy(3.0, f"Attempt {old.attempt} is still being removed from the cluster.")

    def _own(self, ref: AttemptRef) -> list[Job]:
        """What a deletion is about: one object, or none; more only if somebody copied one.

        The workload's last deletion takes the object of an earlier attempt along, which was to be
        replaced by one that never came.
        """
        kind, namespace = self.objects.place(ref)
        if kind is None or not namespace or not ref.name:
            return [job for job in self.objects.search(ref) if is_attempt(job, ref)]
        job = self.objects.job(ref)
        if job is None:
            return []
        is_left_over = is_workload(job, ref) and job.attempt < ref.attempt and not ref.goes_on
        return [job] if is_left_over or is_attempt(job, ref) else []

    def _living(self, ref: AttemptRef, job: Job | None) -> list[Pod]:
        namespace = job.namespace if job is not None else ""
        return [pod for pod in self.objects.pods(ref, namespace) if not pod.is_over]

    def _is_gone(self, ref: AttemptRef, deadline: float) -> bool:
        """Whether nothing is left, waiting a little for what only has to be collected."""
        while True:
            if not self._own(ref) and not self._living(ref, None):
                return True
            if time.monotonic() >= deadline:
                return False
            time.sleep(LOOK_EVERY)


def owned_by(raw: Mapping[str, Any], job: Job) -> bool:
    """Whether an object was made for this very job."""
    owners = (raw.get("metadata") or {}).get("ownerReferences") or ()
    return any(owner.get("uid") == job.uid for owner in owners)


def _guarded(patch: Mapping[str, Any], uid: str, version: str) -> dict[str, Any]:
    """The patch for this very object as it was read."""
    return _merged(patch, {"metadata": {"uid": uid, "resourceVersion": version}})


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Two merge patches as one."""
    made = dict(one)
    for key, value in other.items():
        mine = made.get(key)
        is_both = isinstance(mine, Mapping) and isinstance(value, Mapping)
        made[key] = _merged(mine, value) if is_both else value  # type: ignore[arg-type]
    return made
