"""A real sshd on the loopback address, for the account that runs the tests."""

import getpass
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncssh
import pytest

from gangline.drivers.slurm.access import SSH, ClusterCredentials
from tests.support.waiting import wait_for

SSHD = "/usr/sbin/sshd"


@dataclass
class SshServer:
    """One that takes in whoever has the key of ``access``."""

    folder: Path
    port: int
    access: ClusterCredentials
    process: subprocess.Popen[bytes]

    def let_in(self, public: str) -> None:
        """Take in who has the private key of this line too."""
        with (self.folder / "authorized_keys").open("a") as file:
            file.write(f"{public}\n")

    def start_again(self) -> None:
        """End it with every connection, and start it where it was."""
        self.stop()
        self.process = _start(self.folder, self.port)

    def stop(self) -> None:
        children = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        pids = [int(word) for word in Path(children).read_text().split()]
        self.process.terminate()
        self.process.wait(10)
        for pid in pids:
            try:
                os.kill(pid, 15)
            except ProcessLookupError:
                continue


@pytest.fixture
def ssh_server(tmp_path: Path) -> Iterator[SshServer]:
    """An sshd of its own for one test."""
    with running(tmp_path) as server:
        yield server


@contextmanager
def running(folder: Path) -> Iterator[SshServer]:
    host, user = (asyncssh.generate_private_key("ssh-ed25519") for _ in range(2))
    (folder / "host_key").touch(0o600)
    (folder / "host_key").write_bytes(host.export_private_key())
    public = user.export_public_key().decode().strip()
    (folder / "authorized_keys").write_text(f"{public}\n")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    access = ClusterCredentials(
        SSH, "127.0.0.1", port, getpass.getuser(), user.export_private_key().decode(), public,
        host.export_public_key().decode().strip(),
    )  # fmt: skip
    server = SshServer(folder, port, access, _start(folder, port))
    try:
        yield server
    finally:
        server.stop()


def _start(folder: Path, port: int) -> subprocess.Popen[bytes]:
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    settings = {
        "ListenAddress": f"127.0.0.1:{port}",
        "HostKey": folder / "host_key",
        "AuthorizedKeysFile": folder / "authorized_keys",
        "PidFile": folder / "sshd.pid",
        "StrictModes": "no",
        "UsePAM": "no",
        "PasswordAuthentication": "no",
        "PermitRootLogin": "prohibit-password",
    }
    text = "".join(f"{name} {value}\n" for name, value in settings.items())
    (folder / "sshd_config").write_text(text)
    with (folder / "sshd.log").open("ab") as log:
        process = subprocess.Popen(
            [SSHD, "-D", "-e", "-f", str(folder / "sshd_config")],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    wait_for(lambda: _answers(port), what="sshd to listen")
    return process


def _answers(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0
