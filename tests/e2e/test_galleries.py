"""What is chosen from galleries and made within the form: by keyboard, blocked, and unseen."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.handlers.base import BaseHandler
from playwright.sync_api import Locator, Page, expect

from assets.models import Credential
from gangline.audit.models import AuditEntry
from gangline.people.services import give
from gangline.policies.services import save
from gangline.resources.services import make
from tests.e2e.test_form import WORKERS, press, reach, start
from tests.support.screens import violations
from tests.support.training_form import CREATED, everything_is_saved
from tests.support.world import IMAGE, World
from workloads.models import Attempt, Draft, Workload

Opener = Callable[..., Page]
CANARY = "c4n4ry-77e1"
POLICY = "rules: {worker: {compute: {cpuCoreRequest: {max: 2}}}}"


def card(page: Page, question: str, title: str) -> Locator:
    cards = page.get_by_role("group", name=question, exact=True).locator(".card-slot")
    return cards.filter(has=page.get_by_text(title, exact=True))


def pressed(page: Page, button: str | Locator) -> None:
    """Go there by Tab and press Enter; the focus can be seen and is never lost."""
    found = (
        page.get_by_role("button", name=button, exact=True) if isinstance(button, str) else button
    )
    reach(page, found)
    assert page.evaluate("document.activeElement.matches(':focus-visible')")
    page.keyboard.press("Enter")


def opened(page: Page, button: str) -> Locator:
    pressed(page, button)
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    assert page.evaluate("document.activeElement !== document.body")
    return dialog


def made(page: Page, dialog: Locator, button: str, question: str, title: str) -> None:
    """AC-F03: the dialog is gone, the new card is chosen, has the focus and is named aloud."""
    pressed(page, dialog.get_by_role("button", name=button, exact=True))
    expect(dialog).to_have_count(0)
    choice = card(page, question, title).locator("input")
    expect(choice).to_be_checked()
    expect(choice).to_be_focused()
    expect(page.get_by_test_id("toast").last).to_contain_text(title)


def named(page: Page, dialog: Locator, name: str) -> None:
    expect(dialog.get_by_label("Name")).to_be_focused()
    page.keyboard.type(name)


def overheard(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the server answers from now on, in whole: a browser forgets what it has left."""
    sent: list[str] = []
    answer = BaseHandler.get_response

    def told(self: BaseHandler, request: Any) -> Any:
        found = answer(self, request)
        sent.append(f"{found.headers}{getattr(found, 'content', b'')!r}")
        return found

    monkeypatch.setattr(BaseHandler, "get_response", told)
    return sent


def test_acf02_acf04_from_scratch_with_all_it_needs_by_keyboard(open_page: Opener) -> None:
    page = open_page()
    page.goto("/workloads/new")
    reach(page, page.locator('[name="workload.name"]'))
    page.keyboard.type("from-scratch")
    pressed(page, "Continue to workers")
    page.wait_for_url("**/workers")
    dialog = opened(page, "New environment")
    named(page, dialog, "pytorch-dt")
    reach(page, dialog.locator(f'[name$="image"][value="{IMAGE}"]'))
    page.keyboard.press("Space")
    made(page, dialog, "Create environment", "Environment", "pytorch-dt")
    reach(page, page.locator('[name="worker.command"]'))
    page.keyboard.type("python train.py")
    dialog = opened(page, "New compute resource")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("button", name="New compute resource")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement !== document.body")
    dialog = opened(page, "New compute resource")
    named(page, dialog, "small")
    reach(page, dialog.get_by_label("CPU request"))
    page.keyboard.type("0.25")
    made(page, dialog, "Create compute resource", "Compute resource", "small")
    reach(page, page.locator(WORKERS))
    page.keyboard.press("Control+a")
    page.keyboard.type("2")
    pressed(page, "Continue to master")
    page.wait_for_url("**/master")
    reach(page, page.get_by_role("switch"))
    page.keyboard.press("Space")
    dialog = opened(page, "New compute resource")
    named(page, dialog, "leader")
    reach(page, dialog.get_by_label("CPU request"))
    page.keyboard.type("0.5")
    made(page, dialog, "Create compute resource", "Compute resource", "leader")
    pressed(page, "Continue to review")
    page.wait_for_url("**/review")
    pressed(page, "Create workload")
    page.wait_for_url(CREATED)
    attempt = Workload.objects.get().attempts.get()
    assert Workload.objects.get().num_workers == 2
    assert attempt.value("worker.image") == IMAGE
    assert [attempt.value(f"{r}.compute.cpuCoreRequest") for r in ("worker", "master")] == [
        0.25,
        0.5,
    ]


