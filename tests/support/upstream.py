"""The cluster behind a proxy: its own answers, over connections that are kept."""

import contextlib
import http.client
import socket
import threading
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from gangline.drivers.kubernetes.access import ClusterCredentials, trusting

SECONDS = 330.0
"""Longer than any watch that a client asks for."""


class Upstream:
    """May be asked from any thread."""

    def __init__(self, target: ClusterCredentials) -> None:
        parts = urlsplit(target.server)
        self._host, self._port = parts.hostname or "", parts.port
        self._trust = trusting(target)
        self._lock = threading.Lock()
        self._open: set[http.client.HTTPConnection] = set()
        self._idle: list[http.client.HTTPConnection] = []
        self._is_closed = False

    @contextlib.contextmanager
    def asked(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str]
    ) -> Iterator[http.client.HTTPResponse]:
        """What it answers. Raises OSError and HTTPException as `http.client` does."""
        connection, answer = self._sent(method, url, body, headers)
        is_whole = False
        try:
            yield answer
            is_whole = answer.isclosed() and not answer.will_close
        finally:
            if not (is_whole and self._kept(connection)):
                self._forget(connection)

    def close(self) -> None:
        """End whatever is under way, and keep nothing."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
            busy = self._open.difference(idle)
        for connection in idle:
            self._forget(connection)
        for connection in busy:
            shut(connection.sock)

    def _kept(self, connection: http.client.HTTPConnection) -> bool:
        with self._lock:
            if not self._is_closed:
                self._idle.append(connection)
            return not self._is_closed

    def _waiting(self) -> http.client.HTTPConnection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _sent(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """A handshake for each request would cost more than all the rest. What changes something
        goes over a connection of its own: whether a dead one took it along nobody knows."""
        while method == "GET" and (kept := self._waiting()) is not None:
            with contextlib.suppress(OSError, http.client.HTTPException):
                return kept, self._over(kept, method, url, body, headers)
        fresh = http.client.HTTPSConnection(
            self._host, self._port, timeout=SECONDS, context=self._trust
        )
        with self._lock:
            self._open.add(fresh)
        return fresh, self._over(fresh, method, url, body, headers)

    def _over(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        url: str,
        body: bytes,
        headers: Mapping[str, str],
    ) -> http.client.HTTPResponse:
        try:
            connection.request(method, url, body or None, dict(headers))
            return connection.getresponse()
        except BaseException:
            self._forget(connection)
            raise

    def _forget(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            self._open.discard(connection)
        connection.close()


def shut(connection: socket.socket | None) -> None:
    """End a connection in whatever thread it is read: the plain socket's way, not that of TLS."""
    if connection is not None:
        with contextlib.suppress(OSError):
            socket.socket.shutdown(connection, socket.SHUT_RDWR)
