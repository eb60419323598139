"""What a gang gets here: environment, working directory, slots, and how masters and MPI end."""

import os
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gangline.drivers.base import AttemptRef, ObservedState, Refused, ReplicaState
from gangline.drivers.local.driver import LocalDriver, Options
from gangline.drivers.local.shim import gang_end
from tests.support.local_cluster import LocalCluster
from tests.support.waiting import wait_for


@pytest.fixture(params=["plain", pytest.param("sandboxed", marks=pytest.mark.needs_bwrap)])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LocalCluster]:
    examples = tmp_path / "examples"
    examples.mkdir()
    (examples / "hello.py").write_text("print('hello from the examples')\n")
    (tmp_path / "home").mkdir()
    options = Options(
        use_sandbox=request.param == "sandboxed",
        examples_dir=examples,
        roots=(tmp_path / "home",),
    )
    cluster = LocalCluster(LocalDriver(tmp_path / "data", "host-a", options))
    yield cluster
    cluster.close()


def environment(cluster: LocalCluster, replica: str = "worker-0", **more: object) -> dict[str, str]:
    ref = cluster.start("env", **more)
    assert cluster.over(ref).state is ObservedState.SUCCEEDED
    pairs = (line.decode().partition("=") for line in cluster.log(ref, replica))
    return {name: value for name, _, value in pairs}


def test_the_framework_finds_its_variables(cluster: LocalCluster) -> None:
    seen = environment(cluster, "worker-1", replicas=2)
    assert seen["RANK"] == "1"
    assert seen["WORLD_SIZE"] == "2"
    assert seen["MASTER_ADDR"] == "127.0.0.1"
    assert seen["MASTER_PORT"] == "16200"
    assert seen["GANGLINE_WORKLOAD_NAME"] == "gang"


