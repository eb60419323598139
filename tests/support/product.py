"""The product as people meet it: one embedded server for a whole session, and windows on it."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.support.installation import Embedded, embedded
from tests.support.screens import Watch, watch
from tests.support.waiting import wait_for

GPUS = 2
"""Declared, not there: enough to hold and to wait for."""
ADMINISTRATOR, RESEARCHER = "administrator", "researcher"
SLEEP = "python3 -c 'import time; time.sleep(600)'"


class Product:
    """A running installation, and how to look at it through a browser."""

    def __init__(self, site: Embedded, browser: Browser) -> None:
        self.site, self.browser = site, browser
        self.contexts: list[BrowserContext] = []
        self._states: dict[str, Any] = {}

    @property
    def url(self) -> str:
        return self.site.url

    def ready(self) -> None:
        """Wait until workloads are taken: the first start looks at runtimes in the background."""
        self.site.sign_in(RESEARCHER)
        wait_for(self._knows_its_runtimes, seconds=120, every=0.5, what="the runtimes")
        wait_for(lambda: self.site.submit("first", "true").status == 202, seconds=60, every=0.5)
        self.empty()

    def _knows_its_runtimes(self) -> bool:
        return all(one["status"]["state"] == "Connected" for one in self.site.get("clusters"))

    def window(self, user: str = RESEARCHER, **options: Any) -> Page:
        """A page of its own window, signed in as `user`; empty: signed out."""
        options.setdefault("viewport", {"width": 1440, "height": 900})
        if user:
            options["storage_state"] = self.state(user)
        context = self.browser.new_context(base_url=self.url, **options)
        context.set_default_timeout(15_000)
        self.contexts.append(context)
        page = context.new_page()
        watch(page)
        return page

    def state(self, user: str) -> Any:
        """Cookies of `user`, who signs in once per session, by a link as on the first start."""
        if user not in self._states:
            context = self.browser.new_context(base_url=self.url)
            page = context.new_page()
            page.goto(self.link(user))
            page.wait_for_url(f"{self.url}/")
            self._states[user] = context.storage_state()
            context.close()
        return self._states[user]

    def link(self, user: str) -> str:
        found = re.search(r"https?://\S+", self.site.manage("sign-in-link", user))
        assert found
        return found[0]

    def close_windows(self) -> None:
        for context in self.contexts:
            context.close()
        self.contexts.clear()

    def empty(self) -> None:
        """Delete every workload and wait until the table is empty."""
        for row in self._rows():
            self.site.act(row["id"], "delete")
        wait_for(lambda: not self._rows(), seconds=60, every=0.1, what="an empty table")

    def _rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.site.get("workloads?limit=200")["workloads"]
        return rows

    def start(self, name: str, command: str = SLEEP, **spec: Any) -> str:
        """Submit as a client does; the id of the new workload."""
        return self.site.started(name, command, **spec)

    def hold_machine(self) -> str:
        """A workload that takes every GPU, so that others wait."""
        holder = self.start("holder", workers=1, compute=self._share(GPUS))
        self.site.until(holder, "Running")
        return holder

    def waiting(self, name: str) -> str:
        """A workload that waits as long as `hold_machine` holds the GPUs."""
        return self.start(name, workers=1, compute=self._share(1))

    def _share(self, gpus: int) -> dict[str, Any]:
        return {"cpuCoreRequest": 0.1, "cpuMemoryRequest": "32M", "gpuDevicesRequest": gpus}


@pytest.fixture(scope="session")
def product(
    chromium: Browser, tmp_path_factory: pytest.TempPathFactory, examples_runtime: Path
) -> Iterator[Product]:
    """One server for all browser tests: starting it takes seconds."""
    folder = tmp_path_factory.mktemp("product") / "data"
    with embedded(folder, GANGLINE_LOCAL_GPUS=str(GPUS)) as site:
        (folder / "runtimes").symlink_to(os.path.realpath(examples_runtime.parent))
        site.start()
        made = Product(site, chromium)
        made.ready()
        yield made
        site.stop()


@pytest.fixture
def window(product: Product) -> Iterator[Callable[..., Page]]:
    """Opens windows that close with the test; what they complained about fails it."""
    yield product.window
    complaints = [
        line for context in product.contexts for p in context.pages for line in Watch.of(p).lines
    ]
    product.close_windows()
    assert complaints == []


def open_followed(page: Page, path: str) -> None:
    """Open a page and wait until its connection is told of changes."""
    frames: list[str] = []
    # Listened to from the start: what comes with the page is not missed.
    page.on("websocket", lambda ws: ws.on("framereceived", lambda frame: frames.append(str(frame))))
    page.goto(path)

    def welcomed() -> bool:
        page.wait_for_timeout(20)  # Playwright delivers the events of sockets while it waits.
        return any("welcome" in frame for frame in frames)

    wait_for(welcomed, what="the welcome of the page's connection")
