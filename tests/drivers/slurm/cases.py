"""A driver on a real Slurm, with what tests of faults do to it."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gangline.drivers.base import (
    AttemptRef,
    NotYet,
    Observation,
    ObservedState,
    Submission,
)
from gangline.drivers.slurm import looks
from gangline.drivers.slurm.commands import LocalCommands, Programs
from gangline.drivers.slurm.driver import Options, SlurmDriver
from gangline.spec.typed import typed
from gangline.spec.workload import WorkerSpec
from tests.beds.slurm.lab import Lab
from tests.support.waiting import wait_for


class Case:
    """A driver on a lab, and the attempts that a test made with it."""

    def __init__(self, lab: Lab, folder: Path, runs: Path | None = None) -> None:
        self.lab, self.install = lab, f"install-{secrets.token_hex(4)}"
        self.data_dir, self.runs = folder, runs or lab.folder / "runs" / self.install
        self.driver = self.driver_with()
        self.made: list[AttemptRef] = []

    def driver_with(self, programs: str = "") -> SlurmDriver:
        """``programs``: a folder whose programs go before Slurm's own."""
        found = Programs(LocalCommands(), config=str(self.lab.config), folder=programs)
        return SlurmDriver(found, Options(self.data_dir, str(self.runs)))

    def ref(self, command: str = "sleep 1000", workers: int = 1, **values: object) -> AttemptRef:
        worker = {"command": command, "compute.cpuMemoryRequest": "100M", **values}
        submission = Submission(
            "gang", "vision", "PyTorch", "workersOnly", workers, typed(WorkerSpec, worker), None
        )
        rendered = json.loads(json.dumps(self.driver.render(submission)))
        name = f"{secrets.token_hex(4)}-0000-4000-8000-{secrets.token_hex(6)}"
        ref = AttemptRef(
            self.install, name, 1, "gang", submission=submission, rendered=rendered, grace_seconds=1
        )
        self.made.append(ref)
        return ref

    def started(
        self,
        command: str = "sleep 1000",
        *,
        path: str = "",
        secrets: Mapping[str, Mapping[str, str]] | None = None,
        also: Mapping[str, Any] | None = None,
        **values: object,
    ) -> AttemptRef:
        """``path``: a folder whose programs go before those of the nodes. ``also``: more values."""
        ref = self.ref(command, **values, **(also or {}))  # type: ignore[arg-type]
        if path:
            ref.rendered["identifiers"] = {"PATH": f"{path}:/usr/bin:/bin"}
        ref = replace(ref, secrets=secrets or {})
        assert isinstance(self.driver.create(ref), NotYet)
        assert isinstance(self.driver.commit(ref), NotYet)
        return ref

    def over(self, ref: AttemptRef) -> Observation:
        return self.until(ref, ObservedState.SUCCEEDED, ObservedState.FAILED)

    def printed(self, ref: AttemptRef, replica: str = "worker-0") -> str:
        return (self.folder(ref) / "logs" / f"{replica}.out").read_text()

    def until(self, ref: AttemptRef, *states: ObservedState) -> Observation:
        def look() -> Observation | None:
            seen = self.driver.observe(ref)
            return seen if seen.state in states else None

        found = wait_for(look, seconds=40, every=0.2, what=f"{states}")
        assert found is not None
        return found

    def folder(self, ref: AttemptRef) -> Path:
        return self.runs / self.install / ref.workload / "1"

    def log(self, ref: AttemptRef) -> str:
        """What stands in the file from which errors of the first replica are fetched."""
        return (self.folder(ref) / "logs" / "worker-0.err").read_text()

    def number(self, ref: AttemptRef) -> str:
        return self.driver.observe(ref).ext_uid.partition("@")[0]

    def states(self, ref: AttemptRef | None = None) -> list[str]:
        """Of every job of this installation, or of one attempt, as Slurm has them."""
        rows = self.lab.run("squeue", "-h", "-t", "all", "-o", "%T %j %k").splitlines()
        wanted = f" {looks.job_name(ref)} " if ref else f":{self.install}:"
        return sorted(row.split()[0] for row in rows if wanted in row)

    def close(self) -> None:
        for ref in self.made:
            self.driver.delete(replace(ref, grace_seconds=0))
