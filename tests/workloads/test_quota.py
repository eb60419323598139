"""Quota where slots are ours: what starts, what waits for whom, what is stopped for another."""

import json
from typing import Any

import pytest
from django.test import Client

from gangline.access.models import AccessRule
from gangline.accounts.services import make_token
from gangline.clusters.models import Cluster
from gangline.db.clock import db_now
from gangline.organization.models import Department, Project, Rank
from gangline.resources.registry import get
from gangline.resources.services import make, update
from gangline.scopes.selectors import tenant_scope
from tests.support.engine import Engine, current_attempt, new_workload
from workloads.models import Attempt, Workload
from workloads.services import admission, intents
from workloads.services.reconcile import reconcile
from workloads.services.retries import tries_since_intent
from workloads.wording import QUOTA_WAIT

CAPACITY = {
    "admission": "ours",
    "cpus": 64.0,
    "memory": 64 * 10**9,
    "gpus": ["0", "1", "2", "3"],
    "ports": [16000, 32000],
}


@pytest.fixture
def ours(engine: Engine) -> Engine:
    Cluster.objects.filter(pk=engine.cluster.pk).update(capacity=CAPACITY)
    return engine


def give(node: Project | Department, **values: Any) -> Any:
    """Set the quota; returns what was saved."""
    key = type(node).__name__.lower()
    row = {"node_pool": node.cluster.pools.get(), **values}
    return update(get(key), actor=None, obj=node, values={}, parts={"quotas": [row]})


def project(engine: Engine, name: str, **quota: Any) -> Project:
    made: Project = make("project", department=engine.project.department, name=name)
    give(made, **quota)
    return made


def submit(
    engine: Engine,
    where: Project,
    name: str,
    gpus: int = 1,
    *,
    terminates: bool = False,
    **columns: Any,
) -> Workload:
    values = {
        "terminateAfterPreemption": terminates,
        "command": "behave sleep",
        "compute.cpuCoreRequest": 0.1,
        "compute.gpuDevicesRequest": gpus,
    }
    where = Project.objects.select_related("cluster").get(pk=where.pk)
    made = new_workload(
        name=name, project=where, owner=engine.owner, values=values, workers=1, **columns
    )
    admission.admit(engine.cluster.pk)
    return made


def admit(engine: Engine) -> None:
    admission.admit(engine.cluster.pk)


def is_placed(workload: Workload) -> bool:
    return current_attempt(workload).placement is not None


def is_over(workload: Workload) -> bool:
    return current_attempt(workload).over_quota


def is_claimed(workload: Workload) -> bool:
    return current_attempt(workload).reclaimed_at is not None


def run(*workloads: Workload) -> None:
    for workload in workloads:
        reconcile(workload.pk)


def test_with_over_quota_off_the_third_gpu_waits_and_starts_when_one_ends(ours: Engine) -> None:
    vision = project(ours, "vision-2", gpus=2, over_quota=False)
    first, second, third = (submit(ours, vision, name) for name in ("one", "two", "three"))
    assert [is_placed(one) for one in (first, second, third)] == [True, True, False]
    other = submit(ours, project(ours, "nlp-2"), "other")
    assert is_placed(other), "what waits for its own project holds up no other"
    third.refresh_from_db()
    assert third.status == "Pending"
    assert "project vision-2 uses 2 of 2" in third.reason
    intents.stop(workload_id=first.pk, by="researcher")
    admit(ours)
    assert is_placed(third)


def test_what_alone_passes_the_limit_cannot_start(ours: Engine) -> None:
    vision = project(ours, "vision-2", gpus=1, gpus_limit=2)
    huge = submit(ours, vision, "huge", gpus=3)
    huge.refresh_from_db()
    assert (huge.status, huge.cannot_start) == ("Cannot start", True)
    give(vision, gpus_limit=3)
    admit(ours)
    assert is_placed(huge)


