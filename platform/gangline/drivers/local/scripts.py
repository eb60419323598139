"""Whether the files that a command names are there, before anything is submitted: only advice.

A workload may still fetch its own files; what is mounted into it is not looked at.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from gangline.drivers.base import Submission
from gangline.spec.launcher_commands import runs
from gangline.spec.problems import Advice, Role
from gangline.spec.types import split_command
from gangline.spec.workload import ReplicaSpec

from . import roots
from .sandbox import Places

SCRIPTS = (".py", ".sh")
EXAMPLES = "examples"
"""Of what a run folder begins with, what the product ships."""


def advise(submission: Submission, places: Places) -> Iterator[Advice]:
    """What of the command of each role cannot be found."""
    for role, spec in submission.halves:
        # A launcher's workers are its children; their own command does not run.
        if not runs(
            submission.framework,
            role,
            has_own_master=submission.master is not None,
            launcher=submission.worker.launcher,
        ):
            continue
        yield from _of_role(role, spec, places)


def _of_role(role: Role, spec: ReplicaSpec, places: Places) -> Iterator[Advice]:
    if spec.storage.model_dump(exclude_none=True):
        return
    for path, text in (("command", spec.command), ("args", spec.args)):
        for place, word in enumerate(_words(text)):
            is_program = path == "command" and place == 0
            if not (is_program and "/" in word) and not word.endswith(SCRIPTS):
                continue
            if sentence := _missing(word, spec.working_dir, places, is_program=is_program):
                yield Advice(role, path, sentence)
            return


def _words(text: str | None) -> list[str]:
    try:
        return split_command(text or "")
    except ValueError:
        return []


def _missing(word: str, folder: str | None, places: Places, *, is_program: bool) -> str:
    """Why the file cannot be used, as a sentence; empty where it can, or nobody knows."""
    if any(sign in word for sign in "$*?~") or word.startswith("-"):
        return ""
    try:
        found = _file(word, folder, places)
        if found is None:
            return (
                f"{word} does not exist: without a working directory, a replica starts in an empty "
                f"folder beside {EXAMPLES}. Set the working directory, or give the whole path."
            )
        if _is_hidden(found, places):
            return ""
        if not found.is_file():
            return f"{word} is not a file in {found.parent}."
        if is_program and not os.access(found, os.X_OK):
            return f"{word} cannot be executed. Make it executable, or start it with its program."
    except (OSError, roots.UnfitFolder, ValueError):
        return ""
    return ""


def _file(word: str, folder: str | None, places: Places) -> Path | None:
    """The file that a replica would open; None where its folder is still to be made."""
    if Path(word).is_absolute():
        return Path(os.path.realpath(word))
    if folder:
        return Path(os.path.realpath(roots.folder(folder, places) / word))
    first, _, rest = os.path.normpath(word).partition("/")
    if first == EXAMPLES and rest and places.examples_dir is not None:
        return Path(os.path.realpath(places.examples_dir / rest))
    return None


def _is_hidden(path: Path, places: Places) -> bool:
    """Nobody learns here what lies among Gangline's own data."""
    return any(
        path.is_relative_to(os.path.realpath(one)) for one in (places.data_dir, *places.hidden)
    )
