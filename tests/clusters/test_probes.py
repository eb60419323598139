"""What probes that overlap leave in a cluster's row, and how many drivers it gets."""

import threading
import time

import pytest

from gangline.clusters import connections
from gangline.clusters.models import Cluster
from gangline.clusters.services import store_health
from gangline.drivers.facts import Facts, Health
from gangline.resources.services import make
from gangline.scopes.services import found
from tests.support.kinds import declare

pytestmark = pytest.mark.postgres


def test_a_probe_without_an_answer_leaves_what_another_learned(db: None) -> None:
    found(name="Test")
    cluster = make("cluster", actor=None, name="lab", kind="local")
    late = Cluster.objects.get(pk=cluster.pk)
    store_health(cluster, Health(reachable=True, facts=Facts(version="v1.36.3")))
    store_health(late, Health(reachable=False, reason="It does not answer."))
    stored = Cluster.objects.get(pk=cluster.pk)
    assert stored.facts["version"] == "v1.36.3"
    assert stored.last_ok_at is not None
    assert stored.health_reason == "It does not answer."


def test_two_threads_share_one_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2)

    def configured(cluster: Cluster) -> dict[str, str]:
        both.wait(5)
        return {}

    def factory(connection: object) -> object:
        time.sleep(0.1)
        return object()

    monkeypatch.setattr(connections, "_configuration", configured)
    monkeypatch.setattr(connections, "site", lambda: None)
    declare("odd", factory)
    cluster = Cluster(name="lab", kind="odd")
    found: list[object] = []
    threads = [
        threading.Thread(target=lambda: found.append(connections.driver_for(cluster)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(found) == 2
    assert found[0] is found[1]
