"""From one look to an observation: what the job's own records say goes before what Slurm says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from gangline.drivers.base import (
    IMAGE_PULL,
    MEMORY_LIMIT,
    AttemptRef,
    Observation,
    ObservedState,
    ReplicaObservation,
    ReplicaState,
)

from . import states, texts
from .looks import Job, Run, Seen

LOST_AFTER = 600.0
"""Seconds after which a job that Slurm no longer knows, and that left no record, counts as over."""
_BEFORE: Mapping[int, str] = {
    texts.NO_MODULE: "A module could not be loaded",
    texts.NOT_FETCHED: "Data could not be fetched before the command started",
    texts.NO_RUNTIME: "No program that runs images was found on the node",
    texts.NO_IMAGE: "The image could not be fetched",
}
_KILL = 9
_CANCELS = (15, _KILL)
NO_RECORD = "The job failed and left no record: its run folder may be full, or gone."
REQUEUED = "The job was requeued on the cluster, which ended this attempt."
STUBBORN = 20.0
"""Seconds beyond the grace period after which the whole job is cancelled."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What is known of one attempt."""

    ref: AttemptRef
    job: Job | None
    """The one that counts; others of its comment are held, and are never released."""
    spare: tuple[Job, ...]
    run: Run
    now: float
    is_in_doubt: bool = False
    """Slurm shows no job, and accounting does not answer."""

    @property
    def is_live(self) -> bool:
        return self.job is not None and not self.job.is_over

    @property
    def is_deleted(self) -> bool:
        return "deleted" in self.run.files

    @property
    def stop(self) -> Mapping[str, Any] | None:
        return self.run.record("stop")

    @property
    def is_again(self) -> bool:
        """It ran, and waits to run once more: others had it requeued."""
        began = self.run.record("start.json")
        is_waiting = self.job is not None and self.job.state in states.WAITS
        return is_waiting and began is not None and began.get("job") == self.job.number  # type: ignore[union-attr]

    @property
    def is_stubborn(self) -> bool:
        """It should be gone for long."""
        asked = self.stop
        if asked is None or not self.is_live:
            return False
        return self.now > float(asked["time"]) + float(asked["grace"]) + STUBBORN


def attempt(ref: AttemptRef, seen: Seen) -> Attempt:
    key = ref.workload, ref.attempt
    jobs = seen.jobs.get(key) or seen.accounted.get(key, ())
    run = seen.runs.get(key) or Run()
    job = _chosen(ref, jobs, run)
    spare = tuple(one for one in jobs if one is not job and not one.is_over)
    return Attempt(ref, job, spare, run, seen.now, key in seen.in_doubt)


def _chosen(ref: AttemptRef, jobs: Sequence[Job], run: Run) -> Job | None:
    """The recorded one; else the one that was released, or the first that was made."""
    recorded = next((job for job in jobs if job.uid == ref.ext_uid), None)
    if recorded is not None:
        return recorded
    released = run.files.get("released", "").strip()
    for job in jobs:
        if str(job.number) == released:
            return job
    return jobs[0] if jobs else None


def observe(here: Attempt) -> Observation:
    job, run = here.job, here.run
    plain = Observation(here.ref.workload, here.ref.attempt, ObservedState.ABSENT)
    if here.is_deleted and not here.is_live:
        return plain
    ended = run.record("exit.json")
    if here.stop is None and (here.is_again or ("requeued" in run.files and not here.is_live)):
        over = _over(here, plain, ended)
        uid = job.uid if job is not None else here.ref.ext_uid
        return replace(
            over, state=ObservedState.FAILED, reason=REQUEUED, ext_uid=uid, is_preempted=True
        )
    if job is not None and job.state in states.ENDS and ended is not None and ended["cancelled"]:
        # Why the cluster ended it shows once all of it has gone.
        return replace(plain, state=ObservedState.TERMINATING, ext_uid=job.uid)
    if job is None and ended is None:
        return _without_job(here, plain)
    if job is not None:
        plain = replace(plain, ext_uid=job.uid)
    elif here.ref.ext_uid:
        plain = replace(plain, ext_uid=here.ref.ext_uid)
    if ended is not None and (job is None or ended.get("job") == job.number):
        return _over(here, plain, ended)
    if job is None or job.is_over:
        return _over(here, plain, None)
    return _living(here, job, plain)


def _without_job(here: Attempt, plain: Observation) -> Observation:
    """Slurm shows none, and none has told of its end."""
    if here.is_in_doubt:
        reason = "Slurm no longer shows the job, and its accounting does not answer."
        return replace(plain, state=ObservedState.UNKNOWN, reason=reason)
    if here.run.record("submitted") is None:
        return plain
    if here.stop is not None:
        return _over(here, plain, None)
    # By one clock, that of the login node: those of the nodes may be any other.
    missed = here.run.record("missed")
    if missed is None or here.now - float(missed.get("time") or 0.0) < LOST_AFTER:
        reason = "Slurm does not show the job, and it has left no record yet."
        return replace(plain, state=ObservedState.UNKNOWN, reason=reason)
    reason = "Slurm no longer knows the job, and it left no record of its end."
    return replace(_over(here, plain, None), state=ObservedState.FAILED, reason=reason)


