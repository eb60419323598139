"""How a job ended, from what Slurm says and what its processes have written down."""

import json

from gangline.drivers.base import MEMORY_LIMIT, AttemptRef, Observation, ObservedState, ReplicaState
from gangline.drivers.slurm import texts
from gangline.drivers.slurm.looks import Job, Run
from gangline.drivers.slurm.observation import LOST_AFTER, Attempt, observe

REF = AttemptRef("install-a", "w-1", 1, "gang")
KILLED, STOPPED, BY_ITSELF = 128 + 9, 128 + 15, 1


def over(word: str, *codes: int | None, job: int = 1, **more: str) -> Observation:
    """Of a job with a replica for each of ``codes``; None: it left no record of its end."""
    names = [f"worker-{index}" for index in range(len(codes))]
    plan = [["worker", index, index] for index in range(len(codes))]
    files = {
        "plan.json": json.dumps({"replicas": plan}),
        "exit.json": json.dumps({"code": job, "job": 7, "cancelled": 0, "end": 20.0}),
        **{f"state/{name}.start": '{"node": "n1", "start": 10.0}' for name in names},
        **more,
    }
    for at, (name, code) in enumerate(zip(names, codes, strict=True)):
        if code is not None:
            files[f"state/{name}.exit"] = json.dumps({"code": code, "end": 19.0 - at})
    seen = Job(7, word, "None", len(codes), "2026-01-01T00:00:00", None, None, REF)
    return observe(Attempt(REF, seen, (), Run(files), 30.0))


def codes_of(seen: Observation) -> list[str]:
    assert seen.state is ObservedState.FAILED
    return [replica.reason_code for replica in seen.replicas]


def test_the_replica_that_the_kernel_killed_ran_out_of_memory() -> None:
    """Not the one that ended by itself when it missed the other."""
    seen = over("OUT_OF_MEMORY", KILLED, BY_ITSELF, 0)
    assert codes_of(seen) == [MEMORY_LIMIT, "", ""]
    assert seen.first_failure == "worker-0"
    assert [r.state for r in seen.replicas][:2] == [ReplicaState.FAILED, ReplicaState.STOPPED]


def test_a_child_of_the_replica_may_have_been_the_one() -> None:
    assert codes_of(over("OUT_OF_MEMORY", BY_ITSELF, 0)) == [MEMORY_LIMIT, ""]


def test_it_may_be_killed_with_all_that_writes_records() -> None:
    seen = over("OUT_OF_MEMORY", None)
    assert codes_of(seen) == [MEMORY_LIMIT]
    assert seen.first_failure == "worker-0"
    assert codes_of(over("OUT_OF_MEMORY", None, None)) == ["", ""], "nobody knows which"


def test_sigkill_alone_is_no_want_of_memory() -> None:
    assert codes_of(over("FAILED", KILLED)) == [""]
    stopped = over("OUT_OF_MEMORY", KILLED, stop='{"time": 1, "grace": 1}')
    assert [(r.state, r.reason_code) for r in stopped.replicas] == [(ReplicaState.STOPPED, "")]


def test_where_no_command_failed_a_log_is_named_that_tells_more() -> None:
    for code in (BY_ITSELF, texts.NO_MODULE):
        seen = over("FAILED", 0, None, job=code)
        assert codes_of(seen) == ["", ""]
        assert "worker-0" in seen.reason


def test_a_job_that_nobody_knows_is_lost_ten_minutes_after_it_was_missed() -> None:
    """By the clock of the login node alone: that of a node may be hours off."""
    for of_the_node in (5e8, 1e9, 2e9):
        files = {
            "submitted": '{"job": 7, "time": 999999000}',
            "start.json": json.dumps({"job": 7, "start": of_the_node}),
            "missed": '{"time": 1000000000}',
        }
        words = []
        for now in (1e9 + 1, 1e9 + LOST_AFTER - 1, 1e9 + LOST_AFTER + 1):
            words.append(observe(Attempt(REF, None, (), Run(files), now)).state)
        assert words == [ObservedState.UNKNOWN, ObservedState.UNKNOWN, ObservedState.FAILED]
