"""bubblewrap around a replica: own /tmp, /dev and process table, no view of our data (R18)."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .shim.command import BIND_FOLDER, READ_FOLDER

PRIVATE = "/tmp"  # noqa: S108 - what the command sees there is its own empty folder
PROBE_SECONDS = 5
DEVICES = ("nvidia*", "dri", "kfd", "infiniband")
"""What accelerators and fast networks need of /dev; everything else of the host stays out."""


MOST_NEIGHBOURS = 400
"""So many entries of a folder are mounted one by one to make room for one more among them."""


@dataclass(frozen=True, slots=True)
class Mount:
    """What stands at a container path; without ``source`` a file system in memory."""

    target: str
    source: str = ""
    writable: bool = False
    is_chosen: bool = False
    """A person chose the folder, so that it must be the one that was checked."""
    size: int = 0
    """Bytes that fit into memory; 0: as much as half of it."""

    @property
    def options(self) -> list[str]:
        if not self.source:
            limit = ["--size", str(self.size)] if self.size else []
            return [*limit, "--tmpfs", self.target]
        chosen, plain = (BIND_FOLDER, "--bind") if self.writable else (READ_FOLDER, "--ro-bind")
        return [chosen if self.is_chosen else plain, self.source, self.target]


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of this machine that concern every workload."""

    data_dir: Path
    roots: tuple[Path, ...] = ()
    """Folders below which a working directory may lie."""
    examples_dir: Path | None = None
    code: tuple[Path, ...] = ()
    """Gangline's own programs: workloads may read them and never write."""
    hidden: tuple[Path, ...] = ()
    """What else of Gangline workloads must not see."""
    sandboxed: bool = False

    def covered(self) -> list[Path]:
        """Folders and files that a mount covers, none of them within another."""
        data_dir = Path(os.path.realpath(self.data_dir))
        others = [self._private_folder(Path(os.path.realpath(path))) for path in self.hidden]
        covered: list[Path] = []
        for path in sorted({data_dir, *filter(Path.exists, others)}):
            if not _is_below(path, covered):
                covered.append(path)
        return covered

    def _private_folder(self, path: Path) -> Path:
        """The folder of a file where that is the file's own: a file can be replaced by another."""
        around = path.parent
        if path.is_dir() or not around.is_dir() or around.stat().st_mode & 0o077:
            return path
        kept = [*self.roots, *self.code, self.data_dir, *filter(None, [self.examples_dir])]
        return path if any(one.is_relative_to(around) for one in kept) else around


