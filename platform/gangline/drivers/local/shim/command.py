"""Starts the command of one replica: an argument list, never a shell."""

import ctypes
import fcntl
import os
import signal
from typing import Any, NamedTuple

from . import words

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
PIPE = 2**20
_OOM_SCORE = "500"
"""The kernel rather ends a training than the process that watches it."""


class Refusal(NamedTuple):
    """Why the command did not start, as an exit of its own."""

    code: int
    reason: str


class Started(NamedTuple):
    pid: int
    stdout: int
    stderr: int


def become_reaper() -> None:
    """Orphaned grandchildren become children of this process, so that none can get away."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def start(replica: dict[str, Any]) -> Started | Refusal:
    """Start ``replica`` of the plan with pipes for its output, or say why not."""
    argv: list[str] = replica["argv"]
    environment: dict[str, str] = replica["env"]
    cwd: str = replica["cwd"]
    if not os.path.isdir(cwd):
        return Refusal(127, f"The working directory '{cwd}' does not exist.")
    program = _find(argv[0], environment.get("PATH", ""), cwd)
    if program is None:
        return Refusal(127, words.not_found(argv[0], replica["runtime"]))
    if not os.access(program, os.X_OK):
        return Refusal(126, f"The command '{argv[0]}' is not executable.")
    if replica["sandbox"] and (folder := _hiding(program, replica["hidden"], replica["shown"])):
        return Refusal(127, words.hidden(argv[0], folder))
    return _spawn(argv, [*replica["sandbox"], program, *argv[1:]], environment, replica)


def _find(command: str, path: str, cwd: str) -> str | None:
    if "/" in command:
        program = os.path.normpath(os.path.join(cwd, command))
        return program if os.path.isfile(program) else None
    unusable = None
    for folder in path.split(":"):
        program = os.path.join(cwd, folder, command)
        if os.path.isfile(program):
            if os.access(program, os.X_OK):
                return program
            unusable = unusable or program
    return unusable


def _hiding(program: str, hidden: list[str], shown: list[str]) -> str:
    """The folder that keeps ``program`` out of view; empty when it can be seen."""

    def around(folders: list[str]) -> str:
        return next((folder for folder in folders if program.startswith(f"{folder}/")), "")

    return "" if around(shown) else around(hidden)


def _spawn(
    argv: list[str], line: list[str], environment: dict[str, str], replica: dict[str, Any]
) -> Started | Refusal:
    out, err, failure = (os.pipe2(os.O_CLOEXEC) for _ in range(3))
    pid = os.fork()
    if pid == 0:
        try:
            _prepare(out[1], err[1], replica)
            os.execve(line[0], line, environment)
        except BaseException as problem:  # noqa: BLE001 - told to the supervisor, whatever it is
            os.write(failure[1], _in_words(problem).encode(errors="replace")[:1000])
        finally:
            os._exit(127)
    for fd in (out[1], err[1], failure[1]):
        os.close(fd)
    reason = os.read(failure[0], 1000)  # empty once the command runs: the pipe closes on exec
    os.close(failure[0])
    if reason:
        os.waitpid(pid, 0)
        os.close(out[0])
        os.close(err[0])
        return Refusal(126, words.not_started(argv[0], reason.decode(errors="replace")))
    for fd in (out[0], err[0]):
        os.set_blocking(fd, False)
        try:
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE)
        except OSError:
            pass  # the user's share of pipe memory is used up: the usual size works as well
    return Started(pid, out[0], err[0])


def _in_words(problem: BaseException) -> str:
    if isinstance(problem, OSError) and problem.errno:
        return os.strerror(problem.errno)
    return f"{type(problem).__name__}: {problem}"


def _prepare(stdout: int, stderr: int, replica: dict[str, Any]) -> None:
    """Runs in the child: own session, quiet input, limits of the replica."""
    os.setsid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    os.umask(0o022)
    os.nice(5)
    cores: list[int] = replica["cores"]
    if cores:
        os.sched_setaffinity(0, cores)
    with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write(_OOM_SCORE)
    os.chdir(replica["cwd"])
