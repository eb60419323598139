"""Tools of workloads on this machine: opened by those who may, refused to others."""

from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.support.product import ADMINISTRATOR, RESEARCHER, Product

Windows = Callable[..., Page]
SERVE = (
    "python3 -m http.server --bind 127.0.0.1 --directory /usr/share/common-licenses"
    " $(GANGLINE_TOOL_PORT_FILES)"
)


@pytest.fixture(autouse=True)
def nothing_there(product: Product) -> None:
    product.empty()


def start(product: Product, **access: object) -> str:
    tool = {"name": "files", "toolType": "custom", "toolName": "File browser", "container": 9000}
    found = product.start("served", SERVE, workers=1, exposedUrls=[{**tool, **access}])
    product.site.until(found, "Running")
    return found


def test_a_tool_is_opened_from_the_overview(window: Windows, product: Product) -> None:
    found = start(product, authorizedUsers=[RESEARCHER])
    page = window()
    page.goto(f"/workloads/{found}")
    link = page.get_by_role("link", name="Open File browser")
    with page.context.expect_page() as opened:
        link.click()
    tool = opened.value
    expect(tool.get_by_role("link", name="GPL-3", exact=True)).to_be_visible()
    assert urlsplit(tool.url).netloc != urlsplit(product.url).netloc
    assert "ticket" not in tool.url
    other = window(ADMINISTRATOR)
    answer = other.goto(tool.url)  # leads to Gangline, which knows who it is
    assert answer is not None
    assert answer.status == 403
    expect(other.get_by_text("is open to others only")).to_be_visible()


def test_a_tool_opens_while_its_workload_runs(window: Windows, product: Product) -> None:
    found = start(product)
    page = window()
    page.goto(f"/workloads/{found}")
    expect(page.get_by_role("link", name="Open File browser")).to_be_visible()
    product.site.act(found, "suspend")
    expect(page.get_by_role("link", name="Open File browser")).to_be_hidden(timeout=30_000)
    expect(page.get_by_text("Opens while the workload runs")).to_be_visible()
