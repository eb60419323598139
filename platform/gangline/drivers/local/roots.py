"""Folders of this machine that workloads may use."""

import os
from pathlib import Path

from gangline.lib.problems import Problem

from .field_hints import OWN_TMP, folders
from .sandbox import PRIVATE, Places

KERNEL = tuple(map(Path, ("/proc", "/sys", "/dev")))
"""Links in there lead elsewhere for each process, and nobody works there."""


class UnfitFolder(Exception):
    """Why workloads may not use a folder, as a problem that needs a place, and what they may."""

    def __init__(self, way: str, accepted: str, **params: str) -> None:
        self.problem = Problem(f"allowed:{way}", "", {"accepted": accepted, **params})
        super().__init__(self.problem.message)


def folder(path: str, places: Places) -> Path:
    """The folder that ``path`` leads to now, without links. Raises UnfitFolder."""
    accepted = folders(places.roots)
    try:
        found = Path(os.path.realpath(path))
        is_there = found.is_dir()
    except OSError as problem:
        told = problem.strerror or type(problem).__name__
        raise UnfitFolder("unopened", accepted, said=told) from problem
    except ValueError as problem:
        raise UnfitFolder("path", accepted) from problem
    if _lies_in(found, (places.data_dir, *places.hidden)):
        raise UnfitFolder("data", accepted)
    if _lies_in(Path(os.path.normpath(path)), KERNEL) or not _lies_in(found, places.roots):
        is_own = places.sandboxed and found.is_relative_to(PRIVATE)
        raise UnfitFolder("own_tmp" if is_own else "roots", accepted, why=OWN_TMP)
    if _lies_in(found, places.code) and not is_example(found, places):
        raise UnfitFolder("code", accepted)
    if not is_there:
        raise UnfitFolder("missing", "an existing folder")
    return found


def is_example(folder: Path, places: Places) -> bool:
    """Whether it belongs to the examples, which are there to be read."""
    examples = places.examples_dir
    return examples is not None and _lies_in(folder, (examples,))


def _lies_in(folder: Path, around: tuple[Path, ...]) -> bool:
    return any(folder.is_relative_to(os.path.realpath(one)) for one in around)
