"""Files that a command names and that are not there: told before anything runs, as advice."""

from pathlib import Path
from typing import Any

import pytest

from gangline.drivers.base import Submission
from gangline.drivers.local.sandbox import Places
from gangline.drivers.local.scripts import advise
from gangline.spec.typed import typed
from gangline.spec.workload import ReplicaSpec, WorkerSpec


@pytest.fixture
def places(tmp_path: Path) -> Places:
    for name in ("home", "data", "examples"):
        (tmp_path / name).mkdir()
    (tmp_path / "home" / "train.py").touch()
    (tmp_path / "home" / "run").touch(mode=0o644)
    (tmp_path / "home" / "go").touch(mode=0o755)
    (tmp_path / "examples" / "digits.py").touch()
    return Places(tmp_path / "data", roots=(tmp_path / "home",), examples_dir=tmp_path / "examples")


def told(places: Places, framework: str = "PyTorch", **worker: Any) -> list[tuple[str, str]]:
    if folder := worker.pop("folder", ""):
        worker["workingDir"] = str(places.roots[0].parent / folder)
    submission = Submission(
        name="digits",
        project="vision",
        framework=framework,
        configuration="workersAndMaster",
        num_workers=1,
        worker=typed(WorkerSpec, worker),
        master=typed(ReplicaSpec, {"command": "mpirun -n 1 absent.py"}),
        identifiers={},
    )
    return [(one.role, one.path) for one in advise(submission, places) if one.role == "worker"]


@pytest.mark.parametrize(
    "worker",
    [
        {"command": "python train.py", "folder": "home"},
        {"command": "torchrun --nproc-per-node 2 train.py --x y.py", "folder": "home"},
        {"command": "./go", "folder": "home"},
        {"command": "python -m package"},
        {"command": "python examples/digits.py"},
        {"command": "python $(SCRIPT).py"},
        {"command": "python train.py", "folder": "absent"},
        {"command": "python '", "folder": "home"},
    ],
)
def test_nothing_is_said_about_what_is_there(places: Places, worker: dict[str, Any]) -> None:
    assert told(places, **worker) == []


@pytest.mark.parametrize(
    ("worker", "path"),
    [
        ({"command": "python train.py"}, "command"),
        ({"command": "python absent.py", "folder": "home"}, "command"),
        ({"command": "python", "args": "absent.py --x", "folder": "home"}, "args"),
        ({"command": "./run", "folder": "home"}, "command"),
        ({"command": "/absent/program"}, "command"),
        ({"command": "python examples/absent.py"}, "command"),
    ],
)
def test_what_is_not_there_is_told_at_its_field(
    places: Places, worker: dict[str, Any], path: str
) -> None:
    assert told(places, **worker) == [("worker", path)]


def test_the_workers_of_a_launcher_run_no_command(places: Places) -> None:
    assert told(places, "MPI", command="python absent.py", folder="home") == []


def test_nobody_learns_what_lies_in_the_data_folder(places: Places) -> None:
    assert told(places, command=f"python {places.data_dir}/absent.py") == []
