"""Sign-in page, sign-in links, sessions: AC-S1-1 to AC-S1-3 and rows 115 to 122 of the matrix."""

from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessFailureLog
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import OperationalError, connection
from django.test import Client

from gangline.accounts import middleware, services
from gangline.accounts.models import SignInLink, User
from gangline.accounts.services import create_user, deactivate, make_sign_in_link, make_token
from gangline.audit.models import AuditEntry
from gangline.config.asgi import behind_proxies
from gangline.config.env import Env
from gangline.db import clock
from gangline.db.clock import db_now
from tests.support.world import PASSWORD

pytestmark = pytest.mark.django_db
BY_HAND = {
    "Sec-Fetch-Site": "none",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Dest": "document",
    "Sec-Fetch-User": "?1",
}


@pytest.fixture
def user() -> User:
    return create_user(username="ada", password=PASSWORD)


def is_signed_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def sign_in(client: Client, password: str = PASSWORD, **more: str) -> int:
    return client.post("/login", {"username": "ada", "password": password, **more}).status_code


def test_the_page_helps_password_managers(client: Client) -> None:
    page = client.get("/login").content.decode()
    assert 'autocomplete="username"' in page
    assert 'autocomplete="current-password"' in page
    assert "csrfmiddlewaretoken" in page


def test_signing_in_goes_where_the_person_wanted(client: Client, user: User) -> None:
    response = client.post(
        "/login", {"username": "ada", "password": PASSWORD, "next": "/workloads?status=running"}
    )
    assert (response.status_code, response["Location"]) == (302, "/workloads?status=running")
    assert is_signed_in(client)


@pytest.mark.parametrize(
    "target",
    ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)",
     "http:evil", "/\tevil", "\n//evil.example", "///evil.example", "evil", ""],
)  # fmt: skip
def test_next_is_local_or_nothing(client: Client, user: User, target: str) -> None:
    response = client.post("/login", {"username": "ada", "password": PASSWORD, "next": target})
    assert response["Location"] == "/"


@pytest.mark.parametrize(("name", "password"), [("ada", "not this one"), ("nobody", PASSWORD)])
def test_wrong_and_unknown_get_the_same_words_and_keep_the_name(
    client: Client, user: User, name: str, password: str
) -> None:
    response = client.post("/login", {"username": name, "password": password})
    assert response.status_code == 422
    page = response.content.decode()
    assert "Wrong user name or password." in page
    assert f'value="{name}"' in page
    assert password not in page


@pytest.mark.parametrize(
    "username", ["", "x" * 151, "a\x00b", "<script>alert(1)</script>", "' OR 1=1 --"]
)
def test_strange_names_are_refused_quietly(client: Client, username: str) -> None:
    response = client.post("/login", {"username": username, "password": "x" * 300})
    assert response.status_code == 422
    assert b"<script>alert" not in response.content


def test_six_wrong_passwords_lock_even_the_right_one_out(client: Client, user: User) -> None:
    codes = [sign_in(client, "wrong") for _ in range(5)]
    assert codes[:4] == [422] * 4
    assert codes[4] == 429
    response = client.post(
        "/login",
        {"username": "ada", "password": PASSWORD},
        headers={"X-Forwarded-For": "203.0.113.9"},
    )
    assert response.status_code == 429
    assert "Too many attempts" in response.content.decode()
    assert 'value="ada"' in response.content.decode()
    assert not is_signed_in(client)
    assert AuditEntry.objects.filter(action="session.locked_out").exists()


def test_a_lock_does_not_hold_elsewhere(client: Client, user: User) -> None:
    for _ in range(6):
        sign_in(client, "wrong")
    elsewhere = Client(REMOTE_ADDR="198.51.100.7")
    assert sign_in(elsewhere) == 302


