"""How often the watch of a cluster reads what a job has written."""

import json
from collections.abc import Sequence
from pathlib import Path

from gangline.drivers.base import AttemptRef
from gangline.drivers.slurm.commands import LocalCommands, Programs
from gangline.drivers.slurm.driver import Options, SlurmDriver
from gangline.drivers.slurm.looks import Job, Run, Seen
from gangline.drivers.slurm.observation import Attempt
from gangline.drivers.slurm.watcher import Watch

REF = AttemptRef("install-a", "w-1", 1, "gang")
KEY = REF.workload, REF.attempt
RUNNING = Job(7, "RUNNING", "None", 1, "2026-01-01T00:00:00", None, None, REF)
FILES = {
    "plan.json": json.dumps({"replicas": [["worker", 0, 0]]}),
    "start.json": json.dumps({"job": 7, "start": 1.0}),
    "state/worker-0.start": json.dumps({"node": "n1", "start": 1.0}),
}


def looked_at(*, is_read: bool) -> int:
    """How many of six looks bring the logs of a job that runs on and on."""
    brought: list[Attempt] = []

    def look(refs: Sequence[AttemptRef]) -> Seen:
        return Seen(10.0, {KEY: [RUNNING]}, {KEY: Run(FILES)} if refs else {})

    def being_read() -> set[tuple[str, int]]:
        return {KEY} if is_read else set()

    watch = Watch(REF.install, look, brought.extend, every=0.0, being_read=being_read)
    batches = watch.batches()
    for _ in range(6):
        next(batches)
    return len(brought)


def test_the_log_of_a_running_job_comes_quicker_while_somebody_reads_it() -> None:
    assert looked_at(is_read=False) == 1
    assert looked_at(is_read=True) >= 5


def test_who_reads_a_log_is_noted_until_it_has_ended(tmp_path: Path) -> None:
    driver = SlurmDriver(Programs(LocalCommands()), Options(tmp_path, "/nowhere"))
    driver.read_log(REF, "worker-0", 0, 100)
    assert driver.store.being_read() == {KEY}
    other = AttemptRef("install-a", "w-2", 1, "gang")
    driver.store.end_attempt(other.workload, other.attempt)
    driver.read_log(other, "worker-0", 0, 100)
    assert driver.store.being_read() == {KEY}
