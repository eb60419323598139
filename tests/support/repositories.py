"""A real Git repository behind Git's own HTTP server."""

import os
import subprocess
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.support.waiting import wait_for

WHO = ("-c", "user.name=Tests", "-c", "user.email=tests@example.com")


@dataclass
class Repository:
    """``commit`` writes one file, ``text``; ``hold`` lets every call wait from then on."""

    folder: Path
    url: str = ""
    calls: int = 0
    login: tuple[str, str] | None = None
    """User and password that open it; None: it is public."""
    logins: set[str | None] = field(default_factory=set)
    """What calls were signed with so far."""
    gate: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.gate.set()
        self.folder.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *words: str) -> str:
        line = ["git", *WHO, *words]
        done = subprocess.run(line, cwd=self.folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, text: str) -> str:
        (self.folder / "text").write_text(f"{text}\n")
        self.git("add", "text")
        self.git("commit", "-q", "-m", text)
        return self.git("rev-parse", "HEAD")

    def branch(self, name: str, text: str) -> None:
        self.git("checkout", "-q", "-b", name)
        self.commit(text)
        self.git("checkout", "-q", "main")

    def hold(self) -> None:
        self.gate.clear()

    def wait_for_a_call(self) -> None:
        wait_for(lambda: self.calls > 0, seconds=20, what="a call")


def _basic(user: str, password: str) -> str:
    return f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"


@contextmanager
def serving(folder: Path) -> Iterator[Repository]:
    """A repository of its own on a loopback port, served by ``git http-backend``."""
    repository = Repository(folder / "code")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers.get("Content-Length", 0))))

        def _answer(self, body: bytes) -> None:
            repository.calls += 1
            repository.logins.add(self.headers.get("Authorization"))
            repository.gate.wait(60)
            if repository.login and self.headers.get("Authorization") != _basic(*repository.login):
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="tests"')
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            path, _, query = self.path.partition("?")
            answer = subprocess.run(
                ["git", "http-backend"],
                input=body,
                capture_output=True,
                check=False,
                env={
                    "PATH": os.environ["PATH"],
                    "GIT_PROJECT_ROOT": str(folder),
                    "GIT_HTTP_EXPORT_ALL": "1",
                    "GIT_CONFIG_COUNT": "1",
                    "GIT_CONFIG_KEY_0": "safe.directory",
                    "GIT_CONFIG_VALUE_0": "*",
                    "REQUEST_METHOD": self.command,
                    "PATH_INFO": path,
                    "QUERY_STRING": query,
                    "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                    "CONTENT_LENGTH": str(len(body)),
                    "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                    "REMOTE_ADDR": "127.0.0.1",
                },
            ).stdout
            head, _, content = answer.partition(b"\r\n\r\n")
            lines = [one.split(b": ", 1) for one in head.split(b"\r\n") if b": " in one]
            status = next((v for n, v in lines if n == b"Status"), b"200 OK")
            self.send_response(int(status.split()[0]))
            for name, value in lines:
                if name != b"Status":
                    self.send_header(name.decode(), value.decode())
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: Any) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    repository.url = f"http://127.0.0.1:{server.server_port}/code"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield repository
    finally:
        repository.gate.set()
        server.shutdown()
        server.server_close()
        thread.join()
