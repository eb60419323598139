"""The fault-injecting cluster, while it has no faults, behaves as a driver must."""

from pathlib import Path

import pytest

from gangline.drivers.base import Driver
from tests.drivers.conformance import DriverConformance, Script
from tests.drivers.faulty import FaultyCluster, FaultyDriver

pytestmark = pytest.mark.thorough


class TestFaulty(DriverConformance):
    @pytest.fixture
    def driver(self, tmp_path: Path) -> Driver:
        return FaultyCluster(tmp_path / "cluster.db", idempotent=True).driver()

    def again(self, driver: Driver) -> Driver:
        assert isinstance(driver, FaultyDriver)
        return FaultyDriver(driver.path)

    def values(self, script: Script) -> dict[str, object]:
        word = script.name.lower().replace("_", "-")
        return {"image": "local://system", "command": f"behave {word}"}
