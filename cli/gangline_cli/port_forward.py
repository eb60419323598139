"""``port-forward``: ports of a pod as ports of this machine.

All connections to one port go over one socket. A frame is the number of the connection (4 bytes),
what it says (1), how many bytes follow (2), and these.
"""

import contextlib
import json
import queue
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from gangline_sdk import calls
from gangline_sdk.errors import GanglineError, NotAllowed, Unreachable

from . import completions
from .logs import ONE_POD, leader, short
from .session import Session, Usage, connected, line_to, note

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

HEAD = struct.Struct("!IBH")
OPEN, DATA, END, CLOSE = 1, 2, 3, 4
STDIN = b"\x00"
PIECE = 1 << 14
MOST_AT_ONCE = 1 << 15
PAUSE = 0.004
"""Seconds between two frames of the socket: the server takes 400 in a second."""


@click.command("port-forward")
@click.argument("name", shell_complete=completions.workloads)
@click.option(
    "--port", "pairs", multiple=True, required=True, metavar="[LOCAL:]REMOTE",
    help="A port of this machine and one of the pod; may be given several times. 0: any free one.",
)  # fmt: skip
@click.option("--address", default="localhost", metavar="HOST", help="Address to listen on.")
@ONE_POD
@connected
def port_forward(
    session: Session, /, name: str, pairs: tuple[str, ...], address: str, pod: str | None
) -> int:
    """Reach ports of a running pod at ports of this machine, until Ctrl-C."""
    wanted = [_pair(text) for text in pairs]
    row = session.workload(name)
    place = short(row, pod) or leader(session, row)
    over: queue.SimpleQueue[Exception] = queue.SimpleQueue()
    with contextlib.ExitStack() as stack:
        for here, there in wanted:
            doors = stack.enter_context(contextlib.closing(_listen(address, here)))
            port = doors.getsockname()[1]
            call: calls.Call[Any] = calls.Call(
                "POST",
                f"v1/workloads/{row['id']}/pods/{place}/port-forward",
                body={"port": there},
            )
            line = stack.enter_context(_line(session, session.client.send(call)))
            threading.Thread(target=Forward(line, doors, over).run, daemon=True).start()
            click.echo(f"{address}:{port} leads to port {there} of {row['name']}-{place}.")
        raise over.get()


def _pair(text: str) -> tuple[int, int]:
    here, _, there = text.rpartition(":")
    try:
        found = (int(here or there), int(there))
    except ValueError:
        raise Usage(f"--port: {text!r} is not a pair of ports such as 8080:80.") from None
    if not (0 <= found[0] < 1 << 16 and 0 < found[1] < 1 << 16):
        raise Usage(f"--port: ports go from 1 to 65535, unlike those of {text!r}.")
    return found


def _listen(address: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return socket.create_server((address, port), family=family)
    except OSError as error:
        why = error.strerror or str(error)
        raise Usage(f"--port: {address}:{port} cannot be used here: {why}.") from None


@contextlib.contextmanager
def _line(session: Session, ticket: Any) -> Any:
    """The socket, once the server lets us in."""
    with line_to(session, ticket) as line:
        line.send(json.dumps({"type": "open", "ticket": ticket["ticket"]}))
        first = json.loads(line.recv())
        if first["type"] != "opened":
            raise NotAllowed(str(first.get("message")))
        yield line


@dataclass
class Forward:
    """Takes connections at ``doors`` and serves them; ``over`` gets the reason of the end."""

    line: "ClientConnection"
    doors: socket.socket
    over: "queue.SimpleQueue[Exception]"
    _open: dict[int, socket.socket] = field(default_factory=dict)
    _out: "queue.Queue[bytes]" = field(default_factory=lambda: queue.Queue(8))
    _rest: bytearray = field(default_factory=bytearray)
    _is_over: bool = False

    def run(self) -> None:
        """Until the server says that it is over, or the line breaks."""
        from websockets.exceptions import WebSocketException

        threading.Thread(target=self._take_in, daemon=True).start()
        threading.Thread(target=self._send, daemon=True).start()
        end: Exception = Unreachable("The connection to the pod was lost.")
        try:
            for frame in self.line:
                if isinstance(frame, bytes):
                    self._rest += frame[1:]
                    self._read()
                    continue
                told = json.loads(frame)
                if told["type"] == "exit":
                    end = GanglineError(told.get("reason") or "It was closed.")
        except (OSError, WebSocketException) as error:
            end = Unreachable(f"The connection to the pod was lost: {error}.")
        self._is_over = True
        self.over.put(end)

    def _take_in(self) -> None:
        number = 0
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.doors.accept()
                number += 1
                self._open[number] = client
                self._say(number, OPEN)
                threading.Thread(target=self._pass_on, args=(number, client), daemon=True).start()

    def _pass_on(self, number: int, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(PIECE):
                self._say(number, DATA, data)
        if number in self._open:
            self._say(number, END)

    def _say(self, number: int, kind: int, body: bytes = b"") -> None:
        frame = HEAD.pack(number, kind, len(body)) + body
        while not self._is_over:
            with contextlib.suppress(queue.Full):
                self._out.put(frame, timeout=0.5)
                return

    def _send(self) -> None:
        from websockets.exceptions import WebSocketException

        with contextlib.suppress(OSError, WebSocketException):
            while not self._is_over:
                frame = bytearray(STDIN + self._out.get())
                with contextlib.suppress(queue.Empty):
                    while len(frame) < MOST_AT_ONCE:
                        frame += self._out.get_nowait()
                self.line.send(bytes(frame))
                time.sleep(PAUSE)

    def _read(self) -> None:
        while len(self._rest) >= HEAD.size:
            number, kind, size = HEAD.unpack_from(self._rest)
            if len(self._rest) < HEAD.size + size:
                return
            body = bytes(self._rest[HEAD.size : HEAD.size + size])
            del self._rest[: HEAD.size + size]
            client = self._open.get(number)
            if client is None:
                continue
            with contextlib.suppress(OSError):
                if kind == DATA:
                    client.sendall(body)
                    continue
            del self._open[number]
            if kind == CLOSE and body:
                note(body.decode("utf-8", "replace"))
            if kind == DATA:
                self._say(number, CLOSE)  # nobody here reads it any more
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
            client.close()
