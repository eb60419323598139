"""Connections to a port, as frames of one socket."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gangline.drivers.base import Refused
from gangline.drivers.ports import SocketConnection
from gangline.drivers.shells import REPLICA_ENDED, Ended, Output
from workloads.terminals import port_forward
from workloads.terminals.port_forward import CLOSE, DATA, END, HEAD, OPEN, Forwarding


@contextmanager
def echo() -> Iterator[int]:
    """Answers with what it gets, until it gets no more; yields its port."""
    with socket.create_server(("127.0.0.1", 0)) as doors:

        def answer(line: socket.socket) -> None:
            with line:
                while data := line.recv(65536):
                    line.sendall(data)

        def take() -> None:
            try:
                while True:
                    threading.Thread(target=answer, args=(doors.accept()[0],), daemon=True).start()
            except OSError:
                return

        threading.Thread(target=take, daemon=True).start()
        yield doors.getsockname()[1]
        doors.shutdown(socket.SHUT_RDWR)


def frame(number: int, kind: int, body: bytes = b"") -> bytes:
    return HEAD.pack(number, kind, len(body)) + body


class Far:
    """The client's end."""

    def __init__(self, line: Forwarding) -> None:
        self.line, self.rest = line, b""
        self.said: dict[int, bytes] = {}
        self.closed: dict[int, str] = {}

    def hear(self) -> Ended | None:
        found = self.line.read()
        if isinstance(found, Ended):
            return found
        self.rest += found.data
        while len(self.rest) >= HEAD.size:
            number, kind, size = HEAD.unpack_from(self.rest)
            body, self.rest = self.rest[HEAD.size :][:size], self.rest[HEAD.size + size :]
            if kind == DATA:
                self.said[number] = self.said.get(number, b"") + body
            else:
                assert kind == CLOSE
                self.closed[number] = body.decode()
        return None


def test_connections_are_kept_apart_and_end_by_themselves() -> None:
    with echo() as port:
        line = Forwarding(
            lambda: SocketConnection(socket.create_connection(("127.0.0.1", port), 5))
        )
        far = Far(line)
        texts = {number: bytes([64 + number]) * 60_000 for number in (1, 2, 3)}
        sent = b"".join(frame(n, OPEN) + frame(n, DATA, text) for n, text in texts.items())
        sent += b"".join(frame(number, END) for number in texts)
        for at in range(0, len(sent), 7001):  # frames come in pieces as they like
            line.write(sent[at : at + 7001])
        deadline = time.monotonic() + 20
        while len(far.closed) < 3 and time.monotonic() < deadline:
            assert far.hear() is None
        assert far.said == texts
        assert far.closed == dict.fromkeys(texts, "")
        line.close()
        assert far.hear() == Ended(None, port_forward.CLOSED)


def test_who_is_not_let_in_hears_why_and_the_others_go_on() -> None:
    line = Forwarding(lambda: Refused("Nothing listens."))
    far = Far(line)
    line.write(frame(7, OPEN) + frame(7, DATA, b"x"))
    assert far.hear() is None
    assert far.closed == {7: "Nothing listens."}


@pytest.mark.parametrize(
    ("answer", "sent", "reason"),
    [
        (Refused(REPLICA_ENDED), frame(1, OPEN), REPLICA_ENDED),
        (Refused("no"), frame(1, 9), port_forward.NONSENSE),
    ],
)
def test_what_ends_all_of_it(answer: Refused, sent: bytes, reason: str) -> None:
    line = Forwarding(lambda: answer)
    line.write(sent)
    found: Output | Ended = line.read()
    while isinstance(found, Output):
        found = line.read()
    assert found == Ended(None, reason)
