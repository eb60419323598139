"""Fixtures that give tests a real Kubernetes; loaded by the conftest at the root of the tests."""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.beds.kubernetes.bed import Bed, given, running

RUNNING_BED = "GANGLINE_TEST_BED"
"""Folder of a bed that is used in place of one of the session's own, if it runs: `var/bed`."""
KUBECONFIG = "GANGLINE_TEST_KUBECONFIG"
"""A cluster that is used as it is; nothing is started."""
RESTRICTED = "GANGLINE_TEST_RESTRICTED_KUBECONFIG"
"""The same cluster as a user with the rights of Gangline's role; unless said, as the same user."""


@pytest.fixture(scope="session")
def bed() -> Iterator[Bed]:
    """The bed of this test session, shared by its parallel processes; started by the first."""
    folder = _folder()
    if config := os.environ.get(KUBECONFIG):
        yield given(Path(config), Path(os.environ.get(RESTRICTED) or config), folder)
        return
    with running(folder) as there:
        yield there


@pytest.fixture
def own_processes(bed: Bed) -> Bed:
    """The bed, alone, for a test that stops or freezes parts of it; left out on other clusters."""
    if bed.state is None:
        pytest.skip(f"{KUBECONFIG} names a cluster whose processes are nobody's to touch.")
    return bed


@pytest.fixture
def namespace(bed: Bed) -> Iterator[str]:
    """A namespace of its own for one test."""
    with bed.namespace() as name:
        yield name


@pytest.fixture(autouse=True)
def turns_on_the_bed(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let no test of a parallel process use the bed while one has it alone."""
    if "bed" not in request.fixturenames:
        yield
        return
    alone = "own_processes" in request.fixturenames
    _folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    with (_folder() / "turns.lock").open("w") as turns:
        fcntl.flock(turns, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield


def _folder() -> Path:
    if running_bed := os.environ.get(RUNNING_BED):
        return Path(running_bed).absolute()
    return Path(os.environ["GANGLINE_TEST_SESSION"]) / "bed"
