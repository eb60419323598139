"""Every refusal of the API has the one shape, whoever refuses (R32)."""

from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.db import OperationalError
from django.test import Client

from gangline.accounts.models import ApiToken, User
from gangline.accounts.services import deactivate, revoke_token
from gangline.db.clock import db_now
from tests.support.api import ApiClient
from tests.support.world import World
from workloads.services import submission

pytestmark = pytest.mark.django_db
KEYS = {"code", "message", "details", "problems", "complianceIssues"}


def assert_refused(response: Any, status: int, *more: str) -> None:
    assert response.status_code == status, response.content
    assert response["Content-Type"].startswith("application/json")
    body = response.json()
    assert set(body) == KEYS | {*more}
    assert body["code"] == status
    assert body["message"]


@pytest.mark.parametrize("path", ["nothing", "workloads/", "workloads/x", "../v2/policy"])
def test_unknown_addresses_are_json_404(researcher: ApiClient, path: str) -> None:
    assert_refused(researcher.get(path), 404, "available")
    assert_refused(researcher.post(path, {}), 404, "available")


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "TRACE", "OPTIONS"])
def test_unknown_methods_are_405(world: World, researcher: ApiClient, method: str) -> None:
    assert_refused(researcher.request(method, "workloads"), 405)


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
     "text/json", "application/xml"],
)  # fmt: skip
def test_other_content_types_are_415(world: World, content_type: str) -> None:
    response = Client(headers=world.headers("researcher-vision")).generic(
        "POST", "/api/v1/workloads/distributed", b'{"name": "x"}', content_type=content_type
    )
    assert_refused(response, 415)


def test_too_large_a_body_is_413(world: World, researcher: ApiClient) -> None:
    assert_refused(researcher.post("workloads/distributed", world.body(name="x" * (1 << 20))), 413)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("database is locked", "The database is busy."),
        ("database or disk is full", "The disk of the database is full."),
        ("could not extend file: No space left on device", "The disk of the database is full."),
    ],
)
def test_a_database_that_cannot_write_is_503_with_the_reason(
    world: World, researcher: ApiClient, monkeypatch: pytest.MonkeyPatch, said: str, told: str
) -> None:
    def refuse(**_: Any) -> None:
        raise OperationalError(said)

    monkeypatch.setattr(submission, "submit", refuse)
    response = researcher.post("workloads/distributed", world.body())
    assert_refused(response, 503)
    assert response.json()["message"] == told
    assert response["Retry-After"] == "2"


@pytest.mark.parametrize("accepted", ["text/html", "application/xml", "nonsense"])
def test_every_answer_is_json_whatever_is_accepted(world: World, accepted: str) -> None:
    client = Client(headers={**world.headers("researcher-vision"), "Accept": accepted})
    for path, status in (("workloads", 200), (f"workloads/{uuid4()}/logs", 404)):
        answer = client.get(f"/api/v1/{path}")
        assert (answer.status_code, answer["Content-Type"]) == (status, "application/json")


def test_a_compressed_body_is_415(world: World) -> None:
    response = Client(headers=world.headers("researcher-vision")).post(
        "/api/v1/workloads/distributed",
        data=world.body(),
        content_type="application/json",
        headers={"Content-Encoding": "gzip"},
    )
    assert_refused(response, 415)


def test_without_a_token_it_is_401(world: World) -> None:
    response = Client().get("/api/v1/workloads")
    assert_refused(response, 401)
    assert response["WWW-Authenticate"].startswith("Bearer")


def broken_tokens(token: str) -> dict[str, str]:
    prefix, kid, secret = token.split("_", 2)
    return {
        "cut by one": token[:-1],
        "one more": f"{token}A",
        "lower-cased": token.lower(),
        "newline": f"{token}\n",
        "other kid": f"{prefix}_{'a' * 12}_{secret}",
        "other secret": f"{prefix}_{kid}_{'A' * 43}",
        "no scheme": "",
        "not ascii": f"{prefix}_{kid}_é{secret[1:]}",
        "a mebibyte": "x" * 20_000,
    }


