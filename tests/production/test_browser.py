"""A real browser on the real set: the page is on one web process, the change comes from another."""

import pytest
from playwright.sync_api import Page, expect

from tests.support.installation import Installation

pytestmark = [pytest.mark.needs_redis, pytest.mark.needs_postgres]


@pytest.mark.thorough  # `test_doorbells` rings from another process, `tests/e2e` sees the row
def test_a_row_appears_runs_and_completes_without_a_reload(
    production: Installation, page: Page
) -> None:
    page.goto(production.manage("sign-in-link", "administrator").strip())
    enter = page.get_by_role("button", name="Sign in")
    if enter.count():
        enter.click()
    workload = production.started("in-browser", "sh -c 'sleep 4'", workers=2)
    page.goto(f"{production.url}/workloads")
    page.evaluate("window.isTheSamePage = true")
    row = page.locator(f"tr[data-id='{workload}']")
    expect(row).to_contain_text("Running", timeout=20_000)
    expect(row).to_contain_text("Completed", timeout=20_000)
    assert page.evaluate("window.isTheSamePage") is True
