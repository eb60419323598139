"""Start processes that end with their parent, know them again later, and end them."""

import contextlib
import http.client
import os
import random
import shutil
import signal
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import isolating
from .layout import Command, Layout

STOP_SECONDS = 15
HEALTH_PORT = 8080
"""Where the mpi-operator answers health checks, on all addresses and without a choice."""


class BedFailed(Exception):
    """Why the bed cannot be had, in words, with the end of what a process wrote."""


@dataclass(frozen=True)
class Identity:
    """One process and no other: a number alone may be somebody else's by now."""

    pid: int
    start: int
    """Clock ticks between the start of the machine and that of the process."""

    @classmethod
    def of(cls, pid: int) -> "Identity":
        """Raises ProcessLookupError when there is no such process."""
        return cls(pid, _start_of(pid))

    @property
    def is_alive(self) -> bool:
        """Whether it runs; one that has ended and was not collected yet does not."""
        try:
            return _start_of(self.pid) == self.start and _state_of(self.pid) not in "ZX"
        except ProcessLookupError:
            return False

    def signal(self, number: signal.Signals) -> bool:
        """Send a signal to this process, never to another one; tell whether it was there."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return False
        try:
            # The handle is of whoever has the number now, so it is compared after opening.
            if not self.is_alive:
                return False
            signal.pidfd_send_signal(handle, number)
        except ProcessLookupError:
            return False
        finally:
            os.close(handle)
        return True

    def end(self, seconds: float = STOP_SECONDS) -> None:
        """Ask it to end, insist when it does not, and return when it is gone."""
        self.signal(signal.SIGCONT)
        if self.signal(signal.SIGTERM) and not self.gone_within(seconds):
            self.signal(signal.SIGKILL)
            self.gone_within(seconds)

    def gone_within(self, seconds: float) -> bool:
        """Wait for its end, and tell whether it came."""
        deadline = time.monotonic() + seconds
        while self.is_alive:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        raise ProcessLookupError(pid) from None


def _start_of(pid: int) -> int:
    return int(_stat(pid)[19])


def _state_of(pid: int) -> str:
    return _stat(pid)[0]


def spawn(name: str, command: Command, layout: Layout) -> subprocess.Popen[bytes]:
    """Start a process that is killed when the thread that called this ends. Raises BedFailed."""
    log = layout.folder / "logs" / f"{name}.log"

    def start(arguments: Sequence[str], **more: Any) -> subprocess.Popen[bytes]:
        with log.open("ab") as output:
            return subprocess.Popen(
                ["setpriv", "--pdeathsig=KILL", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=layout.folder,
                env={**_environment(), **command.environment},
                start_new_session=True,
                **more,
            )

    if not command.isolated:
        return start(command.arguments)
    if isolating.is_possible():
        return isolating.launch(command.arguments, layout.ports["kube-apiserver"], start)
    _must_be_free(HEALTH_PORT, name)
    return start(command.arguments)


def _environment() -> dict[str, str]:
    """What every process gets; the user's own kubeconfig and proxies stay outside.

    They live for minutes: to collect their garbage rarely saves a sixth of their work.
    """
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "TMPDIR", "TZ") if key in os.environ}
    return {"GOGC": "800", **kept}


def _must_be_free(port: int, name: str) -> None:
    holder = listener_on(port)
    if holder:
        raise BedFailed(
            f"{name} needs port {port}, which is hard-coded in it, and {holder} listens there. "
            "Stop that, or allow user namespaces on this machine: then it does not matter."
        )


def listener_on(port: int) -> str:
    """Who listens on a TCP port, as words; empty when nobody does."""
    import psutil

    for connection in psutil.net_connections("tcp"):
        if (connection.status, getattr(connection.laddr, "port", 0)) == (psutil.CONN_LISTEN, port):
            if connection.pid is None:
                return "a process of another user"
            return f"process {connection.pid} ({psutil.Process(connection.pid).name()})"
    return ""


def free_ports(number: int) -> list[int]:
    """Ports of the loopback address that are free now.

    They lie below those that the system gives to outgoing connections, so none of these takes one
    before its process does.
    """
    found: list[int] = []
    for port in random.sample(range(20_000, 32_000), 10 * number):
        with contextlib.closing(socket.socket()) as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            found.append(port)
        if len(found) == number:
            return found
    raise BedFailed(f"There are no {number} free ports on this machine.")


def answers(url: str, *, authority: Path, token: str = "") -> bool:
    """Whether an address answers 200 right now."""
    return fetch(url, authority=authority, token=token) is not None


def fetch(url: str, *, authority: Path, token: str = "", accept: str = "*/*") -> bytes | None:
    """What an address answers with 200 right now; None for anything else."""
    headers = {"Accept": accept}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
    if url.startswith("https"):
        context = ssl.create_default_context(cafile=str(authority))
        handlers.append(urllib.request.HTTPSHandler(context=context))
    opener = urllib.request.build_opener(*handlers)
    try:
        with opener.open(urllib.request.Request(url, headers=headers), timeout=2) as answer:
            return bytes(answer.read()) if answer.status == 200 else None
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError):
        return None


def end_of(log: Path, characters: int = 2000) -> str:
    """The end of what a process wrote."""
    try:
        return log.read_text(errors="replace")[-characters:]
    except OSError:
        return "It wrote nothing."


def is_supported() -> str:
    """Why no bed can run on this machine, in words; empty when it can."""
    lacking = [name for name in ("openssl", "setpriv") if shutil.which(name) is None]
    return f"Not installed here: {', '.join(lacking)}." if lacking else ""
