"""Fixtures that start real servers and a real browser for a session, and stop them again."""

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from scripts import services, system_packages

# Nothing leaves the machine by itself, and no first-run page hides the product.
BROWSER_FLAGS = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
)


@pytest.fixture(scope="session")
def redis_server() -> Iterator[services.Redis]:
    """A private Redis; `url` is its address."""
    with services.redis() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[services.Postgres]:
    """A private PostgreSQL; `create_database()` gives the address of an empty database."""
    with services.postgres() as server:
        yield server


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Debian's Chromium, without a window."""
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=system_packages.chromium_program(), args=[*BROWSER_FLAGS, *sandbox]
        )
        yield browser
        browser.close()


@pytest.fixture
def browser_context(chromium: Browser) -> Iterator[BrowserContext]:
    """A browser window of its own: no cookies, no storage, 1440 × 900."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(10_000)
    yield context
    context.close()


@pytest.fixture
def page(browser_context: BrowserContext) -> Page:
    """An empty page in a window of its own."""
    return browser_context.new_page()
