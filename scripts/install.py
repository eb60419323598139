"""Make one virtual environment and fill it from hashed lock files, with uv or else with pip."""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from scripts import package_index

HEARTBEAT_SECONDS = 10
COMPILE_SECONDS = 900


class CannotInstall(Exception):
    """Why the dependencies cannot be installed, in a sentence that says what to do."""


@contextlib.contextmanager
def only_one_at_a_time(root: str) -> Iterator[None]:
    """Let a second installation of the same checkout wait for the first."""
    descriptor = os.open(Path(root) / "requirements", os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another installation is running here; waiting for it.")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def say(sentence: str) -> None:
    """Print one line of progress."""
    print(sentence, flush=True)


class Environment:
    """The virtual environment at `folder`; `shown` is how its path is written for people."""

    def __init__(self, *, folder: str, shown: str, root: str) -> None:
        self.folder = Path(folder)
        self.shown = shown
        self.root = Path(root)
        self.python = self.folder / "bin" / "python"

    def make(self) -> None:
        """Make the environment without pip, unless a working one is there."""
        if self.python.exists():
            return
        say(f"Making {self.shown} with Python {sys.version.split()[0]}.")
        if self.folder.exists():
            shutil.rmtree(self.folder)
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-I", "-m", "venv", "--without-pip", str(self.folder)]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode != 0:
            raise CannotInstall(
                f"Python could not make {self.shown} ({_last_line(made.stderr or made.stdout)}). "
                "On Debian and Ubuntu install the package python3-venv, then try again."
            )

    def install(self, locks: Sequence[str]) -> None:
        """Make the environment hold exactly the packages of the lock files.

        They are compiled at once: where Python may not write beside them, each start would else
        compile them anew, which more than doubles its time.
        """
        names = " and ".join(os.path.relpath(lock, self.root) for lock in locks)
        with tempfile.TemporaryDirectory(dir=self.folder, prefix=".uv-") as scratch:
            uv = self._uv(Path(scratch))
            say(f"Installing the packages of {names} in {self.shown}.")
            began = time.monotonic()
            if uv is None:
                self._install_with_pip(locks)
            else:
                options = ["--quiet", "--require-hashes", "--compile-bytecode"]
                sync = ["pip", "sync", *options, *locks]
                self._run([str(uv), *sync, "--python", str(self.python)])
        say(f"Installed in {time.monotonic() - began:.0f} s.")

    def install_project(self) -> None:
        """Install the checkout itself, used where it lies; needs no index."""
        uv = self.folder / "bin" / "uv"
        if _version(uv):
            command = [str(uv), "pip", "install", "--python", str(self.python)]
        else:
            command = [str(self.python), "-I", "-m", "pip", "install"]
        options = ["--no-build-isolation", "--no-deps", "--quiet"]
        self._run([*command, *options, "--editable", str(self.root)])

    def _uv(self, scratch: Path) -> Path | None:
        """Return uv as the lock file pins it, fetched if need be; None if it cannot be had."""
        version, hashes = _pinned_uv(self.root / "requirements" / "build.txt")
        installed = self.root / ".venv" / "bin" / "uv"
        if _version(installed) == version:
            # A copy, because the installation may replace the program that runs it.
            return Path(shutil.copy2(installed, scratch / "uv"))
        say(f"Fetching uv {version}, which installs the packages.")
        try:
            content = package_index.fetch_wheel("uv", version, hashes)
        except package_index.NotFetched as problem:
            say(f"{problem} Trying pip instead.")
            return None
        package_index.extract(content, f"uv-{version}.data/scripts/uv", scratch / "uv")
        return scratch / "uv"

    def _install_with_pip(self, locks: Sequence[str]) -> None:
        if importlib.util.find_spec("ensurepip") is None:
            raise CannotInstall(
                "Neither uv nor pip could be had to install the packages. Check the network and "
                "the package index that pip is configured for; or, on Debian and Ubuntu, install "
                "the package python3-venv. Then try again."
            )
        self._run([str(self.python), "-I", "-m", "ensurepip", "--default-pip"])
        for lock in locks:
            pip = [str(self.python), "-m", "pip", "install", "--quiet", "--require-hashes"]
            self._run([*pip, "--requirement", lock])

    def _run(self, command: list[str]) -> None:
        # A machine that is busy with something else is slow, not broken.
        patience = {"UV_COMPILE_BYTECODE_TIMEOUT": str(COMPILE_SECONDS)}
        environment = {**patience, **os.environ, **package_index.settings_for_uv()}
        environment.pop("VIRTUAL_ENV", None)
        began = time.monotonic()
        with subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL) as process:
            while (status := _wait(process)) is None:
                say(f"  … still at it after {time.monotonic() - began:.0f} s.")
        if status != 0:
            raise CannotInstall(
                f"Installing into {self.shown} failed; the lines above say why. "
                "Start the same command again once that is mended: it goes on where it stopped."
            )


def _wait(process: subprocess.Popen[bytes]) -> int | None:
    try:
        return process.wait(HEARTBEAT_SECONDS)
    except subprocess.TimeoutExpired:
        return None


def _pinned_uv(lock: Path) -> tuple[str, set[str]]:
    """Return version and allowed SHA-256 hashes of uv as the lock file states them."""
    match = re.search(r"^uv==(\S+) \\\n((?: .*\n?)+)", lock.read_text(), re.MULTILINE)
    if match is None:
        raise CannotInstall(f"{lock.name} does not pin uv; run `make lock`.")
    return match[1], set(re.findall(r"sha256:([0-9a-f]{64})", match[2]))


def _version(program: Path) -> str:
    if not program.exists():
        return ""
    command = [str(program), "--version"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    words = answer.stdout.split()
    return words[1] if answer.returncode == 0 and len(words) > 1 else ""


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"
