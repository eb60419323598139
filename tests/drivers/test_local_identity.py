"""Runs outlive the dashboard, happen once, and are never mistaken for another process."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from gangline.drivers.base import (
    AttemptRef,
    Done,
    NotYet,
    ObservedState,
    ReplicaState,
    Result,
)
from gangline.drivers.local import driver as driver_module
from gangline.drivers.local.driver import LAUNCHER, LocalDriver, Options
from gangline.drivers.local.run_folder import RunFolder
from gangline.drivers.local.shim import tree
from tests.support.local_cluster import LocalCluster, processes_of
from tests.support.waiting import wait_for


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LocalCluster]:
    cluster = LocalCluster(LocalDriver(tmp_path, "host-a", Options(use_sandbox=False)))
    yield cluster
    cluster.close()


CREATOR = """
import json, os, pathlib, subprocess, sys
sys.path[:0] = json.loads(sys.argv[1])
from gangline.drivers.base import AttemptRef, ReplicaPlacement
from gangline.drivers.local.driver import LocalDriver, Options
told = json.loads(sys.argv[2])
slot = ReplicaPlacement("worker", 0, 0, 0.5, 1000, (), (16300,))
ref = AttemptRef("install-a", told["workload"], 1, "gang", rendered=told["rendered"],
                 placement=(slot,), grace_seconds=5)
