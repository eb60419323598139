"""Commands beside a running replica of this machine: in its sandbox, and no further."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gangline.drivers.base import AttemptRef, Refused
from gangline.drivers.local.driver import LocalDriver, Options
from gangline.drivers.local.shim import tree
from gangline.drivers.shells import (
    REPLICA_ENDED,
    STDERR,
    STDOUT,
    Ended,
    Output,
    Shell,
    ShellRequest,
    Size,
)
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


def entered(cluster: LocalCluster, ref: AttemptRef, *command: str, tty: bool = False) -> Shell:
    told = cluster.driver.open_shell(ref, "worker-0", ShellRequest(command, tty, Size(91, 33)))
    assert not isinstance(told, Refused), told.reason
    return told  # type: ignore[return-value]


def said(
    shell: Shell, until: Callable[[bytes], bool] | None = None
) -> tuple[dict[int, bytes], Ended | None]:
    found: dict[int, bytes] = {STDOUT: b"", STDERR: b""}
    while True:
        piece = shell.read()
        if isinstance(piece, Ended):
            return found, piece
        assert isinstance(piece, Output)
        found[piece.stream] += piece.data
        if until and until(found[STDOUT]):
            return found, None


@BOTH
def test_a_command_has_its_input_both_outputs_and_its_exit_code(cluster: LocalCluster) -> None:
    ref = running(cluster, environmentVariables=[{"name": "COLOUR", "value": "blue"}])
    shell = entered(cluster, ref, "sh", "-c", "cat; echo $COLOUR; echo bad >&2; exit 7")

    def feed() -> None:
        shell.write(b"x" * 300_000)
        shell.end_input()

    feeder = threading.Thread(target=feed)
    feeder.start()
    out, end = said(shell)
    feeder.join()
    assert out == {STDOUT: b"x" * 300_000 + b"blue\n", STDERR: b"bad\n"}
    assert end == Ended(7)
    assert shell.read() == end


@BOTH
def test_a_terminal_has_a_size_that_changes_and_is_the_command_s_own(cluster: LocalCluster) -> None:
    shell = entered(cluster, running(cluster), tty=True)
    shell.write(b"tty && stty size && echo $TERM && pwd\r")
    out, _ = said(shell, lambda text: b"/work\r\n" in text)
    assert b"/dev/pts/" in out[STDOUT]
    assert b"33 91" in out[STDOUT]
    assert b"xterm-256color" in out[STDOUT]
    shell.resize(Size(120, 40))
    shell.resize(Size(0, 10**6))
    shell.write(b"stty size\r")
    said(shell, lambda text: b"40 120" in text)
    shell.write(b"exit 3\r")
    assert said(shell)[1] == Ended(3)


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
    out, end = said(entered(cluster, ref, "sh", "-c", text))
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
def test_what_is_closed_ends_with_everything_that_it_started(cluster: LocalCluster) -> None:
    ref = running(cluster)
    before = len(tree.descendants(cluster.claim(ref)["pid"]))
    shells = [
        entered(cluster, ref, tty=True),
        entered(cluster, ref, "sh", "-c", "trap '' HUP TERM; sleep 600 & wait"),
    ]
    shells[0].write(b"sleep 601\r")
    wait_for(lambda: len(tree.descendants(cluster.claim(ref)["pid"])) >= before + 6)
    for shell in shells:
        shell.close()
        _, end = said(shell)
        assert end is not None
        assert end.code is None
    wait_for(lambda: len(tree.descendants(cluster.claim(ref)["pid"])) == before)
    assert cluster.driver.observe(ref).replicas[0].exit_code is None


@BOTH
def test_the_end_of_the_pod_ends_it_and_is_told(cluster: LocalCluster) -> None:
    ref = running(cluster)
    shell = entered(cluster, ref, tty=True)
    shell.write(b"echo $((40 + 2))\r")
    said(shell, lambda text: b"42" in text)
    cluster.driver.suspend(ref)
    assert said(shell)[1] == Ended(None, REPLICA_ENDED)
    cluster.over(ref)
    refused = cluster.driver.open_shell(ref, "worker-0", ShellRequest())
    assert refused == Refused(REPLICA_ENDED)


@BOTH
def test_the_end_of_the_dashboard_ends_it(cluster: LocalCluster) -> None:
    """Its descriptors are closed by the kernel, whatever killed it."""
    ref = running(cluster)
    before = len(tree.descendants(cluster.claim(ref)["pid"]))
    child = os.fork()
    if child == 0:
        entered(cluster, ref, "sleep", "602")
        os._exit(0)
    os.waitpid(child, 0)
    wait_for(lambda: len(tree.descendants(cluster.claim(ref)["pid"])) == before)


@BOTH
def test_refusals_name_what_is_wrong(cluster: LocalCluster) -> None:
    ref = running(cluster)
    told = cluster.driver.open_shell(ref, "worker-0", ShellRequest(("no-such-program",)))
    assert isinstance(told, Refused)
    assert "no-such-program" in told.reason
    for name in ("worker-1", "../x", "worker-0/.."):
        assert isinstance(cluster.driver.open_shell(ref, name, ShellRequest()), Refused)
    assert cluster.driver.observe(ref).replicas[0].exit_code is None


@BOTH
def test_a_terminal_that_nobody_reads_holds_up_neither_the_pod_nor_its_end(
    cluster: LocalCluster,
) -> None:
    ref = running(cluster)
    shell = entered(cluster, ref, "yes", tty=True)
    time.sleep(0.2)
    shell.close()
    assert said(shell)[1] == Ended(None, "It was closed.")
