"""What goes wrong with Slurm itself, with its nodes, its users and its disks (R §18, F-36…F-41).

| fault | test |
|---|---|
| F-36 the answer of sbatch is lost | ``test_an_answer_that_comes_too_late``, `test_slurm_faults` |
| F-37 two workers submit at once | ``test_of_two_submissions_at_once_one_runs`` |
| F-38 the number of a job is another's in accounting | `test_slurm_accounting` |
| F-39 the controller is killed after it took a job | ``test_a_controller_that_is_killed`` |
| F-40 a node fails, the job is requeued | ``test_a_node_that_is_lost``, ``…_requeue`` |
| F-41 another host key, a connection lost in the middle | `test_ssh` |
"""

import contextlib
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from gangline.drivers.base import MEMORY_LIMIT, Done, NotYet, ObservedState, Result, Unknown
from gangline.drivers.slurm import effects, observation, states
from gangline.drivers.slurm.driver import SlurmDriver
from tests.beds.slurm.lab import Lab, running
from tests.drivers.slurm.cases import Case
from tests.support.waiting import wait_for

pytestmark = pytest.mark.needs_slurm
LIVE = ("PENDING", "RUNNING", "CONFIGURING", "COMPLETING")
EXTRA = (
    # Commands give up on a controller that is away after a second.
    "MessageTimeout=1",
    "JobAcctGatherType=jobacct_gather/linux",
    "JobAcctGatherFrequency=task=1",
    "JobAcctGatherParams=OverMemoryKill",
    "PreemptType=preempt/partition_prio",
    "PreemptMode=REQUEUE",
    "PartitionName=low Nodes=ALL MaxTime=1-0 State=UP PriorityTier=0",
)


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    """On a Slurm of its own, which these tests stop and stall."""
    with (
        TemporaryDirectory(prefix="slurm-") as name,
        running(Path(name), nodes=3, extra=EXTRA) as lab,
    ):
        yield Case(lab, tmp_path)


@contextlib.contextmanager
def stalled(lab: Lab) -> Iterator[None]:
    """The controller takes connections and answers none, as under a heavy load."""
    pid = lab.pids()["slurmctld"]
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def shim(folder: Path, program: str, before: str, after: str = "") -> str:
    """A folder with a program that does something before, or after, the real one."""
    real = shutil.which(program)
    (folder / "shims").mkdir(exist_ok=True)
    file = folder / "shims" / program
    file.write_text(f'#!/bin/sh\n{before}\n{real} "$@"; code=$?\n{after}\nexit $code\n')
    file.chmod(0o755)
    return str(folder / "shims")


def test_a_controller_that_is_away_is_doubt_and_its_return_is_noticed(case: Case) -> None:
    ref = case.started()
    case.until(ref, ObservedState.RUNNING)
    case.lab.stop_controller()
    seen = case.driver.observe(ref)
    assert seen.state is ObservedState.UNKNOWN
    assert seen.is_cut_off
    assert "does not answer" in seen.reason
    assert isinstance(case.driver.create(case.ref()), Unknown)
    assert isinstance(case.driver.owned_objects(case.install), Unknown)
    assert not case.driver.probe().reachable
    case.lab.start_controller()
    assert case.until(ref, ObservedState.RUNNING).ext_uid
    case.driver.suspend(ref)
    case.until(ref, ObservedState.SUSPENDED)


def test_a_controller_that_is_killed_knows_its_job_again(case: Case) -> None:
    """Right after it took the job, and while the job runs."""
    ref = case.ref()
    assert isinstance(case.driver.create(ref), NotYet)
    uid = case.driver.observe(ref).ext_uid
    for goes_on in (case.driver.create, case.driver.commit):
        os.kill(case.lab.pids()["slurmctld"], signal.SIGKILL)
        wait_for(lambda: "slurmctld" not in case.lab.pids())
        case.lab.start_controller()
        assert isinstance(goes_on(ref), NotYet)
    assert case.until(ref, ObservedState.RUNNING).ext_uid == uid
    assert case.states() == ["RUNNING"]


def impatient(driver: SlurmDriver) -> SlurmDriver:
    """The same, which waits for no call any longer than half a second."""
    run = driver.programs.commands.run
    driver.programs.commands.run = lambda program, seconds=0.0: run(program, 0.5)  # type: ignore[method-assign]
    return driver


def test_a_slow_controller_costs_no_more_than_one_call(case: Case) -> None:
    ref, hasty = case.started(), impatient(case.driver_with())
    with stalled(case.lab):
        seen = hasty.observe(ref)
        assert (seen.state, seen.is_cut_off) == (ObservedState.UNKNOWN, True)
        for act in (hasty.create, hasty.suspend, hasty.delete):
            assert isinstance(act(ref), Unknown), act
    case.until(ref, ObservedState.RUNNING)
    assert case.states() == ["RUNNING"]


def test_an_answer_that_comes_too_late_makes_no_second_job(case: Case, tmp_path: Path) -> None:
    """The client is killed with its call; the controller reads that call later, and obeys."""
    ref, pid = case.ref(), case.lab.pids()["slurmctld"]
    hasty = impatient(case.driver_with(shim(tmp_path, "sbatch", f"kill -STOP {pid}")))
    try:
        assert isinstance(hasty.create(ref), Unknown)
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_for(lambda: case.states() == ["PENDING"], what="the late job")
    assert isinstance(case.driver.create(ref), NotYet)
    assert case.states() == ["PENDING"]
    case.driver.commit(ref)
    case.until(ref, ObservedState.RUNNING)


