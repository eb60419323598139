"""The screens of the form: each step, its galleries and dialogs, rules, YAML and the review."""

from typing import Any

from playwright.sync_api import Page, expect

from scripts.asset_screens import furnish
from scripts.camera import Camera
from tests.support.installation import Installation
from tests.support.product import ADMINISTRATOR, RESEARCHER, Product
from tests.support.training_form import everything_is_saved

FROM_TEMPLATE = (
    "form-setup", "form-workers", "form-policy-explained", "form-workers-errors", "form-master",
    "form-review",
)  # fmt: skip
FROM_NOTHING = (
    "form-review-incomplete", "form-interactive", "form-volumes", "form-environment-advanced",
    "form-general-advanced", "form-review-rejected", "form-create-anyway",
)  # fmt: skip
EQUIVALENTS = ("yaml", "curl", "local")
FROM_SCRATCH = (
    "policy-imposed", "form-galleries", "form-new-environment", "form-new-compute",
    "form-new-data-source", "form-new-git", "form-new-git-tested", "form-new-credential",
    "form-workers-filled", "form-locked", "form-data-sources", "form-tool-access", "form-yaml",
    "form-yaml-errors",
    *(f"form-review-{key}" for key in EQUIVALENTS),
)  # fmt: skip
POLICY = """\
defaults:
  worker:
    terminationGracePeriodSeconds: 60
rules:
  worker:
    numWorkers: {{min: 1, max: 4}}
    terminationGracePeriodSeconds:
      canEdit: false
      message: Every run gets a minute to save its checkpoint.
imposedAssets:
  - {code}  # digits-code
"""


def take(product: Product, camera: Camera) -> None:
    if camera.wants(*FROM_TEMPLATE):
        _from_template(product, camera)
    if camera.wants(*FROM_NOTHING):
        _from_nothing(product, camera)
    if camera.wants(*FROM_SCRATCH):
        _from_scratch(product, camera)


def _from_template(product: Product, camera: Camera) -> None:
    """Three steps and a review, from a template, in the project with a policy."""
    page = product.window()
    page.goto("/workloads/new")
    camera.take(page, "form-setup")
    page.goto("/templates")
    page.get_by_role("link", name="Use digits-xgboost").click()
    page.wait_for_url("**/setup*")
    _in_vision(page)
    page.locator('[name="workload.name"]').fill("digits-tuned")
    _press(page, "Continue to workers", "workers")
    page.get_by_role("button", name="Add environment variable").click()
    page.get_by_label("Name, environment variable 1").fill("OMP_NUM_THREADS")
    page.get_by_label("Value, environment variable 1").fill("1")
    expect(page.locator("[data-saved]")).to_contain_text("Saved")
    camera.take(page, "form-workers")
    page.get_by_test_id("lock-worker.numWorkers").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    camera.take(page, "form-policy-explained")
    page.keyboard.press("Escape")
    page.locator('[name="worker.numWorkers"]').fill("6")
    page.locator('[name="worker.compute.cpuMemoryRequest"]').first.fill("plenty")
    page.get_by_role("button", name="Continue to master").click()
    expect(page.get_by_test_id("problem-summary")).to_be_visible()
    camera.take(page, "form-workers-errors")
    page.locator('[name="worker.numWorkers"]').fill("2")
    page.locator('[name="worker.compute.cpuMemoryRequest"]').first.fill("256")
    _press(page, "Continue to master", "master")
    page.get_by_role("switch").check()
    page.locator('[name="master.args"]').fill("--rounds 30 --report")
    camera.take(page, "form-master")
    _press(page, "Continue to review", "review")
    camera.take(page, "form-review")


def _from_nothing(product: Product, camera: Camera) -> None:
    """What is folded away, a session, and a review that says no: the form, then the machine."""
    page = product.window()
    page.goto("/workloads/new")
    page.locator('[name="workload.name"]').fill("digits-typo")
    _press(page, "Continue to workers", "workers")
    page.goto(page.url.replace("/workers", "/review"))
    camera.take(page, "form-review-incomplete")
    page.goto(page.url.replace("/review", "/workers"))
    session = page.get_by_role("switch", name="Interactive session")
    session.check()
    everything_is_saved(page)
    page.keyboard.press("Escape")
    page.get_by_role("heading", level=1).click()
    environment = page.locator(".section").first
    camera.take(page, "form-interactive", environment)
    session.uncheck()
    everything_is_saved(page)
    for title, name in (("Environment", "environment"), ("General settings", "general")):
        section = page.locator(".section").filter(has=page.get_by_role("heading", name=title))
        section.locator("details.advanced > summary").click()
        camera.take(page, f"form-{name}-advanced", section.locator("details.advanced"))
    for button in ("Add volume", "Add temporary folder"):
        page.get_by_role("button", name=button, exact=True).click()
        everything_is_saved(page)
    volumes = page.locator(".section").filter(has=page.get_by_role("heading", name="Volumes"))
    camera.take(page, "form-volumes", volumes)
    for _ in range(2):
        volumes.get_by_role("button", name="Remove").first.click()
        everything_is_saved(page)
    _image(page, "System Python")
    page.locator('[name="worker.command"]').fill("pyhton train.py")
    _press(page, "Continue to master", "master")
    _press(page, "Continue to review", "review")
    expect(page.get_by_test_id("check-cluster")).to_contain_text("rejected")
    camera.take(page, "form-review-rejected")
    page.get_by_role("button", name="Create workload").click()
    expect(page.get_by_role("button", name="Create anyway")).to_be_visible()
    camera.take(page, "form-create-anyway")


def _image(page: Page, title: str) -> None:
    images = page.get_by_test_id("f-worker.image")
    images.locator(".card").filter(has=page.get_by_text(title, exact=True)).click()
    everything_is_saved(page)


