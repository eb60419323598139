"""A real Kubernetes for tests, without containers: control plane, operators, simulated nodes.

``running`` gives one for the length of a block. Pods run, fail, hang and stop by annotations, which
``rules`` spells and `stages.yaml` explains.
"""

import contextlib
import datetime
import fcntl
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from gangline.drivers.kubernetes import resources
from gangline.drivers.kubernetes.access import ClusterCredentials
from gangline.drivers.kubernetes.client import Client
from gangline.drivers.kubernetes.kubeconfig import parse
from gangline.drivers.kubernetes.resources import Resource

from . import building, kubeconfigs, pod_logs, supervisor
from .components import needed
from .objects import EXECS, PORT_FORWARDS, SERVICE_ACCOUNTS, must
from .processes import BedFailed, Identity, end_of
from .readiness import is_ready
from .state import State

__all__ = ["ROOT", "Bed", "BedFailed", "rules", "running", "start", "stop"]

ROOT = Path(__file__).resolve().parents[3]
START_SECONDS = 300
PREFIX = "bed.gangline.dev/"
_supervisors: list[subprocess.Popen[bytes]] = []
"""Started here. They may outlive us: another process may use the same bed."""


def rules(**values: object) -> dict[str, str]:
    """Annotations that say how a pod behaves: ``rules(exit_code=3, run_for="1s")``."""
    return {f"{PREFIX}{name.replace('_', '-')}": str(value) for name, value in values.items()}


