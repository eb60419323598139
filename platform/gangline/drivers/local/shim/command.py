"""Starts the command of one replica: an argument list, never a shell."""

import ctypes
import errno
import fcntl
import os
import signal
from typing import Any, NamedTuple

from . import words

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
PIPE = 2**20
BIND_FOLDER = "--bind-fd"
READ_FOLDER = "--ro-bind-fd"
"""bubblewrap's options for a folder that it must not look up by its path."""
_OOM_SCORE = "500"
"""The kernel rather ends a workload than the process that watches it."""
_OURS = ("GANGLINE_RUN",)
"""Variables that we make ourselves: by this one the processes of a replica are found."""
_LONGEST_VARIABLE = 2**17
"""Bytes with which the kernel starts no program (MAX_ARG_STRLEN)."""


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
    mounts: list[list[str]] = replica.get("mounts", [])
    program = _find(argv[0], environment.get("PATH", ""), replica.get("at", cwd), mounts)
    if program is None:
        return Refusal(127, words.not_found(argv[0], replica["runtime"]))
    if not os.access(_outside(program, mounts), os.X_OK):
        return Refusal(126, f"The command '{argv[0]}' is not executable.")
    if replica["sandbox"] and (folder := _hiding(program, replica["hidden"], replica["shown"])):
        return Refusal(127, words.hidden(argv[0], folder))
    try:
        folders = _opened(replica)
    except OSError as problem:
        return Refusal(126, f"The folder '{problem.filename}' is not the one that was checked.")
    try:
        return _spawn([program, *argv[1:]], environment, replica, folders)
    finally:
        for fd in folders.values():
            os.close(fd)


def _opened(replica: dict[str, Any]) -> dict[str, int]:
    """Descriptors of the folders that a person chose, by path; OSError when a link leads away."""
    options: list[str] = replica["sandbox"]
    paths = [options[n + 1] for n, word in enumerate(options) if word in (BIND_FOLDER, READ_FOLDER)]
    found: dict[str, int] = {}
    for path in {*replica["opened"], *paths}:
        try:
            found[path] = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            # No link is followed at the end of the path; this tells of one on the way.
            if os.readlink(f"/proc/self/fd/{found[path]}") != path:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        except OSError:
            for fd in found.values():
                os.close(fd)
            raise
    return found


def _outside(program: str, mounts: list[list[str]]) -> str:
    """Where a program that lies at a container path is outside of the sandbox."""
    for target, source in reversed(mounts):
        if source and program.startswith(f"{target}/"):
            return source + program[len(target) :]
    return program


def _find(command: str, path: str, cwd: str, mounts: list[list[str]]) -> str | None:
    if "/" in command:
        program = os.path.normpath(os.path.join(cwd, command))
        return program if os.path.isfile(_outside(program, mounts)) else None
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
    line: list[str], environment: dict[str, str], replica: dict[str, Any], folders: dict[str, int]
) -> Started | Refusal:
    out, err, failure = (os.pipe2(os.O_CLOEXEC) for _ in range(3))
    pid = os.fork()
    if pid == 0:
        try:
            _prepare(out[1], err[1], replica, folders)
            if replica["sandbox"]:
                options = [*replica["sandbox"], *_files(replica.get("files", []))]
                line = _sandboxed(line, environment, options, folders)
                # Nobody else's variables: the loader would follow them before there is a sandbox.
                environment = {name: environment[name] for name in _OURS if name in environment}
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
        return Refusal(126, words.not_started(replica["argv"][0], reason.decode(errors="replace")))
    for fd in (out[0], err[0]):
        os.set_blocking(fd, False)
        try:
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE)
        except OSError:
            pass  # the user's share of pipe memory is used up: the usual size works as well
    return Started(pid, out[0], err[0])


def _sandboxed(
    line: list[str], environment: dict[str, str], sandbox: list[str], folders: dict[str, int]
) -> list[str]:
    """The command line of bubblewrap, whose options it reads from a file that has no name.

    There the command's variables are out of everybody's sight, and of any length.
    """
    options = sandbox[1:]
    for n, word in enumerate(sandbox[1:]):
        if word in (BIND_FOLDER, READ_FOLDER):
            folder = folders[options[n + 1]]
            os.set_inheritable(folder, True)  # bubblewrap closes it; any other would lead outside
            options[n + 1] = str(folder)
    options.append("--clearenv")
    for name, value in environment.items():
        if len(os.fsencode(f"{name}={value}")) >= _LONGEST_VARIABLE:
            raise OSError(errno.E2BIG, os.strerror(errno.E2BIG))
        options += ["--setenv", name, value]
    if any("\0" in option for option in options):
        raise ValueError("embedded null byte")
    fd = os.memfd_create("options", 0)
    with open(fd, "wb", closefd=False) as file:
        file.write(b"".join(os.fsencode(option) + b"\0" for option in options))
    os.lseek(fd, 0, os.SEEK_SET)
    return [sandbox[0], "--args", str(fd), "--", *line]


def _files(places: list[dict[str, Any]]) -> list[str]:
    """Options that write secret files into folders of their own in memory.

    bubblewrap reads each from a file that has no name.
    """
    options: list[str] = []
    for place in places:
        for key, text in place.get("data", {}).items():
            fd = os.memfd_create(key, 0)
            os.write(fd, text.encode())
            os.lseek(fd, 0, os.SEEK_SET)
            options += ["--perms", place["mode"], "--file", str(fd), f"{place['target']}/{key}"]
        options += ["--remount-ro", place["target"]]
    return options


def _in_words(problem: BaseException) -> str:
    if isinstance(problem, OSError) and problem.errno:
        return os.strerror(problem.errno)
    return f"{type(problem).__name__}: {problem}"


def _prepare(stdout: int, stderr: int, replica: dict[str, Any], folders: dict[str, int]) -> None:
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
    os.chdir(folders.get(replica["cwd"], replica["cwd"]))