def _living(here: Attempt, job: Job, plain: Observation) -> Observation:
    replicas = _replicas(here, job.state)
    plain = replace(plain, replicas=replicas)
    if here.stop is not None or here.is_deleted:
        return replace(plain, state=ObservedState.TERMINATING)
    if job.state in states.WAITS:
        is_ours = job.reason in states.HELD and "released" not in here.run.files
        if is_ours:
            return replace(plain, state=ObservedState.HELD)
        return replace(
            plain,
            state=ObservedState.PENDING,
            reason=_waits(job, _now(here)),
            is_impossible=job.reason in states.IMPOSSIBLE,
        )
    if job.state in states.ENDS:
        return replace(plain, state=ObservedState.TERMINATING)
    # The ranks of a launcher are its own children: nobody tells of their start.
    is_whole = replicas and all(r.state is not ReplicaState.PENDING for r in replicas)
    if job.state in states.STARTS or not is_whole:
        return replace(plain, state=ObservedState.STARTING)
    frozen = "The job is suspended on the cluster." if job.state in states.FROZEN else ""
    started = [r.started_at for r in replicas if r.started_at]
    return replace(
        plain,
        state=ObservedState.RUNNING,
        reason=frozen,
        started_at=max(started) if len(started) == len(replicas) else None,
    )


def _waits(job: Job, now: datetime) -> str:
    """Why it waits; of one that may start, its place in the queue too."""
    why = states.waits_for(job.reason)
    if job.reason not in states.QUEUED:
        return why
    return f"{why} {states.queued(job.place, job.expected, now)}".strip()


def _over(here: Attempt, plain: Observation, ended: Mapping[str, Any] | None) -> Observation:
    """How it ended: stopped, by the cluster's doing, by a replica's failure, or well."""
    job, word = here.job, _word(here, ended)
    at = _at(ended.get("end")) if ended is not None else None
    at = at or (job.ended if job is not None else None)
    seen = _replicas(here, word, is_over=True)
    is_memory = word == states.OUT_OF_MEMORY and here.stop is None and not here.is_deleted
    if is_memory:
        seen = _out_of_memory(seen)
    failed = [r for r in seen if r.state is ReplicaState.FAILED]
    first = min(failed, key=_ended_at) if failed else None
    if is_memory:
        first = next((r for r in failed if r.reason_code), first)
    plain = replace(plain, ended_at=at or _last(seen) or _now(here))
    starts = [r.started_at for r in seen if r.started_at]
    plain = replace(plain, started_at=max(starts) if starts else None)
    if here.stop is not None or here.is_deleted:
        stopped = tuple(_stopped(r, "Stopped on request.") for r in seen)
        return replace(
            plain, state=ObservedState.SUSPENDED, reason="Stopped on request.", replicas=stopped
        )
    code = ended.get("code") if ended is not None else None
    is_good = code == 0 if code is not None else word == states.COMPLETED
    is_cancelled = ended is not None and bool(ended.get("cancelled"))
    is_others = is_cancelled and (first is None or first.signal in _CANCELS)
    never = states.IMPOSSIBLE.get(job.reason) if job is not None else None
    if word in states.ENDED or is_others or never:
        reason = states.ENDED.get(word) or never or "The job was ended on the cluster."
        others = tuple(_stopped(r, reason) if r is not first else r for r in seen)
        return replace(
            plain,
            state=ObservedState.FAILED,
            reason=reason,
            first_failure=first.name if is_memory and first is not None else "",
            replicas=others,
            is_preempted=word in states.MOVED,
        )
    if first is not None:
        return _failed(plain, seen, first)
    if is_good:
        done = tuple(_succeeded(r) for r in seen)
        return replace(plain, state=ObservedState.SUCCEEDED, replicas=done)
    reason = _BEFORE.get(code or 0, "Slurm could not start every process of the job")
    # There the job's script puts what Slurm said.
    told = f"; the log of {seen[0].name} says why" if seen and ended is not None else ""
    reason = f"{reason}{told}."
    if ended is None and job is not None:
        reason = states.accounted(job.accounted_code) or NO_RECORD
    if job is not None and job.reason == states.LAUNCH_FAILURE:
        reason = "Slurm could not start the job: its run folder may be missing on the node."
    others = tuple(
        _stopped(r, "Stopped because others did not start." if r.started_at else "Never started.")
        for r in seen
    )
    if code == texts.NO_IMAGE:
        image = here.run.files.get("image", "")
        plain = replace(plain, reason_code=IMAGE_PULL, reason_params={"image": image})
    return replace(plain, state=ObservedState.FAILED, reason=reason, replicas=others)


