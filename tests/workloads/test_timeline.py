"""The stretches of an attempt: when it waited, started and ran."""

from datetime import timedelta

from tests.support.engine import Engine, current_attempt
from workloads.models import Attempt, Replica
from workloads.selectors import details


def _words(engine: Engine, **columns: object) -> list[str]:
    workload = engine.workload()
    attempt = current_attempt(workload)
    Attempt.objects.filter(pk=attempt.pk).update(**columns)
    Replica.objects.create(
        attempt=attempt, role="worker", index=0, rank=0, state="Running",
        started_at=attempt.created_at + timedelta(seconds=60),
    )  # fmt: skip
    return [s.word for s in details.timeline(details.attempts(workload)[0]).stretches]


def test_on_a_cluster_that_places_it_waits_until_the_first_pod_begins(engine: Engine) -> None:
    now = current_attempt(engine.workload("other")).created_at
    assert _words(engine, sent_at=now, observed_state="Starting") == ["waited", "starting"]


def test_a_gang_of_which_a_part_runs_still_waits(engine: Engine) -> None:
    now = current_attempt(engine.workload("other")).created_at
    assert _words(engine, sent_at=now, observed_state="Pending") == ["waiting"]


def test_where_slots_are_ours_it_waited_until_it_was_sent(engine: Engine) -> None:
    now = current_attempt(engine.workload("other")).created_at
    assert _words(engine, sent_at=now, placement=[]) == ["waited", "starting"]
