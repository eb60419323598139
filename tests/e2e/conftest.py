"""Fixtures of the browser tests: a signed-in page on a live server."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import Browser, BrowserContext, Page

from gangline.drivers.local.driver import LocalDriver
from tests.support.lab import lab
from tests.support.product import product, window
from tests.support.world import World, make_world

__all__ = ["lab", "product", "window"]

# Playwright keeps an event loop in this thread, where Django would refuse the database.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")


@pytest.fixture
def world(transactional_db: None, monkeypatch: pytest.MonkeyPatch, examples_runtime: Path) -> World:
    """Its cluster has the runtime that it tells of: the form asks it by itself."""
    there, python = LocalDriver._runtimes, examples_runtime / "bin/python"
    monkeypatch.setattr(LocalDriver, "_runtimes", lambda self: {"examples": python, **there(self)})
    return make_world()


def sign_in(context: BrowserContext, world: World, person: str, url: str) -> None:
    """Give the window the session of ``person``."""
    client = world.client(person)
    session = client.session
    session["started_at"] = session["seen_at"] = int(time.time())
    session.save()
    name = settings.SESSION_COOKIE_NAME
    context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": url}])


@pytest.fixture
def open_page(
    chromium: Browser, live_server: Any, world: World, request: pytest.FixtureRequest
) -> Callable[..., Page]:
    """Opens a window of its own, signed in as a researcher of project vision."""

    def open_(person: str = "researcher-vision", **options: Any) -> Page:
        options.setdefault("viewport", {"width": 1440, "height": 900})
        context = chromium.new_context(base_url=live_server.url, **options)
        context.set_default_timeout(15_000)
        request.addfinalizer(context.close)
        sign_in(context, world, person, live_server.url)
        return context.new_page()

    return open_
