"""Fixtures of the engine's tests."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from gangline.accounts.services import create_user
from gangline.db import clock
from gangline.db.clock import db_now
from gangline.drivers.base import Observation, ObservedState
from gangline.drivers.kubernetes import log_collector
from gangline.drivers.kubernetes.client import Client
from gangline.drivers.kubernetes.namespaces import Namespaces
from tests.beds.kubernetes.bed import Bed
from tests.support import kubernetes_engine
from tests.support.engine import Engine, See, make_engine
from tests.support.fault_proxy import FaultProxy, fault_proxy
from tests.support.kubernetes_engine import KubernetesEngine
from workloads.models import Workload
from workloads.services import observe
from workloads.services.observe import Stamped


@pytest.fixture
def engine(db: None, tmp_path: Path) -> Engine:
    """A faulty cluster and a project, inside one transaction."""
    return make_engine(tmp_path / "cluster.db")


@pytest.fixture
def shared_engine(transactional_db: None, tmp_path: Path) -> Engine:
    """The same, committed: other threads and processes see it. Creates may be on the way 1 s."""
    return make_engine(tmp_path / "cluster.db", in_flight_max=1.0)


@pytest.fixture
def workload(engine: Engine) -> Workload:
    """One whose create was sent a minute ago."""
    made = engine.workload(workers=2, backoff_limit=0)
    sent = db_now() - timedelta(minutes=1)
    made.attempts.update(create_state="sent", sent_at=sent, create_answered=True)
    return made


@pytest.fixture
def see(workload: Workload) -> See:
    """Store one observation of the workload, read ``ago`` seconds ago."""

    def store(state: ObservedState, *, ago: float = 0, **values: Any) -> observe.Stored:
        seen = Observation(str(workload.pk), 1, state, ext_uid="uid-1")
        read_at = db_now() - timedelta(seconds=ago)
        return observe.store_batch([Stamped(replace(seen, **values), read_at)])

    return store


@pytest.fixture(autouse=True)
def _clock_is_right_again() -> Iterator[None]:
    yield
    clock.shift(timedelta())


@pytest.fixture
def idempotent_engine(transactional_db: None, tmp_path: Path) -> Engine:
    """Committed; its cluster knows an attempt by its name, as ours do."""
    return make_engine(tmp_path / "cluster.db", in_flight_max=1.0, idempotent=True)


@pytest.fixture
def patient_engine(transactional_db: None, tmp_path: Path) -> Engine:
    """Committed; a create may be on its way for 4 s."""
    return make_engine(tmp_path / "cluster.db", in_flight_max=4.0)


@pytest.fixture
def proxy(bed: Bed) -> Iterator[FaultProxy]:
    """Before the bed's API server, as the user of the shipped roles."""
    with fault_proxy(bed.restricted) as made:
        yield made


@pytest.fixture
def submitting(
    bed: Bed,
    proxy: FaultProxy,
    transactional_db: None,
    loopback_admitted: None,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[KubernetesEngine]:
    """An installation whose only way to its cluster is the proxy; nothing is at work yet.

    Its namespace is there already, so that the first create is the one that makes the object.
    """
    # The bed's kubelet, unlike a real one, does not end the stream of a pod that has ended.
    monkeypatch.setattr(log_collector, "SILENCE", 2.0)
    made = kubernetes_engine.make(bed, create_user(username="researcher"), proxy.access)
    assert Namespaces(Client(bed.restricted)).prepare(made.namespace, made.install) is None
    try:
        yield made
    finally:
        kubernetes_engine.remove(made)


@pytest.fixture
def engine_by_proxy(submitting: KubernetesEngine) -> Iterator[KubernetesEngine]:
    """The same with ticker and watchers at work."""
    with kubernetes_engine.at_work(submitting):
        yield submitting
