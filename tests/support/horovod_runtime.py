"""The runtime with Horovod, built for the system's PyTorch: made where it is first needed."""

import fcntl
import os
import subprocess
from pathlib import Path

import pytest

from tests.support.example_gangs import ROOT


def horovod_python() -> Path:
    """Its interpreter. The build takes some minutes the first time.

    Skips where a compiler or PyTorch's headers are missing, except under ``CI=true``.
    """
    runtimes = ROOT / "var/runtimes"
    runtimes.mkdir(parents=True, exist_ok=True)
    with (runtimes / "horovod.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of parallel tests one makes it
        done = subprocess.run(
            [ROOT / "scripts/install.sh", "horovod"], cwd=ROOT, capture_output=True, text=True
        )
    if "then try again" in done.stderr and os.environ.get("CI") != "true":
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    return runtimes / "horovod/bin/python"