LocalDriver(pathlib.Path(told["data"]), "host-a", Options(use_sandbox=False)).create(ref)
subprocess.Popen(["sleep", "1000"])  # a child that tree and session killers must reach
print("created", flush=True)
sys.stdin.read()
"""


def test_a_run_outlives_the_kill_of_everything_that_created_it(cluster: LocalCluster) -> None:
    ref = cluster.ref("sh -c 'for i in 1 2 3 4 5 6; do echo tick $i; sleep 0.3; done; exit 7'")
    told = {
        "workload": ref.workload,
        "rendered": ref.rendered,
        "data": str(cluster.driver.data_dir),
    }
    creator = subprocess.Popen(
        [sys.executable, "-c", CREATOR, json.dumps(sys.path), json.dumps(told)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert creator.stdout is not None
    assert creator.stdin is not None
    assert creator.stdout.readline() == b"created\n"
    before = cluster.running(ref).replicas[0].pod_uid
    below = tree.descendants(creator.pid)
    assert len(below) == 1, "the shim is not among the creator's descendants, its own child is"
    for process in below:
        tree.send(process, signal.SIGKILL)
    os.killpg(creator.pid, signal.SIGKILL)
    creator.wait()
    creator.stdout.close()
    creator.stdin.close()
    seen = cluster.driver.observe(ref)
    assert seen.state is ObservedState.RUNNING
    assert seen.replicas[0].pod_uid == before
    length = len(cluster.log(ref))
    wait_for(lambda: len(cluster.log(ref)) > length)
    seen = cluster.over(ref)
    assert (seen.state, seen.replicas[0].exit_code) == (ObservedState.FAILED, 7)
    assert cluster.log(ref) == [b"tick %d" % i for i in range(1, 7)]


def test_the_parent_of_a_shim_is_not_the_dashboard(cluster: LocalCluster) -> None:
    ref = cluster.start("sleep 1000")
    cluster.running(ref)
    shim = cluster.claim(ref)["pid"]
    assert shim not in [process.pid for process in tree.descendants(os.getpid())]
    assert os.getsid(shim) != os.getsid(0)


def test_after_a_restart_of_the_machine_the_run_has_failed(cluster: LocalCluster) -> None:
    ref = cluster.start("sleep 1000", replicas=2)
    cluster.running(ref)
    rebooted = LocalDriver(
        cluster.driver.data_dir, "host-a", cluster.driver.options, boot_id=lambda: "another-boot"
    )
    seen = rebooted.observe(ref)
    assert (seen.state, seen.reason) == (ObservedState.FAILED, "The machine was restarted.")
    assert {r.state for r in seen.replicas} == {ReplicaState.FAILED}


def test_no_process_is_signalled_for_a_run_of_an_earlier_boot(cluster: LocalCluster) -> None:
    ref = cluster.start("sleep 1000", grace=0)
    cluster.running(ref)
    stranger = adopt_pid(cluster, boot_id="another-boot")
    with stranger:
        other = cluster.refs[-1]
        assert isinstance(cluster.driver.delete(other), Done)
        assert stranger.is_untouched()


def test_a_reused_pid_is_neither_believed_nor_signalled(cluster: LocalCluster) -> None:
    stranger = adopt_pid(cluster, start_time=1)
    with stranger:
        ref = cluster.refs[-1]
        seen = cluster.driver.observe(ref)
        assert seen.state is ObservedState.FAILED
        assert seen.reason == "The process disappeared (killed or out of memory)."
        assert isinstance(cluster.driver.suspend(ref), Done)
        assert isinstance(cluster.driver.delete(ref), Done)
        assert stranger.is_untouched()


def test_a_pid_that_is_really_meant_would_be_ended(cluster: LocalCluster) -> None:
    """The control for the two tests before: with its own start time the process is killed."""
    stranger = adopt_pid(cluster)
    with stranger:
        ref = cluster.refs[-1]
        end = {"cause": "stop", "grace": 0, "replica": "", "reason": "", "time": time.time() - 60}
        (cluster.ctl(ref) / "end").write_text(json.dumps(end))
        cluster.driver.suspend(ref)
        assert stranger.process.wait(10) == -signal.SIGKILL


def test_launched_twice_it_runs_once_and_the_second_exits_75(cluster: LocalCluster) -> None:
    ref = cluster.start("sh -c 'echo once; exec sleep 1000'")
    first = cluster.running(ref)
    line = [sys.executable, "-I", "-S", str(LAUNCHER), str(cluster.ctl(ref).parent), "worker-0"]
    assert subprocess.run(line, timeout=20, check=False).returncode == 75
    assert cluster.running(ref).replicas[0].pod_uid == first.replicas[0].pod_uid
    wait_for(lambda: cluster.log(ref) == [b"once"])


def test_a_shim_that_comes_after_the_delete_exits_75_and_runs_nothing(
    cluster: LocalCluster,
) -> None:
    ref = cluster.start("sh -c 'echo ran'")
    cluster.over(ref)
    for record in ("claims", "exits", "started"):
        (cluster.ctl(ref) / record / "worker-0").unlink()
    length = len(cluster.log(ref))
    cluster.driver.delete(ref)
    line = [sys.executable, "-I", "-S", str(LAUNCHER), str(cluster.ctl(ref).parent), "worker-0"]
    assert subprocess.run(line, timeout=20, check=False).returncode == 75
    assert cluster.driver.observe(ref).state is ObservedState.ABSENT
    assert len(cluster.log(ref)) == length


def test_a_shim_that_vanishes_ends_the_gang_and_is_named(cluster: LocalCluster) -> None:
    ref = cluster.start("sh -c 'sleep 1000 & wait'", replicas=3, grace=1)
    cluster.running(ref)
    os.kill(cluster.claim(ref, "worker-1")["pid"], signal.SIGKILL)
    seen = cluster.over(ref)
    assert seen.state is ObservedState.FAILED
    assert seen.first_failure == "worker-1"
    assert seen.reason == "worker-1: The process disappeared (killed or out of memory)."
    wait_for(lambda: not processes_of(ref), seconds=5)


@pytest.mark.parametrize("cause", ["stop", "failure"])
def test_a_supervisor_that_hangs_is_killed_after_the_grace(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch, cause: str
) -> None:
    """Nobody acts on an attempt that ends: looking at it must be enough."""
    monkeypatch.setattr(driver_module, "STUBBORN", 0.5)
    ref = cluster.start("sleep 1000", replicas=2, grace=1)
    cluster.running(ref)
    os.kill(cluster.claim(ref, "worker-0")["pid"], signal.SIGSTOP)
    if cause == "stop":
        cluster.driver.suspend(ref)
    else:
        started = json.loads((cluster.ctl(ref) / "started/worker-1").read_text())
        os.kill(started["pid"], signal.SIGKILL)
    seen = cluster.over(ref, seconds=15)
    expected = ObservedState.SUSPENDED if cause == "stop" else ObservedState.FAILED
    assert seen.state is expected
    wait_for(lambda: not processes_of(ref), seconds=5)


@pytest.mark.thorough
def test_a_gang_that_never_becomes_whole_ends_with_the_count(cluster: LocalCluster) -> None:
    """Takes ten seconds: that is how long all processes have to start."""
    ref = cluster.ref("sleep 1000", replicas=3)
    with created_partly(cluster, ref, ["worker-0", "worker-1"]):
        assert cluster.driver.observe(ref).state is ObservedState.STARTING
        seen = cluster.over(ref)
    assert (seen.state, seen.reason) == (ObservedState.FAILED, "2 of 3 processes started.")
    assert seen.replicas[2].reason == "Never started."


def test_a_gang_of_which_nothing_starts_fails_as_well(cluster: LocalCluster) -> None:
    ref = cluster.ref("sleep 1000", replicas=2)
    with created_partly(cluster, ref, []):
        assert cluster.driver.observe(ref).incomplete
        launched = cluster.ctl(ref) / "launched"
        launched.write_text(json.dumps({"time": time.time() - 11}))
        seen = cluster.driver.observe(ref)
    assert (seen.state, seen.reason) == (ObservedState.FAILED, "0 of 2 processes started.")


def test_what_is_missing_is_started_by_another_create(cluster: LocalCluster) -> None:
    ref = cluster.ref("sleep 1000", replicas=2)
    with created_partly(cluster, ref, ["worker-0"]):
        wait_for(lambda: cluster.driver.observe(ref).replicas[0].state is ReplicaState.RUNNING)
        seen = cluster.driver.observe(ref)
        assert (seen.state, seen.incomplete) == (ObservedState.STARTING, True)
        first = seen.replicas[0].pod_uid
        cluster.driver.create(ref)
        seen = cluster.running(ref)
        assert not seen.incomplete
        assert seen.replicas[0].pod_uid == first
        cluster.driver.suspend(replace(ref, grace_seconds=0))


@contextmanager
def created_partly(cluster: LocalCluster, ref: AttemptRef, names: list[str]) -> Iterator[None]:
    """As after a launcher that was killed before it had started all replicas."""
    driver = LocalDriver(cluster.driver.data_dir, "host-a", cluster.driver.options)
    shims: list[subprocess.Popen[bytes]] = []

    def launch(folder: RunFolder, late: Mapping[str, Mapping[str, str]]) -> Result:
        line = [sys.executable, "-I", "-S", str(LAUNCHER), str(folder.path)]
        shims.extend(subprocess.Popen([*line, name], start_new_session=True) for name in names)
        folder.note_launch()
        return NotYet()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "_launch", launch)
        driver.create(ref)
    try:
        yield
    finally:
        for shim in shims:
            shim.wait(20)


class adopt_pid:  # noqa: N801 - used as a function
    """A process of ours that a claim of a finished run is made to name."""

    def __init__(self, cluster: LocalCluster, **changes: object) -> None:
        ref = cluster.start("true")
        cluster.over(ref)
        self.process = subprocess.Popen(["sleep", "1000"])
        path = cluster.ctl(ref) / "claims/worker-0"
        claim = json.loads(path.read_text())
        claim |= {"pid": self.process.pid, "start_time": tree.start_time(self.process.pid)}
        path.write_text(json.dumps(claim | changes))
        (cluster.ctl(ref) / "exits/worker-0").unlink()

    def __enter__(self) -> "adopt_pid":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def is_untouched(self) -> bool:
        try:
            self.process.wait(0.5)
        except subprocess.TimeoutExpired:
            return True
        return False