@cache
def works() -> bool:
    """Whether bubblewrap does what we need here: tried, since its mere presence tells little."""
    program = _program()
    if program is None:
        return False
    root = os.open("/", os.O_PATH | os.O_DIRECTORY)
    line = [*_base(program), "--tmpfs", PRIVATE, BIND_FOLDER, str(root), f"{PRIVATE}/root"]
    line += ["--clearenv", "--setenv", "LANG", "C.UTF-8", "--", "/bin/true"]
    try:
        trial = subprocess.run(
            line,
            env={},
            capture_output=True,
            timeout=PROBE_SECONDS,
            check=False,
            pass_fds=[root],
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    finally:
        os.close(root)
    return trial.returncode == 0


def prefix(
    places: Places,
    *,
    cwd: str,
    readable: Sequence[Path],
    writable: Sequence[Path] = (),
    work: Path | None = None,
    mounts: Sequence[Mount] = (),
) -> list[str]:
    """bubblewrap and its options. ``readable`` and ``writable`` stay in view.

    ``mounts`` come last, so that nothing covers them.

    The word after each ``BIND_FOLDER`` is a path, which whoever starts it opens and replaces by the
    number of the descriptor.
    """
    program = _program()
    if program is None:
        raise FileNotFoundError("bwrap")
    covered = places.covered()
    binds = [("--ro-bind", folder) for folder in readable if is_hidden(folder, places)]
    if work is not None:
        binds.append(("--bind", work))
    inside = [bind for bind in binds if _is_below(bind[1], covered)]
    line = [*_base(program, _room_for(mounts)), "--tmpfs", PRIVATE]
    # What lies around ours comes first: bound later, it would bring our data back into view.
    for option, folder in [bind for bind in binds if bind not in inside]:
        line += [option, str(folder), str(folder)]
    for folder in writable:
        line += [BIND_FOLDER, str(folder), str(folder)]
    code = [Path(os.path.realpath(path)) for path in places.code]
    code = [path for path in code if path.exists() and _is_below(path, writable)]
    # A folder on the way to ours could be moved away and another be put there; a mount cannot.
    for folder in _on_the_way([*code, *covered], writable):
        line += [BIND_FOLDER, str(folder), str(folder)]
    for path in code:
        line += ["--ro-bind", str(path), str(path)]
    for path in covered:
        line += ["--ro-bind", os.devnull, str(path)] if path.is_file() else ["--tmpfs", str(path)]
    for option, folder in inside:
        line += [option, str(folder), str(folder)]
    return [*line, *_mounted(mounts), "--chdir", cwd]


def cannot_be_made(target: Path) -> tuple[Path, bool] | None:
    """The folder in which no mount point can be made for a container path, and whether it can be
    read; None when one can be made."""
    around = _nearest(target)
    if around == target or around == Path("/") or around.is_relative_to(PRIVATE):
        return None
    try:
        with os.scandir(around) as entries:
            many = sum(1 for _ in entries) > MOST_NEIGHBOURS
    except OSError:
        return around, False
    return (around, True) if many else None


def _nearest(target: Path) -> Path:
    """The nearest folder around ``target`` that is there."""
    return next(one for one in (target, *target.parents) if one.is_dir())


def _mounted(mounts: Sequence[Mount]) -> list[str]:
    line = [word for mount in mounts for word in mount.options]
    for folder in _remade(mounts):
        line += ["--remount-ro", str(folder)]
    return line


def _remade(mounts: Sequence[Mount]) -> list[Path]:
    """Folders in which a mount point is missing."""
    targets = [Path(mount.target) for mount in mounts]
    around = {_nearest(one) for one in targets if not one.is_dir()}
    return sorted(one for one in around if not one.is_relative_to(PRIVATE))


def _room_for(mounts: Sequence[Mount]) -> list[str]:
    """The root of this machine, read-only, with room for mount points that it does not have.

    A folder in which one is missing becomes one of our own, with all that is in it.
    """
    line = ["--ro-bind", "/", "/"]
    for folder in _remade(mounts):
        line = [] if folder == Path("/") else [*line, "--tmpfs", str(folder)]
        for entry in sorted(folder.iterdir()):
            if entry.is_symlink():
                line += ["--symlink", str(entry.readlink()), str(entry)]
            elif entry not in (Path("/dev"), Path("/proc"), Path(PRIVATE)):
                line += ["--ro-bind-try", str(entry), str(entry)]
    return line


def is_hidden(folder: Path, places: Places) -> bool:
    """Whether the mounts above cover ``folder``."""
    return _is_below(folder, [*places.covered(), Path(PRIVATE)])


def _is_below(path: Path, folders: Sequence[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _on_the_way(paths: Sequence[Path], writable: Sequence[Path]) -> Iterator[Path]:
    """Folders between a writable one and one of ``paths``, outer ones first."""
    found = {
        folder
        for path in paths
        for folder in path.parents
        if _is_below(folder, writable) and folder not in writable
    }
    yield from sorted(found - {*paths})


def _base(program: str, root: Sequence[str] = ("--ro-bind", "/", "/")) -> list[str]:
    line = [program, "--die-with-parent", "--unshare-pid", *root]
    # A /dev of its own: as root, to own a disk's node is enough to read and write the disk.
    line += ["--dev", "/dev", "--proc", "/proc"]
    for device in sorted(path for name in DEVICES for path in Path("/dev").glob(name)):
        line += ["--dev-bind-try", str(device), str(device)]
    if os.geteuid() == 0:
        # Otherwise root could unmount what hides the data folder.
        line += ["--cap-drop", "ALL"]
    return line


@cache
def _program() -> str | None:
    return shutil.which("bwrap")
