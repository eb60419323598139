"""A port of a replica is reached where its own programs listen, and nowhere else."""

import os
import socket
import subprocess

import pytest

from gangline.drivers.base import Refused
from gangline.drivers.local import ports
from gangline.drivers.ports import SocketConnection
from gangline.drivers.shells import Ended, Output


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::1"])
def test_only_where_a_process_of_the_replica_listens(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, 0), family=family) as doors:
        port = doors.getsockname()[1]
        line = ports.connect([os.getpid()], port)
        assert isinstance(line, SocketConnection)
        inside, _ = doors.accept()
        line.write(b"in")
        assert inside.recv(10) == b"in"
        inside.sendall(b"out")
        assert line.read() == Output(1, b"out")
        inside.close()
        assert line.read() == Ended(0)
        line.close()
        other = subprocess.Popen(["sleep", "60"])
        try:
            assert isinstance(ports.connect([other.pid], port), Refused)
        finally:
            other.kill()
            other.wait()
    assert isinstance(ports.connect([os.getpid()], port), Refused)
