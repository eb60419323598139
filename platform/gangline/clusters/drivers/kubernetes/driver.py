"""Kubernetes clusters: one custom resource of Kubeflow's operators for each attempt (ADR 0012).

Gangline hands out no slots here: the cluster's scheduler does. An attempt is made suspended
(``Held``), released by ``commit``, and stopped by suspending it again.
"""

import logging
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from gangline.clusters.drivers.base import (
    NO_FACTS,
    AttemptRef,
    Capacity,
    Facts,
    FieldNote,
    Health,
    LogChunk,
    Observation,
    ObservedState,
    Result,
    Submission,
    Unknown,
)
from gangline.spec.problems import Advice, Problem, Role

from . import (
    check,
    guidance,
    jobs,
    labels,
    logs,
    manifests,
    mapping,
    names,
    observing,
    probing,
    schedulers,
    volume_checks,
)
from .client import Client, Unreachable
from .collecting import Collecting
from .effects import Effects
from .jobs import Job
from .kinds import KINDS
from .objects import Doubt, Objects, is_attempt, is_workload
from .options import Options
from .pending import Pending
from .pods import MASTER, WORKER, Pod
from .watching import Listener, Watch

log = logging.getLogger(__name__)

SLOW_START = timedelta(seconds=10)
"""A pod that has its node and has not begun after so long is worth a look at its events."""
_ODD = (AttributeError, KeyError, TypeError, ValueError)


