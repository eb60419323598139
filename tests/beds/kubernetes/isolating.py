"""Run a program in a network namespace of its own that reaches one port of this machine.

Some programs listen on a fixed port of all addresses: two of them cannot live on one machine. In a
namespace of its own each may; the one server that it needs is found at the address where it is
outside, because a listener of the namespace is handed out and its connections are passed on.
Needs no privilege where the machine allows user namespaces. https://man7.org/linux/man-pages/man7/network_namespaces.7.html
"""

import contextlib
import os
import selectors
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

ENTER = Path(__file__).with_name("enter_namespace.py")
HANDED_OUT_SECONDS = 10
_CHUNK = 1 << 16


def is_possible() -> bool:
    """Whether this machine lets us make such a namespace."""
    if not shutil.which("unshare"):
        return False
    command = ["unshare", "--user", "--map-root-user", "--net", "true"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def launch(
    command: Sequence[str], port: int, spawn: Callable[..., subprocess.Popen[bytes]]
) -> subprocess.Popen[bytes]:
    """Start ``command`` where nothing but ``port`` of the loopback address leads outside.

    ``spawn`` takes the whole command line and ``pass_fds``.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours, theirs:
        enter = [sys.executable, "-I", "-S", str(ENTER), str(theirs.fileno()), str(port)]
        wrapped = ["unshare", "--user", "--map-root-user", "--net", *enter, *command]
        process = spawn(wrapped, pass_fds=(theirs.fileno(),))
        theirs.close()
        ours.settimeout(HANDED_OUT_SECONDS)
        listener = _received(ours)
    threading.Thread(target=_pass_on, args=(listener, port, process), daemon=True).start()
    return process


def _received(channel: socket.socket) -> socket.socket:
    _, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
    if not descriptors:
        raise OSError("The program did not get as far as its network namespace.")
    os.set_inheritable(descriptors[0], False)
    return socket.socket(fileno=descriptors[0])


def _pass_on(listener: socket.socket, port: int, process: subprocess.Popen[bytes]) -> None:
    """Connect each connection of the namespace to the same port outside, while the program runs."""
    listener.settimeout(1)
    with listener:
        while process.poll() is None:
            try:
                inner, _ = listener.accept()
            except TimeoutError:
                continue
            threading.Thread(target=_connect, args=(inner, port), daemon=True).start()


def _connect(inner: socket.socket, port: int) -> None:
    with inner, contextlib.suppress(OSError):
        inner.setblocking(True)
        with socket.create_connection(("127.0.0.1", port)) as outer:
            _copy(inner, outer)


def _copy(one: socket.socket, other: socket.socket) -> None:
    """Pass bytes both ways until both sides have ended."""
    with selectors.DefaultSelector() as selector:
        selector.register(one, selectors.EVENT_READ, other)
        selector.register(other, selectors.EVENT_READ, one)
        while selector.get_map():
            for key, _ in selector.select():
                source, target = key.fileobj, key.data
                assert isinstance(source, socket.socket)
                if data := source.recv(_CHUNK):
                    target.sendall(data)
                else:
                    selector.unregister(source)
                    target.shutdown(socket.SHUT_WR)
