"""The faults themselves: each does what its name says, also to a process that dies of it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gangline.drivers.base import (
    AttemptRef,
    Busy,
    Done,
    NotYet,
    ObservedState,
    Refused,
    Result,
    Unknown,
)
from tests.drivers.faults import Fault
from tests.drivers.faulty import FaultyCluster
from tests.drivers.faulty_objects import refusal
from tests.support.waiting import wait_for

pytestmark = pytest.mark.thorough

REF = AttemptRef("install-a", "w-1", 1, "gang", rendered={"command": "behave sleep"})


@pytest.fixture
def cluster(tmp_path: Path) -> FaultyCluster:
    return FaultyCluster(tmp_path / "cluster.db")


def create(cluster: FaultyCluster) -> Result:
    return cluster.driver().create(REF)


def test_without_a_fault_a_create_makes_one_object(cluster: FaultyCluster) -> None:
    assert isinstance(create(cluster), NotYet)
    assert cluster.objects() == 1


def test_two_creates_make_two_objects_unless_the_cluster_is_idempotent(tmp_path: Path) -> None:
    careless = FaultyCluster(tmp_path / "a.db")
    careful = FaultyCluster(tmp_path / "b.db", idempotent=True)
    for cluster in (careless, careful):
        create(cluster)
        create(cluster)
    assert (careless.objects(), careful.objects()) == (2, 1)
    assert len(careless.effects("create")) == 2


@pytest.mark.parametrize(("fault", "objects"), [(Fault.ERROR_BEFORE, 0), (Fault.ERROR_AFTER, 1)])
def test_an_error_leaves_doubt(cluster: FaultyCluster, fault: Fault, objects: int) -> None:
    cluster.plan("create", fault)
    assert isinstance(create(cluster), Unknown)
    assert cluster.objects() == objects
    assert [call.fault for call in cluster.calls("create")] == [fault.name]


def test_a_late_create_lands_by_itself(cluster: FaultyCluster) -> None:
    cluster.plan("create", Fault.LATE, seconds=0.3)
    assert isinstance(create(cluster), Unknown)
    assert cluster.driver().observe(REF).state is ObservedState.ABSENT
    wait_for(lambda: cluster.driver().observe(REF).state is ObservedState.RUNNING)
    assert len(cluster.effects("create")) == 1


def test_a_late_create_lands_although_it_was_deleted(cluster: FaultyCluster) -> None:
    cluster.plan("create", Fault.LATE, seconds=0.2)
    create(cluster)
    assert isinstance(cluster.driver().delete(REF), Done)
    wait_for(lambda: cluster.objects() == 1)


def test_busy_and_refused_are_answers(cluster: FaultyCluster) -> None:
    cluster.plan("create", Fault.BUSY, seconds=7)
    cluster.plan("create", Fault.REFUSED, text="Not on Sundays.")
    assert create(cluster) == Busy(7, "Too many requests.", is_for_all=True)
    assert create(cluster) == Refused("Not on Sundays.", (refusal("Not on Sundays."),))
    assert cluster.objects() == 0
    assert cluster.faults_left() == 0


def test_faults_can_wait_and_be_meant_for_one_workload(cluster: FaultyCluster) -> None:
    cluster.plan("create", Fault.ERROR_BEFORE, workload="w-2")
    cluster.plan("create", Fault.ERROR_BEFORE, workload="w-1", skip=1)
    assert isinstance(create(cluster), NotYet)
    assert isinstance(create(cluster), Unknown)


def test_out_of_reach_nothing_is_known_and_nothing_happens(cluster: FaultyCluster) -> None:
    create(cluster)
    cluster.set_unreachable(True)
    driver = cluster.driver()
    assert driver.observe(REF).state is ObservedState.UNKNOWN
    assert isinstance(driver.delete(REF), Unknown)
    assert not driver.probe().reachable
    cluster.set_unreachable(False)
    assert driver.observe(REF).state is ObservedState.RUNNING


def test_what_is_removed_behind_our_back_is_absent(cluster: FaultyCluster) -> None:
    create(cluster)
    cluster.force("w-1", ObservedState.ABSENT)
    assert cluster.driver().observe(REF).state is ObservedState.ABSENT


@pytest.mark.parametrize(("fault", "objects"), [(Fault.KILL_BEFORE, 0), (Fault.KILL_AFTER, 1)])
def test_the_calling_process_is_killed(cluster: FaultyCluster, fault: Fault, objects: int) -> None:
    cluster.plan("create", fault)
    assert in_other_process(cluster).wait(20) == -signal.SIGKILL
    assert cluster.objects() == objects


def test_a_paused_process_goes_on_later(cluster: FaultyCluster) -> None:
    cluster.plan("create", Fault.STOP_BEFORE)
    child = in_other_process(cluster)
    stat = Path(f"/proc/{child.pid}/stat")
    wait_for(lambda: stat.read_text().rsplit(")", 1)[1].split()[0] == "T", seconds=20)
    assert cluster.objects() == 0
    os.kill(child.pid, signal.SIGCONT)
    assert child.wait(20) == 0
    assert cluster.objects() == 1


def in_other_process(cluster: FaultyCluster) -> "subprocess.Popen[bytes]":
    """A worker of its own that calls ``create``."""
    source = (
        "import json, pathlib, sys; sys.path[:0] = json.loads(sys.argv[2])\n"
        "from gangline.drivers.base import AttemptRef\n"
        "from tests.drivers.faulty import FaultyDriver\n"
        "ref = AttemptRef('install-a', 'w-1', 1, 'gang', rendered={'command': 'behave sleep'})\n"
        "FaultyDriver(pathlib.Path(sys.argv[1])).create(ref)\n"
    )
    return subprocess.Popen([sys.executable, "-c", source, str(cluster.path), json.dumps(sys.path)])
