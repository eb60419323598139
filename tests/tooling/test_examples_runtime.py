"""The runtime of the examples has what they import, from its own folder."""

import subprocess
from pathlib import Path

import pytest

from scripts import system_packages

pytestmark = pytest.mark.thorough


def imports(runtime: Path, code: str) -> str:
    """What a line of Python prints in the runtime, with nothing of ours on its path."""
    python = str(runtime / "bin" / "python")
    done = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_it_has_xgboost_and_the_digits(examples_runtime: Path) -> None:
    """Slow, because it imports scientific packages."""
    code = (
        "import numpy, sklearn.datasets, xgboost; print(sklearn.datasets.load_digits().data.shape)"
    )
    assert imports(examples_runtime, code) == "(1797, 64)"


@pytest.mark.needs_mpi
def test_its_mpi_binding_finds_the_installed_mpi(examples_runtime: Path) -> None:
    code = "from mpi4py import MPI; print(MPI.Get_library_version().split(',')[0])"
    assert imports(examples_runtime, code).startswith("Open MPI")


def test_it_is_installed_without_a_gpu_library(examples_runtime: Path) -> None:
    names = {path.name.partition("-")[0] for path in examples_runtime.glob("lib/*/site-packages/*")}
    assert "xgboost_cpu" in names
    assert not {name for name in names if name.startswith("nvidia")}


@pytest.mark.needs_torch
def test_the_system_python_can_run_distributed_pytorch() -> None:
    """Slow, because it imports PyTorch."""
    code = "import torch.distributed as d; print(d.is_available() and d.is_gloo_available())"
    python = [system_packages.SYSTEM_PYTHON, "-I", "-c", code]
    done = subprocess.run(python, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "True", done.stderr
