"""What an interactive session runs, and policies that limit how long it does."""

from typing import Any

import pytest

from gangline.policies.effective import Layer, effective_policy
from gangline.policies.engine import Request, Resolution, inherited_values, resolve
from gangline.policies.parser import parse
from gangline.spec.problems import Role
from gangline.spec.sources import DEFAULT, Value
from gangline.spec.workload import WAITING

LIMITED = """
defaults: {worker: {sessionTimeLimitSeconds: 28800}}
rules:
  worker:
    sessionTimeLimitSeconds: {max: 28800}
    sessionIdleLimitSeconds: {required: true, max: 3600}
"""
FIXED = LIMITED.replace("{max: 28800}", "{canEdit: false}")


def asked(master: str = "same", framework: str = "PyTorch", /, **given: Any) -> Request:
    values = {path.replace("__", "."): Value(value) for path, value in given.items()}
    return Request(framework=framework, master=master, given=values)


def resolved(request: Request, policy: str = "") -> Resolution:
    layers = [Layer("project", "vision", parse(policy))] if policy else []
    return resolve(request, effective_policy(layers))


def told(found: Resolution) -> list[tuple[str, str]]:
    return [(problem.field_id, problem.rule) for problem in found.problems]


@pytest.mark.parametrize("master", ["same", "differences", "own"])
def test_pods_sleep_where_nobody_says_what_they_run(master: str) -> None:
    request = asked(master, worker__interactive=True)
    found = resolved(request)
    assert told(found) == []
    assert found.effective["worker.command"] == Value(WAITING, DEFAULT)
    assert found.plain["master.command"] == WAITING
    assert inherited_values(request, Role.WORKER, effective_policy([]))["command"].value == WAITING


def test_what_somebody_says_is_run() -> None:
    found = resolved(asked(worker__interactive=True, worker__command="jupyter lab"))
    assert found.plain["worker.command"] == found.plain["master.command"] == "jupyter lab"
    found = resolved(asked(worker__interactive=True, worker__args="--port 1"))
    assert "worker.command" not in found.plain
    for off in ({}, {"worker__interactive": False}):
        assert "worker.command" not in resolved(asked(**off)).plain


def test_a_launcher_starts_what_the_workers_run() -> None:
    found = resolved(asked("own", "MPI", worker__interactive=True, worker__launcher="mpirun"))
    assert found.plain["worker.command"] == WAITING
    assert "master.command" not in found.plain


@pytest.mark.parametrize("policy", [LIMITED, FIXED])
def test_limits_of_a_policy_count_in_sessions_alone(policy: str) -> None:
    plain = resolved(asked(worker__command="python train.py"), policy)
    assert told(plain) == []
    assert "worker.sessionTimeLimitSeconds" not in plain.plain
    session = resolved(asked(worker__interactive=True), policy)
    assert told(session) == [("worker.sessionIdleLimitSeconds", "required")]
    assert session.plain["worker.sessionTimeLimitSeconds"] == 28800
    longer = asked(worker__interactive=True, worker__sessionIdleLimitSeconds=7200)
    assert told(resolved(longer, policy)) == [("worker.sessionIdleLimitSeconds", "max")]


def test_a_limit_without_a_session_is_said() -> None:
    found = resolved(asked(worker__sessionTimeLimitSeconds=600))
    assert told(found) == [("worker.sessionTimeLimitSeconds", "when")]