def test_of_two_submissions_at_once_one_runs(case: Case, tmp_path: Path) -> None:
    """Both have looked before either submits, as without a lease."""
    ref, answers = case.ref(), list[Result]()
    meeting = tmp_path / "meeting"
    meeting.mkdir()
    wait = (
        f'touch {meeting}/$$; n=0; while [ "$(ls {meeting} | wc -l)" -lt 2 ] && [ $n -lt 500 ];'
        " do sleep 0.02; n=$((n + 1)); done"
    )
    eager = case.driver_with(shim(tmp_path, "sbatch", wait))
    threads = [threading.Thread(target=lambda: answers.append(eager.create(ref))) for _ in "12"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [NotYet(), NotYet()]
    assert case.states() == ["PENDING", "PENDING"], "the control: there are two, and both are held"
    recorded = replace(ref, ext_uid=case.driver.observe(ref).ext_uid)
    assert isinstance(case.driver.commit(recorded), NotYet)
    assert case.until(recorded, ObservedState.RUNNING).ext_uid == recorded.ext_uid
    assert case.states() == ["CANCELLED", "RUNNING"]


def test_a_node_that_is_lost_is_no_fault_of_the_job(case: Case) -> None:
    ref = case.started()
    seen = case.until(ref, ObservedState.RUNNING)
    case.lab.run(
        "scontrol", "update", f"nodename={seen.replicas[0].node}", "state=down", "reason=x"
    )
    seen = case.until(ref, ObservedState.FAILED)
    assert seen.is_preempted
    assert seen.reason == "A node of the job failed."


def test_a_job_that_others_requeue_runs_no_second_time(case: Case) -> None:
    """What is tried again is an attempt of its own, so that nothing runs twice."""
    ref = case.started("/bin/sh -c 'echo once; exec sleep 1000'")
    case.until(ref, ObservedState.RUNNING)
    number = case.number(ref)
    case.lab.run("scontrol", "update", f"jobid={number}", "requeue=1")
    case.lab.run("scontrol", "requeue", number)
    seen = case.until(ref, ObservedState.FAILED)
    assert (seen.reason, seen.is_preempted) == (observation.REQUEUED, True)
    wait_for(lambda: not set(case.states()) & set(LIVE), seconds=30, what="the end of it")
    assert case.driver.observe(ref).reason == observation.REQUEUED
    assert (case.folder(ref) / "logs" / "worker-0.out").read_text() == "once\n"


def test_a_job_that_gives_way_to_others_is_no_fault_of_its_own(case: Case) -> None:
    ref = case.ref(workers=3)
    ref.rendered["parts"][0]["asks"] |= {"partitions": ["low"], "cpus": 2}
    case.driver.create(ref)
    case.driver.commit(ref)
    case.until(ref, ObservedState.RUNNING)
    case.lab.run("sbatch", "-p", "main", "-N3", "-c2", "-o", "/dev/null", "--wrap", "sleep 1000")
    seen = case.until(ref, ObservedState.FAILED)
    assert (seen.is_preempted, seen.reason) == (
        True,
        "The job was preempted by one of a higher priority.",
    )


def test_a_job_that_takes_more_memory_than_it_asked_for_says_so(case: Case) -> None:
    """Where Slurm itself watches over it, without cgroups."""
    program = "held = bytearray(400 << 20); import time; time.sleep(60)"
    seen = case.over(case.started(f"/usr/bin/python3 -c '{program}'"))
    assert seen.reason == states.ENDED[states.OUT_OF_MEMORY]
    assert [(r.name, r.reason_code) for r in seen.replicas] == [("worker-0", MEMORY_LIMIT)]


def test_a_full_disk_leaves_no_half_of_a_job(case: Case, tmp_path: Path) -> None:
    """It is said, nothing is submitted, and the same attempt is made once there is room."""
    with small_disk(tmp_path / "disk") as disk:
        full = Case(case.lab, tmp_path, runs=disk)
        ref = full.ref()
        filled = fill(disk)
        answer = full.driver.create(ref)
        assert answer == Unknown(effects.FULL)
        assert full.states() == []
        assert full.driver.observe(ref).state is ObservedState.ABSENT
        assert "No space left" in full.driver.probe().reason
        filled.unlink()
        assert isinstance(full.driver.create(ref), NotYet)
        # Now the job's own records find no room.
        filled = fill(disk)
        full.driver.commit(ref)
        assert full.until(ref, ObservedState.FAILED).reason == observation.NO_RECORD
        full.driver.delete(ref)
        filled.unlink()
        assert full.driver.delete(ref) == Done()


@pytest.mark.thorough  # `test_local_full_disk.py` fills a disk too
def test_a_full_disk_of_gangline_is_said_until_there_is_room(case: Case, tmp_path: Path) -> None:
    """The job goes on, and what it printed meanwhile is not lost."""
    told: list[str] = []
    with small_disk(tmp_path / "disk") as disk:
        full = Case(case.lab, disk)
        ref = full.started("/bin/sh -c 'echo one; exec sleep 60'")
        filled = fill(disk)
        driver = SlurmDriver(full.driver.programs, replace(full.driver.options, every=0.2))
        batches = driver.watch(full.install, "", told.append)

        def until(*last: str) -> None:
            wait_for(lambda: (next(batches), told[-1:] == [*last])[1], seconds=40)

        until("Logs cannot be kept on Gangline’s own disk: No space left on device.")
        filled.unlink()
        until("")
        assert b"one" in driver.read_log(ref, "worker-0", 0, 1000).data
        batches.close()  # type: ignore[attr-defined]
        full.close()


def fill(disk: Path) -> Path:
    file = disk / "filler"
    with file.open("wb", buffering=0) as writing, contextlib.suppress(OSError):
        while writing.write(bytes(4096)):
            continue
    return file


DISK = 256 * 1024


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of its own, which is soon full."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "gangline", str(folder)]
    subprocess.run(mount, check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
