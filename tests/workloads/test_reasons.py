"""The sentences beside a status promise nothing that waiting cannot bring."""

import pytest

from tests.support.engine import Engine, current_attempt
from workloads.models import Replica
from workloads.services import reasons

REFUSED = (
    'Error creating: pods "digits-worker-0" is forbidden: exceeded quota: small, '
    "requested: cpu=8, used: cpu=0, limited: cpu=3."
)


def _next_step(engine: Engine, why: str, *states: str, never: bool = False, gpus: int = 8) -> str:
    workload = engine.workload(workers=4)
    attempt = current_attempt(workload)
    attempt.create_state, attempt.observed_reason, attempt.impossible = "seen", why, never
    pods = [
        Replica(attempt=attempt, role="worker", index=n, rank=n, state=state, gpus=gpus)
        for n, state in enumerate(states)
    ]
    told = reasons.tell(workload=workload, attempt=attempt, phase="Pending", replicas=pods)
    return told.next_step


@pytest.mark.parametrize(
    "why", ["No node has the type a100.", "Queue team is at its limit of 16 GPUs."]
)
def test_what_the_wait_is_for_is_not_guessed(engine: Engine, why: str) -> None:
    assert _next_step(engine, why) == "It starts as soon as the cluster can place it."


def test_of_pods_that_the_cluster_refuses_nothing_is_promised(engine: Engine) -> None:
    said = _next_step(engine, REFUSED)
    assert "starts" not in said
    assert "Copy & edit it to ask for what the cluster takes" in said


@pytest.mark.parametrize(
    "why", [REFUSED, 'Error creating: Pod "digits-worker-0" is invalid: cpu: must be at most 2.']
)
def test_of_a_refused_rest_it_is_told_what_the_others_hold(engine: Engine, why: str) -> None:
    said = _next_step(engine, why, "Running", "Running", "Pending")
    assert said.startswith("2 of its pods already hold 16 GPUs. Copy & edit it to ask for what")


def test_what_waits_for_something_missing_says_so(engine: Engine) -> None:
    said = _next_step(engine, 'Worker-0: persistentvolumeclaim "nope" not found.')
    assert said == "It starts once that is there; Copy & edit names another."


def test_a_part_that_can_never_become_the_whole_is_to_be_stopped(engine: Engine) -> None:
    states = ("Running", "Starting", "Running", "Pending")
    assert _next_step(engine, "Needs 64 GPUs, 32 are there.", *states, never=True) == (
        "3 of its pods already hold 24 GPUs. Stop it to give them back, then Copy & edit it to ask"
        " for less."
    )


@pytest.mark.parametrize(
    ("gpus", "held"),
    [
        (1, "1 of its pods already holds 1 GPU."),
        (0, "1 of its pods already holds its CPUs and memory."),
    ],
)
def test_a_part_that_waits_for_the_rest_says_what_it_holds(
    engine: Engine, gpus: int, held: str
) -> None:
    assert _next_step(engine, "1 of 2 pods waits.", "Running", "Pending", gpus=gpus) == (
        f"{held} It starts as soon as the cluster can place the rest."
    )
