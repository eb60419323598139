"""A person makes a workload for a Slurm cluster in a browser, reads its script, and it runs."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Page, expect

from tests.beds.slurm.lab import Lab
from tests.support import slurm_engine
from tests.support.slurm_engine import SlurmEngine
from tests.support.training_form import CREATED, press
from workloads.models import Workload

pytestmark = [pytest.mark.needs_slurm, pytest.mark.browser]


@pytest.fixture
def engine(slurm_lab: Lab, transactional_db: None) -> Iterator[SlurmEngine]:
    with slurm_engine.engine_on(slurm_lab) as made:
        yield made


def test_the_script_is_shown_before_it_runs(
    engine: SlurmEngine, live_server: Any, page: Page
) -> None:
    client = Client()
    client.force_login(engine.owner)
    page.context.add_cookies(
        [{"name": n, "value": c.value, "url": live_server.url} for n, c in client.cookies.items()]
    )
    page.goto(f"{live_server.url}/workloads/new")
    page.locator('[name="workload.name"]').fill("digits")
    press(page, "Continue to workers", "workers")
    expect(page.locator('[name="worker.image"]')).to_have_count(0)
    page.locator('[name="worker.command"]').fill("printenv GANGLINE_REPLICA")
    press(page, "Continue to master", "master")
    press(page, "Continue to review", "review")
    page.locator("summary", has_text="Batch script").click()
    script = page.locator("details", has_text="Batch script").locator("pre")
    expect(script).to_contain_text("#SBATCH --nodes=2")
    expect(script).to_contain_text("COMMAND=(printenv GANGLINE_REPLICA)")
    page.get_by_role("button", name="Create workload").click()
    page.wait_for_url(CREATED)
    expect(page.get_by_text(re.compile("^Completed$")).first).to_be_visible(timeout=60_000)
    assert engine.log(Workload.objects.get()) == "worker-0"
