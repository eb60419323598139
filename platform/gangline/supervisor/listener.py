"""The listening socket: bound before anything else, so that a taken port costs no start-up."""

import ipaddress
import socket

import psutil


class CannotListen(Exception):
    """The address cannot be used, in words with the way out."""


def listen(host: str, port: int) -> socket.socket:
    """A listening TCP socket on ``host``:``port``; port 0 picks a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(1024)
    except OSError as error:
        listener.close()
        raise CannotListen(_why(host, port, error)) from None
    listener.set_inheritable(False)
    return listener


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach ``host``."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _why(host: str, port: int, error: OSError) -> str:
    holder = _holder(port)
    who = f" by {holder}" if holder else ""
    if error.errno == 98:
        return f"Port {port} is taken{who}. Choose another one: make run PORT={port + 1}"
    return (
        f"Cannot listen on {host}:{port}: {error.strerror}. Choose another GANGLINE_HOST or PORT."
    )


def _holder(port: int) -> str:
    try:
        for found in psutil.net_connections("tcp"):
            if (
                found.laddr
                and found.laddr[1] == port
                and found.status == psutil.CONN_LISTEN
                and found.pid
            ):
                return f"{psutil.Process(found.pid).name()} (process {found.pid})"
    except psutil.Error:
        return ""
    return ""
