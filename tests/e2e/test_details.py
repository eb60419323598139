"""The pages of one workload: live parts, large gangs, everything within reach of the keyboard."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.support.product import Product, open_followed
from tests.support.waiting import wait_for

Windows = Callable[..., Page]
TABS = ("Overview", "Pods", "Logs", "Terminal", "Events", "Report", "Spec")
REACH = 6
SCRIPT_SECONDS = 0.3
REMEMBER = """() => {
  window.rows = [...document.querySelectorAll("[data-part=podtable] tbody tr")];
  window.faded = new Set();
  document.addEventListener("animationstart", (e) => window.faded.add(e.target.dataset.fade));
}"""


@pytest.fixture(scope="module")
def workloads(product: Product) -> Iterator[Callable[..., str]]:
    """Starts a workload once per name."""
    product.empty()
    made: dict[str, str] = {}

    def start(name: str, until: str, **spec: Any) -> str:
        if name not in made:
            made[name] = product.start(name, **spec)
            product.site.until(made[name], until)
        return made[name]

    yield start
    product.empty()


def test_every_tab_exists(window: Windows, workloads: Callable[..., str]) -> None:
    """AC-D07; of one pod and of 512 it is what the screens and the grid show."""
    share = {"cpuCoreRequest": 100, "cpuMemoryRequest": "32M"}
    found = workloads("gang-8", "Cannot start", workers=8, compute=share)
    page = window()
    page.goto(f"/workloads/{found}")
    for tab in TABS:
        page.get_by_role("navigation", name="Workload").get_by_role("link", name=tab).click()
        expect(page.get_by_role("link", name=tab, exact=True)).to_have_attribute(
            "aria-current", "page"
        )


def test_the_timeline_goes_on_without_news(window: Windows, workloads: Callable[..., str]) -> None:
    share = {"cpuCoreRequest": 100, "cpuMemoryRequest": "32M"}
    found = workloads("gang-8", "Cannot start", workers=8, compute=share)
    page = window()
    page.clock.install()
    page.goto(f"/workloads/{found}")
    span = page.locator("[data-timeline] [data-grows]").first
    before = span.inner_text()
    page.clock.run_for(90_000)
    expect(span).not_to_have_text(before)
    expect(span).to_have_text(re.compile(r"^\d+ min \d+ s$"))


def test_the_grid_of_512_pods_is_named_and_cheap(
    window: Windows, workloads: Callable[..., str]
) -> None:
    """AC-D07."""
    share = {"cpuCoreRequest": 100, "cpuMemoryRequest": "32M"}
    found = workloads("gang-512", "Cannot start", workers=512, compute=share)
    page = window()
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    page.goto(f"/workloads/{found}/pods")
    page.wait_for_load_state("networkidle")
    metrics = session.send("Performance.getMetrics")["metrics"]
    script = next(m["value"] for m in metrics if m["name"] == "ScriptDuration")
    assert script <= SCRIPT_SECONDS
    expect(page.locator(".pod-grid-cell")).to_have_count(512)
    cell = page.get_by_role("link", name="rank 17, worker-17, Pending", exact=True)
    expect(cell).to_have_attribute("href", f"/workloads/{found}/logs?pod=worker-17")
    expect(page.locator("tbody tr")).to_have_count(100)
    page.get_by_role("link", name="Next").click()
    expect(page.locator("tbody tr").first).to_contain_text("worker-100")
    expect(page.get_by_text("Pods 101 to 200 of 512")).to_be_visible()


@pytest.mark.thorough
def test_all_actions_are_six_tabs_from_the_heading(
    window: Windows, workloads: Callable[..., str], product: Product
) -> None:
    """AC-D09."""
    page = window()
    running = workloads("reach", "Running", command="sleep 600")
    page.goto(f"/workloads/{running}")
    assert _reached(page) >= {"Stop", "Copy & edit", "Delete"}
    product.site.act(running, "suspend")
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_visible()
    assert _reached(page) >= {"Run", "Copy & edit", "Delete"}
    ended = workloads("reach-end", "Completed", command="true")
    page.goto(f"/workloads/{ended}")
    assert _reached(page) >= {"Run again", "Copy & edit", "Delete"}


def _reached(page: Page) -> set[str]:
    """Words of what so many presses of Tab reach from the page's heading."""
    page.locator("h1").evaluate("e => { e.tabIndex = -1; e.focus(); }")
    words = set()
    for _ in range(REACH):
        page.keyboard.press("Tab")
        words.add(page.evaluate("document.activeElement.innerText.trim()"))
    return words


def test_only_what_changes_is_touched(
    window: Windows, workloads: Callable[..., str], product: Product
) -> None:
    """Only status and pods fade, and the rows of the pods stay the same elements."""
    found = workloads("touched", "Running", command="sleep 600")
    page = window()
    page.goto(f"/workloads/{found}/pods")
    title = page.locator('[data-part="title"]')
    expect(title).to_contain_text("Running")
    page.get_by_role("link", name="Stop").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop").click()
    # The message is there until it is done, which may have been at once.
    either = page.get_by_text(re.compile("touched is being stopped|Stopped by researcher"))
    expect(either.first).to_be_visible()
    page.wait_for_url(f"**/workloads/{found}/pods")
    expect(title).to_contain_text("Stopped by researcher.", timeout=20_000)
    expect(page.get_by_test_id("toast")).to_have_count(0, timeout=2_000)
    # What still fades goes on and does not begin anew.
    expect(page.locator("[data-changed]")).to_have_count(0)
    page.evaluate(REMEMBER)
    product.site.act(found, "resume")
    expect(title).to_contain_text("Running", timeout=20_000)
    same = page.evaluate(
        "window.rows.every((row) => document.contains(row)) && window.rows.length > 0"
    )
    assert same, "the rows of the pods are the same elements"
    wait_for(lambda: "status" in page.evaluate("[...window.faded]"), seconds=5, what="the fade")
    faded = set(page.evaluate("[...window.faded]")) - {None}
    assert faded <= {"status", "pods", "worker-0", "worker-1", "master-0"}
    # Figures come without any news of the workload.
    expect(page.locator('[data-pod="worker-0"] .spark').first).to_be_visible(timeout=20_000)
    assert page.evaluate("window.rows.every((row) => document.contains(row))")


def test_the_page_of_a_deleted_workload_stays_and_says_so(
    window: Windows, workloads: Callable[..., str], product: Product
) -> None:
    found = workloads("goes", "Completed", command="true")
    page = window()
    open_followed(page, f"/workloads/{found}")
    product.site.act(found, "delete")
    expect(page.locator('[data-part="note"]')).to_contain_text("Deleted by researcher")
    expect(page.get_by_role("button", name="Copy & edit")).to_be_visible()
    expect(page.get_by_role("link", name="Delete", exact=True)).to_have_count(0)
    page.goto("/workloads")
    page.locator('[data-pill="deleted"]').click()
    page.get_by_role("link", name="goes", exact=True).click()
    expect(page.get_by_role("heading", name="goes")).to_be_visible()
