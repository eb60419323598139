"""Commands beside a running replica of this machine; its supervisor starts them (`visiting`)."""

import json
import os
import socket
from collections.abc import Callable
from typing import Any

from gangline.drivers.base import Refused, Unknown
from gangline.drivers.piped import PipedShell, resize_terminal
from gangline.drivers.shells import REPLICA_ENDED, Ended, ShellRequest

from .run_folder import RunFolder
from .shim import visitors, words

TOO_OLD = (
    "It was started by an earlier version of Gangline and cannot be entered. Stop it and run it "
    "again."
)
ANSWER_SECONDS = 2 * visitors.PATIENCE


class _Said(OSError):
    """What the keeper says against it."""


def visit(
    folder: RunFolder, name: str, request: ShellRequest, has_ended: Callable[[], bool]
) -> "PipedShell | Refused | Unknown":
    """Start a command in replica ``name``; ``has_ended`` tells whether the replica has."""
    if has_ended():
        return Refused(REPLICA_ENDED)
    line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    line.settimeout(ANSWER_SECONDS)
    fds: list[int] = []
    try:
        _knock(line, folder, name)
        _ask(line, request, fds)
    except OSError as problem:
        for fd in fds:
            os.close(fd)
        line.close()
        return Refused(REPLICA_ENDED) if has_ended() else _why(problem)
    resize = resize_terminal if request.tty else None
    return PipedShell(line, fds, has_ended, resize, _signalled)


def _signalled(number: int) -> Ended:
    return Ended(words.AFTER_SIGNAL + number, words.signalled(number))


def _why(problem: OSError) -> Refused | Unknown:
    if isinstance(problem, FileNotFoundError):
        return Refused(TOO_OLD)
    if isinstance(problem, TimeoutError):
        return Unknown("The pod did not answer in time.")
    said = str(problem) if isinstance(problem, _Said) else ""
    return Refused(said or "The pod does not accept terminals right now.")


def _ask(line: socket.socket, request: ShellRequest, fds: list[int]) -> None:
    """Until the command runs; its ends are put into ``fds``. Raises OSError."""
    wanted = {
        "command": list(request.command),
        "tty": request.tty,
        "columns": request.size.columns,
        "rows": request.size.rows,
    }
    line.send(json.dumps(wanted).encode())
    while True:
        told, given = _answer(line)
        fds += given
        if told.get("state") == "started":
            return
        if told.get("state") != "made":
            raise _Said(str(told.get("reason", "")))


def _knock(line: socket.socket, folder: RunFolder, name: str) -> None:
    doors = os.open(folder.ctl / "doors", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # A socket address holds 107 bytes; the way over the folder's descriptor is short.
        line.connect(f"/proc/self/fd/{doors}/{name}")
    finally:
        os.close(doors)


def _answer(line: socket.socket) -> tuple[dict[str, Any], list[int]]:
    data, fds, _, _ = socket.recv_fds(line, visitors.LONGEST, 3)
    if not data:
        raise ConnectionError
    return json.loads(data), fds