@pytest.mark.thorough
def test_acf04_the_masters_own_assets_are_made_in_its_step(open_page: Opener, world: World) -> None:
    person = world.people["researcher-vision"]
    give(actor=None, user=person, role="credentials_administrator", scope=world.vision.scope)
    page = open_page()
    start(page)
    page.locator('[name="worker.command"]').fill("python train.py")
    page.locator(f'[name="worker.image"][value="{IMAGE}"]').check(force=True)
    press(page, "Continue to master", "master")
    reach(page, page.get_by_role("switch"))
    page.keyboard.press("Space")
    dialog = opened(page, "New environment")
    named(page, dialog, "lead")
    reach(page, dialog.locator(f'[name$="image"][value="{IMAGE}"]'))
    page.keyboard.press("Space")
    made(page, dialog, "Create environment", "Environment", "lead")
    dialog = opened(page, "New data source")
    pressed(page, dialog.get_by_role("link", name="Git"))
    dialog = page.get_by_role("dialog", name="New Git")
    named(page, dialog, "notes")
    reach(page, dialog.get_by_label("Repository"))
    page.keyboard.type("https://git.example/notes.git")
    reach(page, dialog.get_by_label("Container path"))
    page.keyboard.type("/notes")
    made(page, dialog, "Create Git data source", "Data sources", "notes")
    page.get_by_role("button", name="New credential").first.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator('[name="name"]')).to_be_focused()
    page.keyboard.type("hf")
    dialog.locator("#type-genericSecret").check(force=True)
    reach(page, dialog.locator('[name="genericSecret.keyValuePairs.1.key"]'))
    page.keyboard.type("token")
    reach(page, dialog.locator('[name="genericSecret.keyValuePairs.1.value"]'))
    page.keyboard.type(CANARY)
    pressed(page, dialog.get_by_role("button", name="Create credential"))
    expect(dialog).to_have_count(0)
    variables = page.get_by_test_id("f-master.environmentVariables")
    credential = variables.get_by_label("Credential, environment variable 1", exact=True)
    expect(credential).to_have_value(Credential.objects.get().object_name)
    variables.get_by_label("Name, environment variable 1").fill("HF_TOKEN")
    press(page, "Continue to review", "review")
    page.get_by_role("button", name="Create workload").click()
    page.wait_for_url(CREATED)
    attempt = Attempt.objects.get()
    assert attempt.effective["master.image"]["source"]["name"] == "lead"
    assert [one["path"] for one in attempt.value("master.storage.git")] == ["/notes"]
    (variable,) = attempt.value("master.environmentVariables")
    assert variable["secret"]["name"] == Credential.objects.get().object_name
    for path in ("storage.git", "environmentVariables"):
        assert not attempt.value(f"worker.{path}")


def test_acf05_what_a_policy_forbids_is_reached_and_explained_and_never_taken(
    open_page: Opener, world: World
) -> None:
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=POLICY)
    for name, cores in (("huge", 8), ("fits", 1)):
        values = {"compute.cpuCoreRequest": cores}
        make("compute", scope=world.department.scope, name=name, values=values)
    page = open_page()
    start(page)
    page.locator('[name="worker.command"]').fill("python train.py")
    page.locator(f'[name="worker.image"][value="{IMAGE}"]').check(force=True)
    huge = card(page, "Compute resource", "huge")
    choice, why = huge.locator("input"), huge.get_by_role("button", name="Why is huge not")
    scratch = card(page, "Compute resource", "Start from scratch").locator("input")
    expect(choice).to_have_attribute("aria-disabled", "true")
    scratch.focus()
    page.keyboard.press("ArrowRight")
    expect(card(page, "Compute resource", "fits").locator("input")).to_be_checked()
    everything_is_saved(page)
    page.keyboard.press("ArrowRight")
    expect(choice).to_be_focused()
    page.keyboard.press("Space")
    huge.locator("label").click(force=True)
    expect(choice).not_to_be_checked()
    expect(card(page, "Compute resource", "fits").locator("input")).to_be_checked()
    reach(page, why)
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    for words in ("Project vision", "at most", "2"):
        expect(dialog).to_contain_text(words)
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(why).to_be_focused()
    told = huge.locator(".why span").inner_text()
    choice.evaluate("e => { e.removeAttribute('aria-disabled'); e.checked = true; }")
    with page.expect_navigation() as went:
        page.get_by_role("button", name="Continue to master").click()
    assert went.value.status == 422
    assert told in page.get_by_test_id("problem-summary").inner_text()
    assert not Workload.objects.exists()


