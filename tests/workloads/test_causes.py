"""Why workloads fail: each known cause by a program that really fails so, and who is told."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gangline.drivers.base import IMAGE_PULL, MEMORY_LIMIT, LogChunk
from gangline.drivers.kubernetes import pods
from gangline.drivers.local.driver import LocalDriver, Options
from scripts.services import free_port
from tests.drivers.kubernetes import raw
from tests.support.example_gangs import SYSTEM_PYTHON
from tests.support.local_cluster import LocalCluster
from workloads.causes import BY_CODE, EXIT_CODE, SHOWN, Finding, LogLine, find
from workloads.logs import merge
from workloads.logs.records import Source
from workloads.logs.sanitizer import plain

CUDA = (
    "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 7.79 GiB total "
    "capacity; 5.93 GiB already allocated)"
)
NCCL = (
    "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1275, remote process "
    "exited or there was a network error, NCCL version 2.14.3\n"
    "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting."
)
RENDEZVOUS = (
    "import datetime, torch.distributed as d; "
    'd.init_process_group(backend="gloo", timeout=datetime.timedelta(seconds=1), '
    'init_method="tcp://127.0.0.1:{port}", rank={rank}, world_size=2)'
)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LocalCluster]:
    options = Options(use_sandbox=False)
    made = LocalCluster(LocalDriver(tmp_path / "data", "host-a", options))
    yield made
    made.close()


def found(cluster: LocalCluster, command: str, **more: Any) -> Finding:
    """What is found once a workload of this command has failed."""
    ref = cluster.start(command, **more)
    seen = cluster.over(ref)
    (replica,) = seen.replicas

    def read(offset: int, limit: int) -> LogChunk:
        return cluster.driver.read_log(ref, "worker-0", offset, limit)

    window = merge.tail([Source("worker-0", read)], 200)
    assert window.has_ended
    lines = [LogLine(n.id, n.stream.decode(), plain(n.words)) for n in window.lines]
    return find(lines, told=replica.reason_code, exit_code=replica.exit_code)


def python(code: str) -> str:
    return f"{SYSTEM_PYTHON} -c '{code}'"


@pytest.mark.parametrize(
    ("code", "command", "line"),
    [
        ("import", python("import nowhere_to_be_found"), "ModuleNotFoundError"),
        ("import", python("from json import nothing"), "ImportError"),
        ("file.missing", python('open("/data/none.csv")'), "FileNotFoundError"),
        ("file.missing", f"{SYSTEM_PYTHON} /data/none.py", "can't open file"),
        ("file.missing", "cat /data/none.csv", "No such file or directory"),
        ("file.missing", "sh -c no-such-command", "not found"),
        ("file.missing", "no-such-command --flag", "was not found in the runtime"),
        ("data.git", "git clone http://127.0.0.1:1/code", "unable to access"),
        (
            "port.used",
            python(
                "import socket; one = socket.create_server((\"\", 0)); "
                "socket.create_server((\"\", one.getsockname()[1]))"
            ),
            "Address already in use",
        ),
        (
            "disk.full",
            python('open("/dev/full", "w").write("x" * 10**6)'),
            "No space left on device",
        ),
        (
            MEMORY_LIMIT,
            f"sh -c 'ulimit -v 200000; {SYSTEM_PYTHON} -c \"bytearray(10**9)\"'",
            "MemoryError",
        ),
        # Without a GPU: by programs that print what the real ones print.
        ("gpu.memory", python(f'raise SystemExit("""{CUDA}""")'), "CUDA out of memory"),
        ("network.nccl", python(f'raise SystemExit("""{NCCL}""")'), "ncclRemoteError"),
        (EXIT_CODE, python('raise ValueError("bad shape")'), "ValueError: bad shape"),
        (EXIT_CODE, "sh -c 'echo out; echo why >&2; exit 3'", "why"),
        (EXIT_CODE, "sh -c 'exit 3'", ""),
    ],
)  # fmt: skip
def test_a_program_that_fails_so_is_told_so(
    cluster: LocalCluster, code: str, command: str, line: str
) -> None:
    finding = found(cluster, command)
    assert finding.code == code
    assert line in (finding.lines[-1] if finding.lines else "")
    assert len(finding.lines) <= SHOWN
    assert finding.place.startswith("worker-0:") == bool(finding.lines)


def test_one_that_uses_more_than_its_memory_is_told_by_who_ended_it(cluster: LocalCluster) -> None:
    code = 'print("loading", flush=True); x = b"x" * 3 * 10**8; import time; time.sleep(60)'
    finding = found(cluster, python(code), values={"compute.cpuMemoryLimit": "60M"})
    assert (finding.code, finding.lines) == (MEMORY_LIMIT, ("loading",))


@pytest.mark.needs_torch
@pytest.mark.parametrize("rank", [0, 1])
def test_processes_that_do_not_find_each_other(cluster: LocalCluster, rank: int) -> None:
    # A port of its own: the other rank is tried at the same time, in another process.
    code = RENDEZVOUS.format(rank=rank, port=free_port())
    assert found(cluster, python(code)).code == "network.gloo"


@pytest.mark.needs_mpi
@pytest.mark.parametrize("more", ["-np 500", "-np 2 --oversubscribe --host nohost.invalid"])
def test_ranks_that_mpi_cannot_start(cluster: LocalCluster, more: str) -> None:
    finding = found(cluster, f"mpirun --allow-run-as-root {more} true")
    assert finding.code == "network.mpi"


def test_what_kubernetes_tells_comes_before_the_log() -> None:
    pod = raw.pod(phase="Failed", state={"terminated": {"exitCode": 137, "reason": "OOMKilled"}})
    seen = pods.replica(pods.read(pod), rank=0)
    assert seen.reason_code == MEMORY_LIMIT
    lines = [LogLine("worker-0:0", "stdout", "step 12 loss 0.3")]
    assert find(lines, told=seen.reason_code) == (MEMORY_LIMIT, ("step 12 loss 0.3",), lines[0][0])
    assert find([], told=IMAGE_PULL).code == IMAGE_PULL
    assert BY_CODE[IMAGE_PULL].advice


@pytest.mark.parametrize(
    "text",
    [
        "Could not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot "
        "open shared object file: No such file or directory",
        "epoch 3: connection pool of 8, memory 12 GB",
        "nccl is not available, using gloo",
    ],
)
def test_what_healthy_programs_print_is_no_cause(text: str) -> None:
    assert find([LogLine("worker-0:0", "stderr", text)]).code == EXIT_CODE
