"""Reads what programs left on this machine. See `FileReader`.

Programs may change their folders at any moment, so nothing is judged by its path: each name is
opened below the folder before it and never followed, and links are read and walked by hand.
"""

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from gangline.drivers.base import Refused, Unknown
from gangline.drivers.results import (
    GONE,
    IS_FOLDER,
    MOST_ENTRIES,
    NO_FILE,
    OURS,
    OUTSIDE,
    RUN,
    Content,
    Entry,
    Folder,
    Kind,
    Path,
    Place,
    in_order,
    is_path,
)

from . import roots
from .run_folder import BadName, RunFolder, replica_name
from .sandbox import Places
from .shim.files import UnusablePlan

PIECE = 1 << 18
MOST_LINKS = 16
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_THROUGH = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""A folder on the way, of which no more than the right to pass is needed."""
# A pipe that nobody writes to would hold up whoever opens it.
_ANY = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_KINDS = {stat.S_IFDIR: Kind.FOLDER, stat.S_IFREG: Kind.FILE, stat.S_IFLNK: Kind.LINK}


class _No(Exception):
    """In words, why it is not read."""


class Reader:
    """One place of one attempt."""

    def __init__(self, folder: RunFolder, machine: Places) -> None:
        self.folder, self.machine = folder, machine

    def places(self) -> list[Place]:
        return [Place(RUN, str(self.folder.path)), *self._chosen()]

    def look_at(self, place: str, path: Path) -> Folder | Entry | Refused | Unknown:
        try:
            if place == RUN and not path:
                return Folder(self._replicas())
            with self._opened(place, path) as (number, found):
                if stat.S_ISDIR(found.st_mode):
                    return _listed(number)
                return _entry(path[-1], found)
        except _No as why:
            return Refused(str(why))
        except OSError as problem:
            return _said(problem)

    def open(self, place: str, path: Path) -> Content | Refused | Unknown:
        try:
            with self._opened(place, path) as (_, found):
                if not stat.S_ISREG(found.st_mode):
                    return Refused(IS_FOLDER if stat.S_ISDIR(found.st_mode) else NO_FILE)
                return Content(found.st_size, self._pieces(place, path, found))
        except _No as why:
            return Refused(str(why))
        except OSError as problem:
            return _said(problem)

    def _pieces(self, place: str, path: Path, known: os.stat_result) -> Iterator[bytes]:
        """As much as there was: what is written meanwhile is of another look.

        Nothing is open before the first piece is asked for, and after the last.
        """
        left = known.st_size
        with self._opened(place, path) as (number, found):
            while left:
                is_same = _identity(found) == _identity(known)
                piece = os.read(number, min(PIECE, left)) if is_same else b""
                if not piece:
                    raise OSError("The file was changed while it was read.")
                left -= len(piece)
                yield piece

    def _plan(self) -> Mapping[str, Any]:
        try:
            return self.folder.plan() or {}
        except UnusablePlan:
            return {}

    def _chosen(self) -> Iterator[Place]:
        plan = self._plan()
        given = [one for replica in plan.get("replicas", ()) for one in replica.get("opened", ())]
        for number, path in enumerate(dict.fromkeys(given)):
            yield Place(f"work-{number}", str(path))

    def _replicas(self) -> list[Entry]:
        """The folders in which replicas start, by the names of the replicas."""
        plan = self._plan()
        found = []
        for replica in plan.get("replicas", ()):
            name = str(replica["name"])
            with contextlib.suppress(OSError):
                found.append(_entry(name.encode(), os.lstat(self.folder.work(name))))
        if not found:
            raise _No(GONE)
        return found

    @contextlib.contextmanager
    def _opened(self, place: str, path: Path) -> Iterator[tuple[int, os.stat_result]]:
        if not is_path(path):
            raise _No(GONE)
        root, rest = self._root(place, path)
        with contextlib.ExitStack() as stack:
            number = _walked(root, rest, self._covered(), stack)
            yield number, os.fstat(number)

    def _root(self, place: str, path: Path) -> tuple[str, Path]:
        """The folder to begin in, without links, and the way from there."""
        if place == RUN:
            try:
                name = replica_name(path[0].decode("ascii", "replace"))
            except BadName as none:
                raise _No(GONE) from none
            return str(self.folder.work(name)), path[1:]
        chosen = next((one.path for one in self._chosen() if one.key == place), None)
        if chosen is None:
            raise _No(GONE)
        try:
            return str(roots.folder(chosen, self.machine)), path
        except roots.UnfitFolder as unfit:
            raise _No(str(unfit)) from unfit

    def _covered(self) -> frozenset[tuple[int, int]]:
        """What of Gangline's own no program sees either, so that no way leads through it."""
        found = set()
        for path in (*self.machine.covered(), *self.machine.hidden):
            with contextlib.suppress(OSError):
                found.add(_identity(path.stat()))
        return frozenset(found)