def _from_scratch(product: Product, camera: Camera) -> None:
    """A project with assets, of which its policy imposes one, and what is made in the form."""
    furnish(product.site)
    before = _impose(product.site, product.window(user=ADMINISTRATOR), camera)
    page = product.window()
    page.goto("/workloads/new")
    _in_vision(page)
    page.locator('[name="workload.name"]').fill("digits-ddp")
    _press(page, "Continue to workers", "workers")
    camera.take(page, "form-galleries", page.locator(".section").first)
    _dialogs(page, camera)
    _fill(page, camera)
    _as_yaml(page, camera)
    _press(page, "Continue to master", "master")
    _press(page, "Continue to review", "review")
    for key in EQUIVALENTS:
        block = page.get_by_test_id(f"as-{key}")
        block.locator("summary").click()
        expect(block.locator("pre")).to_be_visible()
        camera.take(page, f"form-review-{key}", page.locator(".as-code"))
    page = product.window(user=ADMINISTRATOR)
    _save_policy(page, before)
    if camera.wants("form-new-credential"):
        _new_credential(page, camera)


def _impose(site: Installation, page: Page, camera: Camera) -> str:
    """A policy with a locked field and an imposed data source; the text that was there before."""
    site.sign_in(ADMINISTRATOR)
    try:
        sources: list[dict[str, Any]] = site.get("asset/datasource")["entries"]
    finally:
        site.sign_in(RESEARCHER)
    code = next(one["meta"]["id"] for one in sources if one["meta"]["name"] == "digits-code")
    before = _save_policy(page, POLICY.format(code=code))
    camera.take(page, "policy-imposed")
    return before


def _save_policy(page: Page, text: str) -> str:
    page.goto("/policies")
    page.get_by_role("link", name="vision", exact=True).click()
    editor = page.get_by_test_id("policy-text")
    before = editor.input_value()
    editor.fill(text)
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_load_state("networkidle")
    expect(page.get_by_test_id("problem-summary")).to_have_count(0)
    return before


def _dialogs(page: Page, camera: Camera) -> None:
    """What can be made without leaving the form."""
    for button, name in (
        ("New environment", "form-new-environment"),
        ("New compute resource", "form-new-compute"),
        ("New data source", "form-new-data-source"),
    ):
        _opened(page, button)
        camera.take(page, name)
        if name == "form-new-data-source":
            page.get_by_role("dialog").get_by_role("link", name="Git").click()
            expect(page.get_by_role("dialog").get_by_label("Repository")).to_be_visible()
            camera.take(page, "form-new-git")
            dialog = page.get_by_role("dialog")
            dialog.get_by_label("Repository").fill("https://git.example/vision/digits")
            dialog.get_by_role("button", name="Test connection").click()
            expect(dialog.locator("[data-code]")).to_be_visible()
            camera.take(page, "form-new-git-tested")
        page.keyboard.press("Escape")


def _new_credential(page: Page, camera: Camera) -> None:
    """By one who may make them for everyone in the project."""
    page.goto("/workloads/new")
    page.locator('[name="workload.name"]').fill("with-a-token")
    _press(page, "Continue to workers", "workers")
    _opened(page, "New credential")
    camera.take(page, "form-new-credential")


def _opened(page: Page, button: str) -> None:
    page.get_by_role("button", name=button, exact=True).first.click()
    expect(page.get_by_role("dialog")).to_be_visible()


def _fill(page: Page, camera: Camera) -> None:
    """Assets of every kind chosen, and a tool that only some may open."""
    for title in ("pytorch-dt", "small-fraction"):
        page.locator(".card").filter(has=page.get_by_text(title, exact=True)).first.click()
        everything_is_saved(page)
    page.locator('[name="worker.numWorkers"]').fill("2")
    page.locator(".card").filter(has=page.get_by_text("checkpoints", exact=True)).first.click()
    everything_is_saved(page)
    page.get_by_role("button", name="Add tool").click()
    page.get_by_label("Tool, tool 1").select_option(label="TensorBoard")
    everything_is_saved(page)
    camera.take(page, "form-workers-filled")
    page.get_by_label("Who may open it, tool 1").select_option(label="Specific people")
    page.get_by_label("People, tool 1").fill(ADMINISTRATOR)
    everything_is_saved(page)
    camera.take(page, "form-tool-access", page.get_by_test_id("f-worker.exposedUrls"))
    lock = page.get_by_test_id("lock-worker.terminationGracePeriodSeconds")
    section = page.locator(".section").filter(has=lock)
    section.locator("details.advanced > summary").click()
    camera.take(page, "form-locked", section)
    picks = page.get_by_test_id("f-worker.data~asset")
    camera.take(page, "form-data-sources", page.locator(".section").filter(has=picks))


def _as_yaml(page: Page, camera: Camera) -> None:
    page.get_by_role("button", name="YAML", exact=True).click()
    page.wait_for_url("**/yaml")
    camera.take(page, "form-yaml")
    text = page.get_by_test_id("yaml")
    said = text.input_value()
    text.fill(said.replace("numWorkers: 2", "numWorkers: two"))
    expect(page.locator("#f-yaml-e [data-line]")).to_have_count(1)
    everything_is_saved(page)
    camera.take(page, "form-yaml-errors")
    text.fill(said)
    everything_is_saved(page)
    _press(page, "Form", "workers")


def _in_vision(page: Page) -> None:
    project = page.locator('[name="workload.projectId"]')
    project.select_option(project.locator("option", has_text="vision").get_attribute("value"))
    everything_is_saved(page)


def _press(page: Page, button: str, step: str) -> None:
    page.get_by_role("button", name=button, exact=True).click()
    page.wait_for_url(f"**/{step}*")
