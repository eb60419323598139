"""Launchers on this machine: the words that start the ranks, and the ranks that they start."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gangline.drivers import horovod
from gangline.drivers.base import AttemptRef, ObservedState, ReplicaState
from gangline.drivers.local.driver import LocalDriver, Options
from tests.support.example_gangs import EXAMPLES, Training, digits_csv
from tests.support.horovod_runtime import horovod_python
from tests.support.local_cluster import LocalCluster
from tests.support.mxnet_runtime import assert_learned, mxnet_python
from tests.support.waiting import wait_for
from workloads.causes import LogLine, find

RANK = Path(__file__).with_name("horovod_rank.py")


@pytest.fixture
def cluster(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[LocalCluster]:
    is_thorough = request.node.get_closest_marker("thorough") is not None
    runtimes = {"horovod": mxnet_python()} if is_thorough else {}
    options = Options(runtimes=runtimes, use_sandbox=False)
    cluster = LocalCluster(LocalDriver(tmp_path / "data", "host-a", options))
    yield cluster
    cluster.close()


def ref(cluster: LocalCluster, launcher: str, command: str, **more: Any) -> AttemptRef:
    said = {"launcher": launcher, **more}
    master = {"command": command, "image": more.get("image", "local://system")}
    return cluster.ref(command, framework="MPI", replicas=2, master=master, values=said)


@pytest.mark.needs_mpi
def test_mpirun_starts_the_command_once_for_each_worker(cluster: LocalCluster) -> None:
    gang = ref(cluster, "mpirun", "sh -c 'echo rank $OMPI_COMM_WORLD_RANK; sleep 1.5'")
    cluster.driver.create(gang)
    states = [ReplicaState.RUNNING] * 3
    wait_for(lambda: [r.state for r in cluster.driver.observe(gang).replicas] == states)
    assert cluster.over(gang).state is ObservedState.SUCCEEDED
    lines = cluster.log(gang, "master-0")
    assert sorted(lines) == [b"[1,0]<stdout>:rank 0", b"[1,1]<stdout>:rank 1"]


@pytest.mark.thorough
def test_ranks_of_horovod_meet_over_gloo(cluster: LocalCluster) -> None:
    """At the server of Horovod itself, from which each learns of all others."""
    gang = ref(cluster, "gloo", f"python {RANK}", image="local://horovod")
    cluster.driver.create(gang)
    seen = cluster.over(gang, seconds=60)
    assert seen.state is ObservedState.SUCCEEDED
    assert [(r.role, r.state) for r in seen.replicas] == [
        ("master", ReplicaState.STOPPED),
        ("worker", ReplicaState.SUCCEEDED),
        ("worker", ReplicaState.SUCCEEDED),
    ]
    for name in ("worker-0", "worker-1"):
        assert cluster.log(gang, name) == [b"met rank 0, rank 1 over gloo"]


@pytest.mark.thorough
def test_ranks_over_gloo_end_as_soon_as_one_of_them_dies(cluster: LocalCluster) -> None:
    gang = ref(cluster, "gloo", f"python {RANK} 1", image="local://horovod")
    cluster.driver.create(gang)
    seen = cluster.over(gang, seconds=60)
    assert (seen.state, seen.first_failure) == (ObservedState.FAILED, "worker-1")


def test_a_rank_that_finds_no_meeting_says_so_and_ends(cluster: LocalCluster) -> None:
    """Nobody serves: the words of a rank, with less patience."""
    words = horovod.joined([sys.executable, "-c", "print('joined')"], "127.0.0.1", "1")
    impatient = re.sub(r"PATIENCE = [0-9.]+", "PATIENCE = 0.3", words[2])
    seen = cluster.run("true", native={"command": [*words[:2], impatient, *words[3:]]})
    assert seen.state is ObservedState.FAILED
    (line,) = cluster.log(cluster.refs[-1])
    assert line.startswith(b"Horovod's rendezvous at 127.0.0.1:1: ")
    # What a rank of Horovod 0.28.1 prints where the server is gone meanwhile.
    gone = (
        "[: E horovod/common/gloo/http_store.cc:96] HTTP GET request failed too many times, abort"
    )
    for said in (line.decode(), gone):
        assert find([LogLine("worker-0:0", "stderr", said)], exit_code=1).code == "network.gloo"


@pytest.mark.thorough
@pytest.mark.needs_torch
@pytest.mark.parametrize(
    "launcher", ["gloo", "horovodrun", pytest.param("mpirun", marks=pytest.mark.needs_mpi)]
)
def test_horovod_itself_trains(tmp_path: Path, launcher: str) -> None:
    options = Options(runtimes={"horovod": horovod_python()}, use_sandbox=False)
    cluster = LocalCluster(LocalDriver(tmp_path / "data", "host-a", options))
    command = f"python {EXAMPLES / 'digits_horovod.py'} --data {digits_csv()} --epochs 4"
    try:
        gang = ref(cluster, launcher, command, image="local://horovod")
        cluster.driver.create(gang)
        assert cluster.over(gang, seconds=180).state is ObservedState.SUCCEEDED
        names = ["worker-0", "worker-1"] if launcher == "gloo" else ["master-0"]
        lines = [line for name in names for line in cluster.log(gang, name)]
    finally:
        cluster.close()
    training = Training(b"\n".join(lines).decode(), ())
    assert training.losses[-1] < training.losses[0] / 2
    assert set(training.digests) == {0, 1}
    assert len(set(training.digests.values())) == 1


@pytest.mark.thorough
@pytest.mark.parametrize("mode", ["dist_sync", "dist_async"])
def test_the_real_mxnet_learns(cluster: LocalCluster, mode: str) -> None:
    command = f"python {EXAMPLES / 'kvstore_mxnet.py'} --mode {mode}"
    said = {"image": "local://horovod", "command": command}
    gang = cluster.start(
        command, framework="MXNet", replicas=2, master=said, numServers=2, image=said["image"]
    )
    assert cluster.over(gang, seconds=120).state is ObservedState.SUCCEEDED
    logs = [b"\n".join(cluster.log(gang, f"worker-{i}")).decode() for i in range(2)]
    if mode == "dist_sync":
        assert_learned(logs)
    assert all("error 0.0" in text for text in logs)
