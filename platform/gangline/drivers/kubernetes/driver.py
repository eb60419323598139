"""Kubernetes clusters: one custom resource of Kubeflow's operators for each attempt (ADR 0012).

Gangline hands out no slots here: the cluster's scheduler does. An attempt is made suspended
(``Held``), released by ``commit``, and stopped by suspending it again.
"""

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from gangline.drivers.base import (
    NO_FACTS,
    AttemptRef,
    Busy,
    DryRunResult,
    Kept,
    KeptObject,
    LogChunk,
    Observation,
    ObservedState,
    OwnedObject,
    Refused,
    Result,
    Submission,
    TellTrouble,
    Unknown,
    ignore_all_told,
    ignore_trouble,
)
from gangline.drivers.facts import Capacity, Facts, FieldNote, Health
from gangline.drivers.logs.segments import Limits
from gangline.drivers.logs.store import LogStore
from gangline.drivers.ports import Connection
from gangline.drivers.shells import Shell, ShellRequest
from gangline.spec.frameworks import ROLE_NAMES
from gangline.spec.problems import Advice, Problem, Role

from . import (
    check,
    claims,
    deadlines,
    field_hints,
    kept,
    log_collector,
    manifests,
    mapping,
    names,
    node_labels,
    observation,
    priorities,
    probe,
    queues,
    schedulers,
    tool_services,
    volume_checks,
)
from .access import Options
from .client import Client, Doubt, understood
from .deadlines import InTime
from .dry_run import DryRun
from .effects import Effects
from .jobs import Job
from .kinds import KINDS
from .log_collector import Collecting
from .objects import Objects, Raw, is_attempt, is_seen, is_workload, selector
from .owned import Owned
from .pending_reasons import Pending, Why
from .pods import Pod
from .pods import read as read_pod
from .resources import SERVICES
from .shells import Visiting
from .store import Listener
from .watcher import Watch

SLOW_START = timedelta(seconds=10)
"""A pod that has its node and has not begun after so long is worth a look at its events."""


