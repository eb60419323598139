"""What a run folder and /proc say about an attempt (R7a). Reads only."""

import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from gangline.drivers.base import (
    MEMORY_LIMIT,
    Observation,
    ObservedState,
    ReplicaObservation,
    ReplicaState,
)
from gangline.spec.workload import WAITING

from .run_folder import RunFolder
from .shim import files, gang, gang_end, tree, words

LATE = 2.0
"""Seconds after which a shim that was launched can no longer write its claim."""


def is_live(claim: Mapping[str, Any] | None, boot: str) -> bool:
    """Whether the shim behind ``claim`` lives: same boot, same pid, same start time."""
    if claim is None or claim["boot_id"] != boot:
        return False
    return tree.is_alive(claim["pid"], claim["start_time"])


def live_replicas(folder: RunFolder, plan: Mapping[str, Any], boot: str) -> list[str]:
    """Replicas that run or start. A shim that wrote its exit record has nothing left to do."""
    return _living(folder, [str(replica["name"]) for replica in plan["replicas"]], boot)


def _living(folder: RunFolder, names: list[str], boot: str) -> list[str]:
    return [n for n in names if is_live(folder.claim(n), boot) and folder.exit(n) is None]


def may_write(folder: RunFolder, name: str, boot: str) -> bool:
    """Whether replica ``name`` may still add to its log, now or once it starts."""
    try:
        plan = folder.plan()
    except files.UnusablePlan:
        return name in _living(folder, folder.claimed(), boot)
    if plan is None or name not in [replica["name"] for replica in plan["replicas"]]:
        return False
    if folder.exit(name) is not None:
        return False
    claim = folder.claim(name)
    if claim is None:
        return folder.end() is None and not folder.is_cancelled
    return is_live(claim, boot)


def observe(folder: RunFolder, boot: str) -> Observation:
    """One look at the whole attempt."""
    try:
        plan = folder.plan()
    except files.UnusablePlan as problem:
        return _without_plan(folder, boot, str(problem))
    if plan is None:
        return _absent(folder)
    if folder.is_cancelled and not live_replicas(folder, plan, boot):
        return _absent(folder)
    end = folder.end()
    seen = [_replica(folder, replica, boot, end) for replica in plan["replicas"]]
    missing = [r for r in seen if r.state is ReplicaState.PENDING]
    observation = Observation(
        workload=folder.workload,
        attempt=folder.attempt,
        state=ObservedState.UNKNOWN,
        ext_uid=f"{folder.workload}/{folder.attempt}",
        replicas=tuple(seen),
        first_failure=_first_failure(seen, end),
        started_at=_all_started(seen),
    )
    waits = any(not r.state.is_terminal for r in seen if r not in missing)
    if missing and end is None and not waits and _is_overdue(folder):
        return _with_ranks(folder, plan, _never_whole(observation, len(missing)))
    state, reason = _judge(folder, observation, missing, end)
    observation = replace(
        observation,
        state=state,
        reason=reason,
        incomplete=bool(missing) and state is ObservedState.STARTING,
        ended_at=_last_end(seen) if state not in _UNFINISHED else None,
    )
    return _with_ranks(folder, plan, observation)


def _without_plan(folder: RunFolder, boot: str, reason: str) -> Observation:
    """What the claims alone tell; whatever lives is left for a stop or a deletion to end."""
    if _living(folder, folder.claimed(), boot):
        state = ObservedState.RUNNING
    elif folder.is_cancelled:
        return _absent(folder)
    else:
        state = ObservedState.FAILED
    uid = f"{folder.workload}/{folder.attempt}"
    return Observation(folder.workload, folder.attempt, state, reason, ext_uid=uid)


_UNFINISHED = (ObservedState.STARTING, ObservedState.RUNNING, ObservedState.TERMINATING)


def _is_overdue(folder: RunFolder) -> bool:
    launched = folder.launched()
    return launched is not None and time.time() - float(launched["time"]) > gang.INCOMPLETE_AFTER


def _never_whole(observation: Observation, missing: int) -> Observation:
    replicas = tuple(
        replace(r, state=ReplicaState.FAILED, reason="Never started.")
        if r.state is ReplicaState.PENDING
        else r
        for r in observation.replicas
    )
    reason = f"{len(replicas) - missing} of {len(replicas)} processes started."
    return replace(observation, state=ObservedState.FAILED, reason=reason, replicas=replicas)


def _judge(
    folder: RunFolder,
    observation: Observation,
    missing: list[ReplicaObservation],
    end: Mapping[str, Any] | None,
) -> tuple[ObservedState, str]:
    seen = observation.replicas
    if not all(replica.state.is_terminal for replica in seen):
        if end is not None or folder.is_cancelled:
            return ObservedState.TERMINATING, _ending_reason(end, len(seen))
        if missing or any(r.state is ReplicaState.STARTING for r in seen):
            return ObservedState.STARTING, ""
        return ObservedState.RUNNING, ""
    workers = [r for r in seen if r.role == "worker"] or list(seen)
    failed = [r for r in seen if r.state is ReplicaState.FAILED]
    if not failed and all(r.state is ReplicaState.SUCCEEDED for r in workers):
        return ObservedState.SUCCEEDED, ""
    if end is not None and end["cause"] in (gang_end.STOP, gang_end.DELETE):
        return ObservedState.SUSPENDED, "Stopped on request."
    if end is not None and end["cause"] in (gang_end.INCOMPLETE, gang_end.FAILURE):
        return ObservedState.FAILED, _ending_reason(end, len(seen))
    if failed:
        first = min(failed, key=lambda r: r.ended_at.timestamp() if r.ended_at else 0.0)
        return ObservedState.FAILED, _of_replica(first.name, first.reason, seen)
    return ObservedState.FAILED, _ending_reason(end, len(seen))


