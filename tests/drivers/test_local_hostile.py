"""Commands that misbehave: the reason is told in words, and no process is left."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from gangline.drivers.base import ObservedState, ReplicaState
from gangline.drivers.local.driver import LocalDriver, Options
from tests.support.local_cluster import LocalCluster, processes_of
from tests.support.waiting import wait_for


@pytest.fixture(params=["plain", pytest.param("sandboxed", marks=pytest.mark.needs_bwrap)])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LocalCluster]:
    options = Options(use_sandbox=request.param == "sandboxed")
    cluster = LocalCluster(LocalDriver(tmp_path, "host-a", options))
    yield cluster
    cluster.close()


def python(source: str) -> str:
    return f"python -c {shlex.quote(source)}"


def test_a_command_that_does_not_exist_is_named(cluster: LocalCluster) -> None:
    seen = cluster.run("no-such-program --fast")
    assert seen.state is ObservedState.FAILED
    assert seen.reason == "The command 'no-such-program' was not found in the runtime system."
    assert seen.replicas[0].exit_code == 127


def test_a_path_that_does_not_exist_is_named(cluster: LocalCluster) -> None:
    seen = cluster.run("/opt/no/such.sh")
    assert seen.reason == "The command '/opt/no/such.sh' does not exist."


def test_a_file_that_is_no_program_is_named(cluster: LocalCluster) -> None:
    seen = cluster.run("/etc/passwd")
    assert seen.reason == "The command '/etc/passwd' is not executable."
    assert seen.replicas[0].exit_code == 126


def test_a_missing_command_in_every_replica_is_said_once(cluster: LocalCluster) -> None:
    seen = cluster.run("no-such-program", replicas=3)
    assert seen.state is ObservedState.FAILED
    assert "not found in the runtime system" in seen.reason
    assert all(r.state.is_terminal for r in seen.replicas)


def test_exit_code_1_is_told(cluster: LocalCluster) -> None:
    assert cluster.run("sh -c 'exit 1'").reason == "Exited with code 1."


def test_a_crash_is_told_by_its_signal(cluster: LocalCluster) -> None:
    """A sandbox ends with 128 + n, which the command may have done by itself."""
    seen = cluster.run("sh -c 'kill -SEGV $$'")
    assert "signal 11" in seen.reason
    sandboxed = cluster.driver.options.use_sandbox
    expected = (139, None) if sandboxed else (None, 11)
    assert (seen.replicas[0].exit_code, seen.replicas[0].signal) == expected


def test_a_code_that_looks_like_a_signal_is_told_as_a_code(cluster: LocalCluster) -> None:
    seen = cluster.run("sh -c 'exit 150'")
    assert seen.reason == "Exited with code 150 (as after signal 22)."
    assert (seen.replicas[0].exit_code, seen.replicas[0].signal) == (150, None)


def test_too_much_memory_ends_it_with_the_numbers(cluster: LocalCluster) -> None:
    source = "import time; x = bytearray(150_000_000); time.sleep(1000)"
    seen = cluster.run(python(source), replicas=2, values={"compute.cpuMemoryLimit": "60M"})
    assert seen.state is ObservedState.FAILED
    # It may be met while it is still taking its 150 MB.
    used = re.search(r"Used (\d+)(?:\.\d)? MB of 60 MB of memory\.$", seen.reason)
    assert used is not None
    assert int(used[1]) >= 60
    failed = [r for r in seen.replicas if r.state is ReplicaState.FAILED]
    assert failed
    assert failed[0].peak_memory is not None
    assert failed[0].peak_memory > 60_000_000


def test_memory_of_children_counts(cluster: LocalCluster) -> None:
    child = python("import time; x = bytearray(90_000_000); time.sleep(1000)")
    text = f"{child} & {child} & wait"
    seen = cluster.run(f"sh -c {shlex.quote(text)}", values={"compute.cpuMemoryLimit": "100M"})
    assert "MB of 100 MB of memory." in seen.reason


def test_a_memory_request_kills_nobody(cluster: LocalCluster) -> None:
    source = "x = bytearray(150_000_000)"
    seen = cluster.run(python(source), values={"compute.cpuMemoryRequest": "10M"})
    assert seen.state is ObservedState.SUCCEEDED


SPREADS = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(4):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
            for n in range(20):
                if os.fork() == 0:
                    time.sleep(1000)
            time.sleep(1000)
        os._exit(0)
print("spread", flush=True)
time.sleep(float(sys.argv[1]))
"""


