"""A login node by SSH: one connection for a cluster, kept open, with its host key pinned.

The key lives in memory alone. Nothing of the account that runs Gangline is used: neither its
`~/.ssh/config`, nor its agent, nor the hosts that it knows.
"""

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import TimeoutError as Late
from dataclasses import replace
from typing import Any, TypeVar

import asyncssh

from gangline.drivers.addresses import AddressRefused, AllowedAddresses
from gangline.drivers.piped import PipedShell

from .access import ClusterCredentials
from .commands import CALL_SECONDS, SHELL, Answer, LoginRefused, NoAnswer, quoted, whole
from .login_terminal import Visit, by_ssh

T = TypeVar("T")
SESSIONS, MOST_VISITS = 4, 6
"""Programs and terminals at the same time: a server allows ten unless it is told otherwise."""
CONNECT_SECONDS = 10.0
ALIVE_EVERY, ALIVE_COUNT = 15, 4
BEGIN = "gangline: what follows is the answer"
"""What stands before it was printed by the login's own files."""
MOST_BYTES = 64 << 20

_loops: dict[int, asyncio.AbstractEventLoop] = {}
_lock = threading.Lock()


def _loop() -> asyncio.AbstractEventLoop:
    """The one of this process, in a thread of its own; a fork has none yet."""
    with _lock:
        loop = _loops.get(os.getpid())
        if loop is None:
            loop = _loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="ssh", daemon=True).start()
        return loop


def wait_for(work: Coroutine[Any, Any, T], seconds: float) -> T:
    """Do it in the loop and wait. Raises NoAnswer where it takes too long."""
    future = asyncio.run_coroutine_threadsafe(work, _loop())
    try:
        return future.result(seconds)
    except (Late, TimeoutError) as late:
        future.cancel()
        raise NoAnswer("The login node did not answer in time.") from late


