"""Letting in a program by a code: as RFC 8628 has it, and what guesses and repetition get."""

from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from gangline.accounts import devices
from gangline.accounts.models import DeviceRequest, TokenSession
from gangline.accounts.services import deactivate
from gangline.api.oauth import DEVICE
from gangline.audit.models import AuditEntry
from tests.support.world import World

WHO = "researcher-vision"
FORM = "application/x-www-form-urlencoded"


@pytest.fixture
def browser(world: World) -> Client:
    return world.client(WHO)


def ask(**more: Any) -> Any:
    return Client().post("/api/v1/device", "client_id=gangline+on+laptop", FORM, **more)


def poll(asked: dict[str, Any]) -> tuple[int, str]:
    form = {"grant_type": DEVICE, "device_code": asked["device_code"]}
    answer = Client().post("/api/v2/token", urlencode(form), FORM)
    return answer.status_code, answer.json().get("error") or answer.json()["access_token"]


def as_if_waited() -> None:
    DeviceRequest.objects.update(asked_at=None)


def decide(browser: Client, asked: dict[str, Any], decision: str) -> Any:
    return browser.post("/device", {"code": asked["user_code"], "_go": decision})


def test_a_program_is_let_in_once(world: World, browser: Client) -> None:
    asked = ask(REMOTE_ADDR="192.0.2.7").json()
    assert (asked["expires_in"], asked["interval"]) == (600, 5)
    stored = str(list(DeviceRequest.objects.values()))
    assert asked["device_code"] not in stored
    assert asked["user_code"].replace("-", "") not in stored
    assert poll(asked) == (400, "authorization_pending")
    # The link shows who asks; opening it lets nobody in.
    page = browser.get(asked["verification_uri_complete"].removeprefix("http://testserver"))
    assert "gangline on laptop" in page.content.decode()
    assert "192.0.2.7" in page.content.decode()
    as_if_waited()
    assert poll(asked) == (400, "authorization_pending")
    assert decide(browser, asked, "allow").status_code == 200
    status, token = poll(asked)
    assert status == 200
    headers = {"Authorization": f"Bearer {token}"}
    assert Client().get("/api/v1/me", headers=headers).json()["username"] == WHO
    assert poll(asked) == (400, "expired_token")
    assert decide(browser, asked, "allow").status_code == 422
    assert AuditEntry.objects.filter(action="program.allow", actor_name=WHO).count() == 1
    # And is signed out again, by its owner alone.
    session = TokenSession.objects.get()
    assert "gangline on laptop" in browser.get("/account/tokens").content.decode()
    stranger = world.client("stranger")
    assert stranger.post(f"/account/programs/{session.pk}/end").status_code == 404
    assert browser.post(f"/account/programs/{session.pk}/end").status_code == 302
    assert Client().get("/api/v1/me", headers=headers).status_code == 401


def test_who_is_turned_away_or_asks_too_often(browser: Client, world: World) -> None:
    asked = ask().json()
    assert [poll(asked)[1] for _ in range(2)] == ["authorization_pending", "slow_down"]
    assert DeviceRequest.objects.get().interval == 10
    decide(browser, asked, "deny")
    assert poll(asked) == (400, "access_denied")
    assert poll(asked) == (400, "expired_token")
    assert not TokenSession.objects.exists()


def test_codes_end(browser: Client, world: World) -> None:
    asked = ask().json()
    decide(browser, asked, "allow")
    deactivate(world.people[WHO])
    assert poll(asked) == (400, "access_denied")
    late = ask().json()
    DeviceRequest.objects.update(expires_at="2020-01-01T00:00Z")
    assert poll(late) == (400, "expired_token")
    assert poll({"device_code": "a guess"}) == (400, "expired_token")


def test_guesses_are_counted(browser: Client, world: World) -> None:
    asked = ask().json()
    codes = [browser.post("/device", {"code": f"BBBB-BBB{n}"}).status_code for n in "BCDFGH"]
    assert codes == [422] * devices.MOST_GUESSES + [429]
    # Also the right one has to wait, whichever session it comes from.
    other = world.client(WHO)
    assert decide(other, asked, "allow").status_code == 429
    assert poll(asked) == (400, "authorization_pending")


def test_one_address_does_not_fill_the_table(world: World) -> None:
    codes = [ask().status_code for _ in range(devices.MOST_WAITING + 1)]
    assert codes == [200] * devices.MOST_WAITING + [429]
    assert ask(REMOTE_ADDR="192.0.2.8").status_code == 200


def test_nobody_who_is_signed_out_decides(world: World) -> None:
    asked = ask().json()
    answer = Client().post("/device", {"code": asked["user_code"], "_go": "allow"})
    assert answer.status_code == 302
    assert DeviceRequest.objects.get().is_allowed is None
