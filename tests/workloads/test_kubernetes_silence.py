"""A cluster that asks for a rest, is away, or accepts the login no longer (fault matrix).

The network fails in a proxy before a real API server; all else is the real thing.
"""

from datetime import timedelta

import pytest

from gangline.clusters import contact, credentials
from gangline.clusters.models import Cluster
from gangline.db import clock
from gangline.db.leases import notices
from gangline.db.models import SystemNotice
from gangline.drivers.kubernetes.kinds import KINDS
from tests.support import kubernetes_engine
from tests.support.engine import current_attempt
from tests.support.fault_proxy import FaultProxy
from tests.support.kubernetes_engine import KubernetesEngine
from tests.support.kubernetes_truth import assert_world, creations
from tests.support.network_faults import answers
from tests.support.waiting import wait_for
from workloads.models import Outcome, Workload
from workloads.watching import watcher

pytestmark = pytest.mark.needs_kubernetes

JOBS = "/pytorchjobs$"


@pytest.mark.thorough
@pytest.mark.parametrize("method", ["POST", pytest.param("GET", marks=pytest.mark.thorough)])
def test_f12_a_cluster_that_asks_for_a_rest_hears_nothing_until_it_is_over(
    engine_by_proxy: KubernetesEngine, proxy: FaultProxy, method: str
) -> None:
    """Whichever request was answered so, it holds for every other, and for all workloads."""
    path = JOBS if method == "POST" else "/pytorchjobs/digits$"
    proxy.on(method, path, answers(429, "slow down", headers={"Retry-After": "5"}))
    workload = engine_by_proxy.submit("digits")
    wait_for(lambda: current_attempt(workload).trouble, seconds=60)
    other = engine_by_proxy.submit("other")
    engine_by_proxy.until(workload, "Running")
    engine_by_proxy.until(other, "Running")
    asked = next(r.at for r in proxy.seen(method, path))
    # What was on its way already may still arrive.
    after = [r.at - asked for r in proxy.seen("*", "") if r.at > asked + 1]
    assert min(after) > 4, "the rest was not kept"
    assert_world(engine_by_proxy, proxy)


@pytest.mark.thorough
def test_f12_the_rest_is_told_with_its_end(
    engine_by_proxy: KubernetesEngine, proxy: FaultProxy
) -> None:
    proxy.on("POST", JOBS, answers(429, headers={"Retry-After": "5"}))
    workload = engine_by_proxy.submit("digits")
    wait_for(lambda: current_attempt(workload).trouble, seconds=60)
    workload.refresh_from_db()
    assert workload.reason.startswith("The cluster asked to slow down; next try in 5 s, at ")
    assert workload.contact_lost_at is None
    engine_by_proxy.until(workload, "Running")
    assert workload.attempts.count() == 1


@pytest.mark.thorough
def test_f58_a_login_that_is_refused_is_one_alert_and_is_over_with_another_one(
    engine_by_proxy: KubernetesEngine,
    proxy: FaultProxy,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watcher, "PROBE_SECONDS", 0.5)
    monkeypatch.setattr(contact, "PAUSE_SECONDS", 2.0)
    engine = engine_by_proxy
    runs = [engine.submit(f"runs-{n}", workers=1) for n in range(3)]
    for workload in runs:
        engine.until(workload, "Running", seconds=120)
    _revoke(proxy)
    waits = engine.submit("waits", workers=1)
    wait_for(lambda: all(_lost(w) for w in runs), seconds=60)
    wait_for(lambda: _is_away(engine), seconds=60)
    (told,) = SystemNotice.objects.all()
    assert told.message.startswith("Cluster bed does not accept Gangline's login. ")
    assert len(notices()) == 1
    for workload in runs:
        workload.refresh_from_db()
        assert workload.status == "Running"
        assert workload.contact_lost_at is not None
    assert len(creations(proxy)) == 3
    proxy.clear()
    credentials.store(engine.cluster, proxy.access, by=None)
    engine.until(waits, "Running", seconds=120)
    wait_for(lambda: not any(_lost(w) for w in runs), seconds=60)
    wait_for(lambda: not SystemNotice.objects.exists(), seconds=60)
    assert Cluster.objects.get().failures == 0
    assert_world(engine, proxy)


@pytest.mark.thorough
def test_f52_what_ended_and_was_cleaned_up_while_the_dashboard_was_away(
    submitting: KubernetesEngine, proxy: FaultProxy
) -> None:
    """Nobody knows how it ended, so nothing is said about it, and nothing runs again."""
    engine = submitting
    with kubernetes_engine.at_work(engine):
        workload = engine.submit("digits", said={"backoffLimit": 3})
        engine.until(workload, "Running")
    raw = engine.object(workload)
    assert raw is not None
    resource = KINDS["PyTorch"].resource
    name, uid = workload.name, raw["metadata"]["uid"]
    engine.bed.client.delete(resource, engine.namespace, name, uid=uid)
    wait_for(lambda: engine.object(workload) is None, seconds=60)
    clock.shift(timedelta(hours=24))
    with kubernetes_engine.at_work(engine):
        engine.until(workload, "Failed")
        assert current_attempt(workload).outcome == Outcome.AWAY
        later = engine.submit("later")
        engine.until(later, "Running")
    assert len(creations(proxy, workload)) == 1
    assert_world(engine, proxy)


def _revoke(proxy: FaultProxy) -> None:
    """From now on the cluster accepts the token no longer, and ends what was opened with it."""
    proxy.on("*", "", answers(401, "Unauthorized"), times=float("inf"))
    proxy.cut_streams()


def _is_away(engine: KubernetesEngine) -> bool:
    row = Cluster.objects.get(pk=engine.cluster.pk)
    return row.health == "Unreachable"


def _lost(workload: Workload) -> bool:
    return Workload.objects.get(pk=workload.pk).contact_lost_at is not None
