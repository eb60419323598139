"""Connections to ports of replicas of this machine, which have its network.

Whatever else listens here is not for those who may enter a pod: a port is only reached while a
process of the replica itself listens on it.
"""

import ipaddress
import socket
from collections.abc import Iterable, Iterator

import psutil

from gangline.drivers.base import Refused
from gangline.drivers.ports import SILENT, SocketConnection

SECONDS = 5.0


def connect(processes: Iterable[int], port: int) -> SocketConnection | Refused:
    """Connect to ``port`` where one of ``processes`` listens."""
    for address in _listening(processes, port):
        try:
            line = socket.create_connection((address, port), SECONDS)
        except OSError:
            continue
        line.settimeout(None)
        return SocketConnection(line)
    return Refused(SILENT.format(port=port))


def _listening(processes: Iterable[int], port: int) -> Iterator[str]:
    for pid in processes:
        try:
            found = psutil.Process(pid).net_connections("tcp")
        except (psutil.Error, OSError):
            continue  # it is gone, or not for us to look at
        for one in found:
            if one.status == psutil.CONN_LISTEN and one.laddr.port == port:
                yield _reached(one.laddr.ip)


def _reached(address: str) -> str:
    """Where one connects to what listens on ``address``."""
    found = ipaddress.ip_address(address)
    if not found.is_unspecified:
        return address
    return "127.0.0.1" if found.version == 4 else "::1"
