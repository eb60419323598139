"""Terminals as a person uses them: xterm.js in a browser, within our content security policy."""

import pytest
from playwright.sync_api import expect

from tests.support.product import Product

pytestmark = pytest.mark.browser


def test_two_pods_side_by_side_are_typed_into_survive_a_reload_and_end(product: Product) -> None:
    site = product.site
    limits = {"sessionTimeLimitSeconds": 28800, "sessionIdleLimitSeconds": 1800}
    workload = site.started("shells", "", interactive=True, **limits)
    site.until(workload, "Running")
    page = product.window()
    page.goto(f"/workloads/{workload}")
    page.get_by_role("link", name="Connect").click()
    screen = page.locator(".terminal[data-pod=worker-0] .xterm-accessibility-tree")
    screen.wait_for(state="attached")
    page.keyboard.type("echo pod=$((40 + 2))\n")
    expect(screen).to_contain_text("pod=42")
    page.get_by_role("combobox", name="Pod").select_option("worker-1")
    page.get_by_role("button", name="Open", exact=True).click()
    other = page.locator(".terminal[data-pod=worker-1] .xterm-accessibility-tree")
    page.get_by_role("switch", name="Type in all").check()
    page.locator(".terminal[data-pod=worker-0] textarea").focus()
    page.keyboard.type("echo rank-$RANK-$((1 + 1))\n")
    expect(screen).to_contain_text("rank-0-2")
    expect(other).to_contain_text("rank-1-2")
    page.reload()
    expect(screen).to_contain_text("rank-0-2")
    page.locator(".terminal[data-pod=worker-0] textarea").focus()
    page.keyboard.press("Control+Alt+Escape")
    expect(page.get_by_label("Close the terminal in worker-0")).to_be_focused()
    page.locator(".terminal[data-pod=worker-0] textarea").focus()
    page.keyboard.type("exit 3\n")
    said = page.locator(".terminal[data-pod=worker-0] [data-terminal-said]")
    expect(said).to_have_text("The shell ended (3).")