class SshCommands:
    """See `Commands`."""

    def __init__(self, access: ClusterCredentials, reach: AllowedAddresses) -> None:
        self.access, self.reach = access, reach
        self._connection: asyncssh.SSHClientConnection | None = None
        self._process = os.getpid()
        self._connecting: asyncio.Lock | None = None
        self._sessions: asyncio.Semaphore | None = None
        self._visits = 0

    def run(self, program: str, seconds: float = CALL_SECONDS) -> Answer:
        self._begin()
        return wait_for(self._run(program, seconds), seconds + CONNECT_SECONDS + 2)

    def visit(self, program: str, visit: Visit) -> PipedShell:
        self._begin()
        return wait_for(self._visit(program, visit), CALL_SECONDS + CONNECT_SECONDS)

    def _begin(self) -> None:
        if self._process != os.getpid():  # what a fork inherits is its parent's
            self._process, self._connection = os.getpid(), None
            self._connecting = self._sessions = None

    async def _visit(self, program: str, visit: Visit) -> PipedShell:
        if self._connecting is None:
            self._connecting, self._sessions = asyncio.Lock(), asyncio.Semaphore(SESSIONS)
        connection = await self._connected(self._connecting)
        if self._visits >= MOST_VISITS:
            raise NoAnswer(f"{MOST_VISITS} terminals are open on this cluster: close one first.")
        self._visits += 1
        ended = visit.left

        def left() -> None:
            self._visits -= 1
            ended()

        command = f"exec /bin/sh -c {quoted(program)}"
        try:
            return await by_ssh(connection, command, replace(visit, left=left))
        except (asyncssh.Error, OSError) as lost:
            self._visits -= 1
            raise NoAnswer(f"{self.access.host} could not open a terminal: {_why(lost)}.") from lost

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and self._process == os.getpid():
            _loop().call_soon_threadsafe(connection.close)

    async def _run(self, program: str, seconds: float) -> Answer:
        if self._connecting is None or self._sessions is None:
            self._connecting, self._sessions = asyncio.Lock(), asyncio.Semaphore(SESSIONS)
        async with self._sessions:
            connection = await self._connected(self._connecting)
            try:
                done = await connection.run(
                    " ".join(SHELL),
                    input=whole(f"echo '{BEGIN}'\n{program}"),
                    encoding=None,
                    timeout=seconds,
                )
            except asyncssh.TimeoutError as late:
                raise NoAnswer("Slurm did not answer in time.") from late
            except (asyncssh.Error, OSError) as lost:
                if connection is self._connection:
                    self._connection = None
                connection.close()
                raise NoAnswer(f"The connection to {self.access.host} was lost.") from lost
        out = _text(done.stdout)
        _, has_begun, rest = out.partition(f"{BEGIN}\n")
        if not has_begun:
            raise NoAnswer(
                f"{self.access.host} does not run programs: its login shell ended early."
            )
        code = done.exit_status if done.exit_status is not None else -1
        return Answer(code, rest, _text(done.stderr))

    async def _connected(self, lock: asyncio.Lock) -> asyncssh.SSHClientConnection:
        async with lock:
            known = self._connection
            if known is None or known.is_closed():
                known = self._connection = await self._connect()
            return known

    async def _connect(self) -> asyncssh.SSHClientConnection:
        access = self.access
        found = await vetted(access.host, access.port, self.reach)
        host_key = asyncssh.import_public_key(access.host_key)
        try:
            return await asyncssh.connect(
                found[0],
                access.port,
                username=access.user,
                client_keys=[asyncssh.import_private_key(access.key)],
                known_hosts=([host_key], [], []),
                server_host_key_algs=_algorithms(host_key),
                config=None,
                agent_path=None,
                preferred_auth="publickey",
                connect_timeout=CONNECT_SECONDS,
                login_timeout=CONNECT_SECONDS,
                keepalive_interval=ALIVE_EVERY,
                keepalive_count_max=ALIVE_COUNT,
            )
        except asyncssh.HostKeyNotVerifiable as other:
            says = f"{access.host} presented a different host key than the one that is pinned."
            raise LoginRefused(says) from other
        except asyncssh.KeyExchangeFailed as other:
            says = f"{access.host} has no host key of the kind that is pinned."
            raise LoginRefused(says) from other
        except asyncssh.PermissionDenied as denied:
            says = f"{access.host} rejected the key for {access.user}."
            raise LoginRefused(says) from denied
        except (asyncssh.Error, OSError, TimeoutError) as away:
            raise NoAnswer(f"{access.host} does not answer: {_why(away)}.") from away


async def vetted(host: str, port: int, reach: AllowedAddresses) -> list[str]:
    """The addresses of a host, all of them allowed. Raises NoAnswer."""
    try:
        return await asyncio.to_thread(reach.vetted, host, port)
    except AddressRefused as why:
        raise NoAnswer(str(why)) from why


async def shown_host_key(host: str, port: int, reach: AllowedAddresses) -> str:
    """The host key that a server shows now, as a line. Raises NoAnswer."""
    found = await vetted(host, port, reach)
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            key = await asyncssh.get_server_host_key(found[0], port, config=None)
    except (asyncssh.Error, OSError, TimeoutError) as away:
        raise NoAnswer(f"{host} does not answer: {_why(away)}.") from away
    if key is None:
        raise NoAnswer(f"{host} shows no host key.")
    return key.export_public_key().decode().strip()


def _algorithms(key: asyncssh.SSHKey) -> list[str]:
    """Ask for the kind of key that is pinned: servers have several."""
    name = key.get_algorithm()
    return ["rsa-sha2-512", "rsa-sha2-256"] if name == "ssh-rsa" else [name]


def _why(error: BaseException) -> str:
    said = str(getattr(error, "strerror", "") or error)
    return said[:200].rstrip(".") or "it takes too long"


def _text(data: Any) -> str:
    return bytes(data or b"")[:MOST_BYTES].decode(errors="replace")
