"""The whole product in one process: how it starts, ends, and leaves running work alone."""

import re
import signal
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from scripts.services import free_port
from tests.support.installation import (
    BIN,
    Embedded,
    embedded,
    environment_of,
    processes,
    slowness,
)
from tests.support.visitor import visitor
from tests.support.waiting import wait_for

PEOPLE = ("administrator", "researcher")
UNTIL_TOLD = "sh -c 'while [ ! -e go ]; do echo line; sleep 0.2; done; echo last'"
REPLICAS = ("worker-0", "worker-1")
STOP_SECONDS = 3.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    """A server that was started from nothing."""
    with embedded(tmp_path_factory.mktemp("embedded") / "data") as made:
        made.start()
        made.sign_in("researcher")
        yield made


def _refused(environment: dict[str, str]) -> str:
    done = subprocess.run(
        [str(BIN / "gangline-manage"), "run"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    return done.stderr.strip()


def test_it_prints_where_to_open_it_and_links_that_sign_in(server: Embedded) -> None:
    printed = server.output.read_text()
    assert printed.startswith("Gangline ")
    assert f"  Open          {server.url}\n" in printed
    links = re.findall(rf"({'|'.join(PEOPLE)}) +({server.url}/enter/\S+)", printed)
    assert [name for name, _ in links] == [*PEOPLE]
    by_hand = {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    for name, link in links:
        with httpx.Client(trust_env=False, timeout=20) as client:
            assert client.get(link, headers=by_hand).headers["location"] == "/"
            assert name in client.get(server.url).text
            assert client.get(link, headers=by_hand).status_code == 410


def test_the_data_folder_is_closed_to_others(server: Embedded) -> None:
    assert stat.S_IMODE(server.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((server.folder / "secret.key").stat().st_mode) == 0o600
    assert (server.folder / "gangline.db").exists()


def test_the_first_workload_may_come_with_the_first_page(tmp_path: Path) -> None:
    """Nobody has looked at the machine's runtimes then; that happens after the start."""
    slow = tmp_path / "data" / "runtimes" / "slow" / "bin" / "python"
    slow.parent.mkdir(parents=True)
    slow.write_text("#!/bin/sh\nsleep 60\n")
    slow.chmod(0o755)
    with embedded(tmp_path / "data") as fresh:
        fresh.start()
        fresh.sign_in("researcher")
        workload = fresh.started("early", "sh -c 'echo early'", workers=2)
        fresh.until(workload, "Completed")
        facts = fresh.get("clusters")[0]["status"]["dependencies"]["optional"]
        assert facts == {}, "The probe was over before: this test shows nothing."


def test_an_idle_server_needs_little_memory(server: Embedded) -> None:
    assert server.process is not None
    used = psutil.Process(server.process.pid).memory_full_info().pss / 2**20
    assert used <= 200, f"{used:.0f} MiB"


def test_a_second_server_on_the_same_folder_is_told_who_holds_it(server: Embedded) -> None:
    assert server.process is not None
    said = _refused(environment_of(server.folder, free_port()))
    assert f"process {server.process.pid} at {server.url}" in said
    assert "set GANGLINE_DATA_DIR to another folder" in said


def test_a_taken_port_is_told_with_its_holder_and_the_next_one(
    server: Embedded, tmp_path: Path
) -> None:
    assert server.process is not None
    port = int(server.environment["PORT"])
    said = _refused(environment_of(tmp_path / "other", port))
    assert said.startswith(f"CommandError: Port {port} is taken by gangline-manage")
    assert f"(process {server.process.pid})" in said
    assert said.endswith(f"make run PORT={port + 1}")


def test_it_is_not_offered_to_a_network_without_tls(tmp_path: Path) -> None:
    environment = environment_of(tmp_path / "data", free_port(), GANGLINE_HOST="0.0.0.0")
    assert "this mode has no TLS" in _refused(environment)


def test_production_is_not_one_process(tmp_path: Path) -> None:
    environment = environment_of(tmp_path / "data", free_port(), GANGLINE_MODE="production")
    assert "docs/how-to/go-to-production.md" in _refused(environment)


def _ctrl_c(server: Embedded) -> None:
    assert server.stop(signal.SIGINT) <= STOP_SECONDS * slowness()
    assert server.process is not None
    assert server.process.returncode == 0


def _kill_session(server: Embedded) -> None:
    server.kill_session()


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(_ctrl_c, id="Ctrl-C", marks=pytest.mark.thorough),
        pytest.param(_kill_session, id="kill -9"),
    ],
)
def test_a_running_gang_outlives_its_server_and_is_adopted(
    server: Embedded, end: Callable[[Embedded], None]
) -> None:
    """F-42: same process, the log grows meanwhile, and the end is known afterwards."""
    name = end.__name__.strip("_").replace("_", "-")
    workload = server.started(f"outlives-{name}", UNTIL_TOLD, workers=2)
    server.until(workload, "Running")
    claim = server.claim(workload)
    end(server)
    lines = server.log(workload).count("\n")
    wait_for(lambda: server.log(workload).count("\n") > lines, seconds=5, what="a longer log")
    server.start()
    assert server.claim(workload) == claim
    assert psutil.Process(claim["pid"]).is_running()
    with visitor(server, "researcher") as client:
        assert client.get(f"/workloads/{workload}").status_code == 200
    for replica in REPLICAS:
        (server.folder / "runs" / workload / "1" / replica / "work" / "go").touch()
    server.until(workload, "Completed", seconds=30)
    for replica in REPLICAS:
        assert server.log(workload, replica).count("last") == 1
    assert server.attempts(workload) == [1]
    wait_for(lambda: processes(workload) == [], seconds=5, what="no process to be left")


def test_it_ends_within_three_seconds_while_a_page_is_open(server: Embedded) -> None:
    with visitor(server, "researcher") as client, client.stream("GET", "/workloads"):
        assert server.stop(signal.SIGTERM) <= STOP_SECONDS * slowness()
    server.start()
