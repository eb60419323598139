"""The commands with which a person starts and stops a bed, and a cluster that is there instead."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gangline.drivers.kubernetes.client import Client
from tests.beds.kubernetes import bed as beds
from tests.beds.kubernetes.bed import Bed
from tests.beds.kubernetes.fixtures import KUBECONFIG, RESTRICTED, RUNNING_BED

pytestmark = [pytest.mark.needs_kubernetes, pytest.mark.thorough]
SECONDS = 300
OUTSIDE = ("GANGLINE_TEST_SESSION", RUNNING_BED)


def said(*arguments: str, **environment: str) -> str:
    """What a command of this project prints; it has to end well."""
    kept = {k: v for k, v in os.environ.items() if k not in OUTSIDE and "PYTEST" not in k}
    done = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=beds.ROOT, env=kept | environment, text=True,
        stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_a_bed_is_started_and_stopped_by_one_command_each(tmp_path: Path) -> None:
    def command(word: str) -> str:
        return said("tests.beds.kubernetes", word, GANGLINE_DATA_DIR=str(tmp_path), WITH="")

    try:
        assert "Kubernetes is ready after" in command("up")
        there = beds.find(tmp_path / "bed")
        assert there is not None
        assert there.state is not None
        processes = list(there.state.processes.values())
        assert processes
        assert Client(there.restricted).request("GET", "/version").ok
        assert f"Kubernetes is running at {there.admin.server}" in command("up")
    finally:
        stopped = command("down")
    assert "The bed is stopped" in stopped
    assert not any(process.is_alive for process in processes)
    assert "No bed is running." in command("down")


def test_the_tests_use_any_cluster_whose_kubeconfig_they_are_given(
    bed: Bed, tmp_path: Path
) -> None:
    name = "test_f13_an_object_of_others_is_a_conflict_and_stays_as_it_is"
    test, ways = f"tests/drivers/kubernetes/test_driver.py::{name}", dict[str, str]()
    for variable, user in ((KUBECONFIG, "admin"), (RESTRICTED, "gangline")):
        (tmp_path / user).write_text(bed.kubeconfig(user))
        ways[variable] = str(tmp_path / user)
    told = said("pytest", "-q", "-n0", "-p", "no:cacheprovider", test, **ways)
    assert "1 passed" in told
