"""The Kubernetes driver under the suite that binds every driver, on a real API server.

Gangline acts as the user of the shipped roles. Each test is an installation of its own, with a
namespace for each workload, as if each were another project's.
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
)
from gangline.drivers.kubernetes import log_collector
from gangline.drivers.kubernetes.access import Options
from gangline.drivers.kubernetes.client import Client
from gangline.drivers.kubernetes.driver import KubernetesDriver
from gangline.drivers.kubernetes.resources import NAMESPACES
from gangline.drivers.kubernetes.shells import BROKEN
from tests.beds.kubernetes.bed import Bed
from tests.drivers.conformance import Script
from tests.drivers.conformance_shells import ShellConformance
from tests.drivers.conformance_thorough import ThoroughConformance
from tests.support.kubelet import Kubelet
from tests.support.waiting import wait_for

pytestmark = pytest.mark.needs_kubernetes

IMAGE = "registry.example/training:1"


class TestKubernetes(ShellConformance):
    seconds = 40.0
    tells_stopped_ends = False  # the pods are gone, and what they knew with them
    # The bed's kubelet does neither; test_shells.py plays an API server that does.
    tells_codes = ends_input = False
    # It may also end the whole line, without a status, before what it sent has been read: under
    # load one line in ten, and the API server then hangs up on us without a word.
    broken = BROKEN
    # A shell that hangs up would take the bed's kubelet, in whose session it is, along.
    terminal = ("setsid", "--ctty", "--wait", "bash")

    @pytest.fixture
    def driver(self, bed: Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
        """A driver beside a watch that fetches the logs, as in production."""
        # The bed's kubelet, unlike a real one, does not end the stream of a pod that has ended.
        monkeypatch.setattr(log_collector, "SILENCE", 2.0)
        self.install = f"install-{secrets.token_hex(4)}"
        self.bed = bed
        driver = KubernetesDriver(Client(bed.restricted), Options(data_dir=tmp_path))
        self.namespaces: list[str] = []
        (rooms := tmp_path / "rooms").mkdir()
        with Kubelet(bed, self.install, rooms), _followed(driver, self.install):
            yield driver
        for name in self.namespaces:
            _remove(bed, name)

    def again(self, driver: Driver) -> Driver:
        assert isinstance(driver, KubernetesDriver)
        return KubernetesDriver(Client(self.bed.restricted), driver.options)

    def values(self, script: Script) -> dict[str, object]:
        word = script.name.lower().replace("_", "-")
        return {"image": IMAGE, "command": f"behave {word}"}

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
        place = f"test-{secrets.token_hex(4)}"
        self.namespaces.append(place)
        self.made[-1] = replace(ref, namespace=place, placement=())
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

    def test_a_stopped_one_goes_on_as_the_same_attempt(self, driver: Driver) -> None:
        ref = self.created(driver, Script.TALK_ON)
        first = self.running(driver, ref)
        wait_for(lambda: self._lines(driver, ref) == 1, seconds=self.seconds)
        driver.suspend(ref)
        self.over(driver, ref)
        driver.resume(ref)
        second = self.running(driver, ref)
        assert second.ext_uid == first.ext_uid
        assert self.identities(second) != self.identities(first)
        wait_for(lambda: self._lines(driver, ref) == 2, seconds=self.seconds)

    def test_the_next_attempt_takes_the_place_of_the_one_before(self, driver: Driver) -> None:
        first = self.created(driver, Script.FAIL)
        assert self.over(driver, first).state is ObservedState.FAILED
        second = replace(first, attempt=2)
        self.made.append(second)
        assert isinstance(driver.create(second), NotYet)
        assert driver.observe(first).state is ObservedState.ABSENT
        assert driver.observe(second).state is ObservedState.HELD

    def _lines(self, driver: Driver, ref: AttemptRef) -> int:
        return driver.read_log(ref, "worker-0", 0, 2**16).data.count(b"\n")


@pytest.mark.thorough
class TestThoroughly(TestKubernetes, ThoroughConformance):
    """The whole suite."""


@contextlib.contextmanager
def _followed(driver: KubernetesDriver, install: str) -> Iterator[None]:
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


def _remove(bed: Bed, namespace: str) -> None:
    answer = bed.client.get(NAMESPACES, "", namespace)
    if answer.ok:
        bed.client.delete(NAMESPACES, "", namespace, uid=answer.body["metadata"]["uid"])