def test_an_address_that_tries_many_names_is_locked_out(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "MOST_PER_ADDRESS", 3)
    there, elsewhere = Client(REMOTE_ADDR="203.0.113.9"), Client(REMOTE_ADDR="198.51.100.7")

    def attempt(name: str) -> int:
        return there.post("/login", {"username": name, "password": "wrong"}).status_code

    assert [attempt(f"name-{number}") for number in range(4)] == [422] * 3 + [429]
    tried = AccessFailureLog.objects.count()
    assert sign_in(there) == 429
    assert AccessFailureLog.objects.count() == tried, "what is refused unread proves nothing"
    assert sign_in(elsewhere) == 302
    rows = AuditEntry.objects.filter(result="denied")
    assert set(rows.values_list("action", flat=True)) == {
        "session.sign_in_failed",
        "session.locked_out",
    }
    assert set(rows.values_list("address", "actor_name")) == {("203.0.113.9", "anonymous")}
    assert not rows.filter(request_id="").exists()
    AccessFailureLog.objects.update(attempt_time=db_now() - services.ADDRESS_WINDOW)
    assert sign_in(there) == 302


@pytest.mark.parametrize(
    ("is_behind", "peer", "seen"),
    [
        (True, "10.0.0.7", ("203.0.113.9", "https")),
        (True, "192.0.2.66", ("192.0.2.66", "http")),
        (False, "10.0.0.7", ("10.0.0.7", "http")),
    ],
    ids=["a trusted proxy", "somebody else", "no proxy"],
)
async def test_only_a_trusted_proxy_says_from_where_a_request_came(
    is_behind: bool, peer: str, seen: tuple[str, str]
) -> None:
    heard: list[tuple[str, str]] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        heard.append((scope["client"][0], scope["scheme"]))

    known = Env(behind_proxy=is_behind, trusted_proxies="10.0.0.0/8")  # type: ignore[arg-type]
    headers = [(b"x-forwarded-for", b"6.6.6.6, 203.0.113.9, 10.0.0.8")]
    headers.append((b"x-forwarded-proto", b"https"))
    scope = {"type": "http", "scheme": "http", "client": (peer, 1), "headers": headers}
    await behind_proxies(application, known)(scope, None, None)
    assert heard == [seen]


def test_while_nothing_can_be_written_one_can_read(user: User) -> None:
    token = make_token(user=user, name="t", days=1).text
    by_session = Client(raise_request_exception=False)
    by_session.force_login(user)
    session = by_session.session
    session[middleware.SEEN] -= middleware.SEEN_EVERY + 1
    session.save()
    visitor = Client(raise_request_exception=False, headers={"Accept": "text/html"})

    def is_full(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith(("INSERT", "UPDATE", "DELETE")):
            raise OperationalError("database or disk is full")
        return execute(sql, *rest)

    with connection.execute_wrapper(is_full):
        assert visitor.get("/login").status_code == 200
        assert by_session.get("/workloads").status_code == 200
        by_token = visitor.get("/api/v1/workloads", headers={"Authorization": f"Bearer {token}"})
        assert by_token.status_code == 200
        refused = visitor.post("/login", {"username": "ada", "password": PASSWORD})
    assert refused.status_code == 503
    assert "<h1>The disk of the database is full</h1>" in refused.content.decode()


def test_a_visit_leaves_no_session(client: Client, user: User) -> None:
    client.get("/login")
    client.get("/enter/x")
    client.get("/nowhere")
    sign_in(client, "wrong")
    assert not Session.objects.exists()
    sign_in(client)
    assert Session.objects.count() == 1


def test_the_csrf_token_changes_at_sign_in(user: User) -> None:
    client = Client()
    client.get("/login")
    before = client.cookies[settings.CSRF_COOKIE_NAME].value
    sign_in(client)
    assert client.cookies[settings.CSRF_COOKIE_NAME].value != before


def test_sign_in_and_out_need_the_csrf_token(user: User) -> None:
    client = Client(enforce_csrf_checks=True)
    assert sign_in(client) == 403
    client.force_login(user)
    assert client.post("/logout").status_code == 403
    assert is_signed_in(client)


def test_signing_out_is_a_post(client: Client, user: User) -> None:
    client.force_login(user)
    assert client.get("/logout").status_code == 405
    assert is_signed_in(client)
    assert client.post("/logout")["Location"] == "/login"
    assert not is_signed_in(client)


@pytest.mark.parametrize(
    ("key", "age", "lives"),
    [
        (middleware.SEEN, 8 * 3600 - 60, True),
        (middleware.SEEN, 8 * 3600 + 60, False),
        (middleware.STARTED, 24 * 3600 - 60, True),
        (middleware.STARTED, 24 * 3600 + 60, False),
    ],
    ids=["idle 7:59", "idle 8:01", "open 23:59", "open 24:01"],
)
def test_sessions_end(client: Client, user: User, key: str, age: int, lives: bool) -> None:
    client.force_login(user)
    session = client.session
    session[key] -= age
    session.save()
    response = client.get("/login")
    assert (response.status_code == 302) is lives
    assert is_signed_in(client) is lives
    if not lives:
        assert "You were signed out" in response.content.decode()


def test_a_deactivated_person_is_out_at_the_next_request(client: Client, user: User) -> None:
    client.force_login(user)
    deactivate(user)
    assert client.get("/login").status_code == 200


def test_a_link_opened_by_hand_signs_in_at_once_and_only_once(user: User) -> None:
    link = make_sign_in_link(user=user)
    first, second = Client(), Client()
    assert first.get(link, headers=BY_HAND).status_code == 302
    assert is_signed_in(first)
    again = second.get(link, headers=BY_HAND)
    assert again.status_code == 410
    assert "does not work" in again.content.decode()
    assert not is_signed_in(second)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        BY_HAND | {"Sec-Purpose": "prefetch"},
        BY_HAND | {"Sec-Fetch-Site": "cross-site"},
        BY_HAND | {"Sec-Fetch-Dest": "image", "Sec-Fetch-Mode": "no-cors"},
    ],
    ids=["no browser", "prefetch", "from another site", "as a picture"],
)
def test_whatever_fetches_a_link_does_not_use_it_up(user: User, headers: dict[str, str]) -> None:
    link = make_sign_in_link(user=user)
    client = Client()
    page = client.get(link, headers=headers)
    assert page.status_code == 200
    assert "Sign in as ada" in page.content.decode()
    assert not is_signed_in(client)
    assert client.post(link).status_code == 302
    assert is_signed_in(client)


