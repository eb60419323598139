"""Ports of a pod at ports of this machine."""

import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor

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
    own = site.url.rpartition(":")[2]
    forward = subprocess.Popen(
        [
            *("env", "--default-signal=INT", str(BIN / "gangline"), "port-forward", "page"),
            *("--port", f"0:{port}", "--port", f"0:{own}"),
        ],
        env=gangline.environment | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert forward.stdout is not None
        lines = [forward.stdout.readline() for _ in range(2)]
        here, foreign = (f"http://{line.partition(' leads')[0]}" for line in lines)
        wait_for(lambda: _answers(here), seconds=30, every=0.2, what="the page")
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _: httpx.get(f"{here}/small").text, range(16)))
        assert found == ["hello\n"] * 16
        assert len(httpx.get(f"{here}/big", timeout=60).content) == 3_000_000
        # Where the pod's own programs do not listen it leads nowhere, whoever else does.
        assert not _answers(foreign)
        forward.send_signal(signal.SIGINT)
        _, err = forward.communicate(timeout=30)
    finally:
        forward.kill()
    assert (forward.returncode, "Traceback" in err) == (130, False), err
    assert f"port {own}" in err
    assert gangline("port-forward", "page", "--port", "x:1").code == 2
    assert gangline("port-forward", "page", "--port", "0:1", "--pod", "worker-9").code == 5


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/small", timeout=10).status_code == 200
    except httpx.HTTPError:
        return False
