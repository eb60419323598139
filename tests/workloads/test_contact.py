"""What is said of workloads while their cluster is away, and what follows when it is back."""

from datetime import datetime, timedelta

from gangline.clusters import contact as cluster_contact
from gangline.clusters.models import Cluster
from gangline.db.clock import db_now
from tests.support.engine import Engine, current_attempt
from tests.support.waiting import wait_for
from workloads.models import Workload
from workloads.services import claims, contact, intents
from workloads.services.reconcile import reconcile


def _passed(workload: Workload) -> Workload:
    reconcile(workload.pk)
    workload.refresh_from_db()
    return workload


def _lost(engine: Engine, since: datetime | None = None) -> int:
    now = db_now()
    return contact.mark_lost(engine.cluster.pk, since=since or now, asked_at=now)


def test_a_deletion_waits_for_an_unreachable_cluster_and_says_so(engine: Engine) -> None:
    workload = engine.workload()
    wait_for(lambda: _passed(workload).status == "Running", seconds=10)
    engine.truth.set_unreachable(True)
    intents.delete(workload_id=workload.pk, by="researcher")
    reconcile(workload.pk)
    workload.refresh_from_db()
    assert (workload.status, workload.deleted_at) == ("Deleting", None)
    assert workload.reason == "No contact with cluster faulty-one."
    engine.truth.set_unreachable(False)
    engine.heard()
    wait_for(lambda: _passed(workload).deleted_at, seconds=10)


def test_what_no_pass_has_tried_yet_says_too_that_its_cluster_is_away(engine: Engine) -> None:
    waits = engine.workload()
    sent = engine.workload("sent")
    sent.attempts.update(create_state="sent")
    since = db_now() - timedelta(minutes=1)
    assert _lost(engine, since) == 1
    waits.refresh_from_db()
    assert (waits.status, waits.contact_lost_at) == ("Creating", since)
    assert waits.reason == "No contact with cluster faulty-one."
    assert waits.next_reason.startswith("The workload is saved")
    assert _lost(engine) == 0
    seq = waits.seq
    assert contact.mark_found(engine.cluster.pk) == 1
    waits.refresh_from_db()
    assert (waits.reason, waits.next_reason, waits.contact_lost_at) == ("", "", None)
    assert waits.seq > seq
    wait_for(lambda: _passed(waits).status == "Running", seconds=10)


def test_what_a_pass_told_of_the_outage_goes_with_it(engine: Engine) -> None:
    tried = engine.workload()
    engine.truth.set_unreachable(True)
    _passed(tried)
    assert current_attempt(tried).unknown_since
    _lost(engine)
    contact.mark_found(engine.cluster.pk)
    attempt = current_attempt(tried)
    assert (attempt.trouble, attempt.unknown_since, tried.reason) == ("", None, "")


def test_one_that_is_to_go_on_says_that_its_cluster_is_away(engine: Engine) -> None:
    workload = engine.workload()
    wait_for(lambda: _passed(workload).status == "Running", seconds=10)
    intents.stop(workload_id=workload.pk, by="researcher")
    wait_for(lambda: _passed(workload).status == "Stopped", seconds=10)
    intents.resume(workload_id=workload.pk, by="researcher")
    _lost(engine)
    workload.refresh_from_db()
    assert workload.reason == "No contact with cluster faulty-one."
    assert "when contact returns" in workload.next_reason


def test_ends_are_first_once_and_again_when_contact_is_back(engine: Engine) -> None:
    now = db_now()
    soon = now - timedelta(minutes=1)
    waits, ends, rests = (engine.workload(name) for name in ("waits", "ends", "rests"))
    rows = Workload.objects
    rows.filter(pk=waits.pk).update(due_at=now - timedelta(days=1))
    rows.filter(pk=ends.pk).update(desired="Stopped", status="Stopping", due_at=soon)
    rows.filter(pk=rests.pk).update(desired="Stopped", status="Stopped", due_at=now)
    assert _order() == ["ends", "waits", "rests"]
    rows.filter(pk=ends.pk).update(fail_count=3)
    assert _order() == ["waits", "ends", "rests"]
    contact.wake_waiting(engine.cluster.pk)
    assert _order() == ["ends", "waits", "rests"], "it was due already"
    later = now + timedelta(minutes=4)
    rows.exclude(pk=waits.pk).update(due_at=later)
    contact.wake_waiting(engine.cluster.pk)
    assert _order() == ["ends", "waits"]
    rests.refresh_from_db()
    assert rests.due_at == later


