"""Commands of a role that only launches: under MPI, mpirun starts the ranks."""

from collections.abc import Sequence

from .frameworks import Framework
from .problems import Problem, Role
from .types import split_command

LAUNCHERS = frozenset({"mpirun", "mpiexec", "orterun", "prterun", "horovodrun"})
SHELLS = frozenset({"sh", "bash", "dash", "ksh", "zsh"})
LAUNCH_EXAMPLE = "mpirun python train.py"


def launch_problem(role: Role, framework: Framework, command: str, args: str) -> Problem | None:
    """What is wrong with a launcher's command that is there: it starts no ranks."""
    if _starts_ranks(_words(f"{command} {args}")):
        return None
    return Problem(
        role,
        "command",
        "launcher",
        f"starts no {framework.label} ranks: put mpirun in front, as in “mpirun {command}”",
        command,
        "a command with mpirun, or a shell script that calls it",
    )


def _words(line: str) -> list[str]:
    try:
        return split_command(line)
    except ValueError:  # the spec itself refuses it
        return line.split()


def _starts_ranks(words: Sequence[str]) -> bool:
    """By a program for it, or by a shell's script."""
    names = [word.rpartition("/")[2] for word in words]
    if any(name in LAUNCHERS for name in names):
        return True
    return bool(names) and (names[0] in SHELLS or names[0].endswith(".sh"))