def test_in_quota_by_the_order_of_placement_and_stored(ours: Engine) -> None:
    vision = project(ours, "vision-2", gpus=2)
    one, two, three = (submit(ours, vision, name) for name in ("one", "two", "three"))
    assert [is_over(x) for x in (one, two, three)] == [False, False, True]
    give(vision, gpus=1)
    admit(ours)
    assert [is_over(x) for x in (one, two, three)] == [False, True, True]
    intents.stop(workload_id=one.pk, by="researcher")
    admit(ours)
    assert [is_over(x) for x in (two, three)] == [False, True]


def test_a_lower_quota_tells_how_many_become_over_quota_on_every_way_in(ours: Engine) -> None:
    vision = project(ours, "vision-2", gpus=2)
    run(submit(ours, vision, "one"), submit(ours, vision, "two"))
    AccessRule.objects.create(
        user=ours.owner, role="system_administrator", scope=tenant_scope(), created_at=db_now()
    )
    page = Client()
    page.force_login(ours.owner, backend="django.contrib.auth.backends.ModelBackend")
    token = make_token(user=ours.owner, name="tests", days=1).text
    programs = Client(headers={"Authorization": f"Bearer {token}"})
    here, old = f"/api/v1/org-unit/projects/{vision.pk}", f"/v1/k8s/clusters/{ours.cluster.pk}"
    lower = [{"gpu": {"deserved": 1}}]
    ways: list[tuple[str, str, Any]] = [
        ("PUT", here, {"name": "vision-2", "resources": lower}),
        ("PUT", f"{here}/resources", lower),
        ("PATCH", f"{here}/resources", lower),
        ("PUT", f"{old}/projects/{vision.pk}", {"name": "vision-2", "deservedGpus": 1}),
    ]
    for method, path, body in ways:
        give(vision, gpus=2)
        answer = programs.generic(method, path, json.dumps(body), "application/json")
        assert answer.status_code == 200, answer.content
        found = answer.json()
        notice = found[0]["notice"] if isinstance(found, list) else found["notice"]
        assert notice.startswith("1 running workload becomes over quota."), path
    assert "notice" not in programs.get(here).json()
    give(vision, gpus=2)
    edit = f"/projects/{vision.pk}/edit"
    typed = {"name": "vision-2", "version": Project.objects.get(pk=vision.pk).version}
    page.post(
        edit, typed | {"quotas.0.gpus": "1", "quotas.0.over_quota": "on", "quotas.0.rank": "3"}
    )
    shown = page.get(f"/projects/{vision.pk}").content.decode()
    assert "1 running workload becomes over quota." in shown


def test_quota_is_claimed_back_from_whole_gangs_which_wait_in_their_old_place(
    ours: Engine,
) -> None:
    vision, nlp = project(ours, "vision-2", gpus=2), project(ours, "nlp-2", gpus=2)
    mine = submit(ours, vision, "mine", gpus=1)
    guest = submit(ours, vision, "guest", gpus=3)
    run(mine, guest)
    later = submit(ours, vision, "later", gpus=3)
    claim = submit(ours, nlp, "claim", gpus=2)
    assert not is_placed(claim)
    assert (is_claimed(mine), is_claimed(guest)) == (False, True)
    guest.refresh_from_db()
    assert guest.status == "Preempted"
    admit(ours)
    assert Attempt.objects.exclude(reclaimed_at=None).count() == 1, "one claim in flight"
    for _ in range(3):
        run(guest)
    admit(ours)
    assert is_placed(claim)
    again = current_attempt(guest)
    first = Attempt.objects.get(workload=guest, no=1)
    assert (again.no, again.cause, again.queued_at) == (2, "preempt", first.created_at)
    assert not is_placed(guest)
    guest.refresh_from_db()
    assert guest.status == "Preempted"
    assert tries_since_intent(guest) == 1, "the try does not count"
    intents.stop(workload_id=claim.pk, by="researcher")
    run(claim)
    admit(ours)
    assert is_placed(guest), "it stands before what was submitted after it"
    assert not is_placed(later)


