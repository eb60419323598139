"""Labels can be copied and taken away: ours is known by its uid, and pods by their owner (§8.6)."""

import time
from collections.abc import Iterator
from datetime import timedelta

import pytest

from gangline.clusters.connections import driver_for
from gangline.clusters.models import Orphan
from gangline.db import clock
from gangline.drivers.kubernetes import labels
from gangline.drivers.kubernetes.kinds import KINDS
from gangline.drivers.kubernetes.resources import PODS
from tests.support import kubernetes_engine
from tests.support.kubernetes_engine import KubernetesEngine
from tests.support.waiting import wait_for
from workloads.models import Workload
from workloads.services import intents, orphans

pytestmark = pytest.mark.needs_kubernetes
KIND = KINDS["PyTorch"].resource


@pytest.fixture
def engine(submitting: KubernetesEngine) -> Iterator[KubernetesEngine]:
    with kubernetes_engine.at_work(submitting):
        yield submitting


def test_a_copy_of_what_lives_is_one_and_hinders_nothing(engine: KubernetesEngine) -> None:
    """Labels can be copied: neither a job nor a pod that bears them is taken for a part of ours."""
    workload = engine.submit("digits")
    engine.until(workload, "Running")
    api, place = engine.bed.client, engine.namespace
    raw = api.get(KIND, place, "digits").body
    copy = {**raw, "metadata": {"name": "copied", "labels": raw["metadata"]["labels"]}}
    copy.pop("status")
    assert api.create(KIND, place, copy).ok
    marks = api.get(PODS, place, "digits-worker-0").body["metadata"]["labels"]
    body = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "dbg", "labels": marks},
        "spec": {"containers": [{"name": "main", "image": "none", "command": ["sleep"]}]},
    }  # fmt: skip
    assert api.create(PODS, place, body).ok
    wait_for(lambda: api.get(PODS, place, "copied-worker-0").ok, seconds=60)
    driver = driver_for(engine.cluster)
    assert orphans.search(engine.cluster, driver)
    clock.shift(timedelta(seconds=61))
    assert orphans.search(engine.cluster, driver)
    clock.shift(timedelta())
    (row,) = Orphan.objects.filter(is_sure=True)
    assert (row.name, row.why) == (
        "copied",
        "It is a copy: it has the labels of digits, which has an object of its own.",
    )
    intents.stop(workload_id=workload.pk, by="administrator")
    engine.until(workload, "Stopped", seconds=120)
    intents.delete(workload_id=workload.pk, by="administrator")
    wait_for(lambda: not api.get(KIND, place, "digits").ok, seconds=60)
    wait_for(lambda: Workload.objects.get(pk=workload.pk).deleted_at, seconds=60)
    assert api.get(PODS, place, "copied-worker-0").ok
    assert api.get(PODS, place, "dbg").ok


@pytest.mark.thorough
def test_ours_stays_ours_without_its_labels(engine: KubernetesEngine) -> None:
    """Known by its uid: it goes on to be followed, and is deleted when that is asked for."""
    workload = engine.submit("digits")
    engine.until(workload, "Running")
    api, place = engine.bed.client, engine.namespace
    bare = {"metadata": {"labels": {labels.INSTALL: None, labels.WORKLOAD: None}}}
    assert api.patch(KIND, place, "digits", bare).ok
    wait_for(lambda: not api.get(KIND, place, "digits").body["metadata"]["labels"].get(
        labels.WORKLOAD
    ), seconds=10)  # fmt: skip
    time.sleep(3)
    workload.refresh_from_db()
    assert workload.status == "Running"
    intents.delete(workload_id=workload.pk, by="administrator")
    wait_for(lambda: not api.get(KIND, place, "digits").ok, seconds=60)
    wait_for(lambda: Workload.objects.get(pk=workload.pk).deleted_at, seconds=60)
