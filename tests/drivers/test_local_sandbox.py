"""What a workload on this machine tries in order to get out of its sandbox, and does not reach."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gangline.drivers.base import ObservedState, Refused, Result
from gangline.drivers.local import runtimes
from gangline.drivers.local.driver import LocalDriver, Options
from gangline.drivers.local.run_folder import RunFolder
from gangline.drivers.local.shim import tree
from tests.support.local_cluster import LocalCluster
from tests.support.waiting import wait_for

Make = Callable[..., LocalCluster]
SANDBOXED = pytest.param(True, marks=pytest.mark.needs_bwrap, id="sandboxed")


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made = []

    def make(data: str = "data", *, use_sandbox: bool = True, **options: Any) -> LocalCluster:
        (tmp_path / "home").mkdir(exist_ok=True)
        known = Options(use_sandbox=use_sandbox, **{"roots": (tmp_path / "home",)} | options)
        made.append(LocalCluster(LocalDriver(tmp_path / data, "host-a", known)))
        return made[-1]

    yield make
    for cluster in made:
        cluster.close()


def output(cluster: LocalCluster, text: str, **more: Any) -> str:
    ref = cluster.start(f"sh -c {shlex.quote(text)}", **more)
    cluster.over(ref)
    return b"\n".join(cluster.log(ref)).decode()


MARKS = """
#include <fcntl.h>
#include <stdlib.h>
__attribute__((constructor)) static void mark(void) {
    open(getenv("MARK"), O_CREAT | O_WRONLY, 0600);
}
unsigned int la_version(unsigned int version) { return version; }
int cap_from_name(const char *name, int *value) { return 0; }
"""


@pytest.mark.needs_cc
@pytest.mark.needs_bwrap
def test_the_loader_of_the_sandbox_itself_follows_no_variable_of_a_person(
    make: Make, tmp_path: Path
) -> None:
    """The mark lies where the command cannot write: only what runs outside could make it."""
    cluster, library, mark = make(), tmp_path / "lib/libcap.so.2", tmp_path / "mark"
    library.parent.mkdir()
    compiler = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
    subprocess.run(compiler, input=MARKS.encode(), check=True)
    for name, value in (
        ("LD_LIBRARY_PATH", str(library.parent)),
        ("LD_PRELOAD", str(library)),
        ("LD_AUDIT", str(library)),
    ):
        environment = {name: value, "MARK": str(mark)}
        bwrap = shutil.which("bwrap")
        assert bwrap is not None
        subprocess.run([bwrap, "--version"], env=environment, capture_output=True, check=False)
        assert mark.exists(), f"{name} is how the mark is made where nothing prevents it"
        mark.unlink()
        native = {"variables": list(environment.items())}
        ref = cluster.start(f"printenv {name}", native=native)
        assert cluster.over(ref).state is ObservedState.SUCCEEDED
        assert value.encode() in cluster.log(ref)
        assert not mark.exists()


@pytest.mark.needs_bwrap
def test_variables_reach_the_command_and_no_program_of_ours(make: Make, tmp_path: Path) -> None:
    cluster = make()
    secret = "s3cret" * 10_000
    variables = [
        {"name": "TOKEN", "value": secret},
        {"name": "EMPTY", "value": ""},
        {"name": "LD_DEBUG", "value": "libs"},
        {"name": "LD_DEBUG_OUTPUT", "value": str(tmp_path / "trace")},
    ]
    text = "[ ${#TOKEN} = 60000 ] && [ \"${EMPTY-unset}\" = '' ] && echo ok; exec sleep 60"
    ref = cluster.start(f"sh -c {shlex.quote(text)}", environmentVariables=variables)
    wait_for(lambda: cluster.log(ref) == [b"ok"])
    shim = cluster.claim(ref)["pid"]
    *ours, inside = tree.descendants(shim)
    assert b"TOKEN=" + secret.encode() in tree.environment(inside.pid)
    for pid in (shim, *(process.pid for process in ours)):
        names = {pair.partition(b"=")[0] for pair in tree.environment(pid) if pair}
        assert names <= {b"LANG", b"LC_CTYPE", b"GANGLINE_RUN"}
        assert b"s3cret" not in Path(f"/proc/{pid}/cmdline").read_bytes()
    assert not list(tmp_path.glob("trace*"))


@pytest.mark.parametrize("use_sandbox", [pytest.param(False, id="plain"), SANDBOXED])
def test_a_link_put_in_the_place_of_a_folder_is_not_followed(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use_sandbox: bool
) -> None:
    cluster, chosen = make(use_sandbox=use_sandbox), tmp_path / "home/d"
    outside = tmp_path / "outside"
    outside.mkdir()

    launch = cluster.driver._launch

    def swap(folder: RunFolder, late: Any) -> Result:
        chosen.rmdir()
        chosen.symlink_to("../outside")
        return launch(folder, late)

    chosen.mkdir()
    first = cluster.ref("touch WRITTEN", workingDir=str(chosen))
    second = cluster.ref("touch WRITTEN", workingDir=str(chosen))
    with monkeypatch.context() as patch:
        # Between the decision and the start of the processes.
        patch.setattr(cluster.driver, "_launch", swap)
        cluster.driver.create(first)
    seen = cluster.over(first)
    assert (seen.state, seen.replicas[0].exit_code) == (ObservedState.FAILED, 126)
    # Between the submission and the decision, as after a stop or while it waited for slots.
    told = cluster.driver.create(second)
    assert isinstance(told, Refused)
    assert [problem.field_id for problem in told.problems] == ["worker.workingDir"]
    assert not list(outside.iterdir())


@pytest.mark.needs_bwrap
def test_gangline_s_own_programs_cannot_be_changed_or_moved_away(
    make: Make, tmp_path: Path
) -> None:
    code = tmp_path / "home/src/gangline"
    (code / "var").mkdir(parents=True)
    (code / "run.py").write_text("genuine")
    cluster = make("home/src/gangline/var", code=(code,))
    text = (
        "touch free; cat src/gangline/run.py; echo forged > src/gangline/run.py;"
        " mv src src2; mv src/gangline src/moved; ls src/gangline/var/runs/*/1"
    )
    assert "genuine" in output(cluster, text, workingDir=str(tmp_path / "home"))
    assert (code / "run.py").read_text() == "genuine"
    assert (code / "var/runs").is_dir()
    assert sorted(path.name for path in (tmp_path / "home").iterdir()) == ["free", "src"]
    told = cluster.driver.create(cluster.ref("true", workingDir=str(code)))
    assert isinstance(told, Refused)


@pytest.mark.needs_bwrap
@pytest.mark.parametrize("chosen", ["home", "examples"])
def test_no_descriptor_leads_outside(make: Make, tmp_path: Path, chosen: str) -> None:
    (tmp_path / "examples").mkdir()
    cluster = make(examples_dir=tmp_path / "examples")
    text = "for fd in /proc/[0-9]*/fd/*; do readlink $fd; done"
    seen = output(cluster, text, workingDir=str(tmp_path / chosen)).split()
    assert seen
    assert [one for one in seen if not one.startswith(("pipe:", "/dev/null", "anon_inode:"))] == []


@pytest.mark.needs_bwrap
def test_no_disk_and_no_shared_memory_of_others_is_in_its_dev(make: Make) -> None:
    shared = Path("/dev/shm") / f"gangline-test-{os.getpid()}"
    shared.touch()
    try:
        text = (
            "find /dev -type b; ls /dev/shm /dev/pts; echo x > /dev/shm/own && cat /dev/shm/own;"
            " head -c 1 /dev/zero | wc -c; : > /dev/null && echo null"
        )
        lines = output(make(), text).split()
    finally:
        shared.unlink()
    assert [line for line in lines if not line.endswith(":")] == ["ptmx", "x", "1", "null"]


@pytest.mark.needs_bwrap
def test_keys_and_folders_outside_the_data_folder_are_hidden(make: Make, tmp_path: Path) -> None:
    """As with `make stack`: the data folder lies within that of another installation."""
    outer, keys, other = tmp_path / "home/var", tmp_path / "home/keys", tmp_path / "home/other"
    for folder in (outer / "stack", outer / "runtimes/own/bin", keys, other):
        folder.mkdir(parents=True, mode=0o700)
    (outer / "stack/runtimes").symlink_to(outer / "runtimes")
    (outer / "runtimes/own/bin/python").symlink_to("/usr/bin/python3")
    other.chmod(0o755)
    for path in (outer / "secret.key", keys / "sealing.keys", other / "sealing.keys"):
        path.write_text("SECRET")
    (other / "note").write_text("readable")
    cluster = make("home/var/stack", hidden=(outer, keys / "sealing.keys", other / "sealing.keys"))
    home = tmp_path / "home"
    text = (
        f"cat {home}/*/*; ls {keys}; cat {outer}/stack/../secret.key;"
        f" {outer}/runtimes/own/bin/python -c 'print(\"runs\")'; mv {keys} {home}/away"
    )
    seen = output(cluster, text, workingDir=str(home), image="local://own")
    assert "SECRET" not in seen
    assert "readable" in seen
    assert "runs" in seen
    assert keys.is_dir()


@pytest.mark.needs_bwrap
def test_a_runtime_that_a_workload_may_have_changed_is_probed_in_the_sandbox(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtimes, "SYSTEM_PYTHON", tmp_path / "none")
    python, mark = tmp_path / "home/venv/bin/python", tmp_path / "mark"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\ntouch {mark}\necho "{{}}"\n')
    python.chmod(0o755)
    for use_sandbox in (True, False):
        cluster = make(f"data-{use_sandbox}", use_sandbox=use_sandbox, runtimes={"own": python})
        facts = cluster.driver.probe().facts
        assert facts is not None
        assert [(r.reference, r.available) for r in facts.runtimes] == [("local://own", True)]
        assert mark.exists() is not use_sandbox
