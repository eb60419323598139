"""The local driver under the suite that binds every driver, with and without a sandbox."""

from pathlib import Path

import pytest

from gangline.drivers.base import Driver
from gangline.drivers.local.driver import LocalDriver, Options
from tests.drivers.conformance import RemembersDeletes, Script, shell
from tests.drivers.conformance_shells import ShellConformance
from tests.drivers.conformance_thorough import ThoroughConformance


class LocalConformance(ShellConformance):
    use_sandbox = False

    @pytest.fixture
    def driver(self, tmp_path: Path) -> Driver:
        return LocalDriver(tmp_path, "host-a", Options(use_sandbox=self.use_sandbox))

    def again(self, driver: Driver) -> Driver:
        assert isinstance(driver, LocalDriver)
        return LocalDriver(driver.data_dir, driver.host_id, driver.options)

    def values(self, script: Script) -> dict[str, object]:
        return {"image": "local://system", "command": shell(script)}


class TestPlain(LocalConformance, RemembersDeletes, ThoroughConformance):
    use_sandbox = False


@pytest.mark.needs_bwrap
class TestSandboxed(LocalConformance):
    use_sandbox = True
