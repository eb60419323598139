"""`scripts/install.sh` installs from nothing, and does nothing when nothing is to do."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = Path(sys.base_prefix) / "bin" / "python3"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A fresh checkout with what the installation reads."""
    folder = tmp_path / "checkout"
    ignore = shutil.ignore_patterns("__pycache__")
    for name in ("requirements", "scripts", "platform", "workloads", "assets", "cli"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignore)
    for name in ("templates", "static", "examples"):
        (folder / name).mkdir()
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def install(
    checkout: Path, *parts: str, before: tuple[str, ...] = (), path: str = f"{PYTHON.parent}:/bin"
) -> subprocess.CompletedProcess[str]:
    """Run the script as `make` does."""
    return subprocess.run(
        [*before, "/bin/sh", str(checkout / "scripts" / "install.sh"), *parts],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.thorough
def test_a_fresh_checkout_installs(checkout: Path, tmp_path: Path) -> None:
    """Slow, because it installs the server for real."""
    done = install(checkout, "server")
    assert done.returncode == 0, done.stderr
    python = checkout / ".venv" / "bin" / "python"
    code = "import django, gangline, platform; print(gangline.__file__, platform.__file__)"
    shown = subprocess.run(
        [str(python), "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    ours, standard = shown.stdout.split()
    assert ours == str(checkout / "platform" / "gangline" / "__init__.py")
    assert not standard.startswith(str(checkout))
    assert (checkout / ".venv" / "bin" / "gangline-manage").exists()

    began = time.monotonic()
    again = install(checkout, "server")
    assert (again.returncode, again.stdout) == (0, "")
    assert time.monotonic() - began < 1

    # A changed lock file is noticed; an unchanged set of packages is then quickly confirmed.
    with (checkout / "requirements" / "server.txt").open("a") as lock:
        lock.write("# changed\n")
    assert "Installing" in install(checkout, "server").stdout
    assert install(checkout, "server").stdout == ""


@pytest.mark.needs_bwrap
def test_a_python_without_venv_names_the_package(checkout: Path) -> None:
    """As Debian's is, unless its package is installed."""
    library = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/ensurepip"
    hidden = ("bwrap", "--dev-bind", "/", "/", "--tmpfs", str(PYTHON.parents[1] / library))
    done = install(checkout, before=hidden)
    assert done.returncode == 1
    assert "apt-get install python3-venv" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("found", [True, False])
def test_a_python_that_does_not_start_or_is_too_old_is_passed_over(
    checkout: Path, tmp_path: Path, found: bool
) -> None:
    """As a shim of pyenv without a version, and a Python of an old system."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("python3", "python3.13"):
        (programs / name).write_text("#!/bin/sh\necho odd >&2\nexit 127\n")
        (programs / name).chmod(0o755)
    (programs / "dirname").symlink_to("/usr/bin/dirname")
    if found:
        (programs / "python3.11").symlink_to(PYTHON)
    done = install(checkout, "servr", path=str(programs))
    assert done.returncode == 1
    expected = "There is no part named servr" if found else "Gangline needs Python 3.11 or newer"
    assert done.stderr.startswith(expected)


def test_the_environment_of_another_checkout_is_not_taken_over(
    checkout: Path, tmp_path: Path
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (checkout / ".venv").symlink_to(theirs)
    done = install(checkout, "server")
    assert done.returncode == 1
    assert f"is a link to {theirs}" in done.stderr
    assert list(theirs.iterdir()) == []


@pytest.mark.thorough
def test_the_command_line_installs_without_the_server(tmp_path: Path) -> None:
    """As its guide says, from its own lock file: nothing of the server is there."""
    source, place = tmp_path / "cli", tmp_path / "env"
    shutil.copytree(ROOT / "cli", source, ignore=shutil.ignore_patterns("__pycache__"))
    pip = [str(place / "bin" / "pip"), "install", "--quiet"]
    for command in (
        [str(PYTHON), "-m", "venv", str(place)],
        [*pip, "--require-hashes", "-r", str(ROOT / "requirements" / "cli.txt")],
        [*pip, "--no-deps", str(source)],
    ):
        subprocess.run(command, cwd=tmp_path, check=True)
    nowhere = {"GANGLINE_URL": "http://127.0.0.1:9", "GANGLINE_TOKEN": "gangline_x"}
    ran = {
        words: subprocess.run(
            [str(place / "bin" / words[0]), *words[1:]],
            cwd=tmp_path,
            env={"PATH": "/bin", "GANGLINE_CONFIG_DIR": str(tmp_path / "config"), **nowhere},
            capture_output=True,
            text=True,
            check=False,
        )
        for words in (
            ("gangline", "submit-dist", "pytorch", "--help"),
            ("gangline", "list"),
            ("python", "-c", "from gangline_sdk import AsyncClient, Client"),
            ("python", "-c", "import django"),
            ("python", "-c", "import gangline"),
        )
    }
    assert [done.returncode for done in ran.values()] == [0, 7, 0, 1, 1], ran