@pytest.mark.parametrize("how", broken_tokens("gangline_kid_secret"))
def test_a_wrong_token_is_401(world: World, how: str) -> None:
    text = broken_tokens(world.token("researcher-vision"))[how]
    value = f"Bearer {text}" if how != "no scheme" else world.token("researcher-vision")
    assert_refused(Client().get("/api/v1/workloads", headers={"Authorization": value}), 401)


def test_a_token_in_the_address_or_in_a_cookie_is_not_looked_at(world: World) -> None:
    token = world.token("researcher-vision")
    assert Client().get(f"/api/v1/workloads?token={token}").status_code == 401
    client = Client()
    client.cookies["Authorization"] = f"Bearer {token}"
    client.cookies["token"] = token
    assert client.get("/api/v1/workloads").status_code == 401


def test_expired_revoked_and_deactivated_are_401_at_once(world: World) -> None:
    client = ApiClient(world, "researcher-vision")
    assert client.get("workloads").status_code == 200
    token = ApiToken.objects.get(user=world.people["researcher-vision"])
    ApiToken.objects.update(expires_at=db_now())
    assert_refused(client.get("workloads"), 401)
    world.forget_tokens()
    client = ApiClient(world, "researcher-vision")
    token = ApiToken.objects.exclude(pk=token.pk).get()
    revoke_token(token=token)
    assert_refused(client.get("workloads"), 401)
    world.forget_tokens()
    client = ApiClient(world, "researcher-vision")
    deactivate(world.people["researcher-vision"])
    assert_refused(client.get("workloads"), 401)


def test_a_wrong_token_does_not_fall_back_to_the_session(world: World) -> None:
    client = world.client("researcher-vision")
    assert client.get("/api/v1/workloads").status_code == 200
    response = client.get("/api/v1/workloads", headers={"Authorization": "Bearer nonsense"})
    assert_refused(response, 401)


def test_the_session_needs_the_csrf_token_to_change_anything(world: World) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(world.people["researcher-vision"])
    response = client.post(
        "/api/v1/workloads/distributed", data=world.body(), content_type="application/json"
    )
    assert_refused(response, 403)
    assert "CSRF" in response.json()["message"]
    secret = "a" * 32
    client.cookies[settings.CSRF_COOKIE_NAME] = secret
    good = client.post(
        "/api/v1/workloads/distributed",
        data=world.body(),
        content_type="application/json",
        headers={"X-CSRFToken": secret},
    )
    assert good.status_code == 202, good.content
    foreign = client.post(
        "/api/v1/workloads/distributed",
        data=world.body("two"),
        content_type="application/json",
        headers={"X-CSRFToken": secret, "Origin": "https://tools-example.net"},
    )
    assert_refused(foreign, 403)


def test_a_bug_is_500_without_a_word_about_it(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*args: object) -> None:
        raise ValueError("the secret is swordfish")

    monkeypatch.setattr("workloads.api.workload_list.listing", broken)
    client = Client(headers=world.headers("researcher-vision"), raise_request_exception=False)
    response = client.get("/api/v1/workloads")
    assert_refused(response, 500)
    assert b"swordfish" not in response.content
    incident = response["X-Request-Id"]
    assert incident in response.json()["details"]
    assert incident in caplog.text
    assert "swordfish" in caplog.text


def test_answers_are_not_kept_by_caches(researcher: ApiClient) -> None:
    response = researcher.get("workloads")
    assert response["Cache-Control"] == "no-store"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'none'" in response["Content-Security-Policy"]


def test_the_last_use_of_a_token_is_written_down(world: World, researcher: ApiClient) -> None:
    researcher.get("workloads")
    token = ApiToken.objects.get(user__username="researcher-vision")
    assert token.last_used_at is not None
    assert User.objects.filter(tokens=token).exists()


def test_a_refused_request_is_no_news_for_the_operator(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """Who asked was told; a warning a line would only hide what matters."""
    client = ApiClient(world, "researcher-vision")
    assert client.get("workloads/none").status_code == 404
    assert client.post("workloads/distributed", {"name": "x"}).status_code == 400
    assert Client().get("/no/such/page").status_code == 404
    assert not [r for r in caplog.records if r.name.startswith("django.request")]
