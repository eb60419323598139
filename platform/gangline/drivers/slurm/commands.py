"""How Gangline runs programs of a login node: one text for a POSIX shell, read on its input.

No word of a person ever stands in a command line: what a program needs is quoted into its text.
"""

import contextlib
import os
import shlex
import signal
import subprocess
from dataclasses import dataclass
from typing import Protocol

from gangline.drivers.piped import PipedShell

from .login_terminal import TERM, Visit, of_this_machine

CALL_SECONDS = 25.0
"""For one program, so that a slow controller costs no more than one pass."""
KEPT = ("HOME", "LOGNAME", "PATH", "SHELL", "USER")
SHELL = ("/bin/sh", "-s")


@dataclass(frozen=True, slots=True)
class Answer:
    """How a program ended."""

    code: int
    out: str
    err: str

    @property
    def words(self) -> str:
        """What it said about its failure, without the prefixes of Slurm's programs."""
        return plain(self.err or self.out)


class NoAnswer(Exception):
    """It is not known whether the program ran, in words why."""


class LoginRefused(NoAnswer):
    """The login node accepts the key no longer, or is not the one that it was."""


class Commands(Protocol):
    """A login node."""

    def run(self, program: str, seconds: float = CALL_SECONDS) -> Answer:
        """Raises NoAnswer."""

    def visit(self, program: str, visit: Visit) -> PipedShell:
        """A program that somebody types into. Raises NoAnswer."""

    def close(self) -> None: ...


class LocalCommands:
    """The machine that Gangline runs on."""

    def run(self, program: str, seconds: float = CALL_SECONDS) -> Answer:
        environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        try:
            process = subprocess.Popen(
                SHELL, env={"LANG": "C.UTF-8", **environment}, cwd="/", stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
        except OSError as problem:
            raise NoAnswer(f"Programs cannot be started here: {problem.strerror}.") from problem
        try:
            out, err = process.communicate(whole(program), timeout=seconds)
        except subprocess.TimeoutExpired as late:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise NoAnswer("Slurm did not answer in time.") from late
        return Answer(process.returncode, _text(out), _text(err))

    def visit(self, program: str, visit: Visit) -> PipedShell:
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        environment = {"LANG": "C.UTF-8", **kept, **({"TERM": TERM} if visit.request.tty else {})}
        try:
            return of_this_machine(["/bin/sh", "-c", program], environment, visit)
        except OSError as problem:
            raise NoAnswer(f"Programs cannot be started here: {problem.strerror}.") from problem

    def close(self) -> None:
        """Nothing is kept open."""


class Programs:
    """The commands of Slurm on a login node, as the administrator has set them up."""

    def __init__(self, commands: Commands, *, config: str = "", folder: str = "") -> None:
        self.commands = commands
        lines = ["set -u", "umask 077", "export LC_ALL=C TZ=UTC0 SLURM_TIME_FORMAT=standard"]
        if folder:
            lines.append(f"export PATH={quoted(folder)}:$PATH")
        if config:
            lines.append(f"export SLURM_CONF={quoted(config)}")
        self._start = "\n".join(lines)

    def run(self, program: str, seconds: float = CALL_SECONDS) -> Answer:
        """Raises NoAnswer."""
        return self.commands.run(f"{self._start}\n{program}\n", seconds)

    def visit(self, program: str, visit: Visit) -> PipedShell:
        """Raises NoAnswer."""
        return self.commands.visit(f"{self._start}\n{program}\n", visit)


def whole(program: str) -> bytes:
    """What a shell is given to read: it runs all of it, or, where the rest is lost, nothing."""
    return f"{{\n{program}\n}}\n".encode()


def quoted(word: object) -> str:
    """One word of a shell, whatever is in it."""
    return shlex.quote(str(word))


def here(text: str, into: str) -> str:
    """The shell lines that write ``text`` to the quoted path ``into``, whole or not at all."""
    mark = "GANGLINE"
    while f"\n{mark}\n" in f"\n{text}\n":
        mark += "_"
    end = "" if text.endswith("\n") else "\n"
    draft = f"{into}.$$.new"  # of two that write it at once each has its own
    return f"cat > {draft} <<'{mark}' && mv -f {draft} {into} || exit 73\n{text}{end}{mark}\n"


def plain(text: str) -> str:
    """What a program of Slurm says, in one line and without its own name."""
    return " ".join(_cleaned(line) for line in text.splitlines() if line.strip())


def _cleaned(line: str) -> str:
    for name in ("sbatch", "scancel", "scontrol", "squeue", "sinfo", "sacct", "slurm_load_jobs"):
        line = line.removeprefix(f"{name}: ").removeprefix("error: ")
        line = line.removeprefix(f"{name} error: ")
    return line.strip()


def _text(data: bytes) -> str:
    return data.decode(errors="replace")
