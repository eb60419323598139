"""Workloads on a cluster that fails as told, and worker processes that may be killed."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, transaction

from gangline.accounts.models import User
from gangline.accounts.services import create_user
from gangline.clusters import connections, contact
from gangline.clusters.models import Cluster
from gangline.clusters.services import refresh
from gangline.db.clock import db_now
from gangline.drivers.kind import Settings
from gangline.organization.models import Project
from gangline.resources.services import make
from gangline.scopes.services import found
from tests.drivers.faulty import FaultyCluster, FaultyDriver
from tests.support.kinds import declare
from tests.support.world import World
from workloads import refs
from workloads.models import Attempt, Workload
from workloads.services import intents, observe
from workloads.services.contact import wake_waiting

ROOT = Path(__file__).resolve().parents[2]
KIND = "faulty"
See = Callable[..., observe.Stored]
"""Stores an observation of a workload: of which state, how long ``ago``, with which values."""


class Faulty(Settings):
    """A faulty cluster's file."""

    path: str = ""


def register_faulty() -> None:
    """Make clusters of kind ``faulty`` known to this process; their file is in their row."""
    declare(KIND, lambda connection: FaultyDriver(Path(connection.path)), Faulty)


@dataclass
class Engine:
    """One faulty cluster, one project on it, and one person."""

    truth: FaultyCluster
    cluster: Cluster
    project: Project
    owner: User
    made: list[Workload] = field(default_factory=list)

    def workload(
        self, name: str = "digits", *, command: str = "behave sleep", workers: int = 1, **more: Any
    ) -> Workload:
        """A workload as a submission leaves it."""
        workload = new_workload(
            name=name,
            project=self.project,
            owner=self.owner,
            values={"command": command, "image": "local://system"},
            workers=workers,
            **more,
        )
        self.made.append(workload)
        return workload

    def heard(self) -> None:
        """What the watch does when the cluster answers again: its rest is over."""
        self.cluster.refresh_from_db()
        contact.heard(self.cluster)
        wake_waiting(self.cluster.pk)


def make_engine(path: Path, **cluster: Any) -> Engine:
    """An engine whose cluster lies in the file ``path``."""
    register_faulty()
    truth = FaultyCluster(path, **cluster)
    found(name="Test")
    row = make("cluster", actor=None, name="faulty-one", kind=KIND)
    row.config = {"path": str(path)}
    row.save(update_fields=["config"])
    refresh(row)
    department = make("department", cluster=row, name="research")
    project = make("project", department=department, name="vision")
    return Engine(truth, row, project, create_user(username="researcher"))


def new_workload(
    *,
    name: str,
    project: Project,
    owner: User,
    values: Mapping[str, Any],
    workers: int = 1,
    **columns: Any,
) -> Workload:
    """A workload and its first attempt, committed as `submission` commits them."""
    asked = {"compute.cpuCoreRequest": 0.5, "compute.cpuMemoryRequest": "64M"} | dict(values)
    effective = {
        f"worker.{path}": {"value": v, "source": {"kind": "you"}} for path, v in asked.items()
    }
    cluster = project.cluster
    with transaction.atomic():
        now = db_now()
        fixed = {
            "framework": "PyTorch",
            "configuration": "workersOnly",
            "master": "none",
            "num_workers": workers,
            "pods_total": workers,
            "created_at": now,
            "due_at": now,
            "desired_by": owner.username,
        }
        workload = Workload(
            name=name, project=project, cluster=cluster, owner=owner, **(fixed | columns)
        )
        workload.save(force_insert=True)
        submission = refs.submission_of(workload, {p: v["value"] for p, v in effective.items()})
        attempt = Attempt.objects.create(
            workload=workload,
            no=1,
            effective=effective,
            rendered=connections.driver_for(cluster).render(submission),
            created_at=now,
        )
        intents.begin(workload, attempt, now=now)
    return workload


def current_attempt(workload: Workload) -> Attempt:
    workload.refresh_from_db()
    return Attempt.objects.get(workload=workload, no=workload.attempt_no)


@contextmanager
def worker(
    task: str,
    *arguments: object,
    fail_points: str = "",
    shift: float = 0.0,
    environment: Mapping[str, str] | None = None,
) -> Iterator[subprocess.Popen[str]]:
    """A worker in a process of its own; see `tests.support.worker_process`."""
    connection.close()
    complete = {
        **os.environ,
        "PYTHONPATH": f"{ROOT / 'platform'}{os.pathsep}{ROOT}",
        "DJANGO_SETTINGS_MODULE": "gangline.config.settings",
        "GANGLINE_DEBUG": "1",
        "GANGLINE_FAIL_POINTS": fail_points,
        **(environment or {}),
    }
    database = str(settings.DATABASES["default"]["NAME"])
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tests.support.worker_process",
            database,
            str(shift),
            task,
            *map(str, arguments),
        ],
        env=complete,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def answer(process: subprocess.Popen[str], *, seconds: float = 30) -> dict[str, Any]:
    """The one line of JSON that a finished worker printed."""
    printed, _ = process.communicate(timeout=seconds)
    found: dict[str, Any] = json.loads(printed.strip().splitlines()[-1])
    return found


def is_stopped(process: subprocess.Popen[str]) -> bool:
    """Whether the process is paused by SIGSTOP."""
    stat = Path(f"/proc/{process.pid}/stat").read_text()
    return stat.rsplit(")", 1)[1].split()[0] == "T"


def digits(world: World, *, workers: int) -> Workload:
    """A workload of a researcher of the world's project; nothing of it runs."""
    return new_workload(
        name="digits",
        project=world.vision,
        owner=world.people["researcher-vision"],
        values={"image": "local://examples", "command": "python train.py"},
        workers=workers,
    )