@dataclass
class Bed:
    """One running bed, or a cluster that was there before; usable by several processes at once."""

    folder: Path
    admin: ClusterCredentials
    restricted: ClusterCredentials
    state: State | None = None
    """Of the bed's processes; nothing for a cluster that is not ours."""

    @cached_property
    def client(self) -> Client:
        """Gangline's own client, as administrator."""
        return Client(self.admin)

    @property
    def ports(self) -> dict[str, int]:
        """Ports of the loopback address, by the names of processes."""
        return self._ours().ports

    def kubeconfig(self, user: str = "admin") -> str:
        """A kubeconfig that refers to no file, for ``admin`` or ``gangline``."""
        return kubeconfigs.kubeconfig(self.admin if user == "admin" else self.restricted, user)

    def text(self, path: str, **query: str | int | bool) -> str:
        """What the API server answers where it sends no JSON: a log, a state of health.

        Empty where it answers anything but 200.
        """
        with self.client.stream(path, query=query, silence=25.0) as (status, pieces):
            return b"".join(pieces).decode() if status == 200 else ""

    @contextlib.contextmanager
    def namespace(self, prefix: str = "test", **labels: str) -> Iterator[str]:
        """A new namespace in which pods can be made; it is deleted at the end, without waiting."""
        name = f"{prefix}-{secrets.token_hex(4)}"
        meta = {"name": name, "labels": labels}
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}
        made = must(self.client.create(resources.NAMESPACES, "", body))
        try:
            # Without it, the API server refuses every pod.
            _wait(lambda: self.client.get(SERVICE_ACCOUNTS, name, "default").ok, 20, "namespace")
            yield name
        finally:
            uid = made.body["metadata"]["uid"]
            self.client.delete(resources.NAMESPACES, "", name, uid=uid)

    def annotate(self, namespace: str, pod: str, **values: object) -> None:
        """Change how a live pod behaves; see ``rules``."""
        body = {"metadata": {"annotations": rules(**values)}}
        must(self.client.patch(resources.PODS, namespace, pod, body))

    def write_log(
        self,
        namespace: str,
        pod: str,
        lines: Iterable[str],
        *,
        container: str = "",
        at: datetime.datetime | None = None,
        stream: str = "stdout",
    ) -> Path:
        """Append lines to the log of a pod's container, the first one unless said.

        ``at`` is the time of the first line, now unless said; each line is a microsecond later.
        """
        folder = self.folder / "pods" / namespace / pod
        return pod_logs.write(
            self.client, folder, namespace, pod, lines, container=container, at=at, stream=stream
        )

    def serve_exec(self, namespace: str, pod: str, folder: Path) -> None:
        """Let commands be run in the pod. They really run, on this machine, in ``folder``.

        Each as the user that runs the bed, with the variables that the pod's first container says
        outright. https://kwok.sigs.k8s.io/docs/user/kwok-configuration-for-exec/
        """
        found = must(self.client.get(resources.PODS, namespace, pod)).body
        said = found["spec"]["containers"][0].get("env") or ()
        envs = [{"name": one["name"], "value": one["value"]} for one in said if "value" in one]
        self._simulate(
            EXECS, namespace, pod, {"execs": [{"local": {"workDir": str(folder), "envs": envs}}]}
        )

    def serve_port(self, namespace: str, pod: str, port: int, target: int) -> None:
        """Let ``port`` of the pod be reached: what answers listens on ``target`` of this machine.

        https://kwok.sigs.k8s.io/docs/user/kwok-configuration-for-port-forward/
        """
        forward = {"ports": [port], "target": {"port": target, "address": "127.0.0.1"}}
        self._simulate(PORT_FORWARDS, namespace, pod, {"forwards": [forward]})

    def _simulate(self, what: Resource, namespace: str, pod: str, spec: dict[str, Any]) -> None:
        body = {
            "apiVersion": what.api_version,
            "kind": what.kind,
            "metadata": {"name": pod, "namespace": namespace},
            "spec": spec,
        }
        must(self.client.apply(what, namespace, pod, body))

    def freeze(self, name: str) -> None:
        """Stop a process where it is, as a machine that hangs would."""
        self._signal(name, signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        """Let a frozen process go on."""
        self._signal(name, signal.SIGCONT)

    def kill(self, name: str) -> None:
        """End a process without a warning; it stays down until ``restart``."""
        (self.folder / supervisor.DOWN / name).touch()
        process = self._process(name)
        process.signal(signal.SIGKILL)
        process.gone_within(10)

    def restart(self, name: str) -> None:
        """Start a process again where it was, ended or not, and wait until it is ready."""
        state = self._ours()
        before = self._process(name)
        before.end()
        (self.folder / supervisor.DOWN / name).unlink(missing_ok=True)
        deadline = time.monotonic() + START_SECONDS
        while self._process(name) == before:
            if not state.supervisor.signal(signal.SIGHUP) or time.monotonic() > deadline:
                raise BedFailed(f"{name} was not started again.")
            time.sleep(0.2)
        self.wait_until_ready(name)

    def revive(self) -> None:
        """Start again what has ended, such as an operator that lost its lease while frozen."""
        if self.state is None:
            return
        with (self.folder / "revive.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for name, process in self.processes.items():
                if not process.is_alive:
                    self.restart(name)

    def wait_until_ready(self, name: str, seconds: float = 60) -> None:
        """Return when the process of this name does its work. Raises BedFailed."""
        layout = self._ours().layout
        _wait(lambda: is_ready(name, layout), seconds, name)

    @property
    def processes(self) -> dict[str, Identity]:
        """Every process, in the order in which they were started."""
        return self._ours().processes

    def _signal(self, name: str, number: signal.Signals) -> None:
        if not self._process(name).signal(number):
            raise BedFailed(f"{name} is not running.")

    def _process(self, name: str) -> Identity:
        return self.processes[name]

    def _ours(self) -> State:
        """What is written down now: another process may have started something again."""
        if self.state is None:
            raise BedFailed("The cluster is not ours: its processes are nobody's to touch.")
        state = State.read(self.folder)
        assert state is not None
        return state


@contextlib.contextmanager
def running(
    folder: Path, with_: Sequence[str] = (), flags: Mapping[str, Sequence[str]] | None = None
) -> Iterator[Bed]:
    """A bed in ``folder``, shared with whoever else uses that folder; the last one ends it.

    ``with_`` names add-ons, ``flags`` more flags by the name of a process; both count for the one
    who comes first. Raises BedFailed.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / supervisor.USERS).open("a") as users:
        with (folder / "start.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # Waits for a bed that is just being taken down: its supervisor holds this lock alone.
            fcntl.flock(users, fcntl.LOCK_SH)
            bed = find(folder) or _start(folder, with_, flags or {}, while_used=True)
        try:
            yield bed
        finally:
            bed.__dict__.pop("client", None)
            fcntl.flock(users, fcntl.LOCK_UN)
            if bed.state and bed.state.while_used and _is_last(users):
                _await_end(bed.state)


def find(folder: Path) -> Bed | None:
    """The bed that runs in this folder, if one does."""
    state = State.read(folder)
    return _bed_of(state) if state and state.is_up else None


def start(folder: Path, with_: Sequence[str] = ()) -> Bed:
    """Start a bed that outlives this process; it runs until ``stop``. Raises BedFailed."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / "start.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return find(folder) or _start(folder, with_, {}, while_used=False)


def stop(folder: Path) -> bool:
    """End the bed in this folder and whatever of it is left; tell whether there was one."""
    state = State.read(folder)
    if state is None:
        return False
    was_there = state.supervisor.is_alive
    state.supervisor.end(seconds=60)
    for process in reversed(state.processes.values()):
        was_there |= process.is_alive
        process.end()
    return was_there


def given(admin: Path, restricted: Path, folder: Path) -> Bed:
    """A cluster that is there, by two kubeconfigs. Raises BedFailed."""
    return Bed(folder, _access_of(admin), _access_of(restricted))


def _access_of(path: Path) -> ClusterCredentials:
    found = parse(path.read_text(), now=datetime.datetime.now(datetime.UTC))
    if found.access is None:
        raise BedFailed(f"{path}: {' '.join(map(str, found.refusals))}")
    return found.access


def _start(
    folder: Path, with_: Sequence[str], flags: Mapping[str, Sequence[str]], *, while_used: bool
) -> Bed:
    needed(with_)
    building.build(with_)
    (folder / supervisor.FLAGS).write_text(json.dumps({k: list(v) for k, v in flags.items()}))
    (folder / "logs").mkdir(exist_ok=True)
    options = [*(f"--with={name}" for name in with_), *(["--while-used"] if while_used else [])]
    command = [sys.executable, "-m", f"{__package__}.supervisor", str(folder), *options]
    log = folder / "logs" / "supervisor.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'platform'}{os.pathsep}{ROOT}"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    _supervisors.append(process)
    try:
        _wait(lambda: process.poll() is not None or find(folder), START_SECONDS, "the bed")
    except BaseException:
        process.terminate()
        process.wait()
        raise
    bed = find(folder)
    if bed is None:
        problem = folder / supervisor.PROBLEM
        raise BedFailed(problem.read_text() if problem.exists() else end_of(log))
    return bed


def _bed_of(state: State) -> Bed:
    layout = state.layout
    admin, restricted = (kubeconfigs.access(layout, user) for user in kubeconfigs.USERS)
    return Bed(state.folder, admin, restricted, state)


def _is_last(users: IO[str]) -> bool:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    fcntl.flock(users, fcntl.LOCK_UN)
    return True


def _await_end(state: State) -> None:
    if not state.supervisor.gone_within(60):
        raise BedFailed("The bed does not end.")
    for process in _supervisors:
        process.poll()


def _wait(condition: Callable[[], object], seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise BedFailed(f"Waited {seconds:g} s for {what}.")
        time.sleep(0.05)