def test_our_own_settings_never_reach_a_command(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GANGLINE_SECRET_KEY", "DJANGO_SETTINGS_MODULE", "PYTHONPATH", "DATABASE_URL"):
        monkeypatch.setenv(name, "secret")
    seen = environment(cluster)
    assert "secret" not in seen.values()


def test_declared_variables_may_refer_to_others(cluster: LocalCluster) -> None:
    variables = [
        {"name": "FIRST", "value": "rank $(RANK)"},
        {"name": "SECOND", "value": "$(FIRST) of $(WORLD_SIZE), $(NOBODY), $$(RANK)"},
    ]
    seen = environment(cluster, replicas=2, environmentVariables=variables)
    assert seen["SECOND"] == "rank 0 of 2, $(NOBODY), $(RANK)"


def test_references_in_a_command_stay_one_word_each(cluster: LocalCluster) -> None:
    variables = [{"name": "TEXT", "value": "two words; $(RANK) `id`"}]
    ref = cluster.start(
        "printf '%s\\n' $(TEXT) '$(TEXT)' $$(TEXT) $HOME", environmentVariables=variables
    )
    cluster.over(ref)
    assert cluster.log(ref) == [b"two words; 0 `id`"] * 2 + [b"$(TEXT)", b"$HOME"]


def test_nobody_else_may_enter_the_folders(cluster: LocalCluster) -> None:
    cluster.over(cluster.start("true"))
    data = cluster.driver.data_dir
    for folder in (data, data / "runs", data / "logs"):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_arguments_follow_the_command(cluster: LocalCluster) -> None:
    ref = cluster.start("printf", args="'%s|' 'a b' c")
    cluster.over(ref)
    assert cluster.log(ref) == [b"a b|c|"]


def test_the_examples_are_there_and_python_is_the_runtimes(cluster: LocalCluster) -> None:
    ref = cluster.start("python examples/hello.py")
    assert cluster.over(ref).state is ObservedState.SUCCEEDED
    assert cluster.log(ref) == [b"hello from the examples"]


def test_the_working_directory_can_be_written_and_is_kept(cluster: LocalCluster) -> None:
    ref = cluster.start("sh -c 'echo weights > model.txt'")
    assert cluster.over(ref).state is ObservedState.SUCCEEDED
    work = cluster.driver.data_dir / "runs" / ref.workload / "1/worker-0/work"
    assert (work / "model.txt").read_text() == "weights\n"


def test_a_working_directory_of_the_spec_is_used(cluster: LocalCluster) -> None:
    home = cluster.driver.options.roots[0]
    ref = cluster.start("sh -c 'pwd; touch here'", workingDir=str(home))
    assert cluster.over(ref).state is ObservedState.SUCCEEDED
    assert cluster.log(ref) == [str(home).encode()]
    assert (home / "here").exists()


def test_a_working_directory_that_vanished_is_named(cluster: LocalCluster) -> None:
    gone = cluster.driver.options.roots[0] / "gone"
    told = cluster.driver.create(cluster.ref("pwd", workingDir=str(gone)))
    assert isinstance(told, Refused)
    assert told.reason == f"The working directory '{gone}' must be a folder that exists."


def test_gpus_of_the_placement_are_the_only_ones_seen(cluster: LocalCluster) -> None:
    assert environment(cluster, gpus=("GPU-1", "GPU-2"))["CUDA_VISIBLE_DEVICES"] == "GPU-1,GPU-2"
    assert environment(cluster, gpus=("GPU-1", "GPU-2"))["RUNAI_NUM_OF_GPUS"] == "2"
    shared = environment(cluster, gpus=("GPU-1",), gpu_share=0.1)
    assert (shared["CUDA_VISIBLE_DEVICES"], shared["GANGLINE_GPU_PORTION"]) == ("GPU-1", "0.1")
    assert environment(cluster)["CUDA_VISIBLE_DEVICES"] == ""
    assert environment(cluster)["RUNAI_NUM_OF_GPUS"] == "0"


def test_a_cpu_limit_is_a_number_of_cores(cluster: LocalCluster) -> None:
    source = "import os; print(len(os.sched_getaffinity(0)))"
    ref = cluster.start(f"python -c '{source}'", values={"compute.cpuCoreLimit": 0.5})
    cluster.over(ref)
    assert cluster.log(ref) == [b"1"]


def test_commands_yield_to_the_dashboard(cluster: LocalCluster) -> None:
    ref = cluster.start("nice")
    cluster.over(ref)
    assert cluster.log(ref) == [str(os.nice(0) + 5).encode()]


def test_without_slots_it_is_refused(cluster: LocalCluster) -> None:
    ref = replace(cluster.ref("true"), placement=())
    assert cluster.driver.create(ref) == Refused("No slots were assigned to the workload.")
    assert cluster.driver.observe(ref).state is ObservedState.ABSENT


def test_a_runtime_that_is_gone_is_refused_by_name(cluster: LocalCluster) -> None:
    ref = cluster.ref("true", image="local://gone")
    assert cluster.driver.create(ref) == Refused("This machine has no runtime named 'gone'.")


def test_a_master_may_go_on_after_all_workers_completed(cluster: LocalCluster) -> None:
    """It trains, too: rank 0 evaluates and writes the last checkpoint when the others are done."""
    ref = cluster.start("true", replicas=2, master={"command": "sleep 1.5"})
    seen = cluster.over(ref)
    assert seen.state is ObservedState.SUCCEEDED
    assert {r.state for r in seen.replicas} == {ReplicaState.SUCCEEDED}


def test_a_master_that_is_done_first_waits_for_nobody(cluster: LocalCluster) -> None:
    ref = cluster.start("sleep 0.5", replicas=2, master={"command": "true"})
    seen = cluster.over(ref)
    assert seen.state is ObservedState.SUCCEEDED
    assert {r.state for r in seen.replicas} == {ReplicaState.SUCCEEDED}


def test_a_failing_master_fails_the_gang(cluster: LocalCluster) -> None:
    seen = cluster.run("sleep 1000", replicas=2, master={"command": "sh -c 'exit 4'"})
    assert (seen.state, seen.first_failure) == (ObservedState.FAILED, "master-0")
    assert seen.reason == "master-0: Exited with code 4."


def test_a_request_to_end_can_be_heeded_in_the_grace_period(cluster: LocalCluster) -> None:
    """The command alone is asked: a child that it needs to save its work must not die first."""
    text = "trap 'kill -0 $child && echo saved; exit 0' TERM; sleep 60 & child=$!; echo ready; wait"
    ref = cluster.start(f"sh -c {shlex.quote(text)}", grace=20)
    wait_for(lambda: cluster.log(ref) == [b"ready"])
    cluster.driver.suspend(ref)
    seen = cluster.over(ref)
    assert (seen.state, seen.replicas[0].exit_code) == (ObservedState.SUSPENDED, 0)
    assert cluster.log(ref) == [b"ready", b"saved"]


@pytest.mark.needs_bwrap
def test_a_sandboxed_command_sees_neither_our_data_nor_other_runs(tmp_path: Path) -> None:
    data = tmp_path / "data"
    cluster = LocalCluster(LocalDriver(data, "host-a", Options(use_sandbox=True)))
    data.mkdir()
    (data / "secret.key").write_text("secret")
    (data / "runs").mkdir()
    other = cluster.start("true")
    cluster.over(other)
    text = f"cat {data}/secret.key; ls {data}/runs; ls {data}/runs/*/1; ls -a /tmp; touch /usr/x"
    ref = cluster.start(f"sh -c {shlex.quote(text)}")
    cluster.over(ref)
    out = b"\n".join(cluster.log(ref)).decode()
    cluster.close()
    assert f"cat: {data}/secret.key: No such file or directory" in out
    assert other.workload not in out
    assert "ctl" not in out
    assert "Read-only file system" in out


@pytest.mark.needs_bwrap
def test_a_working_directory_around_our_data_does_not_show_it(tmp_path: Path) -> None:
    data = tmp_path / "checkout/var"
    data.mkdir(parents=True)
    (data / "secret.key").write_text("secret")
    options = Options(use_sandbox=True, roots=(tmp_path,))
    cluster = LocalCluster(LocalDriver(data, "host-a", options))
    ref = cluster.start("sh -c 'touch made; find . -type f'", workingDir=str(tmp_path / "checkout"))
    cluster.over(ref)
    assert cluster.log(ref) == [b"./made"]
    cluster.close()


@pytest.mark.needs_mpi
def test_mpirun_starts_the_workers_as_its_children(cluster: LocalCluster) -> None:
    rank = "sh -c 'echo rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE; sleep 1.5'"
    ref = cluster.start("true", framework="MPI", replicas=3, master={"command": f"mpirun {rank}"})
    wait_for(
        lambda: (
            [r.state for r in cluster.driver.observe(ref).replicas] == [ReplicaState.RUNNING] * 4
        )
    )
    seen = cluster.over(ref)
    assert seen.state is ObservedState.SUCCEEDED
    assert [(r.role, r.index) for r in seen.replicas] == [
        ("master", 0),
        ("worker", 0),
        ("worker", 1),
        ("worker", 2),
    ]
    lines = b"\n".join(cluster.log(ref, "master-0"))
    for index in range(3):
        assert b"[1,%d]<stdout>:rank %d of 3" % (index, index) in lines


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (None, "Never started: it was stopped before."),
        ({"cause": "stop"}, "Never started: it was stopped before."),
        ({"cause": "failure", "replica": "worker-1"}, "Never started, because worker-1 failed."),
        (
            {"cause": "incomplete", "reason": "1 of 3 processes started."},
            "Never started, because 1 of 3 processes started.",
        ),
    ],
)
def test_what_comes_too_late_says_why_it_never_started(
    end: dict[str, str] | None, reason: str
) -> None:
    assert gang_end.never_started_because(end) == reason


