"""Effects and what belongs to them end in time, however slowly a cluster answers."""

import time
from contextlib import closing
from pathlib import Path

import pytest

from gangline.clusters.drivers.base import AttemptRef, Unknown
from gangline.clusters.drivers.kubernetes import deadlines, logs, pods
from gangline.clusters.drivers.kubernetes.client import Client
from gangline.clusters.drivers.kubernetes.driver import KubernetesDriver
from gangline.clusters.drivers.kubernetes.options import Options
from tests.drivers.kubernetes import raw
from tests.support.api_server import Script, answering


def test_an_effect_has_one_deadline_for_all_of_its_requests(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each answer comes in time, and the whole of them would not."""
    monkeypatch.setattr(deadlines, "BUDGET", 0.8)
    script = Script(seconds=0.3, groups={"kubeflow.org": {"v1": [], "v2beta1": []}})
    ref = AttemptRef("install", "workload", 1, "gang")
    with answering(script) as access, closing(Client(access)) as client:
        driver = KubernetesDriver(client, Options(data_dir=tmp_path))
        began = time.monotonic()
        assert isinstance(driver.delete(ref), Unknown)
        assert time.monotonic() - began < 1.5
        asked = len(script.seen)
        driver.observe(ref)  # which has a time-out for each request, and no deadline
        assert len(script.seen) > asked


def test_logs_of_a_pod_that_says_more_and_more_are_caught_up_with_for_a_while(
    tmp_path: Path,
) -> None:
    pod = pods.read(raw.pod())
    with answering(Script(endless=True)) as access, closing(Client(access)) as client:
        began = time.monotonic()
        logs.catch_up(client, tmp_path, [pod], seconds=0.5)
        assert time.monotonic() - began < 3
    assert logs.read(logs.folder(tmp_path, pod.workload, pod.attempt, pod.replica), 0, 100).data