def test_somebody_who_is_signed_in_is_asked_first(user: User) -> None:
    other = create_user(username="grace")
    client = Client()
    client.force_login(other)
    assert client.get(make_sign_in_link(user=user), headers=BY_HAND).status_code == 200


def test_links_end_after_a_quarter_of_an_hour(client: Client, user: User) -> None:
    link = make_sign_in_link(user=user)
    clock.shift(timedelta(minutes=15, seconds=1))
    try:
        assert client.post(link).status_code == 410
    finally:
        clock.shift(timedelta())


@pytest.mark.parametrize("secret", ["x", "A" * 43, "%00", "..%2f..", "x" * 3000])
def test_wrong_links_are_410_or_404(client: Client, secret: str) -> None:
    assert client.get(f"/enter/{secret}", headers=BY_HAND).status_code in (400, 404, 410, 414)


def test_only_the_hash_of_a_link_is_stored(user: User) -> None:
    secret = make_sign_in_link(user=user).removeprefix("/enter/")
    assert len(secret) == 43
    assert secret not in str(list(SignInLink.objects.values()))


def test_signing_in_and_out_is_audited(client: Client, user: User) -> None:
    sign_in(client, "wrong")
    sign_in(client)
    client.post("/logout")
    make_sign_in_link(user=user)
    actions = AuditEntry.objects.order_by("pk").values_list("action", "result")
    assert list(actions) == [
        ("session.sign_in_failed", "denied"),
        ("session.sign_in", "ok"),
        ("session.sign_out", "ok"),
        ("sign_in_link.create", "ok"),
    ]
    assert PASSWORD not in str(list(AuditEntry.objects.values()))


@pytest.mark.parametrize(
    "header",
    ["X-Remote-User", "Remote-User", "kubeflow-userid", "X-Forwarded-User"],
)
def test_names_in_headers_sign_nobody_in(client: Client, user: User, header: str) -> None:
    assert client.get("/api/v1/workloads", headers={header: "ada"}).status_code == 401


def test_another_host_is_400(client: Client) -> None:
    assert client.get("/login", headers={"Host": "evil.example"}).status_code == 400
    assert client.get("/login", headers={"X-Forwarded-Host": "evil.example"}).status_code == 200
