"""What an API server may say of a command in a pod, or of a port of it, played by one that speaks
its protocol.

What the bed's kubelet cannot do: end the input of a command, and tell its exit code.
"""

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve

from gangline.drivers.base import AttemptRef, Busy, Refused, Unknown
from gangline.drivers.kubernetes import pod_stream, shells
from gangline.drivers.kubernetes.access import ClusterCredentials
from gangline.drivers.kubernetes.client import Client
from gangline.drivers.kubernetes.pods import Pod
from gangline.drivers.kubernetes.pods import read as read_pod
from gangline.drivers.kubernetes.ports import NOT_CONNECTED, KubernetesConnection
from gangline.drivers.kubernetes.shells import KubernetesShell, Visiting
from gangline.drivers.ports import SILENT
from gangline.drivers.shells import CLOSED, REPLICA_ENDED, Ended, ShellRequest
from tests.drivers.conformance_shells import said
from tests.support.certificates import pair

V4, V5 = "v4.channel.k8s.io", "v5.channel.k8s.io"
TOKEN = "t0ken-of-the-test"
Serve = Callable[[ServerConnection], None]


class OnePod:
    """What `Objects` tells of an attempt with one running pod."""

    def __init__(self) -> None:
        self.phase = "Running"

    def pods(self, ref: AttemptRef) -> list[Pod]:
        labels = {
            "training.kubeflow.org/replica-type": "worker",
            "training.kubeflow.org/replica-index": "0",
        }
        meta = {"name": "gang-worker-0", "namespace": "vision", "uid": "1", "labels": labels}
        status = {
            "phase": self.phase,
            "containerStatuses": [{"name": "pytorch", "state": {"running": {}}}],
        }
        containers = [{"name": "pytorch"}, {"name": "mesh"}]
        return [read_pod({"metadata": meta, "spec": {"containers": containers}, "status": status})]


@contextmanager
def cluster(
    folder: Path,
    serves: Serve,
    refuses: Callable[[Request], Response | None] = lambda _: None,
    speaks: tuple[str, ...] = (V5, V4),
) -> Iterator[tuple[Visiting, OnePod, list[str]]]:
    """The asked addresses are noted."""
    made = pair(server=True)
    chain = folder / "server.pem"
    chain.write_text(made.certificate + made.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    asked: list[str] = []

    def look(_: ServerConnection, request: Request) -> Response | None:
        asked.append(request.path)
        assert request.headers["Authorization"] == f"Bearer {TOKEN}"
        assert request.headers["Accept"] == "*/*"
        return refuses(request)

    with ExitStack() as stack:
        server = stack.enter_context(
            serve(
                serves,
                "127.0.0.1",
                0,
                ssl=context,
                process_request=look,
                subprotocols=speaks,  # type: ignore[arg-type]
                close_timeout=0.2,
            )
        )
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.socket.getsockname()[1]
        access = ClusterCredentials(f"https://127.0.0.1:{port}", made.certificate, token=TOKEN)
        pod = OnePod()
        client = Client(access)
        stack.callback(client.close)
        yield Visiting(client, pod), pod, asked  # type: ignore[arg-type]
        server.shutdown()


def status(**more: Any) -> bytes:
    return b"\x03" + json.dumps({"metadata": {}, **more}).encode()


def exited(code: int) -> bytes:
    causes = [{"reason": "ExitCode", "message": str(code)}]
    return status(status="Failure", reason="NonZeroExitCode", details={"causes": causes})


REF = AttemptRef("install-a", "1", 1, "gang", "vision")


def entered(visiting: Visiting, *command: str, tty: bool = False) -> KubernetesShell:
    told = visiting.visit(REF, "worker-0", ShellRequest(command, tty))
    assert isinstance(told, KubernetesShell), told
    return told


@pytest.mark.parametrize("speaks", [(V5, V4), (V4,)])
def test_exit_code_input_and_its_end(tmp_path: Path, speaks: tuple[str, ...]) -> None:
    """Servers before 1.30 know no end of the input: there the command goes on."""
    heard: list[bytes] = []

    def serves(line: ServerConnection) -> None:
        line.send(b"\x01")
        heard.append(bytes(line.recv()))  # type: ignore[arg-type]
        if line.subprotocol == V5:
            heard.append(bytes(line.recv()))  # type: ignore[arg-type]
        line.send([b"\x01o", b"ut"])
        line.send(b"\x02err")
        line.send(exited(7))

    with cluster(tmp_path, serves, speaks=speaks) as (visiting, _, asked):
        shell = entered(visiting, "train", "it's")
        shell.write(b"typed")
        shell.end_input()
        shell.write(b"too late")
        assert said(shell) == ({1: b"out", 2: b"err"}, Ended(7))
    assert heard == [b"\x00typed", b"\xff\x00"][: 1 + (V5 in speaks)]
    (path,) = asked
    assert path.startswith("/api/v1/namespaces/vision/pods/gang-worker-0/exec?container=pytorch&")
    assert path.endswith("&command=train&command=it%27s")


@pytest.mark.parametrize(
    ("last", "phase", "end"),
    [
        (status(status="Success"), "Running", Ended(0)),
        (exited(137), "Running", Ended(137)),
        (exited(137), "Failed", Ended(None, REPLICA_ENDED)),
        (b"", "Failed", Ended(None, REPLICA_ENDED)),
        (b"", "Running", Ended(None, shells.BROKEN)),
        (b"\x03[]", "Running", Ended(None, shells.BROKEN)),
        (
            status(status="Failure", message='exec: "/bin/sh": no such file or directory: unknown'),
            "Running",
            Ended(None, shells.NO_SHELL),
        ),
        (
            status(status="Failure", message="could not run s3cret --x: out of pids: unknown"),
            "Running",
            Ended(None, shells.NOT_RUN.format("out of pids")),
        ),
    ],
)
def test_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: bytes, phase: str, end: Ended
) -> None:
    monkeypatch.setattr(shells, "SETTLE_SECONDS", 0.0)
    with cluster(tmp_path, lambda line: line.send(last) if last else None) as (visiting, pod, _):
        shell = entered(visiting, tty=True)
        pod.phase = phase
        assert said(shell)[1] == end


