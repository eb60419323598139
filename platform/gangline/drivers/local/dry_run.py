"""Looks whether an attempt could start on this machine now; writes nothing anywhere.

``check`` judges by what the last probe found, this by what is there at this moment.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gangline.drivers.base import DryRunResult
from gangline.spec.frameworks import FRAMEWORKS
from gangline.spec.launcher_commands import runs
from gangline.spec.problems import Problem, Role

from .rendering import SCHEME
from .runtimes import launch_path

ASKED = ("the data folder", "the runtimes", "the programs")


def dry_run(
    native: Mapping[str, Any], data_dir: Path, runtimes: Mapping[str, Path]
) -> DryRunResult:
    """``runtimes``: the interpreter of each by name."""
    doubts = []
    runs = next(p for p in (data_dir / "runs", data_dir, *data_dir.parents) if p.exists())
    if not os.access(runs, os.W_OK | os.X_OK):
        doubts.append(f"The folder {runs} cannot be written to right now.")
    problems = tuple(_problems(native, data_dir, runtimes))
    return DryRunResult(problems, () if problems or doubts else ASKED, tuple(doubts))


def _problems(
    native: Mapping[str, Any], data_dir: Path, runtimes: Mapping[str, Path]
) -> Iterator[Problem]:
    name_of, launcher = native["framework"], native.get("launcher", "")
    for gang_role in FRAMEWORKS[name_of].roles:
        role, half = gang_role.half, native.get(gang_role.name)
        if half is None or gang_role.fixed:
            continue
        name = str(half.get("runtime", ""))
        python = runtimes.get(name)
        if python is None or not os.access(python, os.X_OK):
            yield Problem.of(
                role, "image", "cluster:runtime_gone", value=f"{SCHEME}{name}",
                accepted=", ".join(f"{SCHEME}{n}" for n in runtimes) or "none",
            )  # fmt: skip
        # A launcher's workers are its children; their own command does not run.
        elif runs(name_of, role, has_own_master=bool(native.get("master")), launcher=launcher):
            yield from _program(role, half, launch_path(data_dir, name, python), python)


def _program(role: Role, half: Mapping[str, Any], path: str, python: Path) -> Iterator[Problem]:
    """A bare name is looked up as the launch will do it: the launch makes ``python`` if need be."""
    program = next(iter(half.get("command", ())), "")
    has_own_path = any(name == "PATH" for name, _ in half.get("variables", ()))
    if not program or "$(" in program or "/" in program or has_own_path:
        return
    is_made = program == "python" and (python.parent / "python3").exists()
    if not is_made and shutil.which(program, path=path) is None:
        accepted = "a program of the runtime or of the system"
        yield Problem.of(role, "command", "cluster:program", value=program, accepted=accepted)
