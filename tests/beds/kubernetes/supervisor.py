"""The parent of a bed's processes: brings them up in order, and takes them down when it ends.

Usage: `python -m tests.beds.kubernetes.supervisor <folder> [--while-used] [--with=<add-on> …]`.
SIGTERM ends it. SIGHUP makes it start again what has ended and is not marked in ``down/``; a bed
that a person started does so by itself, as a cluster does with its operators. With
``--while-used`` it ends by itself when nobody holds a shared lock on the file ``users`` any more:
a lock goes with the process that holds it, however that ends.
"""

import argparse
import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from gangline.drivers.kubernetes.client import Client

from . import objects, pki
from .commands import CONTROL_PLANE, command, operators
from .kubeconfigs import access, write_kubeconfigs
from .layout import PORTS
from .processes import BedFailed, Identity, end_of, free_ports, spawn
from .readiness import forget_leader, is_ready
from .state import State

READY_SECONDS = 120
LOOK_SECONDS, AGAIN_SECONDS = 0.1, 5.0
USERS, DOWN, FLAGS, PROBLEM = "users", "down", "flags.json", "problem"


class Supervisor:
    """One bed in ``state.folder``; only the main thread may start processes."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.layout = state.layout
        self.children: dict[str, subprocess.Popen[bytes]] = {}
        self.ends = threading.Event()
        self.looks_again = threading.Event()

    def bring_up(self) -> None:
        """Start everything and wait until all of it is ready. Raises BedFailed."""
        began = time.monotonic()
        for name in CONTROL_PLANE[:2]:
            self._start(name)
            self._await(name)
        with contextlib.closing(Client(access(self.layout, "admin"))) as client:
            objects.install(client, self.layout)
        # After the kinds: of those that come later its garbage collector learns only with the
        # next of its looks, which are 30 s apart, and until then leaves the pods of a deleted job.
        others = (*CONTROL_PLANE[2:], *operators(self.layout.with_))
        for name in others:
            self._start(name)
        for name in others:
            self._await(name)
        self.state.seconds = round(time.monotonic() - began, 1)
        self.state.write()

    def _start(self, name: str) -> None:
        process = spawn(name, command(name, self.layout), self.layout)
        self.children[name] = process
        self.state.processes[name] = Identity.of(process.pid)
        self.state.write()

    def _await(self, name: str) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while not is_ready(name, self.layout):
            code = self.children[name].poll()
            if code is not None or time.monotonic() > deadline or self.ends.is_set():
                why = "is not ready in time" if code is None else f"ended with {code}"
                log = end_of(self.state.folder / "logs" / f"{name}.log")
                raise BedFailed(f"{name} {why}:\n{log}")
            time.sleep(0.05)

    def watch(self, is_over: Callable[[], bool]) -> None:
        """Look after the processes until the end is asked for."""
        looked_at = time.monotonic()
        while not self.ends.wait(LOOK_SECONDS) and not is_over():
            ended = [name for name, process in self.children.items() if process.poll() is not None]
            is_due = not self.state.while_used and time.monotonic() - looked_at > AGAIN_SECONDS
            if self.looks_again.is_set() or is_due:
                self.looks_again.clear()
                looked_at = time.monotonic()
                for name in ended:
                    self._start_again(name)

    def _start_again(self, name: str) -> None:
        if not (self.state.folder / DOWN / name).exists():
            forget_leader(name, self.layout)
            self._start(name)

    def take_down(self) -> None:
        """End all, the API server after its clients and before etcd: without etcd it hangs."""
        last = [name for name in reversed(CONTROL_PLANE[:2]) if name in self.children]
        clients = [name for name in self.children if name not in last]
        with contextlib.suppress(BedFailed):
            for name in clients:
                self.state.processes[name].signal(signal.SIGCONT)
                self.state.processes[name].signal(signal.SIGTERM)
        for name in (*clients, *last):
            self.state.processes[name].end()
            self.children[name].wait()


def prepare(folder: Path, with_: tuple[str, ...], *, while_used: bool) -> State:
    """A new bed's folder: nothing of an earlier one stays but its logs and cluster's identity."""
    shutil.rmtree(folder / "etcd", ignore_errors=True)
    shutil.rmtree(folder / DOWN, ignore_errors=True)
    for name in ("logs", "pods", DOWN):
        (folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / PROBLEM).unlink(missing_ok=True)
    for log in (folder / "logs").glob("*.log"):
        if log.name != "supervisor.log":
            log.unlink()
    flags = {}
    if (folder / FLAGS).exists():
        stored = json.loads((folder / FLAGS).read_text())
        flags = {name: tuple(values) for name, values in stored.items()}
    pki.make(folder / "pki")
    ports = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
    state = State(folder, Identity.of(os.getpid()), ports, with_, flags, while_used)
    write_kubeconfigs(state.layout)
    state.write()
    return state


def main(arguments: list[str]) -> int:
    """Run one bed until its end is asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--with", dest="with_", action="append", default=[])
    parser.add_argument("--while-used", action="store_true")
    given = parser.parse_args(arguments)
    folder: Path = given.folder
    supervisor: Supervisor | None = None
    try:
        state = prepare(folder, tuple(given.with_), while_used=given.while_used)
        supervisor = Supervisor(state)
        ends, looks_again = supervisor.ends, supervisor.looks_again
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: ends.set())
        signal.signal(signal.SIGHUP, lambda *_: looks_again.set())
        supervisor.bring_up()
        with (folder / USERS).open("a") as users:
            supervisor.watch(lambda: state.while_used and _nobody_holds(users.fileno()))
            supervisor.take_down()
    except (BedFailed, pki.NoCertificates) as problem:
        (folder / PROBLEM).write_text(str(problem))
        if supervisor:
            supervisor.take_down()
        return 1
    return 0


def _nobody_holds(users: int) -> bool:
    """Whether the last user has gone; if so, no other can come until this process has ended."""
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
