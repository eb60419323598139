"""Commands of a role that only launches: under MPI, mpirun starts the ranks.

Either the command that people type starts them itself, or they choose a launcher, which Gangline
puts in front of the program that they type.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .frameworks import Framework, framework_of
from .problems import Advice, Problem, Role
from .types import split_command
from .words import one_of
from .workload import ReplicaSpec, WorkerSpec

LAUNCHERS = frozenset({"mpirun", "mpiexec", "orterun", "prterun", "horovodrun"})
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "zsh", "fish"})
_OPERATOR = re.compile(r"&&?|\|\|?|.*;|[0-9]?>>?|<<?<?|&>>?|[0-9]>&[0-9]|[0-9]?>[^=].*")
_INTERPRETER = re.compile(r"python[0-9.]*|torchrun")
LAUNCH_EXAMPLE = "mpirun python train.py"
PROGRAM_EXAMPLE = "python train.py"
MPIRUN, HOROVODRUN, SRUN, GLOO = "mpirun", "horovodrun", "srun", "gloo"
"""Values of the field `launcher`."""
LAUNCHER_CHOICES = (MPIRUN, HOROVODRUN, SRUN, GLOO)


def leading_half(framework: str, *, has_own_master: bool, launcher: str | None = None) -> Role:
    """Whose command is required: what a master leaves open follows the workers, and under MPI
    only the launcher's is started, unless the program of the workers is what a ``launcher`` starts.
    """
    is_own = has_own_master and framework_of(framework).launches and not launcher
    return Role.MASTER if is_own else Role.WORKER


def runs(framework: str, half: Role, *, has_own_master: bool, launcher: str | None = None) -> bool:
    """Whether a half's command is started: the workers of a launcher are its children."""
    leading = leading_half(framework, has_own_master=has_own_master, launcher=launcher)
    return not framework_of(framework).launches or half is leading


def launched(
    launcher: str, program: Sequence[str], *, ranks: int, hostfile: str, interface: str = ""
) -> list[str]:
    """The words that start so many ranks of ``program``; ``srun`` and ``gloo`` are the drivers'."""
    match launcher:
        case "mpirun":
            return ["mpirun", "-np", str(ranks), *program]
        case "horovodrun":
            over = ["--network-interfaces", interface] if interface else []
            own = beside_interpreter(program, HOROVODRUN)
            # Its cache of checks is in a home folder that may be read-only.
            first = [own, "--disable-cache", "-np", str(ranks), "-hostfile", hostfile]
            return [*first, *over, *program]
    raise ValueError(f"no words are known by which {launcher} starts ranks")


def unread_by_shell(role: Role, values: Mapping[str, Any]) -> Iterator[Advice]:
    """What only a shell understands, in a command that none reads: it becomes an argument."""
    words: list[str] = []
    for path in ("command", "arguments"):
        text = values.get(path)
        try:
            here = split_command(text) if isinstance(text, str) else []
        except ValueError:
            continue  # what is wrong with it is said elsewhere
        words += here
        if words and words[0].rpartition("/")[2] in _SHELLS:
            return
        if found := next((word for word in here if _OPERATOR.fullmatch(word)), None):
            yield Advice(
                role,
                path,
                f"No shell reads the command, so “{found}” is passed on as text. With one: "
                "sh -c '…'",
            )


def interpreter(program: Sequence[str]) -> str:
    """The Python that runs ``program``: it is the one that has Horovod."""
    first = program[0] if program else ""
    return first if re.fullmatch(r"python[0-9.]*", first.rpartition("/")[2]) else "python3"


def beside_interpreter(program: Sequence[str], name: str) -> str:
    """Where ``name`` is in the environment whose Python runs ``program``."""
    folder, slash, _ = interpreter(program).rpartition("/")
    return f"{folder}{slash}{name}"


def choice_problems(worker: WorkerSpec, master: ReplicaSpec | None) -> Iterator[Problem]:
    """What does not go with the chosen launcher, on whichever kind of cluster."""
    launcher = worker.launcher
    if not launcher:
        return
    if launcher == GLOO and (slots := worker.slots_per_worker or 1) > 1:
        yield Problem.of(Role.WORKER, "slotsPerWorker", "launcher:slots", value=slots, accepted="1")
    for path, own, theirs in (
        ("command", master and master.command, worker.command),
        ("args", master and master.args, worker.args),
    ):
        if own and own != theirs:
            yield Problem.of(
                Role.MASTER, path, "launcher:own", value=own, launcher=launcher,
                accepted="no value, or that of the workers",
            )  # fmt: skip


def unfit(launcher: str | None, why_not: Callable[[str], str]) -> Iterator[Problem]:
    """The chosen launcher if the cluster lacks it, according to ``why_not``."""
    if launcher and (why := why_not(launcher)):
        yield Problem.of(
            Role.WORKER, "launcher", "launcher:unfit", value=launcher, why=why.rstrip("."),
            accepted=one_of(one for one in LAUNCHER_CHOICES if not why_not(one)),
        )  # fmt: skip


def launch_problem(
    role: Role, framework: Framework, command: str, args: str, launcher: str | None = None
) -> Problem | None:
    """What is wrong with a launcher's command that is there: it starts no ranks.

    Any program may start them; an interpreter with a script of its own is a single process.
    """
    if launcher:
        return _twice(role, launcher, command, args)
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
        accepted="a command with mpirun, a script that calls it, or a launcher",
    )


def _twice(role: Role, launcher: str, command: str, args: str) -> Problem | None:
    """A program that ``launcher`` shall start starts ranks itself."""
    names = [word.rpartition("/")[2] for word in _words(f"{command} {args}")]
    if not names or not LAUNCHERS.union({SRUN}).intersection(names[:1]):
        return None
    return Problem.of(
        role, "command", "launcher:twice", value=command, launcher=launcher, first=names[0],
        accepted="the program itself, such as python train.py, or no launcher",
    )  # fmt: skip


def _words(line: str) -> list[str]:
    try:
        return split_command(line)
    except ValueError:  # the spec itself refuses it
        return line.split()
