"""bubblewrap around a replica: own /tmp and process table, no view of our data (R18)."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

PRIVATE = "/tmp"  # noqa: S108 - what the command sees there is its own empty folder
PROBE_SECONDS = 5


@cache
def works() -> bool:
    """Whether bubblewrap does what we need here: tried, since its mere presence tells little."""
    program = _program()
    if program is None:
        return False
    line = [*_base(program), "--tmpfs", PRIVATE, "--", "/bin/true"]
    try:
        trial = subprocess.run(
            line, env={}, capture_output=True, timeout=PROBE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return trial.returncode == 0


def prefix(
    *, data_dir: Path, work: Path, cwd: str, readable: Sequence[Path], writable: Sequence[Path]
) -> list[str]:
    """Words to put before a command. ``readable`` and ``writable`` stay in view."""
    program = _program()
    if program is None:
        raise FileNotFoundError("bwrap")
    binds = [("--ro-bind", folder) for folder in readable if is_hidden(folder, data_dir)]
    binds += [("--bind", folder) for folder in (*writable, work)]
    inside = [bind for bind in binds if bind[1].is_relative_to(data_dir)]
    # A folder around ours comes first: bound later, it would bring our data back into view.
    outside = [bind for bind in binds if bind not in inside]
    line = [*_base(program), "--tmpfs", PRIVATE]
    for option, folder in outside:
        line += [option, str(folder), str(folder)]
    line += ["--tmpfs", str(data_dir)]
    for option, folder in inside:
        line += [option, str(folder), str(folder)]
    return [*line, "--chdir", cwd, "--"]


def is_hidden(folder: Path, data_dir: Path) -> bool:
    """Whether the mounts above cover ``folder``."""
    return any(folder.is_relative_to(hidden) for hidden in (data_dir, Path(PRIVATE)))


def _base(program: str) -> list[str]:
    line = [program, "--die-with-parent", "--unshare-pid", "--ro-bind", "/", "/"]
    line += ["--dev-bind", "/dev", "/dev", "--proc", "/proc"]
    if os.geteuid() == 0:
        # Otherwise root could unmount what hides the data folder.
        line += ["--cap-drop", "ALL"]
    return line


@cache
def _program() -> str | None:
    return shutil.which("bwrap")
