"""The walk of a tutorial for Slurm: edit the job script, sbatch, squeue, result files, report."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Page, expect

from tests.beds.slurm.lab import Lab
from tests.support import slurm_engine
from tests.support.slurm_engine import SlurmEngine
from tests.support.training_form import CREATED, everything_is_saved, press
from tests.support.waiting import wait_for
from workloads.models import Workload

pytestmark = [pytest.mark.needs_slurm, pytest.mark.browser]

SCRIPT = """#!/bin/bash
#SBATCH -N 2 --ntasks-per-node=1 --mem=900M -t 0-00:10:00
mkdir -p results
srun -l bash -c 'for i in {1..99999}; do :; done; echo rank $SLURM_PROCID' > results/ranks.txt
touch {{ mark = started }}
echo epochs {{ epochs }}
while [ ! -e stop-waiting ]; do sleep 0.1; done
"""


@pytest.fixture
def engine(slurm_lab: Lab, transactional_db: None) -> Iterator[SlurmEngine]:
    with slurm_engine.engine_on(slurm_lab) as made:
        yield made


def test_a_script_is_edited_submitted_and_followed_to_its_files_and_report(
    engine: SlurmEngine, live_server: Any, page: Page, tmp_path: Path
) -> None:
    page.set_default_timeout(30_000)
    client = Client()
    client.force_login(engine.owner)
    page.context.add_cookies(
        [{"name": n, "value": c.value, "url": live_server.url} for n, c in client.cookies.items()]
    )
    page.goto(f"{live_server.url}/workloads/new")
    page.locator('[name="workload.name"]').fill("ex7")
    cards = page.get_by_role("group", name="Framework", exact=True).locator(".card")
    with page.expect_response(lambda answer: "x-gangline-apply" in answer.request.headers):
        cards.filter(has=page.get_by_text("Own script", exact=True)).click()
    everything_is_saved(page)
    press(page, "Continue to workers", "workers")
    script = tmp_path / "ex7-tensorflow.sh"
    script.write_bytes(SCRIPT.encode())
    page.get_by_label("Choose a file: Script").set_input_files(script)
    expect(page.locator("file-text")).to_contain_text("ex7-tensorflow.sh: 7 lines.")
    expect(page.locator('[name="worker.slurm.script"]')).to_have_value(SCRIPT)
    expect(page.locator('[name="worker.numWorkers"]')).to_have_value("2")
    page.get_by_label("Value, place 2").fill("3")
    everything_is_saved(page)
    press(page, "Continue to review", "review")
    page.locator("summary", has_text="Batch script").click()
    batch = page.locator("details", has_text="Batch script").locator("pre")
    expect(batch).to_contain_text("#SBATCH --nodes=2")
    expect(batch).to_contain_text("echo epochs 3")
    # Others have all of the nodes.
    lab = engine.lab
    first = lab.run(
        "sbatch", "--parsable", "-N4", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 600"
    ).strip()
    # What a test before has left may still be ending.
    wait_for(lambda: "RUNNING" in lab.run("squeue", "-h", "-j", first, "-o", "%T"), seconds=60)
    page.get_by_role("button", name="Create workload").click()
    page.wait_for_url(CREATED)
    url = page.url
    expect(page.get_by_test_id("page-workload")).to_have_attribute("data-status", "Pending")
    expect(page.locator("main")).to_contain_text("Next in the queue of its partition.")
    lab.run("scancel", first)
    expect(page.get_by_test_id("page-workload")).to_have_attribute(
        "data-status", "Running", timeout=60_000
    )
    workload = Workload.objects.get()
    run = lab.folder / "runs"
    (run,) = run.glob(f"*/*/{workload.pk}/1")
    work = run / "worker-0"
    wait_for(lambda: (work / "started").exists(), seconds=60)
    page.goto(f"{url}/files")
    page.get_by_role("link", name="worker-0/").click()
    page.get_by_role("link", name="results/").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download ranks.txt").click()
    assert sorted(download.value.path().read_text().split("\n")[:2]) == ["0: rank 0", "1: rank 1"]
    (work / "stop-waiting").touch()
    page.goto(f"{url}/report")
    expect(page.get_by_test_id("page-workload")).to_have_attribute(
        "data-status", "Completed", timeout=60_000
    )
    expect(page.get_by_role("region", name="CPU")).to_be_visible()
    page.goto(f"{url}/logs")
    expect(page.locator("main")).to_contain_text("epochs 3")
