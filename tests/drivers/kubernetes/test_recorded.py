"""Lives of attempts as a real API server showed them, moment by moment (see `record.py`)."""

import json
from pathlib import Path
from typing import Any

import pytest

from gangline.drivers.base import Observation, ObservedState, ReplicaState
from gangline.drivers.kubernetes import jobs, observation, pods
from gangline.drivers.kubernetes.kinds import KINDS

RECORDED = Path(__file__).with_name("recorded")
S, R = ObservedState, ReplicaState
ORDER = [S.HELD, S.PENDING, S.STARTING, S.RUNNING, S.TERMINATING, S.SUCCEEDED, S.FAILED]
NAMES = sorted(path.stem for path in RECORDED.glob("*.json"))
ALL = [("master", 0), ("worker", 0), ("worker", 1)]


def life(name: str) -> list[Observation]:
    moments: list[dict[str, Any]] = json.loads((RECORDED / f"{name}.json").read_text())
    seen = []
    for moment in moments:
        raw = moment["job"]
        kind = next(one for one in KINDS.values() if one.resource.kind == raw["kind"])
        assert kind.resource.api_version == raw["apiVersion"]
        its = [pods.read(pod) for pod in moment["pods"]]
        job = jobs.read(raw, kind)
        assert job.created_at is not None
        seen.append(observation.observe(job, its, now=job.created_at))
    return seen


def test_there_are_recordings() -> None:
    assert {"mpi-succeeds", "mpi-fails", "pytorch-succeeds", "pytorch-one-fails"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_life_goes_forward_only(name: str) -> None:
    steps = [ORDER.index(seen.state) for seen in life(name)]
    assert steps == sorted(steps)
    assert steps[0] == ORDER.index(S.HELD)


@pytest.mark.parametrize("name", NAMES)
def test_every_replica_is_listed_at_every_moment(name: str) -> None:
    for seen in life(name):
        assert [(r.role, r.index) for r in seen.replicas] == ALL


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("-succeeds")])
def test_what_succeeds_never_looks_failed(name: str) -> None:
    told = life(name)
    assert told[-1].state is S.SUCCEEDED
    for seen in told:
        assert seen.state is not S.FAILED
        assert R.FAILED not in {replica.state for replica in seen.replicas}
        assert seen.first_failure == ""
    assert told[-1].replicas[0].state is R.SUCCEEDED


def test_workers_of_mpi_are_stopped_once_the_launcher_is_done() -> None:
    last = life("mpi-succeeds")[-1]
    assert [r.state for r in last.replicas] == [R.SUCCEEDED, R.STOPPED, R.STOPPED]


def test_a_launcher_that_fails_is_the_cause() -> None:
    last = life("mpi-fails")[-1]
    assert (last.state, last.first_failure) == (S.FAILED, "master-0")
    assert last.reason == "master-0: Exited with code 3."


def test_a_worker_that_fails_is_the_cause() -> None:
    last = life("pytorch-one-fails")[-1]
    assert (last.state, last.first_failure) == (S.FAILED, "worker-1")
    assert last.reason == "worker-1: Exited with code 3."
