"""A runtime with the real MXNet 1.9.1, and Horovod's own Python: made where it is first needed.

MXNet's wheel is for Python up to 3.11 and an old NumPy. Of Horovod, whose library takes minutes to
build, the release is only unpacked: its servers and its hosts are pure Python.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

WANTED = ("mxnet==1.9.1", "numpy==1.23.5", "setuptools<80")
BESIDE_HOROVOD = ("psutil==7.2.2", "cloudpickle==3.1.2", "PyYAML==6.0.3", "packaging==25.0")
HOROVOD = "horovod-0.28.1"


def mxnet_python() -> Path:
    """Its interpreter. Takes some 15 s the first time, and 300 MB in the cache."""
    cache = Path(os.environ.get("GANGLINE_BED_CACHE") or Path.home() / ".cache/gangline")
    folder = cache / "mxnet-1.9.1"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "mxnet.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of parallel tests one makes it
        if not (folder / "made").exists():
            shutil.rmtree(folder, ignore_errors=True)
            _make(folder)
            (folder / "made").touch()
    return folder / "bin/python"


def _make(folder: Path) -> None:
    python = sys.executable if sys.version_info[:2] == (3, 11) else shutil.which("python3.11")
    if python is None:
        pytest.skip("needs Python 3.11, for which MXNet's last wheel was made")
    _run(python, "-m", "venv", folder)
    pip = (folder / "bin/python", "-m", "pip", "--disable-pip-version-check", "-q")
    _run(*pip, "install", *WANTED, *BESIDE_HOROVOD)
    sources = ("--no-deps", "--no-binary", "horovod", "-d", folder)
    _run(*pip, "download", *sources, HOROVOD.replace("-", "=="))
    (site,) = folder.glob("lib/python3*/site-packages")
    with tarfile.open(folder / f"{HOROVOD}.tar.gz") as packed:
        packed.extractall(folder, filter="data")
    shutil.move(folder / HOROVOD / "horovod", site / "horovod")
    shutil.rmtree(folder / HOROVOD)


def _run(*words: object) -> None:
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def assert_learned(logs: Sequence[str]) -> None:
    """Whether the workers of `examples/kvstore_mxnet.py` ended with one line, and the right one."""
    found = [re.findall(r"error ([\d.]+) weights \[(.*)\]", text) for text in logs]
    ((first, weights),) = found[0]
    assert float(first) < 0.01
    assert {told[0][1] for told in found} == {weights}
    assert [round(float(one)) for one in weights.split()] == [1, 2, 3, 4, 5]