@pytest.mark.parametrize(
    ("code", "kind"), [(403, Refused), (404, Refused), (429, Busy), (500, Unknown), (302, Unknown)]
)
def test_refusals(tmp_path: Path, code: int, kind: type) -> None:
    body = {"kind": "Status", "code": code, "message": f"{TOKEN} is not welcome"}
    page = b"<html>" if code == 302 else json.dumps(body).encode()
    headers = Headers({"Content-Length": str(len(page)), "Location": "https://elsewhere"})
    refusal = Response(code, "No", headers, page)
    with cluster(tmp_path, lambda _: None, lambda _: refusal) as (visiting, _, _):
        told = visiting.visit(REF, "worker-0", ShellRequest())
    assert isinstance(told, kind)
    assert TOKEN not in str(told)


def test_a_server_that_reads_nothing_holds_nobody_up(tmp_path: Path) -> None:
    """Typing waits, in its own thread; a resize and the end do not."""
    over = threading.Event()
    with cluster(tmp_path, lambda _: bool(over.wait(30))) as (visiting, _, _):  # type: ignore[arg-type]
        shell = entered(visiting, tty=True)
        shell._leave = lambda: None
        typing = threading.Thread(target=lambda: shell.write(b"x" * (8 << 20)))
        typing.start()
        time.sleep(0.3)
        assert typing.is_alive()
        began = time.monotonic()
        shell.resize(ShellRequest().size)
        shell.close()
        assert time.monotonic() - began < 0.5
        assert said(shell)[1] == Ended(None, CLOSED)
        typing.join(5)
        assert not typing.is_alive()
        over.set()


def test_what_was_printed_is_read_although_the_input_is_taken_no_more(tmp_path: Path) -> None:
    """The other side has said all and is gone, while here somebody goes on typing."""
    printed, gone = b"y" * 40_000, threading.Event()

    def serves(line: ServerConnection) -> None:
        line.send(b"\x01" + printed)
        line.send(exited(7))
        line.socket.shutdown(socket.SHUT_RDWR)
        gone.set()

    with cluster(tmp_path, serves) as (visiting, _, _):
        shell = entered(visiting, "train")
        assert gone.wait(10)
        for _ in range(3):
            shell.write(b"typed")
            time.sleep(0.05)
        assert said(shell) == ({1: printed, 2: b""}, Ended(7))


