"""A log into which nothing was printed, on a page that is open when its attempt ends."""

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import expect

from gangline.db.clock import db_now
from tests.support.engine import digits
from tests.support.logs import WrittenLog
from tests.support.screens import watch
from tests.support.world import World
from workloads.models import Attempt

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("tab", ["/logs", pytest.param("", marks=pytest.mark.thorough)])
def test_an_open_page_says_that_nothing_was_printed_once_that_is_sure(
    open_page: Any, world: World, tab: str
) -> None:
    workload = digits(world, workers=1)
    folder = Path(settings.GANGLINE.data_dir) / "logs" / str(workload.pk) / "1"
    pod = WrittenLog(folder, "worker-0")
    page = open_page()
    # This test server knows no WebSockets: pages ask instead.
    watch(page).allow("WebSocket connection")
    page.goto(f"/workloads/{workload.pk}{tab}")
    empty = page.locator(".log-empty")
    expect(empty).to_be_visible()
    expect(empty).not_to_have_text("Nothing was printed.")
    pod.end()
    Attempt.objects.filter(workload=workload).update(ended_at=db_now())
    expect(empty).to_have_text("Nothing was printed.")
    expect(empty).to_be_visible()
