"""The fixture that gives tests a real Slurm; loaded by the conftest at the root of the tests."""

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.beds.slurm.lab import Lab, running


@pytest.fixture(scope="session")
def slurm_lab() -> Iterator[Lab]:
    """A Slurm of four nodes for this process of the session; up within a second."""
    # Paths of sockets are short: not below pytest's own folder.
    with (
        TemporaryDirectory(prefix="slurm-", ignore_cleanup_errors=True) as folder,
        running(Path(folder) / os.environ.get("PYTEST_XDIST_WORKER", "lab")) as lab,
    ):
        yield lab
