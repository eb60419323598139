"""Where one attempt lives on disk: ``<workload>/<attempt>/`` below ``runs`` and ``logs``."""

import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gangline.spec.frameworks import ROLE_NAMES

from .shim import files, gang_end

_WORKLOAD = re.compile(r"[0-9A-Za-z](?:[-0-9A-Za-z]{0,62}[0-9A-Za-z])?")
_REPLICA = re.compile(rf"(?:{'|'.join(ROLE_NAMES)})-(?:0|[1-9][0-9]{{0,4}})")


class BadName(ValueError):
    """A workload or replica that cannot be one of ours, so no path is made of it."""


def replica_name(text: str) -> str:
    """``text`` when it is the name of a replica; BadName when not."""
    if not _REPLICA.fullmatch(text):
        raise BadName(text)
    return text


@dataclass(frozen=True, slots=True)
class RunFolder:
    data_dir: Path
    workload: str
    attempt: int

    def __post_init__(self) -> None:
        if not _WORKLOAD.fullmatch(self.workload) or self.attempt < 0:
            raise BadName(f"{self.workload}/{self.attempt}")

    @property
    def path(self) -> Path:
        return self.data_dir / "runs" / self.workload / str(self.attempt)

    @property
    def ctl(self) -> Path:
        return self.path / "ctl"

    @property
    def logs(self) -> Path:
        return self.data_dir / "logs" / self.workload / str(self.attempt)

    def work(self, replica: str) -> Path:
        """What the command may write to; its working directory when the spec names none."""
        return self.path / replica / "work"

    def prepare(self) -> None:
        make_private(self.data_dir)
        for name in ("claims", "started", "exits", "doors"):
            (self.ctl / name).mkdir(mode=0o700, parents=True, exist_ok=True)

    def plan(self) -> dict[str, Any] | None:
        """None: none was written yet. Raises UnusablePlan."""
        return files.read_plan(str(self.ctl))

    def write_plan(self, plan: dict[str, Any]) -> bool:
        return files.write_once(str(self.ctl / files.PLAN), plan)

    def claimed(self) -> list[str]:
        """Replicas that have a claim, whatever the plan says."""
        try:
            names = sorted(path.name for path in (self.ctl / "claims").iterdir())
        except FileNotFoundError:
            return []
        return [name for name in names if _REPLICA.fullmatch(name)]

    def claim(self, replica: str) -> dict[str, Any] | None:
        return files.read_json(str(self.ctl / "claims" / replica))

    def started(self, replica: str) -> dict[str, Any] | None:
        return files.read_json(str(self.ctl / "started" / replica))

    def exit(self, replica: str) -> dict[str, Any] | None:
        return files.read_json(str(self.ctl / "exits" / replica))

    def end(self) -> dict[str, Any] | None:
        return gang_end.read(str(self.ctl))

    @property
    def is_cancelled(self) -> bool:
        return (self.ctl / files.CANCELLED).exists()

    def cancel(self) -> None:
        """From now on no shim of this attempt starts anything. On disk when it returns."""
        self.prepare()
        files.write_once(str(self.ctl / files.CANCELLED), {"time": time.time()})
        for folder in (self.path, self.path.parent):
            files.sync_folder(str(folder))

    def launched(self) -> dict[str, Any] | None:
        return files.read_json(str(self.ctl / files.LAUNCHED))

    def note_launch(self) -> None:
        """Start the time in which all claims must appear, once the launcher has run."""
        files.write_once(str(self.ctl / files.LAUNCHED), {"time": time.time()})


def make_private(data_dir: Path) -> None:
    """Make the folders that nobody else may enter; what lies below needs no guard of its own."""
    for folder in (data_dir, data_dir / "runs", data_dir / "logs"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def all_runs(data_dir: Path) -> Iterator[RunFolder]:
    """Every attempt that has a folder, oldest names first."""
    for workload in _folders(data_dir / "runs"):
        for attempt in _folders(data_dir / "runs" / workload):
            if attempt.isdigit() and _WORKLOAD.fullmatch(workload):
                yield RunFolder(data_dir, workload, int(attempt))


def _folders(path: Path) -> list[str]:
    try:
        with os.scandir(path) as entries:
            return sorted(e.name for e in entries if e.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return []
