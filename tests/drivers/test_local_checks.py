"""What this machine refuses before anything is stored, and what it offers."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gangline.drivers.base import Submission
from gangline.drivers.facts import Facts, FieldNote, Runtime
from gangline.drivers.local import capacity, sandbox
from gangline.drivers.local.driver import LocalDriver, Options
from gangline.drivers.local.dry_run import dry_run
from gangline.drivers.local.expansion import expand
from gangline.spec.problems import Problem, Role
from gangline.spec.typed import typed
from gangline.spec.workload import ReplicaSpec, WorkerSpec

FACTS = Facts(
    "1",
    runtimes=(
        Runtime("local://examples", "Examples", True, ("XGBoost", "MPI")),
        Runtime("local://system", "System", True, ("PyTorch", "MPI")),
        Runtime("local://old", "Old", False, (), reason="There is no Python at /old/bin/python."),
    ),
)


def check(
    tmp_path: Path,
    framework: str = "PyTorch",
    master: Mapping[str, Any] | None = None,
    facts: Facts = FACTS,
    **changes: Any,
) -> list[Problem]:
    (tmp_path / "home").mkdir(exist_ok=True)
    driver = LocalDriver(tmp_path / "data", "host-a", Options(roots=(tmp_path / "home",)))
    worker = typed(WorkerSpec, {"image": "local://system", "command": "python train.py"} | changes)
    own = None if master is None else typed(ReplicaSpec, master)
    configuration = "workersAndMaster" if master is not None else "workersOnly"
    submission = Submission("gang", "vision", framework, configuration, 2, worker, own)
    return driver.check(submission, facts)


def test_before_the_first_probe_a_runtime_is_taken_on_trust(tmp_path: Path) -> None:
    """Right after a first start nobody knows what is there: the launch tells."""
    assert check(tmp_path, facts=Facts(""), image="local://new") == []
    assert [p.rule for p in check(tmp_path, facts=Facts(""), image="ubuntu:22.04")] == ["runtime"]


def test_what_fits_is_not_refused(tmp_path: Path) -> None:
    assert check(tmp_path) == []
    assert check(tmp_path, workingDir=str(tmp_path / "home")) == []


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (None, "is required: choose a runtime of this machine"),
        (
            "registry.local/ddp:1.4",
            "must be a runtime of this machine, which runs processes and no containers",
        ),
        ("local://nobody", "must be a runtime that this machine has"),
        ("local://old", "cannot be used: There is no Python at /old/bin/python"),
        ("local://examples", "must be a runtime with PyTorch"),
    ],
)
def test_an_image_must_be_a_runtime_that_can_run_it(
    tmp_path: Path, image: str | None, message: str
) -> None:
    (problem,) = check(tmp_path, image=image)
    assert (problem.field_id, problem.message) == ("worker.image", message)
    assert problem.accepted == "local://system"


@pytest.mark.parametrize("command", [None, "", "  "])
def test_a_command_is_required(tmp_path: Path, command: str | None) -> None:
    (problem,) = check(tmp_path, command=command)
    assert (problem.field_id, problem.rule) == ("worker.command", "required")
    assert "python train.py" in problem.accepted


def test_under_mpi_only_the_launcher_needs_a_command(tmp_path: Path) -> None:
    master = {"image": "local://system", "command": "mpirun ./a.out"}
    assert check(tmp_path, "MPI", master, command=None) == []
    (problem,) = check(tmp_path, "MPI", master | {"command": None})
    assert problem.field_id == "master.command"


@pytest.mark.parametrize(
    "command",
    ["mpirun python a.py", "/opt/mpi/bin/mpiexec -n 2 ./a.out", "env A=1 mpirun ./a.out",
     "bash launch.sh", "./launch --fast"],
)  # fmt: skip
def test_an_mpi_command_that_can_start_ranks_fits(tmp_path: Path, command: str) -> None:
    assert check(tmp_path, "MPI", {"image": "local://system", "command": command}) == []


@pytest.mark.parametrize(
    "command", ["python train.py", "/usr/bin/python3.11 -m train", "torchrun train.py"]
)
def test_an_mpi_command_without_mpirun_is_refused_with_the_fix(
    tmp_path: Path, command: str
) -> None:
    """It would train alone, in one rank, and look like a success."""
    (problem,) = check(tmp_path, "MPI", {"image": "local://system", "command": command})
    assert (problem.field_id, problem.rule) == ("master.command", "launcher")
    assert f"“mpirun {command}”" in problem.message
    assert "mpirun" in problem.accepted


def test_the_ranks_may_be_started_by_the_arguments(tmp_path: Path) -> None:
    master = {"image": "local://system", "command": "nice", "args": "mpirun ./a.out"}
    assert check(tmp_path, "MPI", master) == []


HOROVOD = Facts(
    "1",
    runtimes=(
        Runtime("local://system", "System", True, ("PyTorch", "MPI"), launchers=("mpirun",)),
        Runtime("local://hvd", "H", True, ("MPI",), launchers=("horovodrun", "gloo")),
    ),
)


@pytest.mark.parametrize(
    ("launcher", "facts", "image", "says"),
    [
        ("mpirun", HOROVOD, "local://system", ""),
        ("gloo", HOROVOD, "local://hvd", ""),
        ("gloo", HOROVOD, "local://system", "local://system has no Horovod; local://hvd has"),
        ("gloo", FACTS, "local://system", "No runtime of this machine has Horovod"),
        ("srun", HOROVOD, "local://hvd", "no Slurm"),
        ("horovodrun", Facts(""), "local://new", ""),
    ],
)
def test_a_launcher_must_be_in_the_runtime(
    tmp_path: Path, launcher: str, facts: Facts, image: str, says: str
) -> None:
    said = {"image": image, "command": "python train.py"}
    found = check(tmp_path, "MPI", said, facts, launcher=launcher, **said)
    told = [("worker.launcher", "launcher:unfit")] if says else []
    assert [(p.field_id, p.code) for p in found] == told
    assert all(says in p.message for p in found)


def test_a_launcher_that_is_not_to_be_had_is_listed_with_the_reason(tmp_path: Path) -> None:
    note = notes(tmp_path, framework="MPI", facts=HOROVOD)["launcher"]
    assert {c.value: bool(c.reason) for c in note.choices[""]} == {
        "mpirun": False, "horovodrun": False, "srun": True, "gloo": False,
    }  # fmt: skip


def test_problems_of_both_roles_are_told_together(tmp_path: Path) -> None:
    problems = check(tmp_path, master={"image": "a/b:1"}, command="")
    assert [p.field_id for p in problems] == ["worker.command", "master.command", "master.image"]


def test_a_working_directory_must_be_allowed(tmp_path: Path) -> None:
    (tmp_path / "home/link").parent.mkdir(exist_ok=True)
    (tmp_path / "home/link").symlink_to("/etc")
    (tmp_path / "data").mkdir()
    for folder in ("/etc", str(tmp_path / "home/link"), str(tmp_path / "data/runs")):
        (problem,) = check(tmp_path, workingDir=folder)
        assert problem.field_id == "worker.workingDir"
        assert str(tmp_path / "home") in problem.accepted
    (problem,) = check(tmp_path, workingDir=str(tmp_path / "home/none"))
    assert problem.message == "must be a folder that exists"


@pytest.mark.parametrize("below", ["a" * 300, "loop/x"])
def test_a_folder_that_cannot_be_looked_at_is_a_problem_of_the_field(
    tmp_path: Path, below: str
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home/loop").symlink_to("loop")
    (problem,) = check(tmp_path, workingDir=str(tmp_path / "home" / below))
    assert problem.field_id == "worker.workingDir"


@pytest.mark.parametrize("folder", ["/proc/self/root{}", "/proc/1/root/x", "/proc/self/cwd"])
def test_the_kernel_s_links_are_no_way_to_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path / "home")
    (problem,) = check(tmp_path, workingDir=folder.format(tmp_path / "home"))
    assert problem.field_id == "worker.workingDir"


def test_a_folder_in_tmp_is_refused_with_what_tmp_is(tmp_path: Path) -> None:
    options = Options(roots=(tmp_path / "home",), use_sandbox=True)
    driver = LocalDriver(tmp_path / "data", "host-a", options)
    values = {"image": "local://system", "command": "true", "workingDir": "/tmp"}
    worker = typed(WorkerSpec, values)
    submission = Submission("gang", "vision", "PyTorch", "workersOnly", 2, worker, None)
    (problem,) = driver.check(submission, FACTS)
    assert problem.message.endswith("/tmp is each replica’s own and begins empty")


# --- What the form tells before


def notes(
    tmp_path: Path, role: Role = Role.WORKER, *, own_master: bool = False, **more: Any
) -> Mapping[str, FieldNote]:
    options = Options(roots=(tmp_path / "home",), use_sandbox=more.get("sandbox", True))
    driver = LocalDriver(tmp_path / "data", "host-a", options)
    framework = more.get("framework", "PyTorch")
    facts = more.get("facts", Facts(""))
    return driver.field_notes(
        framework=framework, role=role, has_own_master=own_master, facts=facts
    )


def test_the_form_tells_where_a_working_directory_may_lie(tmp_path: Path) -> None:
    assert notes(tmp_path)["workingDir"].help == (
        f"Where the command starts: a folder in {tmp_path}/home. Empty: the replica’s run folder. "
        "/tmp is each replica’s own and begins empty."
    )
    assert "/tmp is" not in notes(tmp_path, sandbox=False)["workingDir"].help


@pytest.mark.parametrize(
    ("framework", "own_master", "worker", "master"),
    [
        ("PyTorch", False, {"image", "command"}, set()),
        ("PyTorch", True, {"image", "command"}, set()),
        ("MPI", False, {"image", "command"}, set()),
        ("MPI", True, {"image"}, {"command"}),
    ],
)
def test_the_form_marks_what_the_check_asks_for(
    tmp_path: Path, framework: str, own_master: bool, worker: set[str], master: set[str]
) -> None:
    for role, expected in ((Role.WORKER, worker), (Role.MASTER, master)):
        told = notes(tmp_path, role, own_master=own_master, framework=framework)
        assert {path for path, note in told.items() if note.is_required} == expected


def test_the_example_of_a_launcher_s_command_passes_the_check(tmp_path: Path) -> None:
    assert notes(tmp_path)["command"].placeholder == ""
    example = notes(tmp_path, framework="MPI")["command"].placeholder
    assert check(tmp_path, "MPI", {"image": "local://system", "command": example}) == []


def test_declared_gpus_count_and_are_called_declared(tmp_path: Path) -> None:
    driver = LocalDriver(tmp_path, "host-a", Options(declared_gpus=4))
    room = driver.capacity()
    assert (room.gpus, room.gpus_declared) == (("0", "1", "2", "3"), True)
    assert room.admission == "ours"


def test_cores_are_those_we_may_use() -> None:
    mine = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(mine)})
        assert capacity.cores() == 1.0
    finally:
        os.sched_setaffinity(0, mine)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)", "1"),
        ("x$(A)y$(B)", "x1y$(A)"),
        ("$$(A)", "$(A)"),
        ("$(NONE)", "$(NONE)"),
        ("$A ${A} $$ $", "$A ${A} $$ $"),
        ("$()", "$()"),
        ("$(A", "$(A"),
    ],
)
def test_references_expand_as_on_other_clusters(text: str, expected: str) -> None:
    assert expand(text, {"A": "1", "B": "$(A)"}) == expected


@pytest.mark.needs_bwrap
def test_bubblewrap_is_used_when_a_trial_of_it_works() -> None:
    assert sandbox.works()


def test_bubblewrap_that_does_not_work_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sandbox, "_program", lambda: str(broken))
    sandbox.works.cache_clear()
    try:
        assert not sandbox.works()
    finally:
        sandbox.works.cache_clear()


def test_a_dry_run_finds_the_programs_that_the_launch_finds(tmp_path: Path) -> None:
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.symlink_to(sys.executable)

    def wrong(program: str) -> list[str]:
        half = {"runtime": "lab", "command": [program]}
        native = {"framework": "PyTorch", "worker": half}
        found = dry_run(native, tmp_path, {"lab": python})
        return [problem.path for problem in found.problems]

    assert wrong("python") == wrong("python3") == wrong("ls") == []
    assert wrong("no-such-program") == ["command"]


def test_the_probe_tells_of_this_machine_as_the_one_node(tmp_path: Path) -> None:
    driver = LocalDriver(tmp_path / "data", "host-a", Options(declared_gpus=3))
    health, room = driver.probe(), driver.capacity()
    assert health.nodes is not None
    (node,) = health.nodes
    assert (node.status, node.cpu, node.memory, node.gpus) == ("Ready", room.cpus, room.memory, 3)


@pytest.mark.parametrize(
    ("changes", "where", "code"),
    [
        ({"url": "https://*.tools.example"}, "", ""),
        ({}, "worker.exposedUrls.0", "cluster:tools_closed"),
        (
            {"url": "https://*.tools.example", "framework": "MPI"},
            "worker.exposedUrls.0",
            "cluster:tools_launcher",
        ),
        (
            {"url": "https://*.tools.example", "own": "https://board.tools.example/"},
            "worker.exposedUrls.0.url",
            "cluster:tools_address",
        ),
    ],
)
def test_a_tool_that_cannot_be_opened_here_is_refused(
    tmp_path: Path, changes: Mapping[str, str], where: str, code: str
) -> None:
    framework, own = changes.get("framework", "PyTorch"), changes.get("own")
    tool = {"name": "board", "toolType": "custom", "container": 80}
    tool |= {"customUrl": True, "url": own} if own else {}
    whole = {"image": "local://system", "command": "mpirun python train.py"}
    worker = typed(WorkerSpec, whole | {"exposedUrls": [tool]})
    master = typed(ReplicaSpec, whole) if framework == "MPI" else None
    configuration = "workersAndMaster" if master else "workersOnly"
    submission = Submission("gang", "vision", framework, configuration, 2, worker, master)
    options = Options(tools_url=changes.get("url", ""))
    found = LocalDriver(tmp_path / "data", "host-a", options).check(submission, FACTS)
    told = [(p.field_id, p.code) for p in found if "exposedUrls" in p.path]
    assert told == [(where, code)] * bool(code)