def _replica(
    folder: RunFolder, planned: Mapping[str, Any], boot: str, end: Mapping[str, Any] | None
) -> ReplicaObservation:
    name = str(planned["name"])
    plain = ReplicaObservation(
        role=planned["role"],
        index=planned["index"],
        rank=planned["rank"],
        state=ReplicaState.PENDING,
    )
    record = folder.exit(name)
    claim = folder.claim(name)
    if record is None and claim is None:
        if end is not None and time.time() - float(end["time"]) > LATE:
            return replace(plain, state=ReplicaState.STOPPED, reason="Never started.")
        return plain
    started = folder.started(name)
    began = float(started["time"]) if started else None
    plain = replace(plain, started_at=_at(began), pod_uid=_uid(claim))
    if record is None and not is_live(claim, boot):
        record = folder.exit(name)  # it may have ended between the two looks
        if record is None:
            restarted = claim is not None and claim["boot_id"] != boot
            reason = words.RESTARTED if restarted else words.DISAPPEARED
            return replace(plain, state=ReplicaState.FAILED, reason=reason)
    if record is not None:
        return replace(
            plain,
            state=ReplicaState(record["state"]),
            reason=record["reason"],
            exit_code=record["code"],
            signal=record["signal"],
            ended_at=_at(record["ended"]),
            peak_memory=record.get("peak_memory"),
            reason_code=MEMORY_LIMIT if record["by"] in ("memory", "kernel") else "",
        )
    return replace(plain, state=ReplicaState.RUNNING if started else ReplicaState.STARTING)


def _with_ranks(
    folder: RunFolder, plan: Mapping[str, Any], observation: Observation
) -> Observation:
    """Add the MPI workers, which are children of the launcher and have no shim of their own."""
    if not plan["ranks"]:
        return observation
    launcher = observation.replicas[0]
    # One that sleeps starts none: people do, in a terminal.
    argv = plan["replicas"][0]["argv"]
    waits = argv == WAITING.split() or argv[-1] == WAITING  # by itself, or in a shell
    workers = tuple(_rank(folder, rank, launcher, waits=waits) for rank in plan["ranks"])
    return replace(observation, replicas=(*observation.replicas, *workers))


def _rank(
    folder: RunFolder, rank: Mapping[str, Any], launcher: ReplicaObservation, *, waits: bool
) -> ReplicaObservation:
    started = folder.started(str(rank["name"]))
    index = int(rank["rank"])
    seen = ReplicaObservation(
        role="worker",
        index=index,
        rank=index,
        state=launcher.state,
        started_at=_at(float(started["time"])) if started else None,
        ended_at=launcher.ended_at,
    )
    if waits and started is None:
        return replace(seen, started_at=launcher.started_at)
    if launcher.state is ReplicaState.RUNNING and started is None:
        return replace(seen, state=ReplicaState.STARTING)
    if launcher.state is ReplicaState.FAILED:
        return replace(seen, state=ReplicaState.STOPPED, reason="Ended with the launcher.")
    return seen


def _ending_reason(end: Mapping[str, Any] | None, size: int) -> str:
    if end is None:
        return ""
    if end["cause"] in (gang_end.FAILURE, gang_end.INCOMPLETE):
        reason, replica = str(end["reason"]), str(end["replica"])
        return f"{replica}: {reason}" if replica and size > 1 else reason
    if end["cause"] == gang_end.SIGNAL:
        return "Ended because the machine is shutting down or the supervisor was ended."
    return ""  # on request: whoever asked for it knows


def _of_replica(name: str, reason: str, seen: tuple[ReplicaObservation, ...]) -> str:
    alike = all(r.state is ReplicaState.FAILED and r.reason == reason for r in seen)
    return reason if alike else f"{name}: {reason}"


def _first_failure(seen: list[ReplicaObservation], end: Mapping[str, Any] | None) -> str:
    if end is not None and end["cause"] == gang_end.FAILURE:
        return str(end["replica"])
    failed = [r for r in seen if r.state is ReplicaState.FAILED]
    if not failed:
        return ""
    first = min(failed, key=lambda r: r.ended_at.timestamp() if r.ended_at else 0.0)
    return first.name


def _absent(folder: RunFolder) -> Observation:
    return Observation(folder.workload, folder.attempt, ObservedState.ABSENT)


def _all_started(seen: list[ReplicaObservation]) -> datetime | None:
    times = [r.started_at for r in seen if r.started_at is not None]
    return max(times) if len(times) == len(seen) else None


def _last_end(seen: list[ReplicaObservation]) -> datetime | None:
    return max((r.ended_at for r in seen if r.ended_at is not None), default=None)


def _at(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _uid(claim: Mapping[str, Any] | None) -> str:
    """A process's identity for all times: boot, pid and start time."""
    if claim is None:
        return ""
    return f"{claim['boot_id'][:8]}-{claim['pid']}-{claim['start_time']}"
