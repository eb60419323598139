"""The quick starts as they are written, in a browser, on this machine with declared GPUs."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support import repositories
from tests.support.examples import IS_THOROUGH
from tests.support.product import ADMINISTRATOR, Product
from tests.support.training_form import CREATED, Typed, everything_is_saved, fill
from tests.support.waiting import wait_for

Windows = Callable[..., Page]
PROJECT = "team-a"
SLEEPS = (
    "import os, time; print('rank', flush=True); time.sleep(float(os.environ['RUNAI_SLEEP_SECS']))"
)
LAUNCHES = f'mpirun python3 -c "{SLEEPS}"'
SECONDS = "60" if IS_THOROUGH else "2"
"""As written, or shorter."""
TRAINS = f'python3 -c "{SLEEPS}"'


@pytest.fixture(scope="module")
def page(product: Product) -> Iterator[Page]:
    """The administrator, who has given the project its two GPUs."""
    product.empty()
    page = product.window(user=ADMINISTRATOR)
    page.set_default_timeout(30_000)
    page.goto("/projects")
    page.get_by_role("link", name="New project").click()
    page.get_by_label("Name").fill(PROJECT)
    page.get_by_label("GPUs", exact=True).first.fill("2")
    page.get_by_role("button", name="Create project").click()
    expect(page.get_by_test_id("quota")).to_contain_text("0 of 2")
    yield page
    product.close_windows()


def begin(page: Page, name: str, framework: str) -> None:
    """Steps 1 to 8 of the form."""
    page.goto("/workloads")
    page.get_by_role("link", name="New workload").first.click()
    page.wait_for_url("**/setup", wait_until="load")
    page.locator('[name="workload.name"]').fill(name)
    project = page.get_by_label("Project", exact=True)
    wanted = project.locator("option", has_text=PROJECT).get_attribute("value")
    if project.input_value() != wanted:
        applied(page, lambda: project.select_option(wanted))
    expect(page.get_by_test_id("f-architecture")).to_contain_text("Distributed")
    choose(page, card(page, "Framework", framework))
    choose(page, card(page, "Configuration", "Workers & master"))
    press(page, "Continue to workers", "workers")


def card(page: Page, question: str, title: str) -> Locator:
    cards = page.get_by_role("group", name=question, exact=True).locator(".card")
    return cards.filter(has=page.get_by_text(title, exact=True))


def choose(page: Page, wanted: Locator) -> None:
    if not wanted.get_by_role("radio").is_checked():
        applied(page, wanted.click)


def applied(page: Page, act: Callable[[], object]) -> None:
    """Do what draws the step anew, and wait until it is there."""
    with page.expect_response(lambda answer: "x-gangline-apply" in answer.request.headers):
        act()
    everything_is_saved(page)


def press(page: Page, button: str, step: str) -> None:
    page.get_by_role("button", name=button).click()
    page.wait_for_url(f"**/{step}*")


def variable(page: Page, name: str, value: str) -> None:
    applied(page, page.get_by_role("button", name="Add environment variable").click)
    page.get_by_label("Name, environment variable 1").fill(name)
    page.get_by_label("Value, environment variable 1").fill(value)


def made(dialog: Locator, button: str) -> None:
    dialog.get_by_role("button", name=button).click()
    expect(dialog).to_have_count(0)


def create(page: Page) -> None:
    press(page, "Continue to master", "master")
    press(page, "Continue to review", "review")
    page.get_by_role("button", name="Create workload").click()
    page.wait_for_url(CREATED)


def asked(page: Page, path: str) -> Any:
    """What the API answers the person of the window."""
    return page.request.get(f"/api/v1/{path}").json()


def test_mpi_two_workers_with_a_gpu_each(page: Page) -> None:
    begin(page, "dist", "MPI")
    page.locator('[name="worker.image"][value="local://system"]').check(force=True)
    page.locator('[name="worker.command"]').fill(LAUNCHES)
    page.locator('[name="worker.numWorkers"]').fill("2")
    page.locator('[name="worker.compute.gpuDevicesRequest"]').fill("1")
    variable(page, "RUNAI_SLEEP_SECS", SECONDS)
    create(page)
    title = page.locator('[data-part="title"]')
    expect(title).to_contain_text("Running", timeout=60_000)
    expect(page.locator('[data-part="facts"]')).to_contain_text("GPUs2")
    expect(title).to_contain_text("Completed", timeout=120_000)
    page.get_by_role("link", name="Logs", exact=True).click()
    expect(page.locator("[data-log-rows] > li").filter(has_text="rank")).to_have_count(2)
    page.get_by_role("link", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.wait_for_url("**/workloads")
    wait_for(lambda: not asked(page, "workloads")["workloads"], seconds=60, what="the deletion")


def test_pytorch_with_an_environment_and_a_compute_resource_made_in_the_form(page: Page) -> None:
    begin(page, "ddp", "PyTorch")
    page.get_by_role("button", name="New environment").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("pytorch-dt")
    image = dialog.locator('[name$="image"][value="local://system"]')
    image.check(force=True)
    dialog.get_by_role("button", name="Create environment").click()
    expect(dialog).to_have_count(0)
    # AC-F03: what was made is chosen.
    expect(card(page, "Environment", "pytorch-dt").get_by_role("radio")).to_be_checked()
    page.locator('[name="worker.command"]').fill(TRAINS)
    page.locator('[name="worker.numWorkers"]').fill("2")
    variable(page, "RUNAI_SLEEP_SECS", SECONDS)
    page.get_by_role("button", name="New compute resource").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("small-fraction")
    dialog.get_by_label("GPU devices per pod").fill("1")
    dialog.get_by_label("GPU sharing").select_option("portion")
    dialog.get_by_label("GPU portion").fill("10")
    dialog.get_by_role("button", name="Create compute resource").click()
    expect(dialog).to_have_count(0)
    mine = card(page, "Compute resource", "small-fraction").filter(has_text=PROJECT)
    expect(mine.get_by_role("radio")).to_be_checked()
    for path, text in {"compute.cpuCoreRequest": "0.1", "compute.cpuMemoryRequest": "100"}.items():
        expect(page.locator(f'[name="worker.{path}"]').first).to_have_value(text)
    create(page)
    title = page.locator('[data-part="title"]')
    expect(title).to_contain_text("Running", timeout=60_000)
    made = page.url.rsplit("/", 1)[1]
    expect(title).to_contain_text("Completed", timeout=120_000)
    spec = asked(page, f"workloads/distributed/{made}")["spec"]
    assert spec["compute"]["gpuPortionRequest"] == 0.1
    assert (spec["compute"]["cpuCoreRequest"], spec["compute"]["cpuMemoryRequest"]) == (0.1, "100M")
    page.get_by_role("link", name="Pods", exact=True).click()
    expect(page.locator("tbody tr")).to_have_count(3)


def test_what_is_made_in_the_form_has_the_focus_and_is_said(page: Page) -> None:
    """AC-F03."""
    begin(page, "focus", "PyTorch")
    page.get_by_role("button", name="New environment").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("second")
    dialog.get_by_role("button", name="Create environment").click()
    # What is wrong is told there, at its field, with everything that was typed.
    expect(dialog.get_by_test_id("problem-summary")).to_be_focused()
    expect(dialog.get_by_role("group", name="Image")).to_contain_text("Image is required.")
    expect(dialog.get_by_label("Name")).to_have_value("second")
    dialog.locator('[name$="image"][value="local://system"]').check(force=True)
    dialog.get_by_role("button", name="Create environment").click()
    expect(dialog).to_have_count(0)
    mine = card(page, "Environment", "second").get_by_role("radio")
    expect(mine).to_be_checked()
    expect(mine).to_be_focused()
    expect(page.get_by_test_id("toast")).to_contain_text("second")


WRITES = "sh -c 'cat /code/text; echo $ROLE; touch /out/$ROLE'"
GENERAL = Typed(
    texts={"terminationGracePeriodSeconds": "60", "backoffLimit": "3"},
    rows={
        "label": [{"Name": "stage", "Value": "dev"}],
        "annotation": [{"Name": "note", "Value": "first try"}],
    },
)
VOLUME = Typed(rows={"volume": [{"Name": "out", "Container path": "/out", "Size": "1"}]})


@pytest.mark.thorough  # `test_quick_starts_on_kubernetes` has the same steps
def test_sixteen_steps_make_a_training(page: Page, tmp_path: Path) -> None:
    with repositories.serving(tmp_path / "served") as repository:
        repository.commit("cloned")
        begin(page, "steps", "PyTorch")  # 1 to 8, from scratch
        page.get_by_role("button", name="New environment").click()  # 9
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Name").fill("system")
        dialog.locator('[name$="image"][value="local://system"]').check(force=True)
        made(dialog, "Create environment")
        expect(card(page, "Environment", "system").get_by_role("radio")).to_be_checked()
        page.locator('[name="worker.command"]').fill(WRITES)
        variable(page, "ROLE", "worker")
        page.get_by_role("button", name="New compute resource").click()  # 10
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Name").fill("one-of-two")
        dialog.get_by_label("GPU devices per pod").fill("1")
        made(dialog, "Create compute resource")
        mine = card(page, "Compute resource", "one-of-two").get_by_role("radio")
        expect(mine).to_be_checked()
        fill(page, "worker", Typed({"numWorkers": "2"}))
        fill(page, "worker", VOLUME)  # 11
        page.get_by_role("button", name="New data source").click()  # 12
        page.get_by_role("dialog").get_by_role("link", name="Git").click()
        dialog = page.get_by_role("dialog", name="New Git")
        dialog.locator('[name="name"]').fill("code")
        dialog.get_by_label("Repository").fill(repository.url)
        dialog.get_by_label("Container path").fill("/source")
        made(dialog, "Create Git data source")
        expect(card(page, "Data sources", "code").get_by_role("checkbox")).to_be_checked()
        page.get_by_label("Container path, repository 1").fill("/code")
        fill(page, "worker", GENERAL)  # 13
        press(page, "Continue to master", "master")  # 14
        applied(page, page.get_by_role("switch").check)  # 15
        fill(page, "master", Typed({"compute.gpuDevicesRequest": "0"}))
        page.get_by_test_id("f-master.environmentVariables").get_by_label(
            "Value, environment variable 1"
        ).fill("master")
        press(page, "Continue to review", "review")
        page.get_by_role("button", name="Create workload").click()  # 16
        page.wait_for_url(CREATED)
        title = page.locator('[data-part="title"]')
        expect(title).to_contain_text("Completed", timeout=120_000)
    body = asked(page, f"workloads/distributed/{page.url.rsplit('/', 1)[1]}")
    spec, master = body["spec"], body["masterSpec"]
    assert (spec["numWorkers"], spec["compute"]["gpuDevicesRequest"]) == (2, 1)
    assert master["compute"]["gpuDevicesRequest"] == 0
    assert (spec["terminationGracePeriodSeconds"], spec["backoffLimit"]) == (60, 3)
    assert (spec["labels"], spec["annotations"]) == (
        [{"name": "stage", "value": "dev"}],
        [{"name": "note", "value": "first try"}],
    )
    page.get_by_role("link", name="Logs", exact=True).click()
    rows = page.locator("[data-log-rows] > li")
    expect(rows.filter(has_text="cloned")).to_have_count(3)
    leads = rows.filter(has_text="master-0").filter(has_text=re.compile(r"master\s*$"))
    expect(leads).to_have_count(1)
