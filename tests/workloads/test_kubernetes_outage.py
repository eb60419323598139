"""F-32 of the fault matrix: a cluster that is away for an hour, with much that waits for it.

The hour is one of the clock that the rows know; what is asked of the real API server passes through
a proxy that knows when.
"""

import time
from collections.abc import Sequence
from datetime import timedelta

import pytest

from gangline.clusters import contact
from gangline.clusters.models import Cluster
from gangline.db import clock
from gangline.drivers.kubernetes.kind import WRITES_AT_ONCE, WRITES_PER_SECOND
from tests.support.fault_proxy import FaultProxy
from tests.support.kubernetes_engine import KubernetesEngine
from tests.support.kubernetes_truth import assert_world, creations
from tests.support.waiting import wait_for
from workloads.models import Workload
from workloads.services import intents
from workloads.watching import watcher

pytestmark = [pytest.mark.needs_kubernetes, pytest.mark.thorough]

STOPS, QUEUED = 50, 200
RETURN_SECONDS, SPAN = 300.0, 5.0


def test_f32_after_an_hour_all_is_done_stops_first_and_not_in_a_storm(
    engine_by_proxy: KubernetesEngine, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "PROBE_SECONDS", 5.0)
    monkeypatch.setattr(contact, "PAUSE_SECONDS", 3.0)
    engine = engine_by_proxy
    ends = [engine.submit(f"ends-{n}", workers=1) for n in range(STOPS)]
    _until(ends, "Running")

    proxy.refuse()
    queued = [engine.submit(f"queued-{n}", workers=1) for n in range(QUEUED)]
    for workload in ends:
        intents.stop(workload_id=workload.pk, by="researcher")
    wait_for(lambda: Cluster.objects.get().health == "Unreachable", seconds=60)
    wait_for(lambda: all(w.contact_lost_at for w in _fresh(ends + queued)), seconds=60)
    clock.shift(timedelta(hours=1))
    failed = sum(w.fail_count for w in _fresh(ends + queued))
    assert failed < (STOPS + QUEUED) / 2, "each found out for itself"
    for waiting, status, told in ((ends, "Stopping", "stopped"), (queued, "Creating", "saved and")):
        for workload in _fresh(waiting):
            assert workload.status == status
            assert workload.reason.endswith("No contact with cluster bed.")
            assert workload.next_reason.startswith(f"It is {told}")
            assert workload.next_reason.endswith(
                "contact returns, for which Gangline looks every 30 s."
            )

    back = time.monotonic()
    proxy.accept()
    _until(ends, "Stopped")
    _until(queued, "Running")
    assert time.monotonic() - back <= RETURN_SECONDS

    writes = [r for r in proxy.seen("*", "") if r.method != "GET" and r.at > back]
    effects = [r.at for r in writes if "selfsubject" not in r.path]
    assert _most_in(effects, SPAN) <= WRITES_AT_ONCE + SPAN * WRITES_PER_SECOND + 2
    stops = [r.at for r in writes if r.method == "PATCH" and "/ends-" in r.path]
    made = sorted(r.at for r in creations(proxy) if r.at > back)
    assert (len(stops), len(made)) == (STOPS, QUEUED)
    # Some creates may have been on their way when the first stop was found to be possible.
    assert max(stops) < made[QUEUED // 10], "stops did not go first"
    assert {w.attempt_no for w in Workload.objects.all()} == {1}
    assert_world(engine, proxy)


def _fresh(workloads: Sequence[Workload]) -> list[Workload]:
    return list(Workload.objects.filter(pk__in=[workload.pk for workload in workloads]))


def _until(workloads: Sequence[Workload], status: str) -> None:
    wait_for(
        lambda: {w.status for w in _fresh(workloads)} == {status},
        seconds=RETURN_SECONDS, every=0.5, what=f"all to be {status}",
    )  # fmt: skip


def _most_in(times: Sequence[float], seconds: float) -> int:
    """How many of them lie within any span of so many seconds."""
    return max(sum(at <= t < at + seconds for t in times) for at in times)
