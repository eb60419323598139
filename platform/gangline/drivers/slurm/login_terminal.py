"""A program of a login node that somebody types into: on this machine, or by SSH.

Its ends are descriptors of this process, and a socket tells how it ended (`drivers/piped.py`).
"""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gangline.drivers.piped import PipedShell, resize_terminal
from gangline.drivers.shells import ShellRequest, Size

CodeOf = Callable[[int | None], int | None]
TERM = "xterm-256color"


@dataclass
class Ends:
    """Ours and the program's of every pipe; ``line`` is ours of the socket."""

    mine: list[int]
    its: list[int]
    line: socket.socket
    teller: socket.socket
    closing: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Visit:
    """What is to be known about a command beside a replica.

    ``code_of`` judges an exit code: None means that the job is over. ``left``: nobody wants it.
    """

    request: ShellRequest
    has_ended: Callable[[], bool]
    code_of: CodeOf
    left: Callable[[], None]


def pipes(count: int) -> Ends:
    """``count`` - 1 outputs beside the input."""
    line, teller = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    mine, its = [], []
    for number in range(count):
        read, write = os.pipe2(os.O_CLOEXEC)
        mine.append(read if number else write)
        its.append(write if number else read)
    return Ends(mine, its, line, teller)


def of_this_machine(words: list[str], environment: dict[str, str], visit: Visit) -> PipedShell:
    """Raises OSError."""
    if visit.request.tty:
        outside, inside = os.openpty()
        ends = pipes(0)
        ends.mine, ends.its = [outside], [inside]
        resize_terminal(outside, visit.request.size)
        stdin = stdout = stderr = inside
    else:
        ends = pipes(3)
        stdin, stdout, stderr = ends.its
    try:
        process = subprocess.Popen(
            ["/usr/bin/setsid", "--ctty", *words] if visit.request.tty else words,
            env=environment, cwd="/", stdin=stdin, stdout=stdout, stderr=stderr,
            start_new_session=not visit.request.tty,
        )  # fmt: skip
    except OSError:
        for fd in ends.mine:
            os.close(fd)
        raise
    finally:
        for fd in ends.its:
            os.close(fd)

    def await_end() -> None:
        watch = threading.Thread(target=_gone, args=(ends.teller, process, visit), daemon=True)
        watch.start()
        code = process.wait()
        _tell(ends.teller, visit.code_of(code if code >= 0 else 128 - code))

    threading.Thread(target=await_end, name="visit", daemon=True).start()
    resize = resize_terminal if visit.request.tty else None
    return PipedShell(ends.line, ends.mine, visit.has_ended, resize)


def _gone(teller: socket.socket, process: subprocess.Popen[bytes], visit: Visit) -> None:
    """Wait until the visitor is; then the program ends, with what it has started."""
    with contextlib.suppress(OSError):
        teller.recv(1)
    visit.left()
    if process.poll() is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    teller.close()


def _tell(teller: socket.socket, code: int | None) -> None:
    with contextlib.suppress(OSError):
        teller.send(json.dumps({"code": code}).encode())


async def by_ssh(connection: Any, command: str, visit: Visit) -> PipedShell:
    """Runs in the loop of the connection. Raises asyncssh.Error and OSError."""
    request = visit.request
    ends = pipes(2 if request.tty else 3)
    terminal = {"term_type": TERM, "term_size": tuple(request.size)} if request.tty else {}
    stdin, stdout, *rest = ends.its
    try:
        process = await connection.create_process(
            command, encoding=None, stdin=stdin, stdout=stdout,
            **({"stderr": rest[0]} if rest else {}), **terminal,
        )  # fmt: skip
    except BaseException:
        for fd in (*ends.mine, *ends.its):
            with contextlib.suppress(OSError):
                os.close(fd)
        ends.line.close()
        ends.teller.close()
        raise
    loop = asyncio.get_running_loop()

    def resize(_: int, size: Size) -> None:
        loop.call_soon_threadsafe(process.change_terminal_size, size.columns, size.rows)

    async def await_end() -> None:
        watch = asyncio.create_task(await_leaving())
        done = await process.wait()
        code = done.exit_status if done.exit_status is not None and done.exit_status >= 0 else None
        _tell(ends.teller, await asyncio.to_thread(visit.code_of, code))
        await watch

    async def await_leaving() -> None:
        await asyncio.to_thread(_left, ends.teller)
        await asyncio.to_thread(visit.left)
        process.close()
        ends.teller.close()

    task = loop.create_task(await_end())
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
    return PipedShell(ends.line, ends.mine, visit.has_ended, resize if request.tty else None)


def _left(teller: socket.socket) -> None:
    with contextlib.suppress(OSError):
        teller.recv(1)


_tasks: set[asyncio.Task[None]] = set()
