"""What gets lost, lands late or is refused between Gangline and a real API server.

The numbers are those of the fault matrix. The network fails in a proxy; all else is the real thing.
"""

from datetime import timedelta
from typing import Any

import pytest

from gangline.clusters.connections import driver_for
from gangline.db import clock
from gangline.drivers.base import AttemptRef, ObservedState, Unknown
from gangline.drivers.kubernetes import labels
from gangline.drivers.kubernetes.driver import KubernetesDriver
from gangline.drivers.kubernetes.kinds import KINDS
from tests.support.admission import refused_in
from tests.support.engine import current_attempt
from tests.support.fault_proxy import Action, FaultProxy
from tests.support.kubernetes_engine import KubernetesEngine
from tests.support.kubernetes_truth import assert_world, creations
from tests.support.network_faults import Late, answers_after, loses_the_answer
from tests.support.waiting import wait_for
from workloads import refs
from workloads.models import Event, Outcome, Workload
from workloads.services import events, intents

pytestmark = pytest.mark.needs_kubernetes


KIND = KINDS["PyTorch"].resource
JOBS = "/pytorchjobs$"
PER_NAME = "/pytorchjobs/"


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(answers_after(500), id="500", marks=pytest.mark.thorough),
        pytest.param(loses_the_answer, id="cut"),
    ],
)
def test_f10_an_answer_that_is_lost_is_never_shown_as_a_failure(
    engine_by_proxy: KubernetesEngine, proxy: FaultProxy, fault: Action
) -> None:
    proxy.on("POST", JOBS, fault)
    workload = engine_by_proxy.submit("digits")
    engine_by_proxy.until(workload, "Running")
    assert events.ADOPTED in _kinds(workload)
    assert "Failed" not in _told(workload)
    assert_world(engine_by_proxy, proxy)


def test_f11_a_create_that_lands_late_is_not_sent_twice(
    engine_by_proxy: KubernetesEngine, proxy: FaultProxy
) -> None:
    late = Late()
    proxy.on("POST", JOBS, late)
    workload = engine_by_proxy.submit("digits")
    wait_for(lambda: current_attempt(workload).absent_since, seconds=60)
    assert late.land() == [201]
    engine_by_proxy.until(workload, "Running")
    assert len(proxy.seen("POST", JOBS)) == 1
    assert_world(engine_by_proxy, proxy)


