"""Signing in as a person does it: by keyboard, password manager, and after the session ended."""

import re
import statistics
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.waiting import wait_for
from tests.support.world import World
from workloads.models import Draft

PERSON, PASSWORD = "researcher-vision", "correct horse battery staple"
TRIES = 4
"""One fewer than what locks a person out."""


@pytest.fixture
def person(world: World) -> str:
    user = world.people[PERSON]
    user.set_password(PASSWORD)
    user.save()
    return PERSON


@pytest.fixture
def signed_out(chromium: Browser, live_server: Any) -> Iterator[Page]:
    with chromium.new_context(base_url=live_server.url) as context:
        yield context.new_page()


def fill(page: Page, name: str, password: str) -> None:
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def test_it_works_without_scripts_and_with_password_managers(
    chromium: Browser, live_server: Any, person: str
) -> None:
    """AC-S1-1."""
    context = chromium.new_context(base_url=live_server.url, java_script_enabled=False)
    page = context.new_page()
    page.goto("/login")
    name, password = page.get_by_label("User name"), page.get_by_label("Password")
    expect(name).to_have_attribute("autocomplete", "username")
    expect(password).to_have_attribute("autocomplete", "current-password")
    for field in (name, password):
        assert field.get_attribute("onpaste") is None
    fill(page, person, PASSWORD)
    page.wait_for_url("**/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Home")
    context.close()


@pytest.mark.thorough
def test_a_failed_sign_in_keeps_the_name_and_focuses_the_error(
    signed_out: Page, person: str
) -> None:
    """AC-S1-2."""
    signed_out.goto("/login")
    fill(signed_out, person, "wrong")
    summary = signed_out.get_by_test_id("problem-summary")
    expect(summary).to_contain_text("Wrong user name or password.")
    expect(summary).to_be_focused()
    expect(signed_out.get_by_label("User name")).to_have_value(person)
    expect(signed_out.get_by_label("Password")).to_have_value("")


@pytest.mark.thorough
def test_the_answer_takes_as_long_for_unknown_people(live_server: Any, person: str) -> None:
    """AC-S1-2: medians of processor time within 50 ms of each other, measured in turns."""
    taken: dict[str, list[float]] = {person: [], "nobody-at-all": []}
    with httpx.Client(base_url=live_server.url, timeout=30, trust_env=False) as client:
        page = client.get("/login").text
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        assert token
        for turn in range(TRIES):
            for name, times in taken.items():
                fields = {"username": name, "password": f"wrong-{turn}"}
                began = time.process_time()
                answer = client.post("/login", data={**fields, "csrfmiddlewaretoken": token[1]})
                times.append(time.process_time() - began)
                assert answer.status_code == 422
    known, unknown = (statistics.median(times) for times in taken.values())
    assert abs(known - unknown) <= 0.05


@pytest.mark.parametrize(
    "target",
    [
        "/\\example.org",  # which a browser reads as another host
        *(
            pytest.param(target, marks=pytest.mark.thorough)
            for target in ("https://example.org/", "//example.org", "javascript:alert(1)")
        ),
    ],
)
def test_next_leads_nowhere_else(
    signed_out: Page, person: str, target: str, live_server: Any
) -> None:
    """AC-S1-3."""
    signed_out.goto(f"/login?next={target}")
    fill(signed_out, person, PASSWORD)
    signed_out.wait_for_url(f"{live_server.url}/")


def test_signing_in_again_returns_to_the_draft(signed_out: Page, person: str) -> None:
    """AC-S1-4."""
    page = signed_out
    page.goto("/login?next=/workloads/new")
    fill(page, person, PASSWORD)
    page.wait_for_url("**/setup*")
    page.locator('[name="workload.name"]').fill("kept")
    page.get_by_role("button", name="Continue to workers").click()
    page.wait_for_url("**/workers*")
    page.locator('[name="worker.args"]').fill("--epochs 3")
    wait_for(lambda: "--epochs 3" in str(Draft.objects.get().inputs), what="the save")
    step = page.url.split("?")[0]
    page.context.clear_cookies()
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in to Gangline")
    fill(page, person, PASSWORD)
    page.wait_for_url(f"{step}*")
    expect(page.locator('[name="worker.args"]')).to_have_value("--epochs 3")
    page.goto(step.replace("/workers", "/setup"))
    expect(page.locator('[name="workload.name"]')).to_have_value("kept")
