"""A cluster that asks for a rest, is away, or accepts the login no longer (fault matrix).

The network fails in a proxy before a real API server; all else is the real thing.
"""

import pytest

from tests.support.engine import current_attempt
from tests.support.fault_proxy import FaultProxy
from tests.support.kubernetes_engine import KubernetesEngine
from tests.support.kubernetes_truth import assert_world
from tests.support.network_faults import answers
from tests.support.waiting import wait_for

pytestmark = pytest.mark.needs_kubernetes

JOBS = "/pytorchjobs$"


@pytest.mark.parametrize("method", ["POST", "GET"])
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