def _walked(
    root: str, path: Path, covered: frozenset[tuple[int, int]], stack: contextlib.ExitStack
) -> int:
    """A descriptor of what ``path`` leads to below ``root``. Raises _No and OSError."""
    above = _held(os.open("/", _THROUGH), stack)
    for name in filter(None, os.fsencode(root).split(b"/")):
        above = _held(os.open(name, _THROUGH, dir_fd=above), stack)
    trail, todo, links = [_held(os.open(".", _FOLDER, dir_fd=above), stack)], list(path), 0
    while todo:
        name = todo.pop(0)
        if name == b"..":
            if len(trail) == 1:
                raise _No(OUTSIDE)
            trail.pop()
            continue
        found = os.stat(name, dir_fd=trail[-1], follow_symlinks=False)
        kind = _kind(found)
        if kind is Kind.OTHER:
            raise _No(NO_FILE)
        if kind is Kind.LINK:
            links += 1
            if links > MOST_LINKS:
                raise _No(OUTSIDE)
            todo[:0] = _steps(os.readlink(name, dir_fd=trail[-1]), root, trail)
            continue
        trail.append(_held(os.open(name, _ANY, dir_fd=trail[-1]), stack))
        if _identity(os.fstat(trail[-1])) in covered:
            raise _No(OURS)
    return trail[-1]


def _held(number: int, stack: contextlib.ExitStack) -> int:
    stack.callback(os.close, number)
    return number


def _steps(target: bytes, root: str, trail: list[int]) -> list[bytes]:
    """The names that a link stands for; one that is absolute begins anew, in the same place."""
    if target.startswith(b"/"):
        top = os.fsencode(root)
        target = os.path.normpath(target)
        if target != top and not target.startswith(top + b"/"):
            raise _No(OUTSIDE)
        del trail[1:]
        target = target[len(top) :]
    return [name for name in target.split(b"/") if name not in (b"", b".")]


def _listed(number: int) -> Folder:
    found: list[Entry] = []
    with os.scandir(number) as entries:
        for one in entries:
            if len(found) == MOST_ENTRIES:
                return Folder(in_order(found), is_cut=True)
            with contextlib.suppress(FileNotFoundError):
                found.append(_entry(os.fsencode(one.name), one.stat(follow_symlinks=False)))
    return Folder(in_order(found))


def _entry(name: bytes, found: os.stat_result) -> Entry:
    kind = _kind(found)
    size = found.st_size if kind is Kind.FILE else 0
    return Entry(name, kind, size, datetime.fromtimestamp(found.st_mtime, UTC))


def _kind(found: os.stat_result) -> Kind:
    return _KINDS.get(stat.S_IFMT(found.st_mode), Kind.OTHER)


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _said(problem: OSError) -> Refused | Unknown:
    if isinstance(problem, (FileNotFoundError, NotADirectoryError)):
        return Refused(GONE)
    if isinstance(problem, PermissionError):
        return Refused("Gangline may not read it.")
    return Unknown(f"It cannot be read: {problem.strerror or problem}.")
