"""Where a working directory may lie on this machine, as the installation is set up."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from gangline.clusters.connections import driver_for
from gangline.clusters.models import Cluster
from gangline.config.env import Env
from gangline.drivers.local.driver import LocalDriver
from gangline.lib.paths import RESOURCES
from gangline.spec.problems import Role

pytestmark = pytest.mark.django_db


def told(config: Mapping[str, Any]) -> str:
    cluster = Cluster(name="here", kind="local", config=dict(config))
    notes = driver_for(cluster).field_notes(
        framework="PyTorch", role=Role.WORKER, has_own_master=False
    )
    return notes["workingDir"].help


def test_on_one_s_own_machine_it_is_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert f"a folder in {tmp_path} or {RESOURCES}/examples." in told({})
    assert f"a folder in /data or {RESOURCES}/examples." in told({"roots": ["/data"]})


def test_the_environment_may_name_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GANGLINE_LOCAL_ROOTS", "/srv/code,/srv/data")
    monkeypatch.setattr(settings, "GANGLINE", Env())
    assert f"a folder in /srv/code, /srv/data or {RESOURCES}/examples." in told({})


@pytest.mark.parametrize("change", [{"host": "0.0.0.0"}, {"mode": "production"}])
def test_where_others_come_in_it_is_only_what_was_named(
    monkeypatch: pytest.MonkeyPatch, change: Mapping[str, str]
) -> None:
    monkeypatch.setattr(settings, "GANGLINE", settings.GANGLINE.model_copy(update=change))
    assert f"Where the command starts: a folder in {RESOURCES}/examples." in told({})


def test_keys_and_named_folders_are_kept_from_workloads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GANGLINE_KEYS_FILE", str(tmp_path / "sealing.keys"))
    monkeypatch.setenv("GANGLINE_LOCAL_HIDDEN", f"{tmp_path}/a,{tmp_path}/b")
    monkeypatch.setattr(settings, "GANGLINE", Env())
    driver = driver_for(Cluster(name="here", kind="local"))
    assert isinstance(driver, LocalDriver)
    named = {tmp_path / name for name in ("sealing.keys", "a", "b")}
    assert named <= {*driver.options.hidden}
