"""What a user sees does not depend on how the product is run: one process, or a whole set."""

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from scripts import stack as stacks
from tests.support.installation import Embedded, Installation, embedded
from tests.support.visitor import LivePage, live_page, visitor
from tests.support.waiting import wait_for


def test_a_gang_is_submitted_runs_and_completes(site: Installation) -> None:
    workload = site.started("thread", "sh -c 'echo started; sleep 1; echo done'", workers=2)
    running = site.until(workload, "Running")
    assert running["runningPods"] == 2
    site.until(workload, "Completed")
    for replica in ("worker-0", "worker-1"):
        words = [line.split(" ", 3)[3] for line in site.log(workload, replica).splitlines()]
        assert words == ["started", "done"]


def test_an_open_page_sees_it_run_without_asking(site: Installation) -> None:
    """In production the page may be on another web process than the one that took the request."""
    with visitor(site, "administrator") as client:
        workload = site.started("seen", "sleep 2", workers=2)
        with live_page(site, client, workload) as first, live_page(site, client, workload) as other:
            for page in (first, other):
                ended = partial(_shows, page, workload, "Completed")
                page.until(ended, seconds=20, what="Completed")


def _shows(page: LivePage, workload: str, status: str) -> bool:
    return page.status(workload) == status


def test_a_stop_ends_it_with_its_processes(site: Installation) -> None:
    workload = site.started("stopped", "sleep 300", workers=2)
    site.until(workload, "Running")
    assert site.act(workload, "suspend").status == 202
    row = site.until(workload, "Stopped", seconds=10)
    assert row["phaseMessage"] == "Stopped by administrator."


PAUSE = 1.5
SLOW_END = {
    "GANGLINE_DEBUG": "1",
    "GANGLINE_FAIL_POINTS": f"reconcile.before_release:sleep({PAUSE})@*",
}
"""Every pass lingers between its last look and the end of its lease."""


@pytest.fixture
def lingering_embedded(tmp_path: Path) -> Iterator[Embedded]:
    with embedded(tmp_path / "data", **SLOW_END) as server:
        server.start()
        server.sign_in("administrator")
        yield server


@pytest.fixture
def lingering_production(stack: stacks.Stack, production: Installation) -> Iterator[Installation]:
    stack.kill("worker")
    stack.start("worker", **SLOW_END)
    yield production
    stack.kill("worker")
    stack.start("worker")


@pytest.mark.parametrize(
    "fixture",
    [
        pytest.param("lingering_embedded", marks=pytest.mark.thorough),
        pytest.param(
            "lingering_production",
            marks=[pytest.mark.needs_redis, pytest.mark.needs_postgres],
        ),
    ],
)
def test_a_stop_committed_between_look_and_release_is_acted_on_at_once(
    fixture: str, request: pytest.FixtureRequest
) -> None:
    """R11a: with the release overwriting the wake-up, this stop waited for the next resync."""
    site: Installation = request.getfixturevalue(fixture)
    workload = site.started("slow-pass", "sleep 300", workers=1)
    site.until(workload, "Running", seconds=40)
    ending = site.folder / "runs" / workload / "1" / "ctl" / "end"
    # The pass that created it lingers now; it looked before this stop existed.
    began = time.monotonic()
    assert site.act(workload, "suspend").status == 202
    wait_for(ending.exists, seconds=PAUSE + 1, every=0.01, what="the stop to reach the gang")
    assert time.monotonic() - began < PAUSE + 1
    site.until(workload, "Stopped", seconds=20)