def test_acf04_acf21_aca06_a_credential_made_in_the_form_is_never_seen(
    open_page: Opener, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = overheard(monkeypatch)
    person = world.people["researcher-vision"]
    give(actor=None, user=person, role="credentials_administrator", scope=world.vision.scope)
    page = open_page()
    start(page)
    page.locator('[name="worker.command"]').fill("python train.py")
    page.locator(f'[name="worker.image"][value="{IMAGE}"]').check(force=True)
    page.get_by_role("button", name="New credential").first.click()
    dialog = page.get_by_role("dialog")
    dialog.locator('[name="name"]').fill("hf")
    dialog.locator("#type-genericSecret").check(force=True)
    dialog.locator('[name="genericSecret.keyValuePairs.1.key"]').fill("token")
    dialog.locator('[name="genericSecret.keyValuePairs.1.value"]').fill(CANARY)
    dialog.get_by_role("button", name="Create credential").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_test_id("toast").last).to_contain_text("hf")
    row = page.get_by_test_id("f-worker.environmentVariables")
    expect(row.get_by_label("Credential, environment variable 1", exact=True)).to_have_value(
        Credential.objects.get().object_name
    )
    row.get_by_label("Name, environment variable 1").fill("HF_TOKEN")
    page.get_by_role("button", name="New data source").click()
    page.get_by_role("dialog").get_by_role("link", name="Git").click()
    dialog = page.get_by_role("dialog", name="New Git")
    dialog.locator('[name="name"]').fill("code")
    dialog.get_by_label("Repository").fill("https://git.example/code.git")
    dialog.get_by_label("Container path").fill("/code")
    pressed(page, dialog.get_by_role("button", name="New credential"))
    within = page.get_by_role("dialog", name="New credential")
    expect(within.locator('[name="name"]')).to_be_focused()
    expect(within.locator('[name="name"]')).to_have_value("")
    page.keyboard.type("git-login")
    within.locator("#type-password").check(force=True)
    within.locator('[name="password.user"]').fill("ada")
    assert violations(page) == []
    pressed(page, within.get_by_role("button", name="Create credential"))
    summary = within.get_by_test_id("problem-summary")
    expect(summary).to_be_focused()
    within.locator('[name="password.password"]').fill(CANARY)
    pressed(page, within.get_by_role("button", name="Create credential"))
    expect(dialog).to_be_visible()
    credential = dialog.locator('select[name$="secretRef.name"]')
    expect(credential).to_be_focused()
    expect(credential).to_have_value("password-git-login")
    expect(page.get_by_test_id("toast").last).to_contain_text("git-login")
    expect(dialog.get_by_label("Repository")).to_have_value("https://git.example/code.git")
    assert violations(page) == []
    made(page, dialog, "Create Git data source", "Data sources", "code")
    everything_is_saved(page)
    page.get_by_role("button", name="YAML", exact=True).click()
    page.wait_for_url("**/yaml")
    press(page, "Continue to review", "review")
    expect(page.get_by_test_id("as-yaml")).to_be_attached()
    page.get_by_role("button", name="Create workload").click()
    page.wait_for_url(CREATED)
    for tab in ("/spec", "/events"):
        page.goto(page.url.split("?")[0].removesuffix("/spec") + tab)
    for kept_one in Credential.objects.all():
        for screen in ("", "/edit", "/delete"):
            page.goto(f"/credentials/{kept_one.pk}{screen}")
            expect(page.get_by_role("heading", level=1)).to_contain_text(kept_one.name)
    for screen in (
        "/credentials",
        "/credentials?format=csv",
        "/audit",
        "/api/v1/asset/credentials",
    ):
        page.request.get(screen)
    page.goto("/credentials")
    kept = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert any("as-yaml" in text for text in sent)
    stored = str([*Draft.objects.values(), *Attempt.objects.values(), *AuditEntry.objects.values()])
    (code,) = Attempt.objects.get().value("worker.storage.git")
    assert (code["path"], code["secretRef"]["name"]) == ("/code", "password-git-login")
    assert not [text for text in [*sent, kept, stored] if CANARY in text]
