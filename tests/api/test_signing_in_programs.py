"""`POST /api/v1/token`, and what its tokens open for how long."""

import base64
import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import jwt
import pytest
from django.test import Client
from pytest_django import Settings

from gangline.accounts import services, token_sessions
from gangline.accounts.models import ClientSecret, TokenSession, User
from gangline.accounts.services import (
    create_user,
    deactivate,
    rights_changed,
    sign_out,
    temporary_password,
)
from gangline.audit.models import AuditEntry
from gangline.programs.models import AccessKey
from gangline.programs.services import renew_secret
from gangline.resources.registry import get
from gangline.resources.services import delete, make
from gangline.scopes.services import found
from tests.support.world import PASSWORD

pytestmark = pytest.mark.django_db


@pytest.fixture
def user(settings: Settings) -> User:
    """A hash that costs nothing: what passwords are worth is not the matter here."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    return create_user(username="ada", password=PASSWORD)


@pytest.fixture
def secret(user: User) -> dict[str, str]:
    found(name="Test")
    key = make("access_key", user=user, name="ci")
    return {"clientID": str(key.pk), "clientSecret": key.secret}


def ask(body: Any, **more: Any) -> Any:
    return Client().post("/api/v1/token", body, content_type="application/json", **more)


def granted(grant: str, **body: str) -> dict[str, Any]:
    response = ask({"grantType": grant, **body})
    assert response.status_code == 200, response.content
    found: dict[str, Any] = response.json()
    return found


def problems(response: Any) -> list[tuple[str, str]]:
    body = response.json()
    assert body["code"] == response.status_code
    return [(problem["path"], problem["rule"]) for problem in body["problems"]]


def knock(token: str) -> tuple[int, str]:
    """Status of a request with this token, and the code of its refusal."""
    response = Client().get("/api/v1/workloads", headers={"Authorization": f"Bearer {token}"})
    if response.status_code == 200:
        return 200, ""
    return response.status_code, problems(response)[0][1]


def test_a_secret_is_exchanged_for_tokens_that_open_the_api(secret: dict[str, str]) -> None:
    found = granted("client_credentials", **secret)
    assert knock(found["accessToken"]) == (200, "")
    assert found["expiresIn"] == token_sessions.ACCESS_SECONDS
    # The published client reads the payload as plain base64, not as base64url.
    payload = json.loads(base64.b64decode(found["accessToken"].split(".")[1] + "=="))
    assert 3500 < payload["exp"] - time.time() <= 3600
    stored = str([*ClientSecret.objects.values(), *TokenSession.objects.values()])
    assert not [text for text in (*found.values(), secret["clientSecret"]) if str(text) in stored]
    assert ClientSecret.objects.get().last_used_at is not None
    entry = AuditEntry.objects.get(action="session.sign_in")
    assert (entry.actor_name, entry.channel) == ("ada", "api")
    assert secret["clientID"].replace("-", "").startswith(entry.token_kid)


def test_the_older_name_of_the_grant_and_any_case_of_a_field(secret: dict[str, str]) -> None:
    """As runapy 1.224.0 sends it."""
    body = {"AppId": secret["clientID"], "AppSecret": secret["clientSecret"]}
    assert knock(granted("app_token", **body)["accessToken"]) == (200, "")


def test_a_person_signs_in_by_password(user: User) -> None:
    found = granted("password", username="ada", password=PASSWORD)
    assert knock(found["accessToken"]) == (200, "")


def test_a_temporary_password_has_to_be_changed_first(user: User) -> None:
    password = temporary_password(user)
    response = ask({"grantType": "password", "username": "ada", "password": password})
    assert problems(response) == [("password", "temporary")]
    assert not TokenSession.objects.exists()


UNREADABLE = [
    (b"", "grantType", "required"),
    ({}, "grantType", "required"),
    ([], "", "type"),
    (b"nope", "", "format"),
    (b'{"grantType": "password", "username": "a\\u0000", "password": "x"}', "username", "format"),
    ({"grantType": None}, "grantType", "required"),
    ({"grantType": 7}, "grantType", "type"),
    ({"grantType": ["password"]}, "grantType", "type"),
    ({"grantType": "magic"}, "grantType", "options"),
    ({"grantType": "exchange_token", "code": "x"}, "code", "unknown"),
    ({"grantType": "external_token_exchange"}, "grantType", "options"),
    ({"grantType": "password", "username": "ada"}, "password", "required"),
    ({"grantType": "password", "username": "x" * 151, "password": "x"}, "username", "maxLength"),
    ({"grantType": "password", "Username": "a", "username": "b"}, "username", "unique"),
    ({"grantType": "app_token", "AppId": None, "AppSecret": None}, "appID", "required"),
    ({"grantType": "client_credentials", "clientID": 1, "clientSecret": "x"}, "clientID", "type"),
]


@pytest.mark.parametrize(("body", "path", "rule"), UNREADABLE)
def test_what_cannot_be_read_is_400_and_names_the_field(body: Any, path: str, rule: str) -> None:
    response = ask(body)
    assert response.status_code == 400
    assert (path, rule) in problems(response)
    assert not TokenSession.objects.exists()


def test_only_json_is_read() -> None:
    assert Client().post("/api/v1/token", {"grantType": "password"}).status_code == 415


WRONG = [
    {"grantType": "client_credentials", "clientSecret": "guessed"},
    {"grantType": "client_credentials", "clientID": "6a1b0c1e-0000-4000-8000-000000000000"},
    {"grantType": "client_credentials", "clientID": "ada"},
    {"grantType": "app_token", "appID": "é", "appSecret": "é"},
    {"grantType": "password", "username": "ada", "password": "wrong"},
    {"grantType": "password", "username": "nobody", "password": PASSWORD},
    {"grantType": "refresh_token", "refreshToken": "x.y.z"},
]


@pytest.mark.parametrize("body", WRONG)
def test_wrong_credentials_are_400_and_not_repeated(
    secret: dict[str, str], body: dict[str, str]
) -> None:
    """The published client repeats a request that got 401, and hides the reason."""
    full = secret | body if body["grantType"] == "client_credentials" else body
    response = ask(full)
    assert response.status_code == 400
    assert [rule for _, rule in problems(response)] == ["credentials"]
    assert full.get("clientSecret", PASSWORD) not in response.content.decode()


@pytest.mark.parametrize("kind", ["secret", "password"])
def test_guessing_is_locked_out(secret: dict[str, str], kind: str) -> None:
    right = {"grantType": "client_credentials", **secret}
    wrong = right | {"clientSecret": "wrong"}
    if kind == "password":
        right = {"grantType": "password", "username": "ada", "password": PASSWORD}
        wrong = right | {"password": "wrong"}
    codes = [ask(wrong).status_code for _ in range(5)]
    assert codes == [400, 400, 400, 400, 429]
    response = ask(right)
    assert response.status_code == response.json()["code"] == 429
    assert ask(right, REMOTE_ADDR="198.51.100.7").status_code == 200


def test_programs_go_on_where_others_guess_passwords(
    secret: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "MOST_PER_ADDRESS", 3)
    guess = {"grantType": "password", "password": "wrong"}
    codes = [ask({**guess, "username": f"name-{n}"}).status_code for n in range(4)]
    assert codes[-1] == 429
    right = {"grantType": "password", "username": "ada", "password": PASSWORD}
    assert ask(right).status_code == 429
    assert ask({"grantType": "client_credentials", **secret}).status_code == 200


def rotate(user: User) -> None:
    renew_secret(get("access_key"), actor=None, obj=AccessKey.objects.get(user=user))


def revoke(user: User) -> None:
    delete(get("access_key"), actor=None, obj=AccessKey.objects.get(user=user))


def change_rights(user: User) -> None:
    rights_changed(user.pk)


def change_password(user: User) -> None:
    user.set_password("another correct horse battery")
    user.save()


@pytest.mark.parametrize(
    ("event", "by_secret", "by_password"),
    [(deactivate, False, False), (rotate, False, True), (revoke, False, True),
     (change_password, True, False), (sign_out, True, False), (change_rights, True, True)],
)  # fmt: skip
def test_what_ends_tokens_at_once(
    user: User, secret: dict[str, str], event: Callable[[User], None],
    by_secret: bool, by_password: bool,
) -> None:  # fmt: skip
    """A change of rights ends none: rights are looked up at every request."""
    pairs = [
        (granted("client_credentials", **secret), by_secret),
        (granted("password", username="ada", password=PASSWORD), by_password),
    ]
    event(user)
    for made, lives in pairs:
        assert knock(made["accessToken"]) == ((200, "") if lives else (401, "revoked"))
        again = ask({"grantType": "refresh_token", "refreshToken": made["refreshToken"]})
        assert again.status_code == (200 if lives else 400)
    if not by_secret:
        assert ask({"grantType": "client_credentials", **secret}).status_code == 400


def test_a_refresh_token_is_good_for_one_use(secret: dict[str, str]) -> None:
    first = granted("client_credentials", **secret)
    second = granted("refresh_token", refreshToken=first["refreshToken"])
    assert knock(second["accessToken"]) == (200, "")
    assert (
        ask({"grantType": "refresh_token", "refreshToken": first["refreshToken"]}).status_code
        == 400
    )
    # Two hold it: the session is over for both.
    assert knock(second["accessToken"]) == (401, "revoked")
    assert not TokenSession.objects.exists()


def hostile(access: str, claims: dict[str, Any]) -> list[tuple[str, str]]:
    key = token_sessions._key()
    header, payload, signature = access.split(".")
    other = "B" if signature[0] == "A" else "A"
    deep = base64.urlsafe_b64encode(b"[" * 3000).decode().rstrip("=")

    def signed(**changes: Any) -> str:
        made = {k: v for k, v in (claims | changes).items() if v is not None}
        return jwt.encode(made, key, "HS256")

    return [
        (jwt.encode(claims, "", "none"), "invalid"),
        (jwt.encode(claims, b"k" * 32, "HS256"), "invalid"),
        (jwt.encode(claims, key + b"x" * 32, "HS512"), "invalid"),
        (signed(exp=int(time.time()) - 60), "expired"),
        (signed(exp=None), "invalid"),
        (signed(sid=None), "invalid"),
        (signed(iss="elsewhere"), "invalid"),
        (signed(aud="elsewhere"), "invalid"),
        (signed(iat=int(time.time()) + 600), "invalid"),
        (signed(sid="0" * 32), "revoked"),
        (f"{header}.{payload}.", "invalid"),
        (f"{header}.{payload}.{other}{signature[1:]}", "invalid"),
        (f"{deep}.{payload}.{signature}", "invalid"),
        (f"{access}\x00", "invalid"),
        (f"{access}é", "invalid"),
        (access.lower(), "invalid"),
        ("", "invalid"),
        ("..", "invalid"),
        ("gangline_", "invalid"),
    ]


def test_tokens_of_others_are_401_with_the_reason(secret: dict[str, str]) -> None:
    found = granted("client_credentials", **secret)
    access = found["accessToken"]
    claims = jwt.decode(access, options={"verify_signature": False})
    tried = [
        *hostile(access, claims),
        (found["refreshToken"], "invalid"),
        (found["idToken"], "invalid"),
    ]
    told = [(token, knock(token)) for token, _ in tried]
    assert told == [(token, (401, code)) for token, code in tried]
    assert knock(access) == (200, "")
    assert ask({"grantType": "refresh_token", "refreshToken": access}).status_code == 400


def oauth(body: Any, **more: Any) -> Any:
    form = "application/x-www-form-urlencoded"
    return Client().post("/api/v2/token", urlencode(body, doseq=True), form, **more)


def test_oauth_gives_the_same_tokens(secret: dict[str, str], user: User) -> None:
    found = oauth({"grant_type": "client_credentials", "client_id": secret["clientID"],
                   "client_secret": secret["clientSecret"]}).json()  # fmt: skip
    assert found["token_type"] == "Bearer"
    assert knock(found["access_token"]) == (200, "")
    again = oauth({"grant_type": "refresh_token", "refresh_token": found["refresh_token"]}).json()
    assert knock(again["access_token"]) == (200, "")
    replayed = oauth({"grant_type": "refresh_token", "refresh_token": found["refresh_token"]})
    assert (replayed.status_code, replayed.json()["error"]) == (400, "invalid_grant")
    assert knock(again["access_token"]) == (401, "revoked")
    text = base64.b64encode(f"{secret['clientID']}:{secret['clientSecret']}".encode()).decode()
    by_header = {"Authorization": f"Basic {text}"}
    answer = oauth({"grant_type": "client_credentials"}, headers=by_header)
    assert answer.status_code == 200
    oldest = Client().post("/v1/k8s/auth/oauth/apptoken", {
        "id": secret["clientID"], "name": "ci", "secret": secret["clientSecret"],
    }, "application/json")  # fmt: skip
    assert knock(oldest.json()["access_token"]) == (200, "")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "invalid_request"),
        ({"grant_type": "implicit"}, "unsupported_grant_type"),
        ({"grant_type": "password", "username": "ada"}, "invalid_request"),
        ({"grant_type": "password", "username": "ada", "password": "x"}, "invalid_grant"),
        ({"grant_type": "client_credentials", "client_id": "x", "client_secret": "y"},
         "invalid_client"),
        ({"grant_type": ["password", "password"]}, "invalid_request"),
        ({"grant_type": "refresh_token", "refresh_token": "a.b.c"}, "invalid_grant"),
        ({"grant_type": "password", "username": "a\0", "password": "x"}, "invalid_request"),
    ],
)  # fmt: skip
def test_oauth_tells_what_is_wrong_by_its_own_codes(user: User, body: Any, code: str) -> None:
    answer = oauth(body)
    assert (answer.status_code, answer.json()["error"]) == (400, code)


def test_oauth_tells_who_signs_in_by_header_that_it_is_wrong(user: User) -> None:
    answer = oauth({"grant_type": "client_credentials"}, headers={"Authorization": "Basic !"})
    assert answer.status_code == 400
    wrong = base64.b64encode(b"x:y").decode()
    answer = oauth(
        {"grant_type": "client_credentials"}, headers={"Authorization": f"Basic {wrong}"}
    )
    assert answer.status_code == 401