def test_children_that_hide_and_ignore_the_end_die_with_a_stop(cluster: LocalCluster) -> None:
    ref = cluster.start(f"{python(SPREADS)} 1000", grace=1)
    wait_for(lambda: b"spread" in cluster.log(ref))
    wait_for(lambda: len(processes_of(ref)) > 80, seconds=20)
    cluster.driver.suspend(ref)
    assert cluster.over(ref).state is ObservedState.SUSPENDED
    wait_for(lambda: not processes_of(ref), seconds=5)


def test_children_left_behind_die_with_the_command(cluster: LocalCluster) -> None:
    ref = cluster.start(f"{python(SPREADS)} 0.5")
    assert cluster.over(ref).state is ObservedState.SUCCEEDED
    wait_for(lambda: not processes_of(ref), seconds=5)


FORKS_ON = """
import os, time
end = time.monotonic() + 60
for _ in range(40):
    if os.fork() == 0:
        os.setsid()
        break
else:
    time.sleep(60)
# Each lives a moment and goes on in a child: hundreds are born a second, never more live at once,
# so that no mistake of a test takes the machine with it.
while time.monotonic() < end:
    time.sleep(0.05)
    if os.fork():
        os._exit(0)
"""


def test_processes_that_fork_all_the_time_are_ended(cluster: LocalCluster) -> None:
    ref = cluster.start(python(FORKS_ON), grace=0)
    wait_for(lambda: len(processes_of(ref)) > 20, seconds=20)
    cluster.driver.delete(ref)
    cluster.until(ref, ObservedState.ABSENT)
    wait_for(lambda: not processes_of(ref), seconds=5)
    assert cluster.driver.observe(ref).replicas == ()


@pytest.mark.thorough
def test_100_mb_of_log_arrive_whole(cluster: LocalCluster) -> None:
    """Takes seconds: 100 MB go through a pipe and are read back."""
    source = (
        "import sys\n"
        "line = b'x' * 99 + b'\\n'\n"
        "block = line * 1000\n"
        "for _ in range(1000): sys.stdout.buffer.write(block)\n"
    )
    ref = cluster.start(python(source))
    assert cluster.over(ref, seconds=60).state is ObservedState.SUCCEEDED
    lines = cluster.log(ref)
    assert len(lines) == 1_000_000
    assert set(lines) == {b"x" * 99}


def test_output_that_is_no_text_is_kept_as_it_is(cluster: LocalCluster) -> None:
    source = "import sys; sys.stdout.buffer.write(b'\\xff\\xfe\\x00mid\\x1b[31m\\nlast \\xc3')"
    ref = cluster.start(python(source))
    cluster.over(ref)
    assert cluster.log(ref) == [b"\xff\xfe\x00mid\x1b[31m", b"last \xc3"]


def test_a_line_without_end_is_cut_and_marked(cluster: LocalCluster) -> None:
    ref = cluster.start(python("import sys; sys.stdout.write('y' * 40_000)"))
    cluster.over(ref)
    raw = cluster.driver.read_log(ref, "worker-0", 0, 2**20).data.splitlines()
    parts = [line.split(b" ", 3) for line in raw]
    assert [part[2] for part in parts] == [b"P", b"P", b"F"]
    assert b"".join(part[3] for part in parts) == b"y" * 40_000


def test_a_progress_bar_shows_before_its_line_ends(cluster: LocalCluster) -> None:
    ref = cluster.start("sh -c 'printf 10%%; exec sleep 1000'")
    wait_for(lambda: cluster.log(ref) == [b"10%"], seconds=5)
    cluster.driver.suspend(ref)
    cluster.over(ref)
    assert cluster.log(ref) == [b"10%", b""]


def test_both_streams_are_told_apart(cluster: LocalCluster) -> None:
    ref = cluster.start("sh -c 'echo out; echo err >&2'")
    cluster.over(ref)
    raw = cluster.driver.read_log(ref, "worker-0", 0, 2**20).data.splitlines()
    assert {line.split(b" ")[1]: line.split(b" ")[3] for line in raw} == {
        b"stdout": b"out",
        b"stderr": b"err",
    }


def test_closing_all_output_is_no_end(cluster: LocalCluster) -> None:
    ref = cluster.start("sh -c 'exec >&- 2>&-; exec sleep 1000'")
    cluster.running(ref)
    cluster.driver.suspend(ref)
    assert cluster.over(ref).state is ObservedState.SUSPENDED
