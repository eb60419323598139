"""Fail points act as armed, at the right hit, and are refused outside of debug mode."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gangline.lib import fail_points
from gangline.lib.fail_points import FailPointHit, arm, fail_point


@pytest.fixture(autouse=True)
def _disarm() -> Iterator[None]:
    yield
    arm("")


def test_an_unarmed_point_does_nothing() -> None:
    arm("elsewhere:raise@1")
    fail_point("here")
    with pytest.raises(FailPointHit):
        fail_point("elsewhere")


def test_a_point_acts_at_its_hit_only() -> None:
    arm("here:raise@2")
    fail_point("here")
    with pytest.raises(FailPointHit):
        fail_point("here")
    fail_point("here")
    fail_point("elsewhere")


def test_a_star_acts_at_every_hit() -> None:
    arm("here:raise@*, there:sleep(0)@1")
    for _ in range(3):
        with pytest.raises(FailPointHit):
            fail_point("here")
    fail_point("there")


def test_an_unknown_action_is_refused() -> None:
    with pytest.raises(ValueError, match="explode"):
        arm("here:explode")


def _import(**variables: str) -> subprocess.CompletedProcess[str]:
    code = "from gangline.lib.fail_points import fail_point; fail_point('here'); print('alive')"
    package = str(Path(fail_points.__file__).parents[2])
    return subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": package, "GANGLINE_FAIL_POINTS": "here:kill@1", **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_kill_ends_the_process_with_signal_9() -> None:
    assert _import(GANGLINE_DEBUG="1").returncode == -signal.SIGKILL


def test_outside_of_debug_mode_they_are_refused() -> None:
    done = _import()
    assert done.returncode == 1
    assert "GANGLINE_DEBUG" in done.stderr