def test_nothing_is_stopped_where_it_would_not_suffice(ours: Engine) -> None:
    vision, nlp = project(ours, "vision-2", gpus=3), project(ours, "nlp-2", gpus=2)
    submit(ours, vision, "mine", gpus=3)
    guest = submit(ours, vision, "guest", gpus=1)
    claim = submit(ours, nlp, "claim", gpus=2)
    assert not is_placed(claim)
    assert not is_claimed(guest)


def test_the_lowest_priority_then_the_latest_and_no_more_than_needed(ours: Engine) -> None:
    vision, nlp = project(ours, "vision-2"), project(ours, "nlp-2", gpus=4)
    old = submit(ours, vision, "old", priority=10)
    urgent = submit(ours, vision, "urgent", priority=90)
    middle = submit(ours, vision, "middle")
    last = submit(ours, vision, "last")
    submit(ours, nlp, "claim", gpus=2)
    assert [is_claimed(x) for x in (old, urgent, middle, last)] == [True, False, False, True]


def test_what_is_not_preemptible_starts_within_quota_alone_and_is_not_claimed(ours: Engine) -> None:
    vision, nlp = project(ours, "vision-2", gpus=2), project(ours, "nlp-2", gpus=4)
    guest = submit(ours, vision, "guest", gpus=2)
    large = submit(ours, vision, "large", gpus=3, is_preemptible=False)
    waits = submit(ours, vision, "waits", gpus=1, is_preemptible=False)
    assert (is_placed(large), current_attempt(large).impossible) == (False, True)
    assert (is_placed(waits), current_attempt(waits).wait_code) == (False, QUOTA_WAIT)
    intents.stop(workload_id=guest.pk, by="researcher")
    run(guest)
    admit(ours)
    assert is_placed(waits)
    # Placed after it, and the first all the same to which the quota is counted.
    give(vision, gpus=1)
    submit(ours, nlp, "claim", gpus=4)
    assert (is_over(waits), is_claimed(waits)) == (False, False)


def test_a_workload_that_ends_after_preemption_does_not_wait_again(ours: Engine) -> None:
    vision, nlp = project(ours, "vision-2"), project(ours, "nlp-2", gpus=4)
    guest = submit(ours, vision, "guest", gpus=1, terminates=True)
    run(guest)
    submit(ours, nlp, "claim", gpus=4)
    for _ in range(3):
        run(guest)
    guest.refresh_from_db()
    assert (guest.status, guest.attempt_no) == ("Stopped", 1)


def test_spare_capacity_goes_by_rank_then_use_over_weight(ours: Engine) -> None:
    low = project(ours, "low", rank=Rank.LOW)
    light = project(ours, "light", weight=1)
    heavy = project(ours, "heavy", weight=3)
    Cluster.objects.filter(pk=ours.cluster.pk).update(capacity=CAPACITY | {"gpus": []})
    waiting = {
        where.name: [submit(ours, where, f"{where.name}-{n}") for n in range(4)]
        for where in (low, light, heavy)
    }
    Cluster.objects.filter(pk=ours.cluster.pk).update(capacity=CAPACITY)
    admit(ours)
    placed = {name: sum(map(is_placed, rows)) for name, rows in waiting.items()}
    assert placed == {"low": 0, "light": 1, "heavy": 3}


def test_a_department_at_its_limit_gives_a_project_its_quota_back(ours: Engine) -> None:
    department = ours.project.department
    give(department, gpus=3, over_quota=False)
    vision, nlp = project(ours, "vision-2", gpus=1), project(ours, "nlp-2", gpus=2)
    guests = [submit(ours, vision, f"guest-{n}") for n in range(3)]
    claim = submit(ours, nlp, "claim")
    assert not is_placed(claim)
    assert [is_claimed(one) for one in guests] == [False, False, True]
