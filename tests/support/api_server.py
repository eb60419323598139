"""A small HTTPS server that answers as an API server does, for those that cannot be had for real.

Too old, with another clock, with the wrong operator, or none at all: what a real one is like is
tested against a real one.
"""

import http.server
import json
import ssl
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from typing import Any

from gangline.drivers.kubernetes import permissions
from gangline.drivers.kubernetes.access import ClusterCredentials

from .certificates import Pair, pair

TOKEN = "t0ken-of-the-test"


@dataclass
class Script:
    """What to answer: JSON by path, or a whole page for every path."""

    minor: str = "36"
    groups: Mapping[str, Mapping[str, list[str]]] = field(default_factory=dict)
    """Group → version → plurals."""
    clock_off: float = 0.0
    allowed: bool = True
    """Whether it may do what it asks for."""
    uid: str = ""
    """Of the namespace kube-system, by which clusters are told apart."""
    page: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    """How long each answer takes."""
    drip: bool = False
    """One byte a second, for ever."""
    endless: bool = False
    seen: list[str] = field(default_factory=list)
    sent: list[tuple[str, Any]] = field(default_factory=list)
    """Path without its query and JSON of every body that came."""

    def answer(self, path: str) -> tuple[int, Any]:
        path = path.partition("?")[0]
        if path.startswith("/apis/kubeflow.org/"):
            plurals = self.groups["kubeflow.org"][path.rpartition("/")[2]]
            return 200, {"resources": [{"name": plural} for plural in plurals]}
        plain: dict[str, tuple[int, Any]] = {
            "/version": (
                200,
                {"major": "1", "minor": self.minor, "gitVersion": f"v1.{self.minor}.4"},
            ),
            "/apis": (
                200,
                {
                    "groups": [
                        {"name": name, "versions": [{"version": v} for v in versions]}
                        for name, versions in self.groups.items()
                    ]
                },
            ),
            "/apis/authentication.k8s.io/v1/selfsubjectreviews": (
                201,
                {"status": {"userInfo": {"username": "tester"}}},
            ),
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": (
                201,
                {"status": {"allowed": self.allowed}},
            ),
            "/api/v1/namespaces/kube-system": (200, {"metadata": {"uid": self.uid}}),
            f"/apis/{permissions.RBAC}/v1/clusterroles/{permissions.PROJECT_ROLE}": (
                200,
                {
                    "rules": [
                        {"apiGroups": [r.group], "resources": [*r.resources], "verbs": [*r.verbs]}
                        for r in permissions.PROJECT
                    ]
                },
            ),
        }
        return plain.get(path, (200, {"items": [], "metadata": {}}))


@contextmanager
def answering(script: Script, certificate: Pair | None = None) -> Iterator[ClusterCredentials]:
    """Serve ``script`` on a loopback port; gives how to get there."""
    own = certificate or pair("127.0.0.1", server=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        chain = Path(folder) / "chain.pem"
        chain.write_text(own.certificate + own.key, encoding="ascii")
        context.load_cert_chain(chain)
    handler = type("Handler", (_Handler,), {"script": script})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield ClusterCredentials(
            f"https://127.0.0.1:{server.server_port}", own.certificate, token=TOKEN
        )
    finally:
        server.shutdown()
        thread.join()
        server.socket.close()


class _Handler(http.server.BaseHTTPRequestHandler):
    """Answers as its script says."""

    script: Script
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.script.seen.append(f"{self.command} {self.path}")
        if came := self.rfile.read(int(self.headers.get("Content-Length") or 0)):
            self.script.sent.append((self.path.partition("?")[0], json.loads(came)))
        time.sleep(self.script.seconds)
        if self.script.drip or self.script.endless:
            return self._forever()
        status, body = self.script.status, self.script.page
        if not body and status == 200:
            status, data = self.script.answer(self.path)
            body = json.dumps(data).encode()
        self._head(status, len(body))
        self.wfile.write(body)
        return None

    def do_POST(self) -> None:
        self.do_GET()

    def do_DELETE(self) -> None:
        self.do_GET()

    def _forever(self) -> None:
        self._head(self.script.status, 1 << 40)
        piece = b"x" if self.script.drip else b"x" * (1 << 12) + b"\n"
        try:
            while True:
                self.wfile.write(piece)
                if self.script.drip:
                    time.sleep(0.2)
        except OSError:
            self.close_connection = True

    def _head(self, status: int, length: int) -> None:
        self.send_response_only(status)
        if "Date" not in self.script.headers:
            now = time.time() + self.script.clock_off
            self.send_header("Date", formatdate(now, usegmt=True))
        self.send_header("Content-Length", str(length))
        for name, value in self.script.headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        pass
