"""The sentences beside a status promise nothing that waiting cannot bring."""

import pytest

from gangline.drivers.base import POD_MISSING, POD_REFUSED
from tests.support.engine import Engine, current_attempt
from workloads.models import Replica
from workloads.services import reasons
from workloads.wording import NEXT_STEPS


def _next_step(engine: Engine, code: str, *states: str, never: bool = False, gpus: int = 8) -> str:
    workload = engine.workload(workers=4)
    attempt = current_attempt(workload)
    attempt.create_state, attempt.reason_code, attempt.impossible = "seen", code, never
    pods = [
        Replica(attempt=attempt, role="worker", index=n, rank=n, state=state, gpus=gpus)
        for n, state in enumerate(states)
    ]
    told = reasons.status_message(
        workload=workload, attempt=attempt, phase="Pending", replicas=pods
    )
    return told.next_step


@pytest.mark.parametrize("code", [POD_REFUSED, POD_MISSING])
def test_advice_follows_the_code_and_says_what_the_placed_pods_hold(
    engine: Engine, code: str
) -> None:
    said = _next_step(engine, code, "Running", "Running", "Pending")
    assert said.endswith(NEXT_STEPS[code])
    assert "16 GPUs" in said


def test_a_part_that_can_never_become_the_whole_is_to_be_stopped(engine: Engine) -> None:
    states = ("Running", "Starting", "Running", "Pending")
    said = _next_step(engine, "", *states, never=True)
    assert "24 GPUs" in said
    assert "Stop the workload" in said
