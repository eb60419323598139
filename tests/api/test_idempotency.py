"""Idempotency-Key: repeating a request is harmless for a day (F-01, F-03, F-04)."""

from datetime import timedelta

import pytest

from gangline.db import clock
from tests.support.api import ApiClient
from tests.support.world import World
from workloads.models import Attempt, IdempotencyKey, Workload

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]
SUBMIT = "workloads/distributed"


def test_the_same_key_and_body_answer_the_same_workload(
    world: World, researcher: ApiClient
) -> None:
    first = researcher.post(SUBMIT, world.body(), Idempotency_Key="k-1")
    again = researcher.post(SUBMIT, world.body(), Idempotency_Key="k-1")
    assert (first.status_code, again.status_code) == (202, 202)
    assert first.json()["workloadId"] == again.json()["workloadId"]
    assert "Idempotent-Replayed" not in first
    assert again["Idempotent-Replayed"] == "true"
    assert Workload.objects.count() == Attempt.objects.count() == 1


def test_the_order_of_keys_in_the_body_does_not_matter(world: World, researcher: ApiClient) -> None:
    body = world.body()
    researcher.post(SUBMIT, body, Idempotency_Key="k-1")
    turned = dict(reversed(body.items()))
    assert researcher.post(SUBMIT, turned, Idempotency_Key="k-1")["Idempotent-Replayed"] == "true"


def test_the_same_key_with_another_body_is_422(world: World, researcher: ApiClient) -> None:
    researcher.post(SUBMIT, world.body("one"), Idempotency_Key="k-1")
    response = researcher.post(SUBMIT, world.body("two"), Idempotency_Key="k-1")
    assert response.status_code == response.json()["code"] == 422
    assert response.json()["message"] == "idempotency_conflict"
    assert Workload.objects.count() == 1


def test_a_refused_request_does_not_use_its_key_up(world: World, researcher: ApiClient) -> None:
    bad = researcher.post(SUBMIT, world.spec_body(numWorkers=0), Idempotency_Key="k-1")
    good = researcher.post(SUBMIT, world.body(), Idempotency_Key="k-1")
    assert (bad.status_code, good.status_code) == (400, 202)


def test_keys_of_two_people_do_not_meet(world: World) -> None:
    for person in ("researcher-vision", "project_administrator-vision"):
        response = ApiClient(world, person).post(
            SUBMIT, world.body(f"of-{person.partition('_')[0][:10]}"), Idempotency_Key="k-1"
        )
        assert response.status_code == 202, response.content
    assert IdempotencyKey.objects.count() == 2


def test_a_key_is_forgotten_after_a_day(world: World, researcher: ApiClient) -> None:
    researcher.post(SUBMIT, world.body("one"), Idempotency_Key="k-1")
    clock.shift(timedelta(hours=24, seconds=1))
    try:
        world.forget_tokens()  # made before the day went by, they have ended
        later = ApiClient(world, "researcher-vision")
        response = later.post(SUBMIT, world.body("two"), Idempotency_Key="k-1")
    finally:
        clock.shift(timedelta())
    assert response.status_code == 202, response.content
    assert Workload.objects.count() == 2


@pytest.mark.parametrize("key", ["a b", "é", "x" * 101, "tab\there"])
def test_a_key_that_cannot_be_logged_is_400(world: World, researcher: ApiClient, key: str) -> None:
    response = researcher.post(SUBMIT, world.body(), Idempotency_Key=key)
    assert response.status_code == 400
    assert "Idempotency-Key" in response.json()["message"]


def test_running_again_takes_a_key_too(world: World, researcher: ApiClient) -> None:
    made = researcher.post(SUBMIT, world.body()).json()["workloadId"]
    Attempt.objects.update(
        outcome="Failed", observed_state="Failed", create_state="seen", placement=None
    )
    Workload.objects.update(status="Failed", phase="Failed")
    path = f"{SUBMIT}/{made}/rerun"
    first = researcher.post(path, Idempotency_Key="again-1")
    second = researcher.post(path, Idempotency_Key="again-1")
    third = researcher.post(path, Idempotency_Key="again-2")
    assert (first.status_code, second.status_code, third.status_code) == (202, 202, 409)
    assert "Idempotent-Replayed" not in first
    assert second["Idempotent-Replayed"] == "true"
    assert list(Attempt.objects.order_by("no").values_list("cause", flat=True)) == [
        "submit",
        "rerun",
    ]
