"""``bash`` and ``exec``: a command in a running pod, with this terminal or between pipes."""

import contextlib
import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from gangline_sdk import calls
from gangline_sdk.errors import GanglineError, NotAllowed, Unreachable

from . import completions, flags
from .logs import ONE_POD, leader
from .session import Session, Usage, connected, line_to

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

STDIN, STDERR = 0, 2
"""The first byte of a frame that holds bytes."""
CHUNK = 1 << 14
_NAME = click.argument("name", shell_complete=completions.workloads)
_TTY = click.option("-t", "--tty", is_flag=True, help="With a terminal.")


@click.command()
@_NAME
@ONE_POD
@connected
def bash(session: Session, /, name: str, pod: str | None) -> int:
    """Open a shell in a running pod: that of the master or launcher unless --pod says another."""
    return _enter(session, name, pod, [], tty=sys.stdin.isatty(), reads=True)


def _exec(session: Session, /, name: str, pod: str | None, stdin: bool, tty: bool) -> int:
    """Run a command in a running pod: exec NAME -- COMMAND. Its exit code is that of this one."""
    words = click.get_current_context().meta[flags.WORDS_AFTER]
    if not words:
        raise Usage("Write the command after --, such as: gangline exec digits -- nvidia-smi")
    if tty and not sys.stdin.isatty():
        raise Usage("--tty: there is no terminal here; leave it out.")
    return _enter(session, name, pod, list(words), tty=tty, reads=stdin or tty)


_made: Any = connected(_exec)
for _one in (
    _TTY,
    click.option("-i", "--stdin", is_flag=True, help="Pass on what is typed or piped."),
    ONE_POD,
    _NAME,
):
    _made = _one(_made)
exec_ = click.command("exec", cls=flags.SubmitCommand, help=_exec.__doc__)(_made)


def _enter(
    session: Session, name: str, pod: str | None, command: list[str], *, tty: bool, reads: bool
) -> int:
    row = session.workload(name)
    place = pod or leader(session, row)
    path = f"v1/workloads/{row['id']}/pods/{place}/exec"
    call: calls.Call[Any] = calls.Call("POST", path, body={"command": command, "tty": tty})
    ticket = session.client.send(call)
    with line_to(session, ticket) as socket:
        return _talk(socket, ticket["ticket"], tty=tty, reads=reads)


def _talk(socket: "ClientConnection", ticket: str, *, tty: bool, reads: bool) -> int:
    """Until the command has ended; its exit code."""
    columns, rows = _window()
    opening = {"type": "open", "ticket": ticket, "columns": columns, "rows": rows}
    socket.send(json.dumps(opening))
    with _raw(socket) if tty else contextlib.nullcontext():
        for frame in socket:
            if isinstance(frame, bytes):
                to = sys.stderr if frame[:1] == bytes([STDERR]) else sys.stdout
                to.buffer.write(frame[1:])
                to.buffer.flush()
                continue
            message = json.loads(frame)
            if message["type"] == "opened":
                _pass_on(socket, reads=reads)
            elif message["type"] == "refused":
                raise NotAllowed(message["message"])
            elif message["type"] == "exit":
                code = message.get("code")
                if code is None:
                    raise GanglineError(message.get("reason") or "The command was ended.")
                return int(code)
    raise Unreachable("The connection to the pod was lost.")


def _pass_on(socket: "ClientConnection", *, reads: bool) -> None:
    """What is typed goes to the command, from a thread of its own; its end too."""

    def read() -> None:
        from websockets.exceptions import WebSocketException

        with contextlib.suppress(OSError, WebSocketException):
            while reads and (piece := os.read(sys.stdin.fileno(), CHUNK)):
                socket.send(bytes([STDIN]) + piece)
            socket.send(json.dumps({"type": "eof"}))

    threading.Thread(target=read, daemon=True).start()


def _window() -> tuple[int, int]:
    """Columns and rows of the terminal itself: what COLUMNS and LINES say may be of another."""
    with contextlib.suppress(OSError):
        columns, rows = os.get_terminal_size(sys.stdin.fileno())
        if columns and rows:
            return columns, rows
    return shutil.get_terminal_size()


@contextlib.contextmanager
def _raw(socket: "ClientConnection") -> Iterator[None]:
    """Every key goes to the pod, Ctrl-C too, and a new size of the window with them."""
    import termios
    import tty

    kept = termios.tcgetattr(sys.stdin.fileno())

    def resized(*_: object) -> None:
        columns, rows = _window()
        with contextlib.suppress(OSError):
            socket.send(json.dumps({"type": "resize", "columns": columns, "rows": rows}))

    before = signal.signal(signal.SIGWINCH, resized)
    tty.setraw(sys.stdin.fileno(), termios.TCSADRAIN)  # what was typed ahead is kept
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, kept)
        signal.signal(signal.SIGWINCH, before)
