"""Fixtures that give tests a real Kubernetes; loaded by the conftest at the root of the tests."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.beds.kubernetes.bed import Bed, given, running

RUNNING_BED = "GANGLINE_TEST_BED"
"""Folder of a bed that is used in place of one of the session's own, if it runs: `var/bed`.

One with an add-on is looked for beside it: `var/bed-volcano`.
"""
KUBECONFIG = "GANGLINE_TEST_KUBECONFIG"
"""A cluster that is used as it is; nothing is started."""
USUAL = ("jobset",)
"""Add-ons of the shared bed."""
RESTRICTED = "GANGLINE_TEST_RESTRICTED_KUBECONFIG"
"""The same cluster as a user with the rights of Gangline's role; unless said, as the same user."""


@pytest.fixture(scope="session")
def bed() -> Iterator[Bed]:
    """The bed of this test session, shared by its parallel processes; started by the first."""
    folder = _folder()
    if config := os.environ.get(KUBECONFIG):
        yield given(Path(config), Path(os.environ.get(RESTRICTED) or config), folder)
        return
    with running(folder, USUAL) as there:
        yield there


@pytest.fixture
def own_bed(bed: Bed) -> Bed:
    """The bed, for a test that looks at its processes or files; left out on other clusters."""
    if bed.state is None:
        pytest.skip(f"{KUBECONFIG} names a cluster whose processes are nobody's to touch.")
    return bed


@pytest.fixture
def own_processes(own_bed: Bed) -> Bed:
    """The bed, alone, for a test that stops or freezes parts of it."""
    return own_bed


@pytest.fixture
def namespace(bed: Bed) -> Iterator[str]:
    """A namespace of its own for one test."""
    with bed.namespace() as name:
        yield name


@pytest.fixture(scope="session")
def bed_with() -> Iterator[Callable[[str], Bed]]:
    """The bed of this session with one add-on, or none; started when a test first asks for it."""
    with ExitStack() as stack:
        beds: dict[str, Bed] = {}

        def with_(name: str) -> Bed:
            if name not in beds:
                beds[name] = stack.enter_context(running(_folder(name), [name] if name else USUAL))
            return beds[name]

        yield with_


@pytest.fixture
def volcano_bed(bed_with: Callable[[str], Bed]) -> Iterator[Bed]:
    """A cluster that Volcano schedules, for this test alone: its room is what tests are about."""
    with _turn(_folder("volcano"), alone=True):
        bed = bed_with("volcano")
        bed.revive()
        yield bed


@pytest.fixture
def native_bed(bed_with: Callable[[str], Bed]) -> Iterator[Bed]:
    """The same with gangs of Kubernetes itself."""
    with _turn(_folder("native-gang"), alone=True):
        bed = bed_with("native-gang")
        bed.revive()
        yield bed


@pytest.fixture(autouse=True)
def turns_on_the_bed(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let no test of a parallel process use the bed while one has it alone."""
    if "bed" not in request.fixturenames:
        yield
        return
    with _turn(_folder(), alone="own_processes" in request.fixturenames):
        request.getfixturevalue("bed").revive()
        yield


@contextmanager
def _turn(folder: Path, *, alone: bool) -> Iterator[None]:
    """Wait for one's turn on the bed in ``folder``, with others or alone."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / "turns.lock").open("w") as turns:
        fcntl.flock(turns, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield


def _folder(add_on: str = "") -> Path:
    suffix = f"-{add_on}" if add_on else ""
    if running_bed := os.environ.get(RUNNING_BED):
        return Path(f"{running_bed.rstrip('/')}{suffix}").absolute()
    return Path(os.environ["GANGLINE_TEST_SESSION"]) / f"bed{suffix}"
