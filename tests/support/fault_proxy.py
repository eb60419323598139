"""A proxy in front of an API server that fails as told, request by request.

It speaks TLS with a certificate of its own on a loopback port; tokens pass through it. What is
meant to go wrong is planned with `FaultProxy.on`, in the words of `tests.support.network_faults`;
everything else goes through, watches as they come. ``requests`` is what was asked, and what the
cluster really answered.
"""

import contextlib
import http.client
import http.server
import json
import re
import socket
import ssl
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from gangline.drivers.kubernetes.access import ClusterCredentials

from .certificates import Pair, pair
from .upstream import Upstream, shut

CHUNK = 1 << 16
_PASSED_ON = ("Content-Type", "Retry-After", "Date", "Warning")


@dataclass
class Request:
    """One request as it came, and what became of it."""

    method: str
    url: str
    """Path and query, as they came."""
    headers: Mapping[str, str]
    body: bytes
    at: float
    """``time.monotonic()``."""
    status: int | None = None
    """What the cluster itself answered, None when it was never asked or has not answered."""
    answer: bytes = b""
    """Its words, of what is no stream."""

    @property
    def path(self) -> str:
        return urlsplit(self.url).path

    @property
    def query(self) -> Mapping[str, str]:
        return {name: values[0] for name, values in parse_qs(urlsplit(self.url).query).items()}

    @property
    def is_stream(self) -> bool:
        """A watch or a followed log."""
        return "true" in (self.query.get("watch"), self.query.get("follow"))

    @property
    def json(self) -> Any:
        return json.loads(self.body) if self.body else None


