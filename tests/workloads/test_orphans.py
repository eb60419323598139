"""Orphans on a real cluster: found after two looks, never of others, deleted only by a person."""

import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client as Browser

from gangline.access.actor import Actor
from gangline.access.refusals import NotAllowed, NotVisible
from gangline.accounts.services import create_user
from gangline.audit.models import AuditEntry
from gangline.clusters.connections import driver_for
from gangline.clusters.models import Cluster, Orphan
from gangline.db import clock
from gangline.drivers.kubernetes import labels
from gangline.drivers.kubernetes.access import Options
from gangline.drivers.kubernetes.client import Client
from gangline.drivers.kubernetes.driver import KubernetesDriver
from gangline.people.services import give
from gangline.scopes.selectors import tenant_scope
from tests.beds.kubernetes.bed import Bed
from tests.support import kubernetes_engine
from tests.support import orphans as orphans_on_bed
from tests.support.kubernetes_engine import KubernetesEngine
from tests.support.waiting import wait_for
from workloads.models import Workload
from workloads.services import orphans

pytestmark = [pytest.mark.needs_kubernetes, pytest.mark.usefixtures("loopback_admitted")]
JOBS = orphans_on_bed.JOBS


@pytest.fixture
def engine(transactional_db: None, bed: Bed) -> Iterator[KubernetesEngine]:
    person = create_user(username="administrator")
    made = kubernetes_engine.make(bed, person)
    give(actor=None, user=person, role="system_administrator", scope=tenant_scope())
    try:
        yield made
    finally:
        kubernetes_engine.remove(made)


@pytest.fixture
def place(engine: KubernetesEngine) -> str:
    """The project's namespace, made and opened for Gangline as its first training does."""
    driver = driver_for(engine.cluster)
    assert isinstance(driver, KubernetesDriver)
    driver._effects._namespaces.prepare(engine.namespace, engine.install)
    return engine.namespace


def put(engine: KubernetesEngine, name: str, **labelled: str) -> dict[str, Any]:
    return orphans_on_bed.put(engine.bed, engine.namespace, name, labelled)


def ours(engine: KubernetesEngine, workload: str) -> dict[str, str]:
    return orphans_on_bed.marks(engine.install, workload)


def look(engine: KubernetesEngine) -> None:
    assert orphans.search(engine.cluster, driver_for(engine.cluster))


def later(seconds: float) -> None:
    """Move the clock of the database, so much from now."""
    clock.shift(timedelta(seconds=seconds))


def test_an_orphan_is_shown_after_two_looks_and_says_what_it_uses(
    engine: KubernetesEngine, place: str
) -> None:
    """§8.6: one look is no proof; objects of another installation are never listed (F-31)."""
    lost = str(uuid.uuid4())
    made = put(engine, "lost", **ours(engine, lost))
    put(engine, "nameless", **{labels.INSTALL: engine.install})
    put(engine, "foreign", **(ours(engine, lost) | {labels.INSTALL: str(uuid.uuid4())}))
    put(engine, "by-hand")
    look(engine)
    assert [row.is_sure for row in Orphan.objects.all()] == [False, False]
    later(30)
    look(engine)
    assert not Orphan.objects.filter(is_sure=True).exists()
    later(61)
    look(engine)
    rows = {row.name: row for row in Orphan.objects.filter(is_sure=True)}
    assert set(rows) == {"lost", "nameless"}
    one = rows["lost"]
    assert (one.kind, one.namespace, one.ext_uid) == (
        "PyTorchJob", place, made["metadata"]["uid"],
    )  # fmt: skip
    assert (one.workload, one.gpus, one.pods) == (lost, 6, 0)
    assert one.why == "Its workload is unknown here."
    assert one.created_at is not None
    assert rows["nameless"].why == "It names no workload."
    for name in ("lost", "nameless", "foreign", "by-hand"):
        assert engine.bed.client.get(JOBS, place, name).ok, "nothing is deleted by itself"


@pytest.mark.thorough
def test_the_pods_that_run_are_counted(engine: KubernetesEngine, place: str) -> None:
    lost = ours(engine, str(uuid.uuid4()))
    orphans_on_bed.put(engine.bed, place, "lost", lost, runs=True)

    def counted() -> bool:
        look(engine)
        return Orphan.objects.get().pods == 3

    wait_for(counted, seconds=40, what="three pods")


@pytest.mark.thorough
def test_what_has_a_row_is_no_orphan_and_what_got_one_is_none_any_more(
    engine: KubernetesEngine, place: str
) -> None:
    """A submission on its way has its row before its object; a restored row takes it back."""
    workload = engine.submit("digits")
    put(engine, "digits", **ours(engine, str(workload.pk)))
    look(engine)
    assert not Orphan.objects.exists()
    Workload.objects.filter(pk=workload.pk).update(deleted_at=clock.db_now())
    look(engine)
    assert Orphan.objects.get().why == "Its workload was deleted."
    Workload.objects.filter(pk=workload.pk).update(deleted_at=None)
    look(engine)
    assert not Orphan.objects.exists()


