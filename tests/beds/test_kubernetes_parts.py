"""What the bed is made with: the cache of programs, processes that are known again, locks."""

import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from scripts import system_packages
from tests.beds.kubernetes import bed as beds
from tests.beds.kubernetes import building, components, golang, isolating
from tests.beds.kubernetes.__main__ import kubectl
from tests.beds.kubernetes.bed import Bed
from tests.beds.kubernetes.components import COMPONENTS, Component
from tests.beds.kubernetes.processes import Identity, listener_on
from tests.beds.kubernetes.state import State
from tests.support.waiting import wait_for

pytestmark = pytest.mark.thorough


MAIN = 'package main\n\nfunc main() { println("hello") }\n'
HELLO = Component("hello", {"hello": "example.test/hello"})


@pytest.fixture
def hello(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The wrapper module of a component that is built in a second, and an empty cache."""
    folder = tmp_path / "modules" / "hello"
    folder.mkdir(parents=True)
    (folder / "go.mod").write_text("module example.test/hello\n\ngo 1.26\n")
    (folder / "go.sum").touch()
    (folder / "main.go").write_text(MAIN)
    monkeypatch.setattr(components, "MODULES", tmp_path / "modules")
    monkeypatch.setitem(COMPONENTS, "hello", HELLO)
    monkeypatch.setattr(building, "needed", lambda with_: [HELLO])
    monkeypatch.setenv("GANGLINE_BED_CACHE", str(tmp_path / "cache"))
    return folder


@pytest.mark.needs_kubernetes
def test_what_is_built_is_not_built_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **named: object) -> None:
        raise AssertionError(f"A process was started: {arguments}.")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    said: list[str] = []
    building.build(say=said.append)
    assert said == []
    assert building.is_built()


@pytest.mark.needs_kubernetes
def test_two_builds_at_once_build_once_and_leave_nothing_half_made(hello: Path) -> None:
    said: list[str] = []
    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(building.build, (), said.append) for _ in range(2)]:
            done.result()
    assert len([words for words in said if "done after" in words]) == 1
    ran = subprocess.run([building.program("hello")], capture_output=True, text=True, check=True)
    assert ran.stderr == "hello\n"
    left = {path.name for path in building.cache_folder().iterdir()}
    assert left == {building.folder_of(HELLO).name, f"{building.folder_of(HELLO).name}.lock"}


@pytest.mark.needs_kubernetes
def test_a_changed_wrapper_is_another_build(hello: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    building.build()
    assert not building.missing([HELLO])
    (hello / "go.sum").write_text("\n")
    assert building.missing([HELLO]) == {"hello": ["hello"]}
    (hello / "go.sum").write_text("")
    monkeypatch.setattr(golang, "version", lambda: "1.99.0")
    assert building.missing([HELLO]) == {"hello": ["hello"]}


@pytest.mark.needs_kubernetes
def test_a_build_that_fails_shows_what_go_said(hello: Path) -> None:
    (hello / "main.go").write_text("package main\n\nfunc main() { nothing() }\n")
    with pytest.raises(building.BuildFailed, match="undefined: nothing"):
        building.build()
    assert building.missing([HELLO])


def test_given_programs_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "etcd").touch()
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    monkeypatch.setenv("GANGLINE_BED_CACHE", str(tmp_path / "cache"))
    assert building.program("etcd") == tmp_path / "etcd"
    lacking = building.missing([COMPONENTS["etcd"], COMPONENTS["kubernetes"]])
    assert list(lacking) == ["kubernetes"]


@pytest.mark.parametrize(("found", "taken"), [("go1.20.3", False), ("go1.99.0", True)])
def test_a_go_that_is_too_old_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: str, taken: bool
) -> None:
    program = tmp_path / "go" / "bin" / "go"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    (tmp_path / "go" / "VERSION").write_text(f"{found}\ntime 2026-01-01T00:00:00Z\n")
    monkeypatch.setenv("PATH", str(program.parent))
    assert (golang.version() == found.removeprefix("go")) is taken


def test_without_the_programs_the_advice_is_to_build_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GANGLINE_BED_CACHE", str(tmp_path))
    assert system_packages.missing_parts(["kubernetes"]) == ["kubernetes"]
    assert system_packages.PARTS["kubernetes"].advice == "run make bed-build 'WITH=jobset volcano'"
    assert system_packages.how_to_get(["kubernetes"])[-1] == "make bed-build 'WITH=jobset volcano'"


def test_the_bed_says_where_its_kubectl_is_or_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GANGLINE_BED_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    assert kubectl(tmp_path / "bed").startswith("make bed-build WITH=kubectl")
    (tmp_path / "kubectl").touch()
    admin = tmp_path / "bed" / "admin.kubeconfig"
    assert kubectl(tmp_path / "bed") == f"{tmp_path / 'kubectl'} --kubeconfig {admin}"


def test_an_unknown_add_on_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"no add-on 'vulcan'; choose from .*volcano"):
        components.needed(["vulcan"])


def test_a_number_that_another_process_has_by_now_is_left_alone() -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        real = Identity.of(other.pid)
        mistaken = Identity(other.pid, real.start - 1)
        assert not mistaken.is_alive
        assert not mistaken.signal(signal.SIGKILL)
        mistaken.end()
        assert real.is_alive
        real.end()
        assert not real.is_alive


def test_who_listens_on_a_port_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert listener_on(port).startswith(f"process {os.getpid()} (")
    assert listener_on(port) == ""


def test_two_programs_that_insist_on_one_port_live_side_by_side(tmp_path: Path) -> None:
    if not isolating.is_possible():
        pytest.skip("This machine does not let us make network namespaces.")
    insists = (
        "import socket, sys, time\n"
        "own = socket.create_server(('', 8080))\n"
        "reached = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
        "reached.sendall(b'hello')\n"
        "print(reached.recv(64).decode(), flush=True)\n"
        "time.sleep(60)\n"
    )
    started = []
    with socket.create_server(("127.0.0.1", 0)) as outside:
        port = outside.getsockname()[1]
        for number in range(2):
            output = tmp_path / f"{number}.out"

            def spawn(
                command: list[str], output: Path = output, **more: Any
            ) -> subprocess.Popen[bytes]:
                with output.open("wb") as log:
                    return subprocess.Popen(command, stdout=log, **more)

            program = [sys.executable, "-c", insists, str(port)]
            started.append(isolating.launch(program, port, spawn))
        for _ in started:
            inside, _ = outside.accept()
            with inside:
                assert inside.recv(64) == b"hello"
                inside.sendall(b"welcome")
        for number in range(2):
            written = tmp_path / f"{number}.out"
            wait_for(lambda written=written: written.read_text() == "welcome\n")  # type: ignore[misc]
    for process in started:
        assert process.poll() is None
        process.kill()
        process.wait()


def test_a_killed_user_leaves_no_bed_behind(own_bed: Bed, tmp_path: Path) -> None:
    """Slow, because it starts a second bed, beside that of the session."""
    folder = tmp_path / "bed"
    code = (
        "import sys, time\nfrom pathlib import Path\n"
        "from tests.beds.kubernetes.bed import running\n"
        "with running(Path(sys.argv[1])) as bed:\n"
        "    assert bed.text('/readyz') == 'ok'\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(600)\n"
    )
    environment = os.environ | {"PYTHONPATH": f"{beds.ROOT / 'platform'}:{beds.ROOT}"}
    with subprocess.Popen(
        [sys.executable, "-c", code, str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=beds.ROOT,
    ) as user:
        assert user.stdout
        assert user.stdout.readline() == "ready\n"
        state = State.read(folder)
        assert state
        assert set(state.ports.values()).isdisjoint(own_bed.ports.values())
        user.kill()
    assert state.supervisor.gone_within(30)
    assert [name for name, one in state.processes.items() if one.is_alive] == []
    assert all(process.is_alive for process in own_bed.processes.values())


def test_a_killed_supervisor_takes_its_processes_with_it(own_bed: Bed, tmp_path: Path) -> None:
    """Slow, because it starts a second bed."""
    bed = beds.start(tmp_path / "bed")
    assert bed.state
    bed.state.supervisor.signal(signal.SIGKILL)
    for name, process in bed.processes.items():
        assert process.gone_within(20), name
    assert beds.find(tmp_path / "bed") is None
    assert not beds.stop(tmp_path / "bed")
