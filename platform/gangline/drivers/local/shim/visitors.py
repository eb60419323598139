"""Lets people into the place of a running replica: each gets a command of their own there.

The supervisor listens at ``ctl/doors/<replica>``. Each visit is answered by a keeper, a child of
the supervisor, so that it counts and ends with the replica. The keeper enters the namespaces of
the replica's sandbox, gives up every right that the replica has not, starts the command, hands the
other ends of its pipes or of its terminal to the visitor, and tells how the command ended.
"""

import _socket
import ctypes
import fcntl
import json
import os
import select
import signal
import struct
import termios
import time
from typing import Any

from . import tree

SHELLS = ("/bin/bash", "/bin/sh")
LONGEST = 1 << 16
"""Bytes of a request."""
MOST = 64
"""Visits of one replica at the same time."""
PATIENCE = 5.0
"""Seconds for a request to come, and for a sandbox to be ready."""
GRACE = 2.0
"""Seconds between the end of a visit and the end of what did not care."""
TERM = "xterm-256color"

_NAMESPACES = ("cgroup", "uts", "net", "ipc")
"""Those that can be entered in any order; the sandbox may leave some as they are."""
_OF_CHILD = ("mnt", "user")
"""The keeper itself keeps the view of the supervisor, and its right to end what it has started."""
_NEW = {
    "mnt": 0x20000,
    "cgroup": 0x2000000,
    "uts": 0x4000000,
    "ipc": 0x8000000,
    "user": 0x10000000,
    "pid": 0x20000000,
    "net": 0x40000000,
}
_GET_USER_NAMESPACE = 0xB701
_PR_SET_PDEATHSIG, _PR_CAPBSET_READ, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 23, 24, 38
_CAPABILITIES_V3 = 0x20080522


class Door:
    """Where visitors knock. ``fd`` is -1 where none can be made: a replica does without."""

    def __init__(self, ctl: str, name: str) -> None:
        self.fd = -1
        self.visits: set[int] = set()
        """Keepers that live."""
        self._folder, self._name = f"{ctl}/doors", name
        try:
            self._socket = self._bound()
        except OSError:
            return
        self.fd = self._socket.fileno()

    def _bound(self) -> _socket.socket:
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        door = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET | _socket.SOCK_NONBLOCK)
        try:
            # A socket address holds 107 bytes; the way over the folder's descriptor is short.
            door.bind(f"/proc/self/fd/{folder}/{self._name}")
            door.listen(8)
        except OSError:
            door.close()
            raise
        finally:
            os.close(folder)
        return door

    def answer(self, replica: dict[str, Any], command: int) -> None:
        """Let in whoever knocks. ``command`` is the process of the replica, below us."""
        try:
            fd, _ = self._socket._accept()  # type: ignore[attr-defined]  # what socket.accept calls
        except OSError:
            return
        os.set_inheritable(fd, False)
        if len(self.visits) >= MOST:
            os.close(fd)
            return
        pid = os.fork()
        if pid:
            os.close(fd)
            self.visits.add(pid)
            return
        code = 70
        try:
            _Keeper(fd, replica, command).keep()
            code = 0
        except OSError:
            pass  # the visitor is gone
        finally:
            os._exit(code)

    def ended(self, pid: int) -> None:
        self.visits.discard(pid)

    def inside(self) -> set[int]:
        """Processes of all visits."""
        below = {one.pid for pid in self.visits for one in tree.descendants(pid)}
        return below | self.visits

    def close(self) -> None:
        if self.fd >= 0:
            self._socket.close()
            self.fd = -1
            try:
                os.unlink(f"{self._folder}/{self._name}")
            except FileNotFoundError:
                pass


class _Refused(Exception):
    """In words, why nobody is let in."""


