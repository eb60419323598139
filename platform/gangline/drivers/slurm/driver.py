"""Slurm clusters: one job of sbatch for each attempt, by the plain commands of a login node.

Gangline hands out no slots here: Slurm does. An attempt is submitted held (``Held``), released by
``commit``, and ended by its own script, which keeps to the grace period whoever goes away.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gangline.drivers.base import (
    NO_FACTS,
    AttemptRef,
    Busy,
    DryRunResult,
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
from gangline.drivers.jobs import OthersJob
from gangline.drivers.logs.segments import Limits
from gangline.drivers.logs.store import LogStore
from gangline.drivers.shells import REPLICA_ENDED, Shell, ShellRequest
from gangline.spec.problems import Advice, Problem, Role

from . import (
    accounts,
    check,
    dry_run,
    effects,
    field_hints,
    logs,
    looks,
    mapping,
    observation,
    others,
    probe,
    rendering,
    results,
)
from .commands import NoAnswer, Programs
from .looks import Key, Seen
from .samples import Sampled
from .shells import Visiting
from .watcher import Watch


@dataclass(frozen=True, slots=True)
class Options:
    """How a cluster is used."""

    data_dir: Path
    folder: str
    """Where runs lie on the cluster's file system; ``~/`` begins the account's home."""
    log_cap: int = 2**30
    defaults: rendering.Defaults = rendering.NO_DEFAULTS
    containers: str = ""
    """What runs images there, as its check found it."""
    every: float | None = None
    """Seconds between two looks of the watch; None: by what goes on."""


class SlurmDriver:
    """See ``Driver``. Thread-safe; keeps a connection and its watch."""

    kind = "slurm"
    unsupported: Mapping[str, str] = mapping.UNSUPPORTED
    mapped = mapping.MAPPED
    in_flight_max = 60.0

    def __init__(self, programs: Programs, options: Options) -> None:
        self.programs, self.options = programs, options
        if not options.containers:
            self.unsupported = {**mapping.UNSUPPORTED, "image": mapping.NO_IMAGE}
        self.store = LogStore(options.data_dir, Limits(cap=options.log_cap))
        self._effects = effects.Effects(programs, options.folder, self._look)
        self._visiting = Visiting(programs, options.folder, self._look)
        self._collector = logs.Collector(programs, options.folder, self.store)
        self._sampled = Sampled(self.store)
        self._watched: Watch | None = None

    def probe(self) -> Health:
        modules = self.options.defaults.modules
        return probe.probe(self.programs, self.options.folder, modules=modules)

    def capacity(self) -> Capacity | None:
        return self.probe().capacity

    def check(self, submission: Submission, facts: Facts) -> list[Problem]:
        return list(check.problems(submission, facts, self.options.defaults))

    def advise(self, submission: Submission, facts: Facts) -> list[Advice]:
        return []

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
            facts=facts,
            defaults=self.options.defaults,
        )

    def render(self, submission: Submission) -> dict[str, Any]:
        return rendering.render(submission, self.options.defaults)

    def dry_run(self, ref: AttemptRef) -> DryRunResult:
        return dry_run.dry_run(self.programs, ref)

    def observe(self, ref: AttemptRef) -> Observation:
        try:
            here = self._look(ref)
            if here.is_stubborn:
                self._effects.cancel(here)
            if here.is_again and here.stop is None:
                self._effects.requeued(here)
            return observation.observe(here)
        except NoAnswer as why:
            return Observation(
                ref.workload, ref.attempt, ObservedState.UNKNOWN, str(why), is_cut_off=True
            )

    def create(self, ref: AttemptRef) -> Result:
        return self._done(self._effects.create, ref)

    def commit(self, ref: AttemptRef) -> Result:
        return self._done(self._effects.commit, ref)

    def suspend(self, ref: AttemptRef) -> Result:
        return self._done(self._effects.suspend, ref)

    def resume(self, ref: AttemptRef) -> Result:
        return Refused("A job that was stopped is not continued; a new one is submitted.")

    def delete(self, ref: AttemptRef) -> Result:
        return self._done(self._effects.delete, ref)

    def owned_objects(self, install: str) -> Sequence[OwnedObject] | Unknown:
        try:
            seen = looks.look(self.programs, self.options.folder, install, ())
        except NoAnswer as why:
            return Unknown(str(why))
        return [
            OwnedObject(replace(job.ref, ext_uid=job.uid), "job", created_at=job.submitted_at)
            for jobs in seen.jobs.values()
            for job in jobs
            if not job.is_over
        ]

    def delete_object(self, owned: OwnedObject) -> Result:
        return self.delete(owned.ref)

    def watch(
        self,
        install: str,
        cursor: str,
        tell: TellTrouble = ignore_trouble,
        all_told: Callable[[], None] = ignore_all_told,
    ) -> Iterator[Sequence[Observation]]:
        self._watched = Watch(
            install,
            lambda refs: self._watched_over(install, refs),
            self._collect,
            tell,
            all_told,
            self.options.every,
            self.store.being_read,
            lambda: self._collector.trouble,
        )
        return self._watched.batches()

    def others_jobs(self, install: str) -> Sequence[OthersJob] | Unknown:
        try:
            return others.others(self.programs, install)
        except NoAnswer as why:
            return Unknown(str(why))

    def job_text(self, number: str) -> str | Unknown:
        try:
            return others.text(self.programs, number)
        except NoAnswer as why:
            return Unknown(str(why))

    def cancel_job(self, install: str, number: str) -> Result:
        try:
            return others.cancel(self.programs, install, number)
        except NoAnswer as why:
            return Unknown(str(why))

    def files_of(self, ref: AttemptRef) -> results.Reader:
        return results.Reader(self.programs, self.options.folder, str(self.options.data_dir), ref)

    def silent_for(self) -> float | None:
        return None if self._watched is None else time.monotonic() - self._watched.heard_at

    def read_log(self, ref: AttemptRef, replica: str, offset: int, limit: int) -> LogChunk:
        if not logs.REPLICA.fullmatch(replica):
            return LogChunk(b"", 0, end=True)
        chunk = self.store.read(ref.workload, ref.attempt, replica, offset, limit)
        if not chunk.end:
            self.store.mark_read(ref.workload, ref.attempt)
        return chunk

    def open_shell(
        self, ref: AttemptRef, replica: str, request: ShellRequest
    ) -> Shell | Refused | Unknown | Busy:
        if not logs.REPLICA.fullmatch(replica):
            return Refused(REPLICA_ENDED)
        return self._visiting.visit(ref, replica, request)

    def _done(self, act: Callable[[AttemptRef], Result], ref: AttemptRef) -> Result:
        result = effects.answered(act, ref)
        if self._watched is not None:
            self._watched.nudge()
        return result

    def _look(self, ref: AttemptRef) -> observation.Attempt:
        return observation.attempt(ref, self._seen(ref.install, [ref]))

    def _watched_over(self, install: str, refs: Sequence[AttemptRef]) -> Seen:
        """A look of the watch, which brings what replicas use as well."""
        seen = self._seen(install, refs, self._sampled.since)
        self._sampled.take(seen)
        return seen

    def _collect(self, attempts: Sequence[observation.Attempt]) -> None:
        self._collector.collect(attempts)
        self._sampled.forget(accounts.key_of(here.ref) for here in attempts if not here.is_live)

    def _seen(
        self,
        install: str,
        refs: Sequence[AttemptRef],
        since: Callable[[Key], float] | None = None,
    ) -> Seen:
        programs, base = self.programs, self.options.folder
        keys = [accounts.key_of(ref) for ref in refs]
        seen = looks.look(programs, base, install, keys, since)
        return accounts.asked(programs, base, install, refs, seen)
