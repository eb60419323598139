"""Commands of a role that only launches: under MPI, mpirun starts the ranks."""

import re

from .frameworks import Framework, framework_of
from .problems import Problem, Role
from .types import split_command

LAUNCHERS = frozenset({"mpirun", "mpiexec", "orterun", "prterun", "horovodrun"})
_INTERPRETER = re.compile(r"python[0-9.]*|torchrun")
LAUNCH_EXAMPLE = "mpirun python train.py"


def leading_half(framework: str, *, has_own_master: bool) -> Role:
    """Whose command must be said: what a master leaves open follows the workers, and under MPI
    only the launcher's is started.
    """
    is_own = has_own_master and framework_of(framework).launches
    return Role.MASTER if is_own else Role.WORKER


def runs(framework: str, half: Role, *, has_own_master: bool) -> bool:
    """Whether a half's command is started: the workers of a launcher are its children."""
    leading = leading_half(framework, has_own_master=has_own_master)
    return not framework_of(framework).launches or half is leading


def launch_problem(role: Role, framework: Framework, command: str, args: str) -> Problem | None:
    """What is wrong with a launcher's command that is there: it starts no ranks.

    Any program may start them; an interpreter with a script of its own is a single process.
    """
    words = _words(f"{command} {args}")
    names = [word.rpartition("/")[2] for word in words]
    if not names or not _INTERPRETER.fullmatch(names[0]) or LAUNCHERS.intersection(names):
        return None
    return Problem.of(
        role,
        "command",
        "launcher",
        value=command,
        framework=framework.label,
        command=command,
        accepted="a command with mpirun, or a script that calls it",
    )


def _words(line: str) -> list[str]:
    try:
        return split_command(line)
    except ValueError:  # the spec itself refuses it
        return line.split()