class _Keeper:
    """The process that answers one visit."""

    def __init__(self, fd: int, replica: dict[str, Any], command: int) -> None:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        _end_with_parent()
        # Everything else of the supervisor, such as the log of the replica, is not for here.
        line = os.dup2(fd, 3, inheritable=False)
        os.closerange(4, max(map(int, os.listdir("/proc/self/fd"))) + 1)
        self.replica, self.command = replica, command
        self.line = _socket.socket(fileno=line)
        self.line.settimeout(PATIENCE)

    def keep(self) -> None:
        try:
            child = self._start(self._request())
        except _Refused as reason:
            self._tell({"state": "refused", "reason": str(reason)})
            return
        self._tell({"state": "started"})
        self._tell(self._watch(child))

    def _tell(self, value: dict[str, Any], fds: tuple[int, ...] = ()) -> None:
        held = struct.pack(f"{len(fds)}i", *fds)
        rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, held)] if fds else []
        self.line.sendmsg([json.dumps(value).encode()], rights)

    def _request(self) -> dict[str, Any]:
        peer = self.line.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
        if struct.unpack("3i", peer)[1] not in (0, os.geteuid()):
            raise _Refused("It is another user's.")
        try:
            value = json.loads(self.line.recv(LONGEST))
        except (OSError, ValueError):
            raise _Refused("The request did not arrive.") from None
        if not isinstance(value, dict):
            raise _Refused("The request is not valid.")
        return value

    def _start(self, request: dict[str, Any]) -> int:
        """Start the command and hand over its ends; its pid here."""
        spaces = self._spaces() if self.replica["sandbox"] else []
        for name, fd in spaces:
            if name not in _OF_CHILD:
                _enter(name, fd)
        _end_with_parent()
        failure = os.pipe2(os.O_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            try:
                self._become(request, [one for one in spaces if one[0] in _OF_CHILD])
            except BaseException as problem:  # noqa: BLE001 - told to the visitor, whatever it is
                os.write(failure[1], _in_words(problem, request).encode(errors="replace")[:1000])
            finally:
                os._exit(127)
        os.close(failure[1])
        reason = os.read(failure[0], 1000)  # empty once the command runs: the pipe closes on exec
        os.close(failure[0])
        if reason:
            os.waitpid(pid, 0)
            raise _Refused(reason.decode(errors="replace"))
        return pid

    def _spaces(self) -> list[tuple[str, int]]:
        """Namespaces of the sandbox that differ from ours, in the order in which one can enter."""
        inside = self._inside()
        found = []
        own_user = _identity("/proc/self/ns/user")
        mount = os.open(f"/proc/{inside.pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        user = os.open(f"/proc/{inside.pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
        # The sandbox may have put a second user namespace within the one that owns its mounts.
        if _identity("/proc/self/ns/mnt") == _of(mount):
            raise _Refused("The sandbox of the pod is not ready.")
        owner = fcntl.ioctl(mount, _GET_USER_NAMESPACE)
        if _of(owner) != own_user:
            found.append(("outer", owner))
        for name in _NAMESPACES:
            path = f"/proc/{inside.pid}/ns/{name}"
            if _identity(path) != _identity(f"/proc/self/ns/{name}"):
                found.append((name, os.open(path, os.O_RDONLY | os.O_CLOEXEC)))
        own = os.open(f"/proc/{inside.pid}/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        found += [("pid", own), ("mnt", mount)]
        if _of(user) not in (own_user, _of(owner)):
            found.append(("user", user))
        if tree.start_time(inside.pid) != inside.start_time:
            raise _Refused("The pod has ended.")
        self.bounds = _bounds(inside.pid)
        return found

    def _inside(self) -> tree.Process:
        """The first process of the sandbox, once the command runs below it."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            below = tree.descendants(self.command)
            if any(process.depth > 1 for process in below):
                return below[0]
            if tree.start_time(self.command) is None:
                break
            time.sleep(0.02)
        raise _Refused("The sandbox of the pod is not ready.")

    def _become(self, request: dict[str, Any], spaces: list[tuple[str, int]]) -> None:
        """Runs in the child: go inside, give up what the replica has not, start the command."""
        os.setsid()
        for name, fd in spaces:
            _enter(name, fd)
        ends = self._terminal(request) if request.get("tty", True) else self._pipes()
        if self.replica["sandbox"]:
            _give_up_rights(self.bounds)
        _end_with_parent()
        environment = dict(self.replica["env"])
        if request.get("tty", True):
            environment["TERM"] = TERM
        folder = self.replica["at"] if self.replica["sandbox"] else self.replica["cwd"]
        try:
            os.chdir(folder)
        except OSError:
            os.chdir("/")
        for number, fd in enumerate(ends):
            os.dup2(fd, number)
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.umask(0o022)
        os.nice(5)
        if cores := self.replica["cores"]:
            os.sched_setaffinity(0, cores)
        words = request.get("command") or [next(s for s in SHELLS if os.access(s, os.X_OK))]
        os.execvpe(words[0], words, environment)

    def _terminal(self, request: dict[str, Any]) -> tuple[int, int, int]:
        """A terminal of the sandbox's own, whose other end goes to the visitor."""
        outside, inside = os.openpty()
        size = struct.pack(
            "4H", int(request.get("rows", 24)), int(request.get("columns", 80)), 0, 0
        )
        fcntl.ioctl(inside, termios.TIOCSWINSZ, size)
        fcntl.ioctl(inside, termios.TIOCSCTTY, 0)
        self._tell({"state": "made"}, (outside,))
        os.close(outside)
        return inside, inside, inside

    def _pipes(self) -> tuple[int, int, int]:
        (stdin, write), (out, stdout), (err, stderr) = (os.pipe2(os.O_CLOEXEC) for _ in range(3))
        self._tell({"state": "made"}, (write, out, err))
        for fd in (write, out, err):
            os.close(fd)
        return stdin, stdout, stderr

    def _watch(self, child: int) -> dict[str, Any]:
        """Until the command has ended, or the visitor is gone and has taken it along."""
        poll = select.poll()
        poll.register(os.pidfd_open(child), select.POLLIN)
        poll.register(self.line.fileno(), select.POLLIN)
        while True:
            ready = {fd for fd, _ in poll.poll()}
            if self.line.fileno() in ready:
                self._end(child)  # a visitor says nothing more: this is the end of the line
                raise BrokenPipeError
            _, status = os.waitpid(child, 0)
            if os.WIFSIGNALED(status):
                return {"state": "ended", "code": None, "signal": os.WTERMSIG(status)}
            return {"state": "ended", "code": os.WEXITSTATUS(status), "signal": None}

    def _end(self, child: int) -> None:
        """As when a terminal is closed; what hears neither that nor a request is killed."""
        until = time.monotonic() + GRACE
        asked = False
        while time.monotonic() < until:
            below = tree.descendants(os.getpid())
            if not below:
                return
            for process in () if asked else below:
                tree.send(process, signal.SIGHUP)
                tree.send(process, signal.SIGCONT)
            asked = True
            time.sleep(0.05)
            try:
                os.waitpid(child, os.WNOHANG)
            except ChildProcessError:
                pass
        for process in tree.descendants(os.getpid()):
            tree.send(process, signal.SIGKILL)


def _enter(name: str, fd: int) -> None:
    kind = _NEW["user" if name == "outer" else name]
    if _libc().setns(fd, kind):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _identity(path: str) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino


def _of(fd: int) -> tuple[int, int]:
    found = os.fstat(fd)
    return found.st_dev, found.st_ino


def _end_with_parent() -> None:
    """To be said again after every gain of rights, which undoes it."""
    _libc().prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _bounds(pid: int) -> int:
    """The capabilities that a process, and whatever it starts, can ever have."""
    return int(_status(f"/proc/{pid}/status")["CapBnd"], 16)


def _status(path: str) -> dict[str, str]:
    with open(path, encoding="utf-8", errors="replace") as file:
        pairs = [line.partition(":") for line in file]
    return {name: value.strip() for name, _, value in pairs}


def _give_up_rights(bounds: int) -> None:
    """Keep no capability and get none by a program; whatever went wrong, nothing is started."""
    libc = _libc()
    number = 0
    while (held := libc.prctl(_PR_CAPBSET_READ, number, 0, 0, 0)) >= 0:
        if held and not bounds >> number & 1:
            libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
        number += 1
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    libc.capset(struct.pack("Ii", _CAPABILITIES_V3, 0), struct.pack("6I", *[0] * 6))
    mine = _status("/proc/self/status")
    kept = [int(mine[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")]
    if any(kept) or int(mine["CapBnd"], 16) & ~bounds or mine["NoNewPrivs"] != "1":
        raise PermissionError("The privileges of the supervisor could not be dropped.")


def _in_words(problem: BaseException, request: dict[str, Any]) -> str:
    words = request.get("command") or ["the shell"]
    if isinstance(problem, FileNotFoundError | NotADirectoryError):
        return f"There is no program '{words[0]}' in the pod."
    if isinstance(problem, StopIteration):
        return "There is neither bash nor sh in the pod."
    if isinstance(problem, OSError) and problem.errno:
        return f"'{words[0]}' could not be started: {os.strerror(problem.errno)}."
    return f"'{words[0]}' could not be started: {type(problem).__name__}: {problem}."
