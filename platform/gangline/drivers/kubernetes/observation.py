"""What a job object and its pods say about an attempt (`kubernetes.md` §6). Pure.

Never the newest condition alone: conditions stay in the list with status False, and MPI's may turn
back. A job has ended when its operator says so and nothing of it lives any more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from gangline.drivers.base import (
    IMAGE_PULL,
    Observation,
    ObservedState,
    ReplicaObservation,
    ReplicaState,
)
from gangline.spec.frameworks import FRAMEWORKS

from . import labels
from .jobs import RUN, STOP, Job
from .pods import Pod, ended_in_words, replica

SILENT_OPERATOR = timedelta(seconds=30)
OVERDUE = timedelta(seconds=120)
"""A pod that is still listed so long after it should be gone sits on a node that is lost."""
MOST_NAMED = 3
"""Pods in one sentence."""
STOPPED_WORDS = "Stopped on request."
HELD_WORDS = "Held back: the queue has not admitted the workload, or someone suspended the job."


def without_job(workload: str, attempt: int, pods: Sequence[Pod]) -> Observation:
    """The object is gone for certain; pods may outlive it for a while."""
    left = [pod for pod in pods if not pod.is_over]
    if not left:
        return Observation(workload, attempt, ObservedState.ABSENT)
    reason = _left_over(left) or f"{_pods(len(left))} still to be removed."
    return Observation(workload, attempt, ObservedState.TERMINATING, reason)


def observe(
    job: Job, pods: Sequence[Pod], *, now: datetime, hints: Mapping[str, str] | None = None
) -> Observation:
    """One look at the whole attempt.

    ``hints``: what events or a queue say, by the uid of a pod or of the job.
    """
    seen = _replicas(job, pods)
    living = [pod for pod in pods if _lives(pod, now)]
    first = _first_failure(seen)
    plain = Observation(
        workload=job.workload,
        attempt=job.attempt,
        state=ObservedState.UNKNOWN,
        ext_uid=job.uid,
        replicas=tuple(seen),
        started_at=_all_started(seen),
        first_failure=first if job.has_failed or not job.has_ended else "",
    )
    if job.is_deleting:
        return replace(plain, state=ObservedState.TERMINATING, reason=_deleting(job, living))
    if job.has_ended:
        return _ended(job, plain, pods, living)
    if job.is_suspended:
        return _suspended(job, plain, living, hints or {})
    return _going(job, plain, pods, now, hints or {})


def _ended(job: Job, plain: Observation, pods: Sequence[Pod], living: Sequence[Pod]) -> Observation:
    failed = job.has_failed
    why = _failure(job, plain) if failed else ""
    if living:
        reason = why or "Finished; the other pods are stopping."
        is_preempted = failed and _is_preempted(plain.first_failure, pods)
        return replace(
            plain, state=ObservedState.TERMINATING, reason=reason, is_preempted=is_preempted
        )
    stopped = f"Stopped because {plain.first_failure} failed." if plain.first_failure else ""
    words = stopped or ("Stopped when the others failed." if failed else "No longer needed.")
    return replace(
        plain,
        state=ObservedState.FAILED if failed else ObservedState.SUCCEEDED,
        reason=why,
        replicas=_settled(plain.replicas, words),
        ended_at=_ended_at(job, plain.replicas),
        is_preempted=failed and _is_preempted(plain.first_failure, pods),
    )


def _suspended(
    job: Job, plain: Observation, living: Sequence[Pod], hints: Mapping[str, str]
) -> Observation:
    if job.intent == STOP:
        if living:
            return replace(plain, state=ObservedState.TERMINATING)
        return replace(
            plain,
            state=ObservedState.SUSPENDED,
            reason=STOPPED_WORDS,
            replicas=_settled(plain.replicas, STOPPED_WORDS),
            first_failure="",
        )
    if job.intent == RUN:
        reason = hints.get(job.uid, HELD_WORDS)
        return replace(plain, state=ObservedState.PENDING, reason=reason)
    return replace(plain, state=ObservedState.HELD)


def _going(
    job: Job, plain: Observation, pods: Sequence[Pod], now: datetime, hints: Mapping[str, str]
) -> Observation:
    states = [r.state for r in plain.replicas]
    waits = [r for r in plain.replicas if r.state is ReplicaState.PENDING]
    if waits and not _is_launcher_to_come(job, waits, pods):
        reason = _why_pending(job, pods, now, hints)
        return replace(plain, state=ObservedState.PENDING, reason=reason)
    if ReplicaState.STARTING in states or ReplicaState.PENDING in states:
        plain = replace(plain, **_image(pods))
        return replace(plain, state=ObservedState.STARTING, reason=_why_starting(pods, hints))
    lost = [r for r in plain.replicas if r.state is ReplicaState.UNKNOWN]
    reason = f"{lost[0].name}: {lost[0].reason}" if lost else ""
    return replace(plain, state=ObservedState.RUNNING, reason=reason)


def _is_launcher_to_come(
    job: Job, waits: Sequence[ReplicaObservation], pods: Sequence[Pod]
) -> bool:
    """A launcher that is made once its workers answer: that is a start, and not a queue."""
    launchers = {r.name for r in FRAMEWORKS[job.kind.framework].roles if r.launches}
    is_made = any(pod.role in launchers for pod in pods)
    return not is_made and all(r.role in launchers for r in waits)


def _why_pending(job: Job, pods: Sequence[Pod], now: datetime, hints: Mapping[str, str]) -> str:
    if said := hints.get(job.uid, ""):
        return said
    age = now - job.created_at if job.created_at else timedelta()
    if not job.is_known and age > SILENT_OPERATOR:
        return f"The {job.kind.operator} has not picked up the job; is the operator running?"
    return next((pod.unscheduled for pod in pods if pod.unscheduled and not pod.is_over), "")


def _image(pods: Sequence[Pod]) -> dict[str, Any]:
    """The code of a start that hangs on an image."""
    stuck = next((pod for pod in pods if pod.waiting_image and not pod.is_over), None)
    if stuck is None:
        return {}
    params = {"pod": stuck.replica, "image": stuck.waiting_image}
    return {"reason_code": IMAGE_PULL, "reason_params": params}


def _why_starting(pods: Sequence[Pod], hints: Mapping[str, str]) -> str:
    """The most severe of what its pods wait for, and on which of them."""
    starting = [pod for pod in pods if pod.is_scheduled and not pod.is_running and not pod.is_over]
    for pod in sorted(starting, key=lambda pod: (pod.severity, pod.replica)):
        if said := pod.waiting or hints.get(pod.uid, ""):
            return f"{pod.replica}: {said}" if len(pods) > 1 else said
    return ""


def _replicas(job: Job, pods: Sequence[Pod]) -> list[ReplicaObservation]:
    """One per expected replica, in the order of ranks, by the newest pod that stands for it."""
    newest: dict[tuple[str, int], Pod] = {}
    for pod in sorted(pods, key=_age):
        newest[(pod.role, pod.index)] = pod
    found = []
    for role, index, rank in job.places():
        stands = newest.get((role, index))
        if stands is None:
            found.append(ReplicaObservation(role, index, rank, ReplicaState.PENDING))
        else:
            found.append(_told(job, stands, rank))
    return found


def _told(job: Job, pod: Pod, rank: int) -> ReplicaObservation:
    """An operator fails a job as soon as a pod is told to go, which may still run for a while: it
    is the cause, and is gone when the others have ended."""
    told = replica(pod, rank=rank)
    if job.has_failed and pod.disrupted and not told.state.is_terminal:
        told = replace(told, state=ReplicaState.FAILED, reason=ended_in_words(pod))
    if told.state is ReplicaState.FAILED and told.ended_at is None:
        # Of a container that could not be found any more nobody writes when it ended.
        return replace(told, ended_at=pod.disrupted_at)
    return told


def _age(pod: Pod) -> tuple[bool, float]:
    """Sorts a pod behind those that it has replaced."""
    return pod.deleting_at is None, pod.started_at.timestamp() if pod.started_at else 2.0**40


def _settled(seen: Sequence[ReplicaObservation], words: str) -> tuple[ReplicaObservation, ...]:
    """What has no end of its own was ended: its pod is gone, or was told to go."""
    return tuple(
        r
        if r.state in (ReplicaState.SUCCEEDED, ReplicaState.FAILED)
        else replace(r, state=ReplicaState.STOPPED, reason=words)
        for r in seen
    )


def _lives(pod: Pod, now: datetime) -> bool:
    if pod.is_over:
        return False
    return pod.deleting_at is None or now < pod.deleting_at + OVERDUE


def _first_failure(seen: Sequence[ReplicaObservation]) -> str:
    """Times have whole seconds: of those that ended together, a plain exit is the cause."""
    failed = [r for r in seen if r.state is ReplicaState.FAILED]
    if not failed:
        return ""
    first = min(failed, key=lambda r: (_seconds(r.ended_at), r.signal is not None, r.rank))
    return first.name


def _is_preempted(first_failure: str, pods: Sequence[Pod]) -> bool:
    """Whether the cause is a pod that the cluster took away; the others follow from it."""
    return any(pod.disrupted and pod.replica == first_failure for pod in pods)


def _failure(job: Job, plain: Observation) -> str:
    first = next((r for r in plain.replicas if r.name == plain.first_failure), None)
    if first is None:
        said = job.conditions["Failed"].message or job.conditions["Failed"].reason
        return " ".join(said.split())[:300] or "The operator gave no reason."
    alike = all(r.state is ReplicaState.FAILED and r.reason == first.reason for r in plain.replicas)
    return first.reason if alike else f"{first.name}: {first.reason}"


def _ended_at(job: Job, seen: Sequence[ReplicaObservation]) -> datetime | None:
    ended = [r.ended_at for r in seen if r.ended_at is not None]
    if ended:
        return max(ended)
    verdict = job.conditions.get("Failed") or job.conditions.get("Succeeded")
    return job.completed_at or (verdict.at if verdict else None)


def _left_over(pods: Sequence[Pod]) -> str:
    """What people must do, as Gangline has no right to remove pods; empty: nothing."""
    left = sorted((pod for pod in pods if pod.is_left_over), key=lambda pod: pod.name)
    if not left:
        return ""
    first, which = left[0], " ".join(pod.name for pod in left)
    if len(left) > MOST_NAMED:
        which = f"-l {labels.WORKLOAD}={first.workload},{labels.ATTEMPT}={first.attempt}"
    what, them = f"Pod {first.name} outlived its job", "it"
    if len(left) > 1:
        what, them = f"Pod {first.name} and {len(left) - 1} more outlived their job", "them"
    command = f"kubectl delete pod {which} -n {first.namespace}"
    return f'{what}. Remove {them} with "{command}": Gangline may not remove pods.'


def _deleting(job: Job, living: Sequence[Pod]) -> str:
    if living:
        return f"{_pods(len(living))} still to end."
    foreign = [name for name in job.finalizers if name != "foregroundDeletion"]
    return f"Held back by {', '.join(foreign)}." if foreign else ""


def _all_started(seen: Sequence[ReplicaObservation]) -> datetime | None:
    times = [r.started_at for r in seen if r.started_at is not None]
    return max(times) if times and len(times) == len(seen) else None


def _seconds(at: datetime | None) -> float:
    return at.timestamp() if at else 2.0**40


def _pods(count: int) -> str:
    return "1 pod is" if count == 1 else f"{count} pods are"
