"""Ports of a pod at ports of this machine."""

import signal
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx

from scripts.services import free_port
from tests.cli.conftest import SMALL, Line
from tests.support.installation import BIN, Embedded
from tests.support.waiting import wait_for

SERVE = "head -c 3000000 /dev/zero > big; echo hello > small; exec python3 -m http.server {port}"


def test_a_page_of_a_pod(site: Embedded, gangline: Line) -> None:
    port = free_port()
    script = SERVE.format(port=port)
    words = ("--workers=1", "--no-master", "--command", "--", "sh", "-c", script)
    gangline.ok("submit-dist", "pytorch", "page", *SMALL, "--wait", *words)
    own = int(site.url.rpartition(":")[2])
    with forwarded(gangline, "page", port, own) as ((here, foreign), end):
        wait_for(lambda: answers(here), seconds=30, every=0.2, what="the page")
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _: httpx.get(f"{here}/small").text, range(16)))
        assert found == ["hello\n"] * 16
        assert len(httpx.get(f"{here}/big", timeout=60).content) == 3_000_000
        # Where the pod's own programs do not listen it leads nowhere, whoever else does.
        assert not answers(foreign)
        assert f"port {own}" in end()
    assert gangline("port-forward", "page", "--port", "x:1").code == 2
    assert gangline("port-forward", "page", "--port", "0:1", "--pod", "worker-9").code == 5


@contextmanager
def forwarded(line: Line, name: str, *ports: int) -> Iterator[tuple[list[str], Callable[[], str]]]:
    """Where ``ports`` of a pod are reached, and what ends it as Ctrl-C does and returns the errors
    that were told."""
    command = [
        *("env", "--default-signal=INT", str(BIN / "gangline"), "port-forward", name),
        *(word for port in ports for word in ("--port", f"0:{port}")),
    ]
    with subprocess.Popen(
        command,
        env=line.environment | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:

        def end() -> str:
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=30)
            assert (process.returncode, "Traceback" in err) == (130, False), err
            return err

        try:
            assert process.stdout is not None
            told = [process.stdout.readline() for _ in ports]
            yield [f"http://{one.partition(' leads')[0]}" for one in told], end
        finally:
            process.kill()


def answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/small", timeout=10).status_code == 200
    except httpx.HTTPError:
        return False
