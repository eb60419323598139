"""The screens of a connected Slurm cluster: the check of a real one, and its part of the form."""

from playwright.sync_api import FilePayload, Page, expect

from scripts import system_packages
from scripts.camera import Camera
from tests.beds.slurm.lab import Lab, running
from tests.support.lab import checked, make_project
from tests.support.product import ADMINISTRATOR, Product
from tests.support.training_form import CREATED, everything_is_saved, press
from tests.support.waiting import wait_for

SCREENS = (
    "cluster-slurm-check",
    "cluster-slurm-jobs",
    "form-own-script",
    "slurm-files",
    "slurm-report",
)
SCRIPT = """#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --mem=900M --time=0-00:30:00
mkdir -p checkpoints
echo 'epoch,loss' > history.csv
srun bash -c 'end=$((SECONDS + 9)); while [ $SECONDS -lt $end ]; do :; done'
for epoch in $(seq {{ epochs = 8 }}); do
  echo "$epoch,$((300 / epoch))" >> history.csv
  head -c 900000 /dev/zero > checkpoints/epoch-$epoch.pt
done
"""


def take(product: Product, camera: Camera) -> None:
    """Connect a Slurm of four nodes, and see what its check found."""
    if not camera.wants(*SCREENS):
        return
    if system_packages.missing_parts(["slurm"]):
        print(f"Left out, because Slurm is not installed: {', '.join(SCREENS)}.")
        return
    page = product.window(user=ADMINISTRATOR)
    with running(product.site.folder.parent / "slurm") as lab:
        page.goto("/clusters/new?kind=slurm")
        page.locator("#f-name").fill("hpc")
        page.locator("#way-local").check()
        page.locator("#f-folder").fill(str(lab.folder / "runs"))
        page.get_by_text("Advanced", exact=True).click()
        page.locator("#f-config").fill(str(lab.config))
        page.get_by_role("button", name="Connect").click()
        checked(page, timeout=40_000)
        expect(page.locator("[data-step=Frameworks]")).to_be_visible()
        camera.take(page, "cluster-slurm-check")
        _own_script(product, camera, page)
        _jobs_of_others(camera, page, lab)


def _own_script(product: Product, camera: Camera, page: Page) -> None:
    """A script in the form, and what it leaves."""
    cluster = page.url.split("/clusters/")[1][:36]
    make_project(product, "tutorial", cluster="hpc")
    page.goto("/workloads/new")
    page.locator('[name="workload.name"]').fill("ex7")
    for question, answer in (("Cluster", "hpc"), ("Framework", "Own script")):
        cards = page.get_by_role("group", name=question, exact=True).locator(".card")
        with page.expect_response(lambda asked: "x-gangline-apply" in asked.request.headers):
            cards.filter(has=page.get_by_text(answer, exact=True)).click()
        everything_is_saved(page)
    press(page, "Continue to workers", "workers")
    file: FilePayload = {"name": "ex7.sh", "mimeType": "text/plain", "buffer": SCRIPT.encode()}
    page.get_by_label("Choose a file: Script").set_input_files(file)
    expect(page.locator('[name="worker.numWorkers"]')).to_have_value("2")
    camera.take(page, "form-own-script")
    press(page, "Continue to review", "review")
    page.get_by_role("button", name="Create workload").click()
    page.wait_for_url(CREATED)
    workload = page.url
    expect(page.get_by_test_id("page-workload")).to_have_attribute(
        "data-status", "Completed", timeout=90_000
    )
    page.goto(f"{workload}/files?path=worker-0")
    camera.take(page, "slurm-files")
    page.goto(f"{workload}/report")
    camera.take(page, "slurm-report")
    page.goto(f"/clusters/{cluster}")


def _jobs_of_others(camera: Camera, page: Page, lab: Lab) -> None:
    """One that runs, and one that waits for its nodes."""
    for name, nodes in (("preprocess", 3), ("evaluate", 4)):
        words = (f"--job-name={name}", f"-N{nodes}", "--exclusive", "-t60", "-o", "/dev/null")
        lab.run("sbatch", *words, "--wrap", "sleep 600")
    wait_for(lambda: "RUNNING" in lab.run("squeue", "-h", "-o", "%T"), seconds=30)
    page.goto(f"{page.url}/jobs")
    expect(page.locator("[data-job]")).to_have_count(2)
    camera.take(page, "cluster-slurm-jobs")