def test_a_stop_that_failed_while_contact_came_back_is_still_first(engine: Engine) -> None:
    now = db_now()
    waits, ends = engine.workload("waits"), engine.workload("ends")
    Workload.objects.filter(pk=waits.pk).update(fail_count=2, due_at=now + timedelta(minutes=4))
    Workload.objects.filter(pk=ends.pk).update(desired="Stopped", status="Stopping", fail_count=4)
    held = claims.claim(ends.pk)
    assert held
    contact.wake_waiting(engine.cluster.pk)
    assert claims.release(held, next_due=now + timedelta(minutes=4), failed=True)
    ends.refresh_from_db()
    assert ends.fail_count == 0
    assert _order() == ["ends", "waits"]

    held = claims.claim(ends.pk)
    assert held
    assert claims.release(held, next_due=now + timedelta(minutes=4), failed=True)
    ends.refresh_from_db()
    assert (ends.fail_count, _order()) == (1, ["waits"])


def _order() -> list[str]:
    return list(claims.due(db_now()).values_list("name", flat=True))


def test_a_stop_that_waits_for_an_unreachable_cluster_says_so(engine: Engine) -> None:
    workload = engine.workload()
    wait_for(lambda: _passed(workload).status == "Running", seconds=10)
    _lost(engine)
    intents.stop(workload_id=workload.pk, by="researcher")
    workload.refresh_from_db()
    assert workload.status == "Stopping"
    assert workload.reason.endswith("No contact with cluster faulty-one.")
    assert workload.next_reason.startswith("The workload stops when contact")


def test_what_was_read_since_the_cluster_was_asked_in_vain_is_news(engine: Engine) -> None:
    workload = engine.workload()
    wait_for(lambda: _passed(workload).status == "Running", seconds=10)
    read_at = current_attempt(workload).read_started_at
    assert read_at
    before = read_at - timedelta(seconds=20)
    assert contact.mark_lost(engine.cluster.pk, since=before, asked_at=before) == 0
    assert contact.mark_lost(engine.cluster.pk, since=before, asked_at=db_now()) == 1
    assert current_attempt(workload).unknown_since == read_at


def test_a_rest_that_the_cluster_asked_for_outlives_a_moment_without_contact(
    engine: Engine,
) -> None:
    cluster = engine.cluster
    cluster_contact.lost(cluster.pk)
    cluster_contact.rest(cluster.pk, 120)
    cluster.refresh_from_db()
    assert cluster_contact.heard(cluster)
    cluster.refresh_from_db()
    assert (cluster.failures, cluster_contact.is_resting(cluster)) == (0, True)
    Cluster.objects.filter(pk=cluster.pk).update(backoff_until=None)
    for _ in range(cluster_contact.MOST_FAILURES):
        cluster_contact.lost(cluster.pk)
    cluster.refresh_from_db()
    assert cluster_contact.is_resting(cluster)
    assert cluster_contact.heard(cluster)
    cluster.refresh_from_db()
    assert not cluster_contact.is_resting(cluster)


def test_a_pass_that_met_a_rest_counts_neither_way(engine: Engine) -> None:
    workload = engine.workload()
    Workload.objects.filter(pk=workload.pk).update(fail_count=5, due_at=db_now())
    cluster_contact.rest(engine.cluster.pk, 60)
    assert _passed(workload).fail_count == 5
    assert workload.due_at
    assert workload.due_at > db_now()
