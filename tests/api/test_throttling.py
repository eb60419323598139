"""Too many requests in a minute: 429, when to come again, and for whom they count."""

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
from django.core.cache import cache
from django.test import Client
from pytest_django import Settings
from redis.exceptions import ConnectionError as RedisGone

from gangline.accounts.services import make_token
from gangline.api import throttling
from gangline.settings.catalogue import PERSON_REQUESTS, SIGN_INS, SUBMISSIONS, TOKEN_REQUESTS
from tests.support.settings import turn
from tests.support.world import World

pytestmark = pytest.mark.django_db
WHO = "researcher-vision"


@pytest.fixture(autouse=True)
def counted(settings: Settings) -> Iterator[None]:
    """Each test begins a minute of its own, which does not end meanwhile."""
    local = "django.core.cache.backends.locmem.LocMemCache"
    settings.CACHES = {"default": {"BACKEND": local, "LOCATION": "throttling"}}
    cache.clear()
    throttling.forget()
    with patch("gangline.api.throttling.time.time", return_value=1_800_000_000.0 + 15):
        yield
    throttling.forget()


def ask(headers: dict[str, str], count: int = 1, path: str = "me") -> Any:
    client = Client(headers=headers)
    for _ in range(count):
        answer = client.get(f"/api/v1/{path}")
    return answer


def test_a_token_is_told_when_to_come_again(world: World) -> None:
    turn(TOKEN_REQUESTS, 60)
    headers = world.headers(WHO)
    assert ask(headers, 60).status_code == 200
    refused = ask(headers)
    assert (refused.status_code, refused.json()["code"]) == (429, 429)
    assert refused.headers["Retry-After"] == "46"
    second = make_token(user=world.people[WHO], name="second", days=1)
    assert ask({"Authorization": f"Bearer {second.text}"}).status_code == 200
    assert ask(world.headers("viewer-vision")).status_code == 200
    with patch("gangline.api.throttling.time.time", return_value=1_800_000_060.0):
        assert ask(headers).status_code == 200


def test_all_tokens_of_a_person_count_together_and_their_pages_do_not(world: World) -> None:
    turn(PERSON_REQUESTS, 60)
    for number in range(2):
        made = make_token(user=world.people[WHO], name=f"t{number}", days=1)
        answer = ask({"Authorization": f"Bearer {made.text}"}, 31)
    assert answer.status_code == 429
    browser = world.client(WHO)
    assert {browser.get("/api/v1/me").status_code for _ in range(70)} == {200}
    assert browser.get("/workloads").status_code == 200


def test_submissions_have_a_limit_of_their_own(world: World) -> None:
    turn(SUBMISSIONS, 10)
    client = Client(headers=world.headers(WHO))

    def submit() -> int:
        path = "/api/v1/workloads/distributed?dryRun=true"
        return client.post(path, world.body(), "application/json").status_code

    assert [submit() for _ in range(11)] == [200] * 10 + [429]
    assert client.get("/api/v1/workloads").status_code == 200


def test_sign_ins_count_by_address(world: World) -> None:
    turn(SIGN_INS, 10)
    client = Client()

    def sign_in(path: str, address: str) -> int:
        return client.post(path, {}, "application/json", REMOTE_ADDR=address).status_code

    paths = ("/api/v1/token", "/v1/k8s/auth/oauth/apptoken")
    assert {sign_in(paths[n % 2], "192.0.2.7") for n in range(10)} == {400}
    assert sign_in("/api/v1/token", "192.0.2.7") == 429
    assert sign_in("/api/v1/token", "::ffff:192.0.2.7") == 429
    assert sign_in("/api/v1/token", "192.0.2.8") == 400
    assert {sign_in("/api/v1/token", f"2001:db8::{n}") for n in range(10)} == {400}
    assert sign_in("/api/v1/token", "2001:db8::ffff") == 429
    assert sign_in("/api/v1/token", "2001:db8:0:1::1") == 400


def test_without_the_store_everybody_is_let_through_and_it_is_not_asked_each_time(
    world: World,
) -> None:
    turn(TOKEN_REQUESTS, 60)
    headers = world.headers(WHO)
    with patch.object(throttling, "_incremented", side_effect=RedisGone("gone")) as asked:
        assert ask(headers, 70).status_code == 200
    assert asked.call_count == 1


def test_a_limit_is_looked_up_by_nobody_who_is_below_the_least(world: World) -> None:
    with patch.object(throttling, "value_of") as looked_up:
        assert ask(world.headers(WHO), TOKEN_REQUESTS.least).status_code == 200
    looked_up.assert_not_called()
