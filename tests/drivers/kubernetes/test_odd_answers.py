"""What calls make of answers that a real cluster hardly ever gives."""

from collections.abc import Mapping
from typing import Any

import pytest

from gangline.clusters.drivers.base import AttemptRef, Busy, Submission
from gangline.clusters.drivers.kubernetes import effects
from gangline.clusters.drivers.kubernetes.client import Answer
from gangline.clusters.drivers.kubernetes.driver import KubernetesDriver
from gangline.clusters.drivers.kubernetes.options import Options
from tests.drivers.kubernetes.scripted import ScriptedClient, page, status

CLAIMS = "/persistentvolumeclaims"


def attempt(driver: KubernetesDriver, no: int = 1) -> AttemptRef:
    submission = Submission(
        name="gang",
        project="vision",
        framework="PyTorch",
        configuration="workersOnly",
        num_workers=1,
        worker={"image": "registry.example/training:1", "command": "train"},
        master=None,
    )
    rendered = driver.render(submission)
    return AttemptRef("i", "w", no, "gang", "vision", submission=submission, rendered=rendered)


def test_a_name_that_is_taken_and_by_nobody_is_tried_a_few_times_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Such as for a while after a deletion, or behind a proxy that keeps answers."""
    monkeypatch.setattr(effects, "PATIENCE", 2.0)

    def say(method: str, path: str, query: Mapping[str, Any]) -> Answer:
        return status(409, "AlreadyExists") if method == "POST" else status(404, "NotFound")

    client = ScriptedClient(say)
    driver = KubernetesDriver(client, Options())
    assert driver.create(attempt(driver)) == Busy(2.0, "The name is in use.")
    assert 2 <= client.count("POST") <= 5


@pytest.mark.parametrize("code", [429, 503])
def test_f12_a_cluster_that_is_busy_with_claims_is_busy(code: int) -> None:
    """Not in doubt: nothing is wrong, and everything of ours has to wait."""

    def say(method: str, path: str, query: Mapping[str, Any]) -> Answer:
        if path.endswith(CLAIMS):
            return status(code, "TooManyRequests", retry_after=9.0)
        if path.count("/") == 3:  # what the cluster knows
            return Answer(200, {"resources": []})
        return page() if method == "GET" and path.endswith("s") else status(404, "NotFound")

    driver = KubernetesDriver(ScriptedClient(say), Options())
    assert driver.delete(attempt(driver)) == Busy(9.0, is_for_all=True)
