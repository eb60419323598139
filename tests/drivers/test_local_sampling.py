"""What the supervisor of a local process measures of it, held against what the process does."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gangline.drivers.base import AttemptRef, ObservedState
from gangline.drivers.local.driver import LocalDriver, Options
from gangline.drivers.local.shim.sampler import parsed
from gangline.drivers.metrics.reader import Series, read
from tests.support.local_cluster import LocalCluster

MEBI = 2**20


@pytest.fixture(params=["plain", pytest.param("sandboxed", marks=pytest.mark.needs_bwrap)])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LocalCluster]:
    options = Options(use_sandbox=request.param == "sandboxed")
    cluster = LocalCluster(LocalDriver(tmp_path / "data", "host-a", options))
    yield cluster
    cluster.close()


def figures(cluster: LocalCluster, ref: AttemptRef, replica: str = "worker-0") -> Series:
    return read(cluster.driver.data_dir / "logs" / ref.workload / "1" / replica)


BURNS = """
import os, time
held = bytearray(os.urandom(1)) * (200 * 2**20)
if os.fork() == 0:
    while time.process_time() < 2.0:
        pass
    os._exit(0)
os.wait()
"""


def test_processor_time_of_a_child_and_memory_are_what_the_process_used(
    cluster: LocalCluster,
) -> None:
    native = {"command": ["python3", "-c", BURNS], "arguments": []}
    ref = cluster.start("python3", native=native)
    assert cluster.over(ref).state is ObservedState.SUCCEEDED
    found = figures(cluster, ref)
    seconds, peak, mean = found.total("cpu"), found.peak("memory"), found.mean("cpu")
    assert seconds
    assert peak
    assert mean
    assert 1.0 < seconds < 4.0
    assert 0.1 < mean < 2.0
    assert 180 * MEBI < peak < 600 * MEBI
    assert "gpu" not in found.names


def test_one_that_ends_at_once_has_figures_too(cluster: LocalCluster) -> None:
    ref = cluster.start("sleep 0.4")
    assert cluster.over(ref).state is ObservedState.SUCCEEDED
    assert figures(cluster, ref).mean("cpu") is not None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("37, 1024\n63, 2048\n", {"gpu": 50.0, "gpu_memory": 3072.0 * MEBI}),
        ("[N/A], 1024\n", {}),
        ("No devices were found\n", {}),
        ("", {}),
    ],
)
def test_what_the_driver_of_gpus_says(text: str, found: dict[str, float]) -> None:
    assert parsed(text) == found