def sure(engine: KubernetesEngine) -> Orphan:
    look(engine)
    later(61)
    look(engine)
    return Orphan.objects.get(is_sure=True)


def test_a_person_deletes_one_object_by_its_uid(engine: KubernetesEngine, place: str) -> None:
    put(engine, "lost", **ours(engine, str(uuid.uuid4())))
    orphan = sure(engine)
    orphans.delete(actor=engine_actor(engine), cluster=engine.cluster, orphan_id=orphan.pk)
    # The garbage collector of a bed that has just started learns of the kinds every 30 s.
    wait_for(lambda: not engine.bed.client.get(JOBS, place, "lost").ok, seconds=60)
    look(engine)
    assert not Orphan.objects.exists()
    entry = AuditEntry.objects.get(action="orphan.delete")
    assert (entry.object_id, entry.object_name, entry.result) == (
        orphan.ext_uid, f"{place}/lost", "ok",
    )  # fmt: skip


def test_what_took_its_name_is_not_touched(engine: KubernetesEngine, place: str) -> None:
    """F-30 for orphans: another uid is another object."""
    marks = ours(engine, str(uuid.uuid4()))
    first = put(engine, "lost", **marks)
    orphan = sure(engine)
    client = engine.bed.client
    client.delete(JOBS, place, "lost", uid=first["metadata"]["uid"])
    wait_for(lambda: not client.get(JOBS, place, "lost").ok, seconds=60)
    second = put(engine, "lost", **marks)
    orphans.delete(actor=engine_actor(engine), cluster=engine.cluster, orphan_id=orphan.pk)
    assert client.get(JOBS, place, "lost").body["metadata"]["uid"] == second["metadata"]["uid"]
    assert not Orphan.objects.filter(pk=orphan.pk).exists()


@pytest.mark.thorough
def test_what_belongs_to_a_workload_by_now_is_not_deleted(
    engine: KubernetesEngine, place: str
) -> None:
    workload = engine.submit("digits")
    Workload.objects.filter(pk=workload.pk).update(deleted_at=clock.db_now())
    put(engine, "digits", **ours(engine, str(workload.pk)))
    orphan = sure(engine)
    Workload.objects.filter(pk=workload.pk).update(deleted_at=None)
    with pytest.raises(orphans.CannotDelete, match="belongs to a workload now"):
        orphans.delete(actor=engine_actor(engine), cluster=engine.cluster, orphan_id=orphan.pk)
    assert engine.bed.client.get(JOBS, place, "digits").ok


@pytest.mark.thorough
def test_an_ignored_one_is_put_away_and_brought_back(engine: KubernetesEngine, place: str) -> None:
    put(engine, "lost", **ours(engine, str(uuid.uuid4())))
    orphan = sure(engine)
    given: dict[str, Any] = {
        "actor": engine_actor(engine),
        "cluster": engine.cluster,
        "orphan_id": orphan.pk,
    }
    assert orphans.ignore(**given).decision == "ignore"
    look(engine)
    assert Orphan.objects.get().decision == "ignore"
    assert orphans.list_again(**given).decision == ""
    stranger = Actor(create_user(username="stranger"), "form")
    with pytest.raises(NotAllowed):
        orphans.ignore(**{**given, "actor": stranger})
    with pytest.raises(NotVisible):
        orphans.ignore(**{**given, "orphan_id": orphan.pk + 1})


@pytest.mark.thorough
def test_a_cluster_that_cannot_tell_changes_nothing(engine: KubernetesEngine, place: str) -> None:
    put(engine, "lost", **ours(engine, str(uuid.uuid4())))
    sure(engine)
    away = Client(replace(engine.bed.restricted, server="https://127.0.0.1:9"))
    assert not orphans.search(engine.cluster, KubernetesDriver(away, Options()))
    assert Orphan.objects.filter(is_sure=True).count() == 1
    trouble = Cluster.objects.get(pk=engine.cluster.pk).search_trouble
    assert "https://127.0.0.1:9" in trouble
    page = browser(engine).get(f"/clusters/{engine.cluster.pk}/checks").content.decode()
    assert trouble in page
    look(engine)
    assert Cluster.objects.get(pk=engine.cluster.pk).search_trouble == ""


def browser(engine: KubernetesEngine) -> Browser:
    found = Browser()
    found.force_login(engine.owner)
    return found


@pytest.mark.thorough
def test_one_process_at_a_time_looks_and_soon_again_where_one_is_not_sure(
    engine: KubernetesEngine, place: str
) -> None:
    assert orphans.take_turn(engine.cluster)
    assert not orphans.take_turn(engine.cluster)
    later(70)
    assert not orphans.take_turn(engine.cluster)
    put(engine, "lost", **ours(engine, str(uuid.uuid4())))
    look(engine)
    assert orphans.take_turn(engine.cluster)
    assert not orphans.take_turn(engine.cluster)
    assert Cluster.objects.get(pk=engine.cluster.pk).searched_at is not None


def engine_actor(engine: KubernetesEngine) -> Actor:
    return Actor(engine.owner, "form")
