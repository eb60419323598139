"""The Slurm driver under the suite that binds every driver, on a real Slurm of four nodes.

Each test is an installation of its own, with a folder for its runs.
"""

import contextlib
import secrets
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gangline.drivers.base import (
    AttemptRef,
    Done,
    Driver,
    NotYet,
    Observation,
    ObservedState,
    Refused,
)
from gangline.drivers.slurm.commands import LocalCommands, Programs
from gangline.drivers.slurm.driver import Options, SlurmDriver
from tests.beds.slurm.lab import Lab
from tests.drivers.conformance import RemembersDeletes, Script, shell
from tests.drivers.conformance_shells import ShellConformance
from tests.drivers.conformance_thorough import ThoroughConformance
from tests.support.waiting import wait_for

pytestmark = pytest.mark.needs_slurm


class TestSlurm(RemembersDeletes, ShellConformance):
    seconds = 40.0
    chatter = rb"srun: error: .*\n"

    @pytest.fixture
    def driver(self, slurm_lab: Lab, tmp_path: Path) -> Iterator[Driver]:
        """A driver beside a watch that fetches the logs, as in production."""
        self.install = f"install-{secrets.token_hex(4)}"
        self.lab = slurm_lab
        runs = slurm_lab.folder / "runs" / self.install
        driver = SlurmDriver(self._programs(), Options(tmp_path, str(runs), every=0.5))
        with _followed(driver, self.install):
            yield driver

    def _programs(self) -> Programs:
        return Programs(LocalCommands(), config=str(self.lab.config))

    def again(self, driver: Driver) -> Driver:
        assert isinstance(driver, SlurmDriver)
        return SlurmDriver(self._programs(), driver.options)

    def values(self, script: Script) -> dict[str, object]:
        return {"command": shell(script), "compute.cpuMemoryRequest": "100M"}

    def ref(
        self,
        driver: Driver,
        script: Script,
        *,
        replicas: int = 1,
        grace: int = 10,
        name: str = "gang",
    ) -> AttemptRef:
        ref = super().ref(driver, script, replicas=replicas, grace=grace, name=name)
        # Slurm gives out the slots, and has no namespaces.
        self.made[-1] = replace(ref, namespace="", placement=())
        return self.made[-1]

    def over(self, driver: Driver, ref: AttemptRef) -> Observation:
        """It ended, and what it wrote has been fetched."""
        seen = super().over(driver, ref)
        if seen.state is not ObservedState.ABSENT:
            wait_for(lambda: self._end(driver, ref), seconds=self.seconds, what="the whole log")
        return seen

    @staticmethod
    def _end(driver: Driver, ref: AttemptRef) -> bool:
        return driver.read_log(ref, "worker-0", 2**40, 1000).end

    # What only this kind of cluster has

    def test_nothing_runs_before_it_is_released(self, driver: Driver) -> None:
        ref = self.ref(driver, Script.SLEEP)
        assert isinstance(driver.create(ref), NotYet)
        seen = driver.observe(ref)
        assert seen.state is ObservedState.HELD
        assert seen.ext_uid

    def test_a_held_one_that_is_stopped_is_not_released_any_more(self, driver: Driver) -> None:
        ref = self.ref(driver, Script.SLEEP)
        driver.create(ref)
        driver.suspend(ref)
        assert self.over(driver, ref).state is ObservedState.SUSPENDED
        assert isinstance(driver.commit(ref), Done)
        assert driver.observe(ref).state is ObservedState.SUSPENDED

    def test_a_stopped_job_is_not_continued(self, driver: Driver) -> None:
        assert isinstance(driver.resume(self.ref(driver, Script.SLEEP)), Refused)


@pytest.mark.thorough
class TestThoroughly(TestSlurm, ThoroughConformance):
    """The whole suite."""


@contextlib.contextmanager
def _followed(driver: SlurmDriver, install: str) -> Iterator[None]:
    over = threading.Event()

    def follow() -> None:
        batches = driver.watch(install, "")
        for _ in batches:
            if over.is_set():
                break
        batches.close()  # type: ignore[attr-defined]

    thread = threading.Thread(target=follow, name="watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(15)