class KubernetesDriver:
    """See ``Driver``. Thread-safe; holds no more than connections."""

    kind = "kubernetes"
    unsupported = mapping.UNSUPPORTED
    mapped = mapping.MAPPED
    in_flight_max = 60.0

    def __init__(self, client: Client, options: Options) -> None:
        self.client, self.options = client, options
        self.objects = Objects(client, options)
        self._effects = Effects(client, self.objects, self._catch_up)
        self._pending = Pending(self.objects)

    def probe(self) -> Health:
        return probing.probe(self.client)

    def capacity(self) -> Capacity:
        return probing.capacity(self.client)

    def check(self, submission: Submission, facts: Facts) -> list[Problem]:
        return check.check(submission, facts)

    def advise(self, submission: Submission, facts: Facts) -> list[Advice]:
        return list(volume_checks.advise(submission, facts))

    def field_notes(
        self, *, framework: str, role: Role, has_own_master: bool, facts: Facts = NO_FACTS
    ) -> Mapping[str, FieldNote]:
        return guidance.field_notes(
            framework=framework, role=role, has_own_master=has_own_master, facts=facts
        )

    def render(self, submission: Submission) -> dict[str, Any]:
        """Frozen with the namespace: a later change of the prefix must not lose what is there."""
        native = manifests.render(submission, self.options.scheduler or schedulers.PLAIN)
        prefix = self.options.namespace_prefix
        return {**native, "namespace": names.namespace(prefix, submission.project)}

    def observe(self, ref: AttemptRef) -> Observation:
        try:
            return self._look(ref)
        except (Doubt, Unreachable) as why:
            reason = str(why)
        except _ODD as error:
            reason = f"What the cluster told could not be understood: {error!r}."
        return Observation(ref.workload, ref.attempt, ObservedState.UNKNOWN, reason[:400])

    def create(self, ref: AttemptRef) -> Result:
        return self._answer(self._effects.create, ref)

    def commit(self, ref: AttemptRef) -> Result:
        return self._answer(self._effects.commit, ref)

    def suspend(self, ref: AttemptRef) -> Result:
        return self._answer(self._effects.suspend, ref)

    def resume(self, ref: AttemptRef) -> Result:
        if self.options.data_dir is not None:
            logs.reopen_attempt(self.options.data_dir, ref.workload, ref.attempt)
        return self._answer(self._effects.resume, ref)

    def delete(self, ref: AttemptRef) -> Result:
        return self._answer(self._effects.delete, ref)

    def list_owned(self, install: str) -> Iterator[AttemptRef]:
        """What can be told; an outage ends it early, and a watch tells everything again."""
        try:
            yield from self._owned(install)
        except (Doubt, Unreachable) as why:
            log.warning("what this installation owns cannot be listed: %s", why)

    def watch(self, install: str, cursor: str) -> Iterator[Sequence[Observation]]:
        return self._watch(install)

    def read_log(self, ref: AttemptRef, replica: str, offset: int, limit: int) -> LogChunk:
        data_dir = self.options.data_dir
        if data_dir is None or not _is_replica(ref, replica):
            return LogChunk(b"", 0, end=True)
        place = logs.folder(data_dir, ref.workload, ref.attempt, replica)
        return logs.read(place, offset, limit)

    def _owned(self, install: str) -> Iterator[AttemptRef]:
        for kind in self.objects.served():
            for raw in self.objects.every(kind.resource, "", labels.selector(install)):
                job = jobs.read(raw, kind)
                if job.workload:
                    yield jobs.ref_of(job)

    def _watch(self, install: str) -> Generator[Sequence[Observation], None, None]:
        listener: Listener = Listener()
        if self.options.data_dir is not None:
            listener = Collecting(self.client, self.options.data_dir)
        # Every kind that Gangline knows: an operator may be installed while this goes on.
        watch = Watch(self.client, install, list(KINDS.values()), self.observe, listener)
        try:
            yield from watch.batches()
        finally:
            listener.stop()

    def _look(self, ref: AttemptRef) -> Observation:
        job = self.objects.job(ref)
        if job is None:
            return observing.without_job(ref.workload, ref.attempt, self.objects.pods(ref))
        if not is_workload(job, ref) and job.install != ref.install:
            return _conflict(ref, f"{job.name} in namespace {job.namespace} was made by others.")
        if not is_workload(job, ref) or job.attempt != ref.attempt:
            return observing.without_job(ref.workload, ref.attempt, self.objects.pods(ref))
        if not is_attempt(job, ref):
            return _conflict(ref, "Somebody removed it and made another object of its name.")
        return self._explained(ref, job, self.objects.pods(ref, job.namespace))

    def _explained(self, ref: AttemptRef, job: Job, pods: Sequence[Pod]) -> Observation:
        now = datetime.now(UTC)
        seen = observing.observe(job, pods, now=now)
        hints: dict[str, str] = {}
        if seen.state is ObservedState.PENDING:
            said = self._pending.why(ref, job)
            hints = {job.uid: said} if said else {}
        elif seen.state is ObservedState.STARTING and not seen.reason:
            is_slow = job.created_at is not None and now - job.created_at > SLOW_START
            waits = [p for p in pods if p.is_scheduled and not p.has_started and not p.is_over]
            hints = self._pending.of_pods(waits) if is_slow else {}
        return observing.observe(job, pods, now=now, hints=hints) if hints else seen

    def _catch_up(self, pods: list[Pod]) -> None:
        if self.options.data_dir is not None:
            logs.catch_up(self.client, self.options.data_dir, pods)

    def _answer(self, act: Callable[[AttemptRef], Result], ref: AttemptRef) -> Result:
        """Outages and doubt are answers, not exceptions."""
        _, namespace = self.objects.place(ref)
        try:
            return act(replace(ref, namespace=namespace))
        except (Doubt, Unreachable) as why:
            return Unknown(str(why))


def _conflict(ref: AttemptRef, reason: str) -> Observation:
    return Observation(ref.workload, ref.attempt, ObservedState.CONFLICT, reason)


def _is_replica(ref: AttemptRef, replica: str) -> bool:
    """Whether the attempt has a replica of this name, which becomes a path."""
    role, _, index = replica.rpartition("-")
    if role not in (MASTER, WORKER) or not index.isascii():
        return False
    if not index.isdigit() or str(int(index)) != index:
        return False
    if ref.submission is None:
        return True
    if role == MASTER:
        return index == "0" and ref.submission.master is not None
    return int(index) < ref.submission.num_workers