@dataclass(eq=False)
class Exchange:
    """One request on its way through the proxy: what an action may do with it."""

    request: Request
    handler: "_Handler"
    is_frozen: bool = False

    def pass_on(self, *, rate: float | None = None, first: bytes = b"") -> None:
        """Ask the cluster and answer as it does; ``rate``: bytes per second, ``first``: before
        what it says."""
        with self._asked() as answer:
            self.handler.head(answer.status, dict(answer.headers.items()))
            if first:
                self._give(first)
            while piece := answer.read1(CHUNK):
                if not self.request.is_stream:
                    self.request.answer += piece
                if rate:
                    for start in range(0, len(piece), 512):
                        self._give(piece[start : start + 512])
                        time.sleep(512 / rate)
                else:
                    self._give(piece)
            self.handler.piece(b"")

    def ask(self) -> None:
        """Ask the cluster, and keep its answer from the client."""
        with self._asked() as answer:
            self.request.answer = answer.read()

    def tell(
        self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> None:
        """Answer in the cluster's place."""
        self.handler.head(status, {"Content-Type": "application/json", **(headers or {})})
        if body:
            self.handler.piece(body)
        self.handler.piece(b"")

    def cut(self) -> None:
        """End the client's connection without a word."""
        self.handler.cut()

    def _give(self, piece: bytes) -> None:
        while self.is_frozen:
            if self.handler.proxy.over.wait(0.05):
                raise ConnectionResetError
        self.handler.piece(piece)

    @contextlib.contextmanager
    def _asked(self) -> Iterator[http.client.HTTPResponse]:
        asked = self.request
        with self.handler.proxy.upstream.asked(
            asked.method, asked.url, asked.body, asked.headers
        ) as answer:
            self.request.status = answer.status
            yield answer


Action = Callable[[Exchange], None]


@dataclass
class _Plan:
    method: str
    path: re.Pattern[str]
    watch: bool | None
    action: Action
    skip: int
    times: float

    def takes(self, request: Request) -> bool:
        is_meant = self.method in ("*", request.method) and self.path.search(request.path)
        if not is_meant or self.times <= 0 or self.watch not in (None, request.is_stream):
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.times -= 1
        return True


@dataclass
class FaultProxy:
    """Made by `fault_proxy`. Methods may be called from any thread."""

    target: ClusterCredentials
    certificate: Pair
    requests: list[Request] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._plans: list[_Plan] = []
        self._open: set[Exchange | _Handler] = set()
        self.upstream = Upstream(self.target)
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as folder:
            chain = Path(folder) / "chain.pem"
            chain.write_text(self.certificate.certificate + self.certificate.key, encoding="ascii")
            self._tls.load_cert_chain(chain)
        self._server: _Server | None = None
        self.port = 0
        self.accept()

    @property
    def access(self) -> ClusterCredentials:
        """How to reach the cluster through the proxy, as the same user."""
        return replace(
            self.target,
            server=f"https://127.0.0.1:{self.port}",
            certificate_authority=self.certificate.certificate,
            tls_server_name="",
        )

    def on(
        self,
        method: str,
        path: str,
        action: Action,
        *,
        watch: bool | None = None,
        skip: int = 0,
        times: float = 1,
    ) -> None:
        """Let ``action`` have ``times`` requests whose path matches, after ``skip`` of them.

        ``watch``: only streams, or only what is none. What was planned last comes first.
        """
        with self._lock:
            self._plans.insert(0, _Plan(method, re.compile(path), watch, action, skip, times))

    def clear(self) -> None:
        """Plan nothing any more."""
        with self._lock:
            self._plans.clear()

    def freeze_streams(self) -> None:
        """Let every open stream fall silent for good, and stay open: half-open connections."""
        for exchange in self._streams():
            exchange.is_frozen = True

    def cut_streams(self) -> None:
        """End every open stream in the middle."""
        for exchange in self._streams():
            exchange.cut()

    def refuse(self) -> None:
        """Listen no more, and end what is open."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()
        with self._lock:
            handlers = [one for one in self._open if isinstance(one, _Handler)]
        for handler in handlers:
            handler.cut()

    def accept(self) -> None:
        """Listen, on the port of before."""
        if self._server is not None:
            return
        handler = type("Handler", (_Handler,), {"proxy": self, "tls": self._tls})
        self._server = _Server(("127.0.0.1", self.port), handler)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        """End everything."""
        self.over.set()
        self.refuse()
        self.upstream.close()

    def seen(self, method: str, path: str, *, watch: bool | None = None) -> list[Request]:
        """Requests so far, oldest first."""
        with self._lock:
            found = list(self.requests)
        return [
            one
            for one in found
            if method in ("*", one.method)
            and re.search(path, one.path)
            and watch in (None, one.is_stream)
        ]

    def serve(self, exchange: Exchange) -> None:
        """Let one request meet what was planned for it."""
        with self._lock:
            self.requests.append(exchange.request)
            self._open.add(exchange)
            plan = next((plan for plan in self._plans if plan.takes(exchange.request)), None)
        try:
            (plan.action if plan else Exchange.pass_on)(exchange)
        finally:
            with self._lock:
                self._open.discard(exchange)

    def enter(self, handler: "_Handler") -> None:
        """A connection begins."""
        with self._lock:
            self._open.add(handler)

    def leave(self, handler: "_Handler") -> None:
        """A connection has ended."""
        with self._lock:
            self._open.discard(handler)

    def _streams(self) -> list[Exchange]:
        with self._lock:
            found = [one for one in self._open if isinstance(one, Exchange)]
        return [exchange for exchange in found if exchange.request.is_stream]


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Broken connections are what it is for."""


class _Handler(http.server.BaseHTTPRequestHandler):
    """One connection of a client."""

    proxy: FaultProxy
    tls: ssl.SSLContext
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        # Here and not in the server, whom a client that does not shake hands must not hold up.
        plain: socket.socket = self.request
        try:
            self.request = self.tls.wrap_socket(plain, server_side=True)
        except OSError:
            plain.close()
            raise
        super().setup()
        self.proxy.enter(self)

    def finish(self) -> None:
        self.proxy.leave(self)
        with contextlib.suppress(OSError):
            super().finish()
        self.connection.close()

    def __getattr__(self, name: str) -> Callable[[], None]:
        if name.startswith("do_"):
            return self.serve  # every method alike
        raise AttributeError(name)

    def serve(self) -> None:
        """Read one request, and let it go its way."""
        length = int(self.headers.get("Content-Length") or 0)
        kept = {
            name: value
            for name, value in self.headers.items()
            if name.lower() not in ("host", "content-length", "connection", "accept-encoding")
        }
        request = Request(
            method=self.command,
            url=self.path,
            headers=kept,
            body=self.rfile.read(length),
            at=time.monotonic(),
        )
        try:
            self.proxy.serve(Exchange(request, self))
        except (OSError, http.client.HTTPException):
            self.cut()

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        """Begin an answer."""
        self.send_response_only(status)
        for name in _PASSED_ON:
            if name in headers:
                self.send_header(name, headers[name])
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def piece(self, data: bytes) -> None:
        """Go on with it; nothing ends it."""
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def cut(self) -> None:
        """End the connection, whatever is under way."""
        self.close_connection = True
        shut(self.connection)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@contextlib.contextmanager
def fault_proxy(target: ClusterCredentials) -> Iterator[FaultProxy]:
    """A proxy before ``target`` for the length of a block."""
    made = FaultProxy(target, pair("127.0.0.1", server=True))
    try:
        yield made
    finally:
        made.close()