@pytest.mark.thorough
def test_f11_a_create_that_lands_after_the_second_one_makes_no_second_object(
    engine_by_proxy: KubernetesEngine, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was on its way for longer than any may be: the name is what saves us."""
    monkeypatch.setattr(KubernetesDriver, "in_flight_max", 1.0)
    late = Late()
    proxy.on("POST", JOBS, late)
    workload = engine_by_proxy.submit("digits")
    engine_by_proxy.until(workload, "Running")
    assert late.land() == [409]
    assert len(proxy.seen("POST", JOBS)) == 2
    assert_world(engine_by_proxy, proxy)


@pytest.mark.thorough
def test_f14_what_the_cluster_refuses_is_told_in_its_words_and_not_tried_again(
    engine_by_proxy: KubernetesEngine, proxy: FaultProxy
) -> None:
    with refused_in(
        engine_by_proxy.bed, engine_by_proxy.namespace, "hostPath is not allowed\x07 here"
    ):
        workload = engine_by_proxy.submit("digits")
        engine_by_proxy.until(workload, "Failed")
        assert "hostPath is not allowed here" in workload.reason
        assert len(proxy.seen("POST", JOBS)) == 1
        clock.shift(timedelta(minutes=9))
        calm = engine_by_proxy.submit("another")
        engine_by_proxy.until(calm, "Failed")
    workload.refresh_from_db()
    assert workload.attempt_no == 1
    assert len([r for r in proxy.seen("POST", JOBS) if b'"digits"' in r.body]) == 1
    assert_world(engine_by_proxy, proxy)


@pytest.mark.thorough
def test_f29_what_is_deleted_out_of_band_is_not_made_again_within_the_hour(
    engine_by_proxy: KubernetesEngine, proxy: FaultProxy
) -> None:
    workload = engine_by_proxy.submit("digits", said={"backoffLimit": 3})
    engine_by_proxy.until(workload, "Running")
    _remove(engine_by_proxy, workload)
    engine_by_proxy.until(workload, "Failed")
    assert current_attempt(workload).outcome == Outcome.LOST
    clock.shift(timedelta(hours=1))
    other = engine_by_proxy.submit("other")
    engine_by_proxy.until(other, "Running", seconds=90)
    assert len(creations(proxy, workload)) == 1
    assert_world(engine_by_proxy, proxy)


@pytest.mark.thorough
def test_f30_what_somebody_made_again_under_our_name_is_neither_adopted_nor_removed(
    engine_by_proxy: KubernetesEngine, proxy: FaultProxy
) -> None:
    workload = engine_by_proxy.submit("digits")
    engine_by_proxy.until(workload, "Running")
    ours = _remove(engine_by_proxy, workload)
    theirs = _make_again(engine_by_proxy, ours)
    engine_by_proxy.until(workload, "Failed")
    attempt = current_attempt(workload)
    assert attempt.outcome == Outcome.LOST or attempt.observed_state == "Conflict"
    intents.delete(workload_id=workload.pk, by="researcher")
    wait_for(lambda: _deleted_at(workload), seconds=60)
    still = engine_by_proxy.object(workload)
    assert still is not None
    assert still["metadata"]["uid"] == theirs["metadata"]["uid"]
    assert "deletionTimestamp" not in still["metadata"]
    assert still["spec"] == theirs["spec"]
    assert current_attempt(workload).ext_uid == ours["metadata"]["uid"]


@pytest.mark.thorough
def test_f31_two_installations_in_one_namespace_leave_each_other_alone(
    engine_by_proxy: KubernetesEngine, proxy: FaultProxy
) -> None:
    mine = engine_by_proxy.submit("mine")
    engine_by_proxy.until(mine, "Running")
    driver = driver_for(engine_by_proxy.cluster)
    other = "22222222-2222-4222-8222-222222222222"
    row = refs.attempt_ref(mine, current_attempt(mine))
    theirs = AttemptRef(
        other, "33333333-3333-4333-8333-333333333333", 1, "theirs", row.namespace,
        row.submission, _renamed(row.rendered, "theirs"),
    )  # fmt: skip
    driver.create(theirs)
    driver.commit(theirs)
    wait_for(lambda: driver.observe(theirs).state is ObservedState.STARTING, seconds=60)
    before = _named(engine_by_proxy, "theirs")
    clash = engine_by_proxy.submit("theirs")
    engine_by_proxy.until(clash, "Failed")
    assert current_attempt(clash).observed_state == "Conflict"
    for workload in (mine, clash):
        intents.delete(workload_id=workload.pk, by="researcher")
        wait_for(lambda w=workload: _deleted_at(w), seconds=60)  # type: ignore[misc]
    after = _named(engine_by_proxy, "theirs")
    assert (after["metadata"]["uid"], after["spec"]) == (before["metadata"]["uid"], before["spec"])
    assert "deletionTimestamp" not in after["metadata"]
    assert driver.owned_objects(engine_by_proxy.install) == []
    owned = driver.owned_objects(other)
    assert not isinstance(owned, Unknown)
    assert [one.ref.name for one in owned] == ["theirs"]
    driver.delete(theirs)


@pytest.mark.parametrize(
    "intent",
    [
        pytest.param(intents.stop, id="stop", marks=pytest.mark.thorough),
        pytest.param(intents.delete, id="delete"),
    ],
)
def test_f34_a_create_that_lands_after_the_wish_to_end_it_starts_nothing(
    engine_by_proxy: KubernetesEngine, proxy: FaultProxy, intent: Any
) -> None:
    late = Late()
    proxy.on("POST", JOBS, late)
    workload = engine_by_proxy.submit("digits")
    wait_for(lambda: current_attempt(workload).absent_since, seconds=60)
    intent(workload_id=workload.pk, by="researcher")
    wait_for(lambda: _status(workload) in ("Stopping", "Deleting"), seconds=10)
    assert _deleted_at(workload) is None
    assert late.land() == [201]
    if intent is intents.stop:
        engine_by_proxy.until(workload, "Stopped")
    else:
        wait_for(lambda: _deleted_at(workload), seconds=60)
        assert engine_by_proxy.object(workload) is None
    assert not _ran(workload)
    assert_world(engine_by_proxy, proxy)


def test_f34_a_create_that_lands_after_the_deletion_is_removed_at_a_later_look(
    engine_by_proxy: KubernetesEngine, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(KubernetesDriver, "in_flight_max", 1.0)
    late = Late()
    proxy.on("POST", JOBS, late)
    workload = engine_by_proxy.submit("digits")
    wait_for(lambda: current_attempt(workload).absent_since, seconds=60)
    intents.delete(workload_id=workload.pk, by="researcher")
    wait_for(lambda: _deleted_at(workload), seconds=60)
    assert late.land() == [201]
    assert engine_by_proxy.object(workload) is not None
    wait_for(lambda: engine_by_proxy.object(workload) is None, seconds=60)
    assert not _ran(workload)
    assert_world(engine_by_proxy, proxy)


@pytest.mark.thorough
def test_f35_an_old_create_that_lands_under_the_name_of_a_new_workload_makes_way(
    engine_by_proxy: KubernetesEngine, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(KubernetesDriver, "in_flight_max", 1.0)
    late = Late()
    proxy.on("POST", JOBS, late)
    old = engine_by_proxy.submit("digits")
    wait_for(lambda: current_attempt(old).absent_since, seconds=60)
    intents.delete(workload_id=old.pk, by="researcher")
    wait_for(lambda: _deleted_at(old), seconds=60)
    assert late.land() == [201]
    new = engine_by_proxy.submit("digits")
    engine_by_proxy.until(new, "Running", seconds=60)
    assert not _ran(old)
    assert_world(engine_by_proxy, proxy)


def _remove(engine: KubernetesEngine, workload: Workload) -> dict[str, Any]:
    """Delete its object as somebody else would, and wait until it is gone."""
    raw = engine.object(workload)
    assert raw is not None
    engine.bed.client.delete(KIND, engine.namespace, workload.name, uid=raw["metadata"]["uid"])
    wait_for(lambda: engine.object(workload) is None, seconds=60)
    return raw


def _make_again(engine: KubernetesEngine, raw: dict[str, Any]) -> dict[str, Any]:
    """The same object under another uid, our labels and all."""
    kept = {key: raw["metadata"].get(key, {}) for key in ("name", "labels", "annotations")}
    body = {key: raw[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": kept}
    answer = engine.bed.client.create(KIND, engine.namespace, body)
    assert answer.ok, answer.message
    made: dict[str, Any] = answer.body
    return made


def _renamed(rendered: Any, name: str) -> Any:
    job = rendered["job"]
    return rendered | {"job": job | {"metadata": job["metadata"] | {"name": name}}}


def _named(engine: KubernetesEngine, name: str) -> dict[str, Any]:
    answer = engine.bed.client.get(KIND, engine.namespace, name)
    assert answer.ok, answer.message
    assert labels.INSTALL in answer.body["metadata"]["labels"]
    found: dict[str, Any] = answer.body
    return found


def _ran(workload: Workload) -> bool:
    return workload.attempts.filter(started_at__isnull=False).exists()


def _deleted_at(workload: Workload) -> object:
    return Workload.objects.values_list("deleted_at", flat=True).get(pk=workload.pk)


def _status(workload: Workload) -> str:
    return Workload.objects.values_list("status", flat=True).get(pk=workload.pk)


def _kinds(workload: Workload) -> list[str]:
    return list(Event.objects.filter(workload=workload).values_list("kind", flat=True))


def _told(workload: Workload) -> str:
    return " ".join(Event.objects.filter(workload=workload).values_list("message", flat=True))
