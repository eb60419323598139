"""The WebSocket to a pod, as the API server speaks it: channels in one line.

No thread is kept from it by another, and none waits in it: TLS lets one at a time use a connection.
https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.34/#execaction-v1-core and
https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/4006-transition-spdy-to-websockets
"""

import logging
import socket
import ssl
from contextlib import suppress
from urllib.parse import urlencode

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidStatus
from websockets.frames import DATA_OPCODES, Frame
from websockets.protocol import Event, State
from websockets.typing import Subprotocol
from websockets.uri import parse_uri

from gangline.drivers import addresses

from . import deadlines
from .access import tls_context
from .client import (
    CONNECT_SECONDS,
    READ_SECONDS,
    Answer,
    Client,
    Unreachable,
    asked_for,
    parsed,
    said_of,
)

V5, V4 = Subprotocol("v5.channel.k8s.io"), Subprotocol("v4.channel.k8s.io")
"""Only the first can say that nothing more is typed; API servers before 1.30 lack it."""
STATUS, RESIZE, CLOSE = 3, 4, 255
"""Channels beside those of input and output, which are numbered as we do."""
LONGEST = 1 << 20
AT_ONCE = 1 << 16
_QUIET = logging.Logger("exec", logging.WARNING)
"""The library would log the headers, and with them the token, where somebody logs details."""


class NotOpened(Exception):
    """The API server's answer in place of a line."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


class Line:
    """Non-blocking once it is open; whoever uses it holds a lock of his own."""

    def __init__(
        self, connection: ssl.SSLSocket, protocol: ClientProtocol, early: list[Event]
    ) -> None:
        self._socket, self._protocol = connection, protocol
        self._early = early
        """What came together with the answer that opened it."""
        self._out = bytearray()
        self._message = bytearray()
        self._is_cut = False
        """Nothing can be sent any more; what the other side said before may still be unread."""
        self.is_over = False

    @property
    def closes_input(self) -> bool:
        return self._protocol.subprotocol == V5

    @property
    def waiting(self) -> int:
        """Bytes that are not sent yet."""
        return len(self._out)

    @property
    def has_more(self) -> bool:
        """Something was received already: no need to wait for the socket."""
        return bool(self._early) or self._socket.pending() > 0

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, channel: int, data: bytes) -> None:
        if self._sends:
            self._protocol.send_binary(bytes([channel]) + data)
            self.flush()

    def ping(self) -> None:
        if self._sends:
            self._protocol.send_ping(b"")
            self.flush()

    @property
    def _sends(self) -> bool:
        return not (self.is_over or self._is_cut) and self._protocol.state is State.OPEN

    def flush(self) -> None:
        """Send what goes without waiting."""
        for data in self._protocol.data_to_send():
            self._out += data
        try:
            while self._out and not (self.is_over or self._is_cut):
                sent = self._socket.send(bytes(self._out[:AT_ONCE]))
                del self._out[:sent]
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
            return
        except OSError:
            self._is_cut = True
        if self._is_cut:
            self._out.clear()

    def receive(self) -> list[tuple[int, bytes]]:
        """What has come: channels and data; what waits goes out. Sets ``is_over`` once nothing more
        can come.
        """
        if self._early:
            early, self._early = self._early, []
            return self._taken(early)
        try:
            data = self._socket.recv(AT_ONCE)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
            self.flush()  # room for what waits may be all that there is
            return []
        except OSError:
            data = b""
        if data:
            self._protocol.receive_data(data)
        else:
            self._protocol.receive_eof()
        found = self._taken(self._protocol.events_received())
        self.flush()
        self.is_over = self.is_over or not data or self._protocol.close_expected()
        return found

    def _taken(self, events: list[Event]) -> list[tuple[int, bytes]]:
        found = []
        for event in events:
            if isinstance(event, Frame) and event.opcode in DATA_OPCODES:
                self._message += event.data
                if event.fin and self._message:
                    found.append((self._message[0], bytes(self._message[1:])))
                if event.fin:
                    self._message.clear()
        return found

    def close(self) -> None:
        """Say goodbye as far as that goes at once."""
        with suppress(Exception):
            self._protocol.send_close(1000)
            self.flush()
        self._socket.close()
        self.is_over = True


def opened(
    client: Client,
    path: str,
    query: list[tuple[str, str]],
    speaks: tuple[Subprotocol, ...] = (V5, V4),
) -> Line:
    """Raises Unreachable and NotOpened."""
    url = f"{client.access.server.rstrip('/')}{path}?{urlencode(query)}"
    protocol = ClientProtocol(
        parse_uri(f"wss{url.removeprefix('https')}"),
        subprotocols=speaks,
        max_size=LONGEST,
        logger=_QUIET,
    )
    request = protocol.connect()
    for name, value in client.headers().items():
        # Of what is sent back nothing is JSON, and some kubelets then refuse the request.
        request.headers[name] = "*/*" if name == "Accept" else value
    protocol.send_request(request)
    connection = _connected(client)
    try:
        early = _shake_hands(client, connection, protocol, speaks)
    except BaseException as error:
        connection.close()
        if isinstance(error, OSError):
            raise Unreachable(said_of(error, client.access)) from error
        raise
    connection.setblocking(False)
    return Line(connection, protocol, early)


def _connected(client: Client) -> ssl.SSLSocket:
    access = client.access
    server = addresses.parse(access.server)
    try:
        if client.reach is None:
            found = addresses.resolve(server.host, server.port)
        else:
            found = client.reach.vetted(server.host, server.port)
        options = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
        plain = addresses.dial(found, server.port, deadlines.left(CONNECT_SECONDS), options)
        try:
            name = access.tls_server_name or server.host
            return tls_context(access).wrap_socket(plain, server_hostname=name)
        except BaseException:
            plain.close()
            raise
    except (OSError, ValueError) as error:
        raise Unreachable(said_of(error, access)) from error


def _shake_hands(
    client: Client,
    connection: ssl.SSLSocket,
    protocol: ClientProtocol,
    speaks: tuple[Subprotocol, ...],
) -> list[Event]:
    """What came with the answer."""
    connection.settimeout(deadlines.left(READ_SECONDS))
    connection.sendall(b"".join(protocol.data_to_send()))
    events: list[Event] = []
    while not events and protocol.handshake_exc is None:
        connection.settimeout(deadlines.left(READ_SECONDS))
        if data := connection.recv(AT_ONCE):
            protocol.receive_data(data)
        else:
            protocol.receive_eof()
        events = protocol.events_received()
    _refuse(client, protocol, speaks)
    return events[1:]


def _refuse(client: Client, protocol: ClientProtocol, speaks: tuple[Subprotocol, ...]) -> None:
    problem = protocol.handshake_exc
    if isinstance(problem, InvalidStatus):
        response = problem.response
        said = client.safe(response.status_code, bytes(response.body))
        rest = asked_for(response.headers.get("Retry-After", ""))
        answer = Answer(response.status_code, parsed(said), rest)
        client.heed(answer)
        raise NotOpened(answer)
    if problem is not None or protocol.subprotocol not in speaks:
        raise Unreachable(f"{client.access.server} does not let pods be entered as expected.")
