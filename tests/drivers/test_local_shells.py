"""Commands beside a running replica of this machine: in its sandbox, and no further."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gangline.drivers.base import AttemptRef, ReplicaState
from gangline.drivers.local.driver import LocalDriver, Options
from gangline.drivers.local.shim import tree
from gangline.drivers.shells import REPLICA_ENDED, STDOUT, Ended, Shell
from gangline.spec.workload import WAITING
from tests.drivers.conformance_shells import entered, said
from tests.support.local_cluster import LocalCluster
from tests.support.waiting import wait_for

PLAIN = pytest.param(False, id="plain")
SANDBOXED = pytest.param(True, marks=pytest.mark.needs_bwrap, id="sandboxed")
BOTH = pytest.mark.parametrize("cluster", [PLAIN, SANDBOXED], indirect=True)
SANDBOX = pytest.mark.parametrize("cluster", [SANDBOXED], indirect=True)


@pytest.fixture
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LocalCluster]:
    made = LocalCluster(
        LocalDriver(tmp_path / "data", "host-a", Options(use_sandbox=request.param))
    )
    yield made
    made.close()


def running(cluster: LocalCluster, **values: Any) -> AttemptRef:
    ref = cluster.start("sh -c 'echo up; exec sleep 600'", **values)
    wait_for(lambda: cluster.log(ref) == [b"up"])
    return ref


@BOTH
def test_it_has_the_environment_of_the_replica_and_its_folder(cluster: LocalCluster) -> None:
    ref = running(cluster, environmentVariables=[{"name": "COLOUR", "value": "blue"}])
    out, end = said(entered(cluster.driver, ref, "sh", "-c", "echo $COLOUR; pwd"))
    assert out[STDOUT].startswith(b"blue\n/")
    assert out[STDOUT].endswith(b"/work\n")
    assert end == Ended(0)


@SANDBOX
def test_it_is_in_the_sandbox_of_the_replica_and_has_no_more_rights(cluster: LocalCluster) -> None:
    ref = running(cluster)
    first = cluster.claim(ref)["pid"]
    command = tree.descendants(first)[-1].pid
    names = ("mnt", "pid", "user", "net", "ipc", "uts", "cgroup")
    text = "; ".join(
        [
            *(f"readlink /proc/self/ns/{name}" for name in names),
            "grep -E '^(Cap|NoNewPrivs|Uid|Gid)' /proc/self/status",
            "echo $(ls /proc/self/fd)",
            f"ls {cluster.driver.data_dir}/runs",
            "cat /proc/1/comm",
        ]
    )
    out, end = said(entered(cluster.driver, ref, "sh", "-c", text))
    told = out[STDOUT].decode().splitlines()
    assert told[:7] == [str(Path(f"/proc/{command}/ns/{name}").readlink()) for name in names]
    status = Path(f"/proc/{command}/status").read_text().splitlines()
    wanted = [line for line in status if line.startswith(("Cap", "NoNewPrivs", "Uid", "Gid"))]
    assert told[7 : 7 + len(wanted)] == wanted
    assert told[7 + len(wanted)] == "0 1 2 3"  # the last one is of ls itself
    assert [line for line in told if line.endswith(ref.workload)] == [ref.workload]
    assert told[-1] == "bwrap"
    assert end == Ended(0)


@BOTH
def test_the_end_of_the_dashboard_ends_it(cluster: LocalCluster) -> None:
    """Its descriptors are closed by the kernel, whatever killed it."""
    ref = running(cluster)
    before = len(tree.descendants(cluster.claim(ref)["pid"]))
    child = os.fork()
    if child == 0:
        entered(cluster.driver, ref, "sleep", "602")
        os._exit(0)
    os.waitpid(child, 0)
    wait_for(lambda: len(tree.descendants(cluster.claim(ref)["pid"])) == before)


@pytest.mark.needs_mpi
@BOTH
def test_people_work_in_all_ranks_of_a_session_side_by_side(cluster: LocalCluster) -> None:
    """Its launcher sleeps, and starts the ranks when a person says so."""
    said_of_master = {"command": WAITING, "image": "local://system"}
    ref = cluster.start(WAITING, framework="MPI", replicas=2, master=said_of_master)
    names = ("master-0", "worker-0", "worker-1")
    states = [ReplicaState.RUNNING] * len(names)
    wait_for(lambda: [r.state for r in cluster.driver.observe(ref).replicas] == states)
    shells = [entered(cluster.driver, ref, tty=True, replica=name) for name in names]
    for number, shell in enumerate(shells):
        shell.write(f"echo {number}$((40 + 2))\r".encode())
    for number, shell in enumerate(shells):
        _until(shell, b"%d42" % number)
    shells[0].write(b"mpirun sh -c 'echo of $OMPI_COMM_WORLD_SIZE: $OMPI_COMM_WORLD_RANK.'\r")
    said(shells[0], lambda text: b"of 2: 0." in text and b"of 2: 1." in text)
    cluster.driver.suspend(ref)
    assert [said(shell)[1] for shell in shells] == [Ended(None, REPLICA_ENDED)] * len(shells)


def _until(shell: Shell, wanted: bytes) -> None:
    said(shell, lambda text: wanted in text)
