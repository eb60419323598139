"""The table of pods on a phone: no fact of a pod is lost with the room for its columns."""

from typing import Any

import pytest
from playwright.sync_api import expect

from gangline.db.clock import db_now
from tests.support.engine import digits
from tests.support.screens import assert_screen, watch
from tests.support.world import World
from workloads.models import Attempt, Replica, Workload

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
NODE = "gpu-node-a100-17.zurich.example.internal"


@pytest.mark.parametrize("tab", ["", "/pods"])
def test_rank_node_and_gpus_are_read_on_a_phone(open_page: Any, world: World, tab: str) -> None:
    workload = digits(world, workers=2)
    Workload.objects.filter(pk=workload.pk).update(gpus=16)
    attempt, now = Attempt.objects.get(workload=workload), db_now()
    Replica.objects.bulk_create(
        Replica(
            attempt=attempt, role="worker", index=n, rank=n, state="Running", node=NODE, gpus=8,
            started_at=now,
        )
        for n in range(2)
    )  # fmt: skip
    page = open_page(viewport={"width": 390, "height": 844})
    # This test server knows no WebSockets: pages ask instead.
    watch(page).allow("WebSocket connection")
    page.goto(f"/workloads/{workload.pk}{tab}")
    row = page.locator('[data-pod="worker-1"]')
    for column, word, text in (
        ("rank", "Rank", "1"),
        ("node", "Node", NODE),
        ("gpus", "GPUs", "8"),
    ):
        cell = row.locator(f'[data-col="{column}"]')
        expect(cell).to_be_visible()
        expect(cell).to_have_text(text)
        expect(cell).to_have_attribute("data-fact", word)
    assert_screen(page, "pods on a phone", widths=(390,))