def test_what_waited_for_the_network_goes_as_soon_as_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though nobody writes any more, and nothing comes that would wake the reader."""
    monkeypatch.setattr(pod_stream, "ALIVE_EVERY", 600.0)
    size = 32 << 20  # more than the kernel takes
    monkeypatch.setattr(pod_stream, "MOST_WAITING", 2 * size)
    written = threading.Event()

    def serves(line: ServerConnection) -> None:
        assert written.wait(30)
        came = 0
        while came < size:
            came += len(line.recv()) - 1
        line.send(status(status="Success"))

    with cluster(tmp_path, serves) as (visiting, _, _):
        shell = entered(visiting, "wc")
        ends: list[Ended | None] = []
        reading = threading.Thread(target=lambda: ends.append(said(shell)[1]))
        reading.start()
        shell.write(b"x" * size)
        written.set()
        reading.join(40)
        shell.close()
        reading.join(5)
        assert ends == [Ended(0)]


def test_a_server_that_is_gone_is_an_answer(tmp_path: Path) -> None:
    with cluster(tmp_path, lambda _: None) as (visiting, _, _):
        pass
    assert isinstance(visiting.visit(REF, "worker-0", ShellRequest()), Unknown)


NUMBER = (6006).to_bytes(2, "little")
"""Begins what comes of a port."""


def connected(visiting: Visiting) -> KubernetesConnection:
    told = visiting.connect(REF, "worker-0", 6006)
    assert isinstance(told, KubernetesConnection), told
    return told


def test_bytes_to_a_port_and_back(tmp_path: Path) -> None:
    heard: list[bytes] = []

    def serves(line: ServerConnection) -> None:
        line.send(b"\x00" + NUMBER)
        line.send(b"\x01" + NUMBER)
        for _ in range(2):
            heard.append(bytes(line.recv()))  # type: ignore[arg-type]
            line.send(b"\x00" + heard[-1][1:].upper())

    with cluster(tmp_path, serves, speaks=(V4,)) as (visiting, _, asked):
        line = connected(visiting)
        line.write(b"one")
        line.write(b"two")
        line.end_input()
        line.write(b"too late")
        assert said(line) == ({1: b"ONETWO", 2: b""}, Ended(0))
    assert heard == [b"\x00one", b"\x00two"]
    assert asked == ["/api/v1/namespaces/vision/pods/gang-worker-0/portforward?ports=6006"]


@pytest.mark.parametrize(
    ("words", "phase", "reason"),
    [
        (
            "error forwarding port 6006 to pod a, uid : failed to connect to localhost:6006 inside "
            'namespace "b", IPv4: dial tcp4 127.0.0.1:6006: connect: connection refused',
            "Running",
            SILENT.format(port=6006),
        ),
        ("error forwarding port 6006: no such sandbox", "Failed", REPLICA_ENDED),
        (
            "error forwarding port 6006: socat is missing",
            "Running",
            NOT_CONNECTED.format("socat is missing"),
        ),
    ],
)
def test_a_port_that_is_not_reached(tmp_path: Path, words: str, phase: str, reason: str) -> None:
    def serves(line: ServerConnection) -> None:
        line.send(b"\x01" + NUMBER + words.encode())

    with cluster(tmp_path, serves, speaks=(V4,)) as (visiting, pod, _):
        line = connected(visiting)
        pod.phase = phase
        assert said(line)[1] == Ended(None, reason)


def test_who_sends_no_more_is_forgotten_after_a_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line cannot say so, and the program would keep it open for ever."""
    monkeypatch.setattr(pod_stream, "ALIVE_EVERY", 0.05)
    monkeypatch.setattr(f"{KubernetesConnection.__module__}.FORGOTTEN", 0.1)

    def serves(line: ServerConnection) -> None:
        line.recv(10)

    with cluster(tmp_path, serves, speaks=(V4,)) as (visiting, _, _):
        line = connected(visiting)
        line.end_input()
        assert said(line)[1] == Ended(0)