def kvstore(cluster: LocalCluster, script: str) -> AttemptRef:
    command = f"sh -c {shlex.quote(script)}"
    servers = {"command": command}
    return cluster.start(command, framework="MXNet", replicas=2, master=servers, numServers=1)


def test_a_gang_of_mxnet_learns_who_it_is(cluster: LocalCluster) -> None:
    ref = kvstore(cluster, "echo $DMLC_ROLE $DMLC_NUM_SERVER $DMLC_NUM_WORKER $DMLC_PS_ROOT_PORT")
    assert cluster.over(ref).state is ObservedState.SUCCEEDED
    for name in ("scheduler-0", "server-0", "worker-0", "worker-1"):
        role = name.partition("-")[0]
        assert cluster.log(ref, name) == [f"{role} 1 2 16200".encode()]


def test_servers_that_still_serve_when_the_workers_are_done_are_no_longer_needed(
    cluster: LocalCluster,
) -> None:
    ref = kvstore(cluster, "test $DMLC_ROLE = worker || exec sleep 60")
    seen = cluster.over(ref)
    assert seen.state is ObservedState.SUCCEEDED
    states = [(r.role, r.state) for r in seen.replicas]
    assert states == [
        ("scheduler", ReplicaState.STOPPED),
        ("server", ReplicaState.STOPPED),
        ("worker", ReplicaState.SUCCEEDED),
        ("worker", ReplicaState.SUCCEEDED),
    ]


def test_a_gang_of_mxnet_ends_as_soon_as_one_of_it_dies(cluster: LocalCluster) -> None:
    ref = kvstore(cluster, "test $DMLC_ROLE = server && exit 3; exec sleep 60")
    seen = cluster.over(ref)
    assert (seen.state, seen.first_failure) == (ObservedState.FAILED, "server-0")
