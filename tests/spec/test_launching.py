"""The words of a launcher, and what does not go with one."""

from typing import Any

import pytest

from gangline.spec.frameworks import framework_of
from gangline.spec.launcher_commands import (
    choice_problems,
    interpreter,
    launch_problem,
    launched,
    leading_half,
    runs,
    unread_by_shell,
)
from gangline.spec.problems import Role
from gangline.spec.typed import typed
from gangline.spec.workload import ReplicaSpec, WorkerSpec

PROGRAM = ("/opt/env/bin/python3.11", "train.py", "--lr", "1")
MPI = framework_of("MPI")


def test_mpirun_starts_as_many_ranks_as_there_are() -> None:
    words = launched("mpirun", PROGRAM, ranks=6, hostfile="/h")
    assert words == ["mpirun", "-np", "6", *PROGRAM]


def test_horovodrun_is_that_of_the_programs_own_environment() -> None:
    words = launched("horovodrun", PROGRAM, ranks=2, hostfile="/h", interface="ib0")
    assert words[0] == "/opt/env/bin/horovodrun"
    assert words[-len(PROGRAM) :] == list(PROGRAM)
    assert " ".join(words).count("-np 2 -hostfile /h --network-interfaces ib0") == 1
    assert launched("horovodrun", ["./train"], ranks=2, hostfile="/h")[0] == "horovodrun"


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (PROGRAM, PROGRAM[0]),
        (["python", "a.py"], "python"),
        (["./a.sh"], "python3"),
        ([], "python3"),
    ],
)
def test_horovod_is_asked_of_the_python_that_runs_the_program(
    program: list[str], expected: str
) -> None:
    assert interpreter(program) == expected


@pytest.mark.parametrize(
    ("launcher", "leading"), [(None, Role.MASTER), ("mpirun", Role.WORKER), ("gloo", Role.WORKER)]
)
def test_a_launcher_starts_the_command_of_the_workers(launcher: str | None, leading: Role) -> None:
    assert leading_half("MPI", has_own_master=True, launcher=launcher) is leading
    assert [r for r in Role if runs("MPI", r, has_own_master=True, launcher=launcher)] == [leading]


@pytest.mark.parametrize(
    ("command", "launcher", "code"),
    [
        ("python train.py", None, "launcher"),
        ("python train.py", "gloo", None),
        ("mpirun python train.py", None, None),
        ("mpirun python train.py", "mpirun", "launcher:twice"),
        ("/opt/env/bin/horovodrun -np 2 python a.py", "gloo", "launcher:twice"),
        ("srun python train.py", "srun", "launcher:twice"),
    ],
)
def test_ranks_are_started_once(command: str, launcher: str | None, code: str | None) -> None:
    problem = launch_problem(Role.WORKER, MPI, command, "", launcher)
    assert (problem and problem.code) == code


@pytest.mark.parametrize(
    ("worker", "master", "found"),
    [
        ({}, {"command": "python train.py"}, []),
        ({}, {}, []),
        ({}, {"command": "python lead.py"}, [("master.command", "launcher:own")]),
        ({}, {"args": "--lead"}, [("master.args", "launcher:own")]),
        (
            {"launcher": "gloo", "slotsPerWorker": 2},
            {},
            [("worker.slotsPerWorker", "launcher:slots")],
        ),
        ({"slotsPerWorker": 2}, {}, []),
        ({"launcher": None}, {"command": "mpirun python lead.py"}, []),
    ],
)
def test_what_does_not_go_with_a_launcher(
    worker: dict[str, Any], master: dict[str, Any], found: list[tuple[str, str]]
) -> None:
    said = {"command": "python train.py", "launcher": "mpirun"} | worker
    problems = choice_problems(typed(WorkerSpec, said), typed(ReplicaSpec, master))
    assert [(p.field_id, p.code) for p in problems] == found


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"command": "cd /code && python train.py"}, ["command"]),
        ({"command": "nvidia-smi; python train.py"}, ["command"]),
        ({"command": "python", "arguments": "train.py > log.txt"}, ["arguments"]),
        ({"command": "python train.py >log.txt"}, ["command"]),
        ({"command": "sh -c 'cd /code && python train.py'"}, []),
        ({"command": "bash", "arguments": "-c 'a | b' ; c"}, []),
        ({"command": "python train.py --filter 'a > b' --lr 1e-3"}, []),
        ({"command": "python 'unclosed &&"}, []),
    ],
)
def test_what_only_a_shell_reads_is_worth_a_hint(values: dict[str, str], told: list[str]) -> None:
    assert [one.path for one in unread_by_shell(Role.WORKER, values)] == told
