"""A real local cluster in a temporary folder, and what is left of it in the process table."""

import json
import os
import signal
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gangline.drivers.base import (
    AttemptRef,
    Observation,
    ObservedState,
    ReplicaPlacement,
    Submission,
)
from gangline.drivers.local.driver import LocalDriver
from gangline.spec.frameworks import places
from gangline.spec.typed import typed, value_at
from gangline.spec.workload import ReplicaSpec, WorkerSpec
from tests.support.waiting import wait_for

SYSTEM = {"image": "local://system"}


@dataclass
class LocalCluster:
    """``driver`` with short words for what most tests do. ``close`` leaves nothing behind."""

    driver: LocalDriver

    def __post_init__(self) -> None:
        self.refs: list[AttemptRef] = []

    def ref(
        self,
        command: str,
        *,
        replicas: int = 1,
        master: Mapping[str, Any] | None = None,
        framework: str = "PyTorch",
        grace: int = 5,
        gpus: tuple[str, ...] = (),
        gpu_share: float = 1.0,
        values: Mapping[str, Any] | None = None,
        native: Mapping[str, Any] | None = None,
        **worker: Any,
    ) -> AttemptRef:
        """``native`` is put over the rendered form of the workers, past the spec."""
        given = SYSTEM | {"command": command} | worker | dict(values or {})
        said = typed(WorkerSpec, given)
        lost = [path for path in given if value_at(said, path) is None]
        assert not lost, f"the spec refuses {lost}: give them as ``native``"
        submission = Submission(
            name="gang",
            project="vision",
            framework=framework,
            configuration="workersOnly" if master is None else "workersAndMaster",
            num_workers=replicas,
            worker=said,
            master=None if master is None else typed(ReplicaSpec, SYSTEM | dict(master)),
            identifiers={"GANGLINE_WORKLOAD_NAME": "gang"},
        )
        slots = tuple(
            ReplicaPlacement(
                role,
                index,
                rank,
                0.5,
                10_000_000,
                gpus,
                (16_200,) if number == 0 else (),
                gpu_share,
            )
            for number, (role, index, rank) in enumerate(
                places((part.role, part.pods) for part in submission.parts)
            )
        )
        rendered = json.loads(json.dumps(self.driver.render(submission)))
        rendered["worker"] |= native or {}
        ref = AttemptRef(
            install="install-a",
            workload=str(uuid.uuid4()),
            attempt=1,
            name="gang",
            submission=submission,
            rendered=rendered,
            placement=slots,
            grace_seconds=grace,
        )
        self.refs.append(ref)
        return ref

    def start(self, command: str, **more: Any) -> AttemptRef:
        ref = self.ref(command, **more)
        self.driver.create(ref)
        return ref

    def until(self, ref: AttemptRef, *states: ObservedState, seconds: float = 20) -> Observation:
        def reached() -> Observation | None:
            seen = self.driver.observe(ref)
            return seen if seen.state in states else None

        found = wait_for(reached, seconds=seconds, what=f"{states}")
        assert found is not None
        return found

    def running(self, ref: AttemptRef) -> Observation:
        return self.until(ref, ObservedState.RUNNING)

    def over(self, ref: AttemptRef, seconds: float = 20) -> Observation:
        states = (ObservedState.SUCCEEDED, ObservedState.FAILED, ObservedState.SUSPENDED)
        return self.until(ref, *states, seconds=seconds)

    def run(self, command: str, *, seconds: float = 20, **more: Any) -> Observation:
        return self.over(self.start(command, **more), seconds)

    def log(self, ref: AttemptRef, replica: str = "worker-0") -> list[bytes]:
        """Texts of the whole log, without stamps."""
        data, offset = b"", 0
        while True:
            chunk = self.driver.read_log(ref, replica, offset, 2**22)
            data += chunk.data
            if chunk.end or chunk.next_offset == offset:
                return [line.split(b" ", 3)[3] for line in data.split(b"\n")[:-1]]
            offset = chunk.next_offset

    def ctl(self, ref: AttemptRef) -> Path:
        return self.driver.data_dir / "runs" / ref.workload / str(ref.attempt) / "ctl"

    def claim(self, ref: AttemptRef, replica: str = "worker-0") -> dict[str, Any]:
        claim: dict[str, Any] = json.loads((self.ctl(ref) / "claims" / replica).read_text())
        return claim

    def close(self) -> None:
        """End everything; fail when a process of any attempt outlives its end."""
        for ref in self.refs:
            self.driver.delete(replace(ref, grace_seconds=0))
        left = []
        for ref in self.refs:
            try:
                wait_for(lambda ref=ref: not processes_of(ref), seconds=20)  # type: ignore[misc]
            except AssertionError:
                left += processes_of(ref)
                for pid in left:
                    os.kill(pid, signal.SIGKILL)
        assert not left, f"processes {left} outlived their workload"


def processes_of(ref: AttemptRef) -> list[int]:
    """Pids of living processes that carry the workload's id in environment or command line."""
    mark = ref.workload.encode()
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            text = (folder / "environ").read_bytes() + (folder / "cmdline").read_bytes()
            state = (folder / "stat").read_bytes().rsplit(b")", 1)[1].split()[0]
        except OSError:
            continue
        if mark in text and state not in (b"Z", b"X"):
            found.append(int(folder.name))
    return found