def _word(here: Attempt, ended: Mapping[str, Any] | None) -> str:
    """Slurm's for how it ended, and the same where only its log says that memory ran out."""
    if ended is not None and ended.get("memory"):
        return states.OUT_OF_MEMORY
    return here.job.state if here.job is not None else ""


def _failed(
    plain: Observation, seen: Sequence[ReplicaObservation], first: ReplicaObservation
) -> Observation:
    name = first.name
    others = tuple(
        r
        if r is first or r.state is ReplicaState.SUCCEEDED
        else _stopped(
            r,
            f"Stopped because {name} failed."
            if r.started_at
            else f"Never started, because {name} failed.",
        )
        for r in seen
    )
    reason = first.reason if len(seen) == 1 else f"{name}: {first.reason}"
    return replace(
        plain, state=ObservedState.FAILED, reason=reason, first_failure=name, replicas=others
    )


def _out_of_memory(seen: tuple[ReplicaObservation, ...]) -> tuple[ReplicaObservation, ...]:
    """Of a job for which Slurm says so, with the replica that the kernel killed.

    That is the first that failed by SIGKILL, and else the first that failed; where none has left
    a record, the only one that runs: it was killed with all that belongs to it.
    """
    failed = [r for r in seen if r.state is ReplicaState.FAILED]
    killed = [r for r in failed if r.signal == _KILL] or failed
    silent = [r for r in seen if r.state is ReplicaState.RUNNING]
    if killed:
        one = min(killed, key=_ended_at)
    elif len(silent) == 1:
        (one,) = silent
    else:
        return seen
    named = replace(
        one,
        state=ReplicaState.FAILED,
        reason="Killed because it used more memory than its limit.",
        reason_code=MEMORY_LIMIT,
    )
    return tuple(named if r is one else r for r in seen)


def _stopped(replica: ReplicaObservation, reason: str) -> ReplicaObservation:
    return replace(replica, state=ReplicaState.STOPPED, reason=reason)


def _succeeded(replica: ReplicaObservation) -> ReplicaObservation:
    code = 0 if replica.exit_code is None else replica.exit_code
    return replace(replica, state=ReplicaState.SUCCEEDED, exit_code=code, reason="")


def _replicas(here: Attempt, word: str, *, is_over: bool = False) -> tuple[ReplicaObservation, ...]:
    plan = here.run.record("plan.json")
    if plan is None:
        return ()
    found = [_replica(here, role, index, rank) for role, index, rank in plan["replicas"]]
    if not plan.get("launcher"):
        return tuple(found)
    # Ranks of a launcher have no records of their own: they are as it is.
    launcher = next((r for r in found if r.role == plan["launcher"]), found[0])
    nodes = str((here.run.record("start.json") or {}).get("nodes") or "").split()
    return tuple(
        r
        if r is launcher
        else replace(
            r,
            state=launcher.state
            if launcher.state is not ReplicaState.FAILED
            else ReplicaState.STOPPED,
            node=nodes[r.rank] if launcher.node and r.rank < len(nodes) else launcher.node,
            started_at=launcher.started_at,
            ended_at=launcher.ended_at,
        )
        for r in found
    )


def _replica(here: Attempt, role: str, index: int, rank: int) -> ReplicaObservation:
    name = f"state/{role}-{index}"
    plain = ReplicaObservation(role, index, rank, ReplicaState.PENDING)
    began, ended = here.run.record(f"{name}.start"), here.run.record(f"{name}.exit")
    if began is None:
        return plain
    number = here.job.number if here.job is not None else here.ref.ext_uid.partition("@")[0]
    plain = replace(
        plain,
        state=ReplicaState.RUNNING,
        node=str(began.get("node") or ""),
        started_at=_at(began.get("start")),
        pod_uid=f"{number}.{rank}",
    )
    if ended is None:
        return plain
    code = int(ended["code"])
    reason, exit_code, signal = states.exited(code) if code else ("", 0, None)
    return replace(
        plain,
        state=ReplicaState.FAILED if code else ReplicaState.SUCCEEDED,
        reason=reason,
        exit_code=exit_code,
        signal=signal,
        ended_at=_at(ended.get("end")),
    )


def _ended_at(replica: ReplicaObservation) -> float:
    return replica.ended_at.timestamp() if replica.ended_at else 0.0


def _last(seen: Sequence[ReplicaObservation]) -> datetime | None:
    return max((r.ended_at for r in seen if r.ended_at), default=None)


def _now(here: Attempt) -> datetime:
    return datetime.fromtimestamp(here.now, UTC)


def _at(seconds: Any) -> datetime | None:
    try:
        return datetime.fromtimestamp(float(seconds), UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return None
