"""The first thread: sign in, fill the form, see the row appear, run and complete by itself."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.support.product import RESEARCHER, Product
from tests.support.training_form import CREATED
from tests.support.waiting import wait_for

Windows = Callable[..., Page]
COMMAND = "python3 -c 'import time; print(\"loss 0.1\", flush=True); time.sleep(2)'"


@pytest.fixture(autouse=True)
def nothing_there(product: Product) -> None:
    product.empty()


def create(page: Page, name: str) -> None:
    """The form from its first step to the table."""
    page.get_by_role("link", name="New workload").first.click()
    page.locator('[name="workload.name"]').fill(name)
    page.get_by_role("button", name="Continue to workers").click()
    page.wait_for_url("**/workers*")
    page.locator('[name="worker.image"][value="local://system"]').check(force=True)
    page.locator('[name="worker.command"]').fill(COMMAND)
    page.locator('[name="worker.numWorkers"]').fill("2")
    page.locator('[name="worker.compute.cpuCoreRequest"]').fill("0.1")
    page.get_by_role("button", name="Continue to master").click()
    page.wait_for_url("**/master*")
    page.get_by_role("button", name="Continue to review").click()
    page.wait_for_url("**/review*")
    page.get_by_role("button", name="Create workload").click()
    page.wait_for_url(CREATED)
    page.goto("/workloads")


def test_from_the_sign_in_to_completed_without_a_reload(window: Windows, product: Product) -> None:
    page = window(user="")
    page.goto(product.link(RESEARCHER))
    page.wait_for_url("**/")
    create(page, "first-thread")
    row = page.locator("tbody tr").first
    expect(row.get_by_role("link", name="first-thread")).to_be_visible()
    page.evaluate("window.neverReloaded = true")
    status = row.get_by_test_id("cell-status")
    expect(status).to_contain_text("Running", timeout=20_000)
    expect(status).to_contain_text("All 3 pods are ready.")
    expect(row.get_by_test_id("cell-pods")).to_contain_text("3/3 pods ready")
    expect(status).to_contain_text("Completed", timeout=20_000)
    expect(row.get_by_test_id("cell-pods")).to_contain_text("3/3")
    expect(page.locator('[data-pill="completed"] b')).to_have_text("1")
    assert page.evaluate("window.neverReloaded") is True


def test_the_same_without_scripts(window: Windows, product: Product) -> None:
    """AC-G04: the form, the table and a workload's pages need no script."""
    page = window(java_script_enabled=False)
    page.goto("/")
    create(page, "no-scripts")
    row = page.locator("tbody tr").first
    expect(row.get_by_role("link", name="no-scripts")).to_be_visible()

    def completed() -> bool:
        page.reload()
        return "Completed" in row.get_by_test_id("cell-status").inner_text()

    wait_for(completed, seconds=30, every=0.3, what="Completed")
    row.get_by_role("link", name="no-scripts").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("no-scripts")
    page.get_by_role("link", name="Pods", exact=True).click()
    expect(page.locator("tbody tr")).to_have_count(3)
    page.get_by_role("link", name="Logs", exact=True).click()
    expect(page.get_by_text("loss 0.1").first).to_be_visible()
    page.get_by_role("link", name="Delete").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Delete no-scripts?")
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_test_id("toast")).to_contain_text("no-scripts is being deleted.")


def test_the_sample_runs_with_one_press(window: Windows, product: Product) -> None:
    """Genuine training on scikit-learn's digits, from the empty table to its page."""
    page = window()
    page.goto("/workloads")
    page.get_by_role("button", name="Run the sample").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("digits-xgboost")
    title = page.locator('[data-part="title"]')
    expect(title).to_contain_text("Completed", timeout=60_000)
    expect(page.locator('[data-part="timeline"]')).to_contain_text("completed")