class KubernetesDriver:
    """See ``Driver``. Thread-safe; keeps connections, what it read lately, and its watch."""

    kind = "kubernetes"
    unsupported: Mapping[str, str] = mapping.UNSUPPORTED
    mapped = mapping.MAPPED
    in_flight_max = 60.0

    def __init__(self, client: Client, options: Options) -> None:
        self.client, self.options = client, options
        in_time = InTime(client)
        self.objects = Objects(in_time, options)
        self._effects = Effects(in_time, self.objects, self._catch_up)
        self._pending = Pending(self.objects)
        self._owned_objects = Owned(in_time, self.objects)
        self._visiting = Visiting(client, self.objects)
        self._watched: Watch | None = None
        self._logs: LogStore | None = None
        """None: no place for logs was given."""
        if options.data_dir is not None:
            self._logs = LogStore(options.data_dir, Limits(cap=options.log_cap))
        known = schedulers.ADAPTERS
        self._adapter = known.get(options.scheduler) or known[schedulers.PLAIN]
        self.unsupported = {**mapping.UNSUPPORTED, **self._adapter.unsupported}

    def probe(self) -> Health:
        return probe.probe(self.client, node_type=self.options.node_type)

    def capacity(self) -> Capacity | None:
        return probe.capacity(self.client)

    def claims_there(self, namespace: str) -> Sequence[str] | Unknown:
        return claims.there(self.client, namespace)

    def check(self, submission: Submission, facts: Facts) -> list[Problem]:
        namespace = self._namespace(submission)
        return [
            *check.check(submission, facts),
            *self._adapter.check(submission),
            *node_labels.check(submission, facts),
            *tool_services.check(submission, facts, self.options.entrance),
            *queues.problems(submission, facts, self.options.scheduler, namespace),
        ]

    def advise(self, submission: Submission, facts: Facts) -> list[Advice]:
        return [
            *priorities.advise(submission, facts),
            *volume_checks.advise(submission, facts),
        ]

    def field_notes(
        self,
        *,
        framework: str,
        role: Role,
        has_own_master: bool,
        launcher: str = "",
        facts: Facts = NO_FACTS,
    ) -> Mapping[str, FieldNote]:
        return field_hints.field_notes(
            framework=framework,
            role=role,
            has_own_master=has_own_master,
            launcher=launcher,
            node_type=self.options.node_type,
            facts=facts,
        )

    def render(self, submission: Submission) -> dict[str, Any]:
        """Frozen with the namespace: a later change of the prefix must not lose what is there."""
        options = self.options
        scheduler = options.scheduler or schedulers.PLAIN
        native = manifests.render(
            priorities.sent(submission, options.priorities),
            scheduler,
            gpu=options.gpu,
            entrance=options.entrance,
            node_type=options.node_type,
        )
        return {**native, "namespace": self._namespace(submission)}

    def dry_run(self, ref: AttemptRef) -> DryRunResult:
        _, namespace = self.objects.place(ref)
        here = replace(ref, namespace=namespace)
        return DryRun(self.client, self.objects, here).result()

    def observe(self, ref: AttemptRef) -> Observation:
        return self._observed(ref)

    def create(self, ref: AttemptRef) -> Result:
        return self._answer(self._effects.create, ref)

    def commit(self, ref: AttemptRef) -> Result:
        return self._answer(self._effects.commit, ref)

    def suspend(self, ref: AttemptRef) -> Result:
        return self._answer(self._effects.suspend, ref)

    def resume(self, ref: AttemptRef) -> Result:
        if self._logs is not None:
            self._logs.reopen(ref.workload, ref.attempt)
        return self._answer(self._effects.resume, ref)

    def delete(self, ref: AttemptRef) -> Result:
        return self._answer(self._effects.delete, ref)

    @deadlines.in_time
    def owned_objects(self, install: str) -> Sequence[OwnedObject] | Unknown:
        try:
            with understood("what Gangline has made"):
                return self._owned_objects.all(install)
        except Doubt as why:
            return Unknown(str(why))

    @deadlines.in_time
    def delete_object(self, owned: OwnedObject) -> Result:
        return _result("delete", lambda: self._owned_objects.delete(owned))

    @deadlines.in_time
    def apply(self, wanted: KeptObject) -> Kept:
        return kept.apply(InTime(self.client), wanted)

    @deadlines.in_time
    def remove(self, wanted: KeptObject) -> Kept:
        return kept.remove(InTime(self.client), wanted)

    def watch(
        self,
        install: str,
        cursor: str,
        tell: TellTrouble = ignore_trouble,
        all_told: Callable[[], None] = ignore_all_told,
    ) -> Iterator[Sequence[Observation]]:
        return self._watch(install, tell, all_told)

    def silent_for(self) -> float | None:
        watch = self._watched
        if watch is None or watch.store.heard_at == float("-inf"):
            return None
        return max(0.0, time.monotonic() - watch.store.heard_at)

    def read_log(self, ref: AttemptRef, replica: str, offset: int, limit: int) -> LogChunk:
        if self._logs is None or not _is_replica(ref, replica):
            return LogChunk(b"", 0, end=True)
        chunk = self._logs.read(ref.workload, ref.attempt, replica, offset, limit)
        if not chunk.end:
            self._logs.mark_read(ref.workload, ref.attempt)
        return chunk

    @deadlines.in_time
    def open_shell(
        self, ref: AttemptRef, replica: str, request: ShellRequest
    ) -> Shell | Refused | Unknown | Busy:
        return self._visiting.visit(ref, replica, request)

    @deadlines.in_time
    def open_port(
        self, ref: AttemptRef, replica: str, port: int
    ) -> Connection | Refused | Unknown | Busy:
        return self._visiting.connect(ref, replica, port)

    def _watch(
        self, install: str, tell: TellTrouble, all_told: Callable[[], None]
    ) -> Generator[Sequence[Observation], None, None]:
        listener: Listener = Listener()
        if self._logs is not None:
            listener = Collecting(self.client, self._logs, install)
        # Every kind that Gangline knows: an operator may be installed while this goes on.
        kinds = list(KINDS.values())
        look = partial(self._observed, shares=True)
        watch = Watch(self.client, install, kinds, look, listener, tell, all_told)
        self._watched = watch
        try:
            yield from watch.batches()
        finally:
            self._watched = None
            listener.stop()

    @deadlines.in_time
    def _observed(self, ref: AttemptRef, *, shares: bool = False) -> Observation:
        """``shares``: looks at many attempts go together, see `Pending.why`."""
        unknown = Observation(ref.workload, ref.attempt, ObservedState.UNKNOWN)
        try:
            with understood(f"workload {ref.name}"):
                return self._look(ref, shares)
        except Doubt as why:
            cut_off, rest = why.is_cut_off, why.retry_after
            return replace(unknown, reason=str(why)[:400], is_cut_off=cut_off, retry_after=rest)

    def _look(self, ref: AttemptRef, shares: bool) -> Observation:
        found = self.objects.found(ref)
        if found is None:
            return observation.without_job(ref.workload, ref.attempt, self.objects.pods(ref))
        job, raw = found
        if is_seen(job, ref):
            job = replace(job, install=ref.install, workload=ref.workload, attempt=ref.attempt)
        if not is_workload(job, ref) and job.install != ref.install:
            return _conflict(
                ref, f"{job.name} in namespace {job.namespace} was not created by Gangline."
            )
        if not is_workload(job, ref) or job.attempt != ref.attempt:
            return observation.without_job(ref.workload, ref.attempt, self.objects.pods(ref))
        if not is_attempt(job, ref):
            return _conflict(ref, "It was replaced by another object with the same name.")
        its = list(self.objects.raw_pods(ref, job.namespace))
        seen = self._explained(job, its, lambda: self._pending.why(ref, job, raw, its, shares))
        if not job.opens_ports or seen.state is not ObservedState.RUNNING:
            return seen
        listed = self.objects.every(SERVICES, job.namespace, selector(ref))
        return replace(seen, tool_addresses=tool_services.addresses(job.namespace, listed))

    def _explained(
        self, job: Job, its: Sequence[Raw], why_pending: Callable[[], Why]
    ) -> Observation:
        now = datetime.now(UTC)
        pods = [read_pod(pod) for pod in its]
        seen = observation.observe(job, pods, now=now)
        hints: dict[str, str] = {}
        if seen.state is ObservedState.PENDING:
            why = why_pending()
            hints = {job.uid: why.words} if why.words else {}
            seen = replace(seen, is_impossible=why.is_final, reason_code=why.code)
        elif seen.state is ObservedState.STARTING and not seen.reason:
            hints = self._pending.of_pods([pod for pod in pods if _is_slow(pod, now)])
        if not hints:
            return seen
        explained = observation.observe(job, pods, now=now, hints=hints)
        code = seen.reason_code or explained.reason_code
        return replace(explained, is_impossible=seen.is_impossible, reason_code=code)

    def _namespace(self, submission: Submission) -> str:
        return names.namespace_of(submission, self.options.namespace_prefix)

    def _catch_up(self, pods: list[Pod]) -> None:
        if self._logs is not None:
            seconds = deadlines.spare(log_collector.CATCH_UP)
            log_collector.catch_up(self.client, self._logs, pods, seconds)

    def _answer(self, act: Callable[[AttemptRef], Result], ref: AttemptRef) -> Result:
        _, namespace = self.objects.place(ref)
        return _result(act.__name__, lambda: act(replace(ref, namespace=namespace)))


def _result(name: str, act: Callable[[], Result]) -> Result:
    """Outages, doubt and nonsense are answers, not exceptions."""
    try:
        with understood(f"the answer to {name}"):
            return act()
    except Doubt as why:
        if why.retry_after is not None:
            return Busy(why.retry_after, is_for_all=True)
        return Unknown(str(why))


def _conflict(ref: AttemptRef, reason: str) -> Observation:
    return Observation(ref.workload, ref.attempt, ObservedState.CONFLICT, reason)


def _is_slow(pod: Pod, now: datetime) -> bool:
    if not pod.is_scheduled or pod.has_started or pod.is_over:
        return False
    return pod.scheduled_at is None or now - pod.scheduled_at > SLOW_START


def _is_replica(ref: AttemptRef, replica: str) -> bool:
    """Whether the attempt has a replica of this name, which becomes a path."""
    role, _, index = replica.rpartition("-")
    if role not in ROLE_NAMES or not index.isascii():
        return False
    if not index.isdigit() or str(int(index)) != index:
        return False
    if ref.submission is None:
        return True
    parts = ref.submission.parts
    return any(part.role.name == role and int(index) < part.pods for part in parts)
