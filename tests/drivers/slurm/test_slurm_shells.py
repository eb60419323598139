"""Terminals in jobs of two components and under a launcher, each by commands here and by SSH."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gangline.drivers import addresses
from gangline.drivers.addresses import AllowedAddresses
from gangline.drivers.base import AttemptRef, NotYet, ObservedState, Submission
from gangline.drivers.shells import CLOSED, REPLICA_ENDED, STDOUT, Ended, Shell, Size
from gangline.drivers.slurm.commands import Programs
from gangline.drivers.slurm.driver import Options, SlurmDriver
from gangline.drivers.slurm.ssh import SshCommands
from gangline.spec.frameworks import WORKERS_AND_MASTER
from gangline.spec.typed import typed
from gangline.spec.workload import WAITING, ReplicaSpec, WorkerSpec
from tests.beds.slurm.lab import Lab
from tests.drivers.conformance_shells import entered, said
from tests.drivers.slurm.cases import Case
from tests.support.ssh_server import SshServer
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.needs_slurm, pytest.mark.thorough]
SMALL = {"compute.cpuMemoryRequest": "100M"}


@pytest.fixture
def case(slurm_lab: Lab, tmp_path: Path) -> Iterator[Case]:
    made = Case(slurm_lab, tmp_path)
    yield made
    made.close()


@pytest.fixture
def by_ssh(case: Case, ssh_server: SshServer) -> Iterator[SlurmDriver]:
    reach = AllowedAddresses(addresses.networks("127.0.0.0/8"))
    commands = SshCommands(ssh_server.access, reach)
    programs = Programs(commands, config=str(case.lab.config))
    yield SlurmDriver(programs, Options(case.data_dir, str(case.runs)))
    commands.close()


def session(
    case: Case, framework: str, driver: SlurmDriver | None = None, **more: Any
) -> AttemptRef:
    """A session with two workers and a master that asks for more, once it runs."""
    driver = driver or case.driver
    values: dict[str, Any] = {"command": WAITING, **SMALL, **more}
    submission = Submission(
        "gang", "vision", framework, WORKERS_AND_MASTER, 2, typed(WorkerSpec, values),
        typed(ReplicaSpec, {**values, "compute.cpuCoreRequest": 2}),
    )  # fmt: skip
    rendered = json.loads(json.dumps(driver.render(submission)))
    ref = replace(case.ref(), submission=submission, rendered=rendered)
    case.made[-1] = ref
    assert isinstance(driver.create(ref), NotYet)
    assert isinstance(driver.commit(ref), NotYet)
    seen = case.until(ref, ObservedState.RUNNING)
    assert len(seen.replicas) == 3
    return ref


def told(driver: SlurmDriver, ref: AttemptRef, replica: str, text: str) -> str:
    """What a shell line prints there."""
    out, end = said(entered(driver, ref, "sh", "-c", text, replica=replica))
    assert end == Ended(0)
    return out[STDOUT].decode().strip()


def test_each_part_of_a_heterogeneous_job_is_entered_at_its_own_node(case: Case) -> None:
    ref = session(case, "PyTorch")
    names = ["master-0", "worker-0", "worker-1"]
    nodes = [replica.node for replica in case.driver.observe(ref).replicas]
    assert len(set(nodes)) == 3
    where = "echo $GANGLINE_REPLICA $SLURMD_NODENAME $RANK"
    wanted = [f"{n} {node} {r}" for r, (n, node) in enumerate(zip(names, nodes, strict=True))]
    assert [told(case.driver, ref, name, where) for name in names] == wanted


@pytest.mark.needs_mpi
def test_the_ranks_of_a_launcher_are_entered_side_by_side(case: Case) -> None:
    """It sleeps: what a person starts in it are the ranks, at the nodes of the workers.

    There they find what it has: its variables, its folder, and the place of their own.
    """
    ref = session(case, "MPI", environmentVariables=[{"name": "MINE", "value": "a 'b'"}])
    here = 'echo "$MINE|$PWD|$GANGLINE_NUM_WORKERS|$GANGLINE_REPLICA|$SLURM_NODEID"'
    found = [told(case.driver, ref, name, here).split("|") for name in ("master-0", "worker-1")]
    assert found[0][:3] == found[1][:3] == ["a 'b'", str(case.folder(ref) / "master-0"), "2"]
    assert [names[3] for names in found] == ["master-0", "worker-1"]
    shells = [entered(case.driver, ref, tty=True, replica=f"worker-{n}") for n in (0, 1)]
    for number, shell in enumerate(shells):
        shell.write(f"echo $SLURMD_NODENAME is {number}$((40 + 2))\r".encode())
    seen = [_until(shell, b"is %d42" % number) for number, shell in enumerate(shells)]
    nodes = [text.split(b" is ")[-2].split()[-1] for text in seen]
    assert len(set(nodes)) == 2
    ranks = told(case.driver, ref, "master-0", "mpirun sh -c 'echo rank $OMPI_COMM_WORLD_RANK'")
    assert sorted(line for line in ranks.splitlines() if "rank" in line) != []
    for shell in shells:
        shell.close()
        assert said(shell)[1] == Ended(None, CLOSED)


@pytest.mark.needs_sshd
def test_a_login_node_by_ssh_lets_people_in(case: Case, by_ssh: SlurmDriver) -> None:
    ref = session(case, "PyTorch", by_ssh)
    shell = entered(by_ssh, ref, tty=True, replica="worker-1")
    shell.write(b"stty size; echo $GANGLINE_REPLICA-$((40 + 2))\r")
    out, _ = said(shell, lambda text: b"worker-1-42" in text)
    assert b"33 91" in out[STDOUT]
    shell.resize(Size(120, 40))
    wait_for(lambda: b"40 120" in _asked(shell), seconds=20, what="the new size")
    # One process says it and sleeps: bash loses a key between its own fork and exec.
    shell.write(b"sh -c 'echo $((40 + 2))-begun; exec sleep 600'\r")
    said(shell, lambda text: b"42-begun" in text)
    shell.write(b"\x03echo $((50 + 5))-after\r")
    said(shell, lambda text: b"55-after" in text)
    assert told(by_ssh, ref, "master-0", "echo $RANK") == "0"
    by_ssh.suspend(ref)
    assert said(shell)[1] == Ended(None, REPLICA_ENDED)


def _asked(shell: Shell) -> bytes:
    shell.write(b"stty size; echo $((1 + 1))-said\r")
    return _until(shell, b"2-said")


def _until(shell: Shell, wanted: bytes) -> bytes:
    """All that it shows until ``wanted`` does."""
    out, _ = said(shell, lambda text: wanted in text)
    return out[STDOUT]
