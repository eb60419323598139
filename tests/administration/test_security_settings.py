"""How people sign in and out, as settings that Run:ai's clients know."""

import json
from typing import Any

import pytest
from django.test import Client

from gangline.accounts import ways
from gangline.settings.catalogue import IDLE_MINUTES, SIGNED_OUT_URL, SSO_REDIRECT
from gangline.settings.values import value_of
from tests.support.settings import turn
from tests.support.world import World

pytestmark = pytest.mark.django_db
PATH = "/api/v1/security/settings"


def put(world: World, key: str, body: Any) -> Any:
    headers = world.headers("administrator")
    return Client(headers=headers).put(f"{PATH}/{key}", json.dumps(body), "application/json")


def test_they_are_read_together_and_one_by_one(world: World) -> None:
    client = Client(headers=world.headers("administrator"))
    found = client.get(PATH).json()
    assert found == {
        "autoRedirectSSO": {"enabled": False, "idpAlias": ""},
        "browserSessionTimeout": {"idleTimeout": 480},
        "logoutRedirectUri": {"uri": ""},
    }
    assert {key: client.get(f"{PATH}/{key}").json() for key in found} == found


def test_they_are_the_settings_of_the_page(world: World) -> None:
    assert put(world, "browserSessionTimeout", {"idleTimeout": 60}).json() == {"idleTimeout": 60}
    assert put(world, "autoRedirectSSO", {"enabled": True, "idpAlias": "lab"}).status_code == 200
    assert put(world, "logoutRedirectUri", {"uri": "https://lab.example/"}).status_code == 200
    assert value_of(IDLE_MINUTES) == 60
    assert (value_of(SSO_REDIRECT), value_of(SIGNED_OUT_URL)) == ("lab", "https://lab.example/")
    assert put(world, "autoRedirectSSO", {"enabled": False, "idpAlias": "lab"}).status_code == 200
    assert put(world, "logoutRedirectUri", {"uri": ""}).status_code == 200
    assert (value_of(SSO_REDIRECT), value_of(SIGNED_OUT_URL)) == ("", "")


@pytest.mark.parametrize(
    ("key", "body", "path"),
    [
        ("browserSessionTimeout", {}, "idleTimeout"),
        ("browserSessionTimeout", {"idleTimeout": None}, "idleTimeout"),
        ("browserSessionTimeout", {"idleTimeout": True}, "idleTimeout"),
        ("browserSessionTimeout", {"idleTimeout": 9}, "idleTimeout"),
        ("browserSessionTimeout", {"idleTimeout": 60.5}, "idleTimeout"),
        ("browserSessionTimeout", {"timeout": 60}, "timeout"),
        ("autoRedirectSSO", {"enabled": True}, "idpAlias"),
        ("autoRedirectSSO", {"enabled": "yes"}, "enabled"),
        ("logoutRedirectUri", {"uri": "javascript:alert(1)"}, "uri"),
        ("logoutRedirectUri", {"uri": "https://a:b@lab.example"}, "uri"),
        ("logoutRedirectUri", {"uri": "//lab.example"}, "uri"),
        ("logoutRedirectUri", [], ""),
    ],
)
def test_bad_values_name_their_field(world: World, key: str, body: Any, path: str) -> None:
    answer = put(world, key, body)
    assert answer.status_code == 400, answer.content
    assert answer.json()["problems"][0]["path"] == path


def test_the_sign_in_page_leads_to_the_provider_unless_one_wants_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer = [ways.Way("lab", "Lab", "/login/with/lab")]
    monkeypatch.setattr(ways, "offered", lambda request, target: offer)
    client = Client()
    turn(SSO_REDIRECT, "other")
    assert client.get("/login").status_code == 200
    turn(SSO_REDIRECT, "lab")
    assert client.get("/login")["Location"] == "/login/with/lab"
    for query in ("here=1", "left=lab"):
        assert client.get(f"/login?{query}").status_code == 200


def test_who_signs_out_is_sent_where_the_setting_says(world: World) -> None:
    client = world.client("viewer-vision")
    turn(SIGNED_OUT_URL, "https://lab.example/")
    page = client.post("/logout", follow=True)
    assert page["Refresh"] == "0; url=https://lab.example/"
    assert "Refresh" not in client.get("/login").headers
