"""`make stack`: what its processes owe to it."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.waiting import wait_for

ROOT = Path(__file__).resolve().parents[2]
STARTS = """
import os, pathlib, signal, socket, sys
from scripts import stack
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever runs the tests may ignore it
stack.PROCESSES["worker"] = ("python", "-c", "import time; print('up', flush=True); time.sleep(60)")
folder = pathlib.Path(sys.argv[1])
made = stack.Stack("", folder, dict(os.environ), socket.socket(), None, None)
print(made.start("worker").pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGHUP])
def test_no_process_outlives_it_however_it_ends(tmp_path: Path, end: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTS, str(tmp_path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as starter:
        assert starter.stdout is not None
        process = Path("/proc", starter.stdout.readline().decode().strip())
        wait_for(lambda: "up" in (tmp_path / "logs/worker.log").read_text())
        starter.send_signal(end)
        starter.wait()
        wait_for(lambda: not process.exists(), seconds=5)
