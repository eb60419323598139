"""Node pools in a real browser: ordered by keyboard, by dragging and without scripts."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from gangline.drivers.local.driver import LocalDriver
from gangline.organization.models import Project
from tests.e2e.test_form import fill_workers, press
from tests.support.screens import violations
from tests.support.training_form import CREATED, everything_is_saved
from tests.support.world import World
from workloads.models import Attempt

Opener = Callable[..., Page]
POOLS = ["h100", "a100", "default"]


@pytest.fixture(autouse=True)
def everywhere(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a cluster that has every field, in a project with an order of its own."""
    monkeypatch.setattr(LocalDriver, "unsupported", {})
    Project.objects.update(default_pools=POOLS)


def at_workers(page: Page) -> None:
    page.goto("/workloads/new")
    page.locator('[name="workload.name"]').fill("placed")
    page.get_by_role("button", name="Continue to workers").click()
    page.wait_for_url("**/workers*")


def names(page: Page) -> list[str]:
    cells = page.get_by_test_id("f-worker.nodePools").locator(".rows-item .input").all()
    return [cell.input_value() for cell in cells]


def move(page: Page, name: str, way: str) -> None:
    button = page.get_by_role("button", name=f"Move {name} {way}")
    button.focus()
    page.keyboard.press("Enter")


@pytest.mark.parametrize("scripts", [True, False])
def test_acf13_node_pools_are_ordered_by_keyboard(open_page: Opener, scripts: bool) -> None:
    page = open_page(java_script_enabled=scripts)
    at_workers(page)
    assert names(page) == POOLS
    move(page, "a100", "up")
    expect(page.locator("[id^='f-worker-nodePools-'] >> nth=0")).to_be_attached()
    expect(page.get_by_test_id("f-worker.nodePools").locator(".input").first).to_have_value("a100")
    if scripts:
        expect(page.get_by_role("button", name="Move a100 up")).to_be_focused()
        assert violations(page) == []
        everything_is_saved(page)
        page.reload()
    assert names(page) == ["a100", "h100", "default"]
    if scripts:
        fill_workers(page)
        press(page, "Continue to master", "master")
        press(page, "Continue to review", "review")
        page.get_by_role("button", name="Create workload").click()
        page.wait_for_url(CREATED)
        pools = Attempt.objects.get().value("worker.nodePools")
        assert [one["name"] for one in pools] == ["a100", "h100", "default"]
        return
    page.get_by_role("button", name="Reset Node pools").click()
    expect(page.get_by_test_id("f-worker.nodePools").locator(".input").first).to_have_value("h100")
    assert names(page) == POOLS


def test_acf13_node_pools_are_dragged_to_their_place(open_page: Opener) -> None:
    page = open_page()
    at_workers(page)
    rows = page.get_by_test_id("f-worker.nodePools").locator(".rows-item")
    rows.nth(2).locator("[data-grip]").hover()
    first = rows.nth(0).bounding_box()
    assert first is not None
    page.mouse.down()
    page.mouse.move(first["x"] + 60, first["y"] + 40, steps=4)
    page.mouse.move(first["x"] + 60, first["y"] + 4, steps=8)
    page.mouse.up()
    expect(rows.nth(0).locator(".input")).to_have_value("default")
    everything_is_saved(page)
    page.reload()
    assert names(page) == ["default", "h100", "a100"]
