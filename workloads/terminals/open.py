"""The terminals that this process serves, and who looks after each."""

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from channels.db import database_sync_to_async
from django.db import DatabaseError

from gangline.drivers.base import Busy, Refused, Unknown
from gangline.drivers.ports import PortOpener
from gangline.drivers.shells import Shell, ShellOpener, ShellRequest, Size
from gangline.settings.catalogue import TERMINAL_IDLE_MINUTES
from gangline.settings.values import value_of
from workloads.models import Terminal
from workloads.terminals import tickets
from workloads.terminals.port_forward import Forwarding
from workloads.terminals.session import AWAY_SECONDS, Session

log = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
"""So long at most a person keeps a terminal that he or she may no longer have."""
KEEP_SECONDS = 30.0
MOST_OPENING = 8
"""Terminals of one cluster that are being opened at the same time."""
AWAY = "The connection was lost for more than 30 seconds."

T = TypeVar("T")
P = ParamSpec("P")

_open: dict[str, tuple[Terminal, Session]] = {}
_opening: Counter[str] = Counter()


async def in_database(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """``work`` in a thread: nobody waits for what another one asks of the database."""
    found: T = await database_sync_to_async(work, thread_sensitive=False)(*args, **kwargs)
    return found


async def opened(place: tickets.Place, size: Size) -> Shell | Refused | Unknown | Busy:
    """Start the command, in a thread that nobody else waits for.

    A cluster that hangs keeps some threads of its own, and none of those that the database uses.
    """
    cluster = str(place.terminal.workload.cluster_id)
    if _opening[cluster] >= MOST_OPENING:
        return Busy(5.0, "The cluster is slow to open other terminals. Try again in a moment.")
    _opening[cluster] += 1
    loop = asyncio.get_running_loop()
    thread = ThreadPoolExecutor(1, thread_name_prefix="opening")
    work = loop.run_in_executor(thread, _started, place, size)
    thread.shutdown(wait=False)
    # Whoever asked may leave meanwhile: the count is of threads that are at work.
    work.add_done_callback(lambda _: _opening.subtract([cluster]))
    return await asyncio.shield(work)


def _started(place: tickets.Place, size: Size) -> Shell | Refused | Unknown | Busy:
    """A command in the pod; or what connects to its port whenever the client asks for it."""
    terminal, opener = place.terminal, place.opener
    if terminal.port is not None and isinstance(opener, PortOpener):
        return Forwarding(partial(opener.open_port, place.ref, terminal.pod, terminal.port))
    if terminal.port is None and isinstance(opener, ShellOpener):
        request = ShellRequest(tuple(terminal.command), terminal.tty, size)
        return opener.open_shell(place.ref, terminal.pod, request)
    raise AssertionError("a ticket is redeemed for what the driver offers")


async def start(terminal: Terminal, shell: Shell) -> Session:
    """Serve a command that was started."""
    session = Session(shell, tty=terminal.tty)
    _open[str(terminal.pk)] = terminal, session
    await in_database(tickets.opened, terminal)
    task = asyncio.get_running_loop().create_task(_look_after(terminal, session))
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
    return session


def find(terminal_id: str) -> tuple[Terminal, Session] | None:
    """One that is open here."""
    return _open.get(terminal_id)


async def close_all(reason: str = tickets.RESTARTED) -> None:
    """Before the process ends."""
    for _, session in list(_open.values()):
        session.close(reason)
    await asyncio.gather(*_tasks, return_exceptions=True)


_tasks: set[asyncio.Task[None]] = set()


async def _look_after(terminal: Terminal, session: Session) -> None:
    """Until its end, whatever brings it."""
    kept = time.monotonic()
    try:
        while session.end is None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await session.over.wait()
            if session.end is not None:
                break
            now = time.monotonic()
            if not session.is_attached and now - session.attached_at > AWAY_SECONDS:
                session.close(AWAY)
                break
            try:
                reason, idle = await in_database(_look, terminal)
                if now - kept > KEEP_SECONDS:
                    is_used = session.used_at > kept
                    kept = now
                    await in_database(tickets.keep, terminal, is_used=is_used)
            except DatabaseError as problem:
                log.warning("the database does not say who may have a terminal: %s", problem)
                continue
            if not reason and now - session.used_at > idle * 60:
                reason = f"Nothing was typed or shown for {idle} minutes."
            if reason:
                session.close(reason)
    finally:
        _open.pop(str(terminal.pk), None)
        end = session.end
        session.close("It was closed.")
        with contextlib.suppress(DatabaseError):
            reason, code = (end.reason, end.code) if end else ("It was closed.", None)
            await in_database(tickets.close, terminal, reason, code)


def _look(terminal: Terminal) -> tuple[str, int]:
    return tickets.lost(terminal), value_of(TERMINAL_IDLE_MINUTES)
