"""Policies in a real browser: what is wrong in one, and where each rule comes from."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from gangline.policies.services import save
from tests.e2e.test_form import start
from tests.support.screens import violations
from tests.support.world import World

Opener = Callable[..., Page]
WRONG = "rules:\n  worker:\n    numWorkers: {min: 4, max: 1}\n    numWorker: {max: 2}\n"
DEPARTMENT = "department research"
FOUR = {
    "installation": "rules: {worker: {numWorkers: {max: 64}}}",
    "cluster": "rules: {worker: {compute: {cpuCoreRequest: {max: 8}}}}",
    "department": """
rules:
  worker:
    backoffLimit: {max: 5}
    numWorkers: {max: 32}
    environmentVariables: {instances: {canAdd: false}}
  master: {compute: {cpuMemoryRequest: {max: 4G}}}
""",
    "vision": "rules: {worker: {numWorkers: {max: 4}}}",
}


def test_acp02_what_is_wrong_leads_to_its_line_and_is_not_saved(
    open_page: Opener, world: World
) -> None:
    page = open_page("administrator")
    page.goto(f"/policies/{world.vision.scope_id}")
    text = page.get_by_test_id("policy-text")
    save_it = page.get_by_role("button", name="Save", exact=True)
    text.fill(WRONG)
    expect(save_it).to_be_disabled()
    expect(page.locator("#judged-why")).to_contain_text("2 problems")
    expect(page.locator("#judged-lines li")).to_have_count(2)
    page.get_by_role("button", name="Check", exact=True).click()
    summary = page.get_by_test_id("problem-summary")
    expect(summary).to_be_visible()
    expect(save_it).to_be_disabled()
    assert page.title().startswith("Error: ")
    for number, field in ((3, "numWorkers"), (4, "numWorker")):
        link = summary.get_by_role("link", name=f"Line {number}: ").first
        expect(link).to_contain_text(field)
        link.click()
        expect(page.locator(f"#policy-line-{number}")).to_be_focused()
    expect(text).to_have_value(WRONG)
    assert violations(page) == []
    text.fill(FOUR["vision"])
    expect(save_it).to_be_enabled()
    expect(page.locator("#judged-lines li")).to_have_count(0)
    save_it.click()
    expect(page.get_by_test_id("toast")).to_be_visible()


def test_acp03_the_table_and_the_lock_name_the_same_scope(open_page: Opener, world: World) -> None:
    for name, text in FOUR.items():
        scope = getattr(world, name).scope
        save(actor=world.actor("administrator"), scope=scope, text=text, version=None)
    page = open_page("administrator")
    page.goto(f"/policies/{world.vision.scope_id}")
    table = page.get_by_role("region", name="Effective rules").get_by_role("row")
    form = open_page("researcher-vision")
    start(form, "ruled")
    for path, label, words, scope in (
        ("worker.numWorkers", "Number of workers", ("at most", "4"), "project vision"),
        ("worker.backoffLimit", "Retries", ("at most", "5"), "department research"),
        ("worker.compute.cpuCoreRequest", "CPU request", ("at most", "8"), "cluster this-machine"),
        ("worker.environmentVariables", "Environment variables", ("added", "no"), DEPARTMENT),
        ("master.compute.cpuMemoryRequest", "Memory request", ("at most", "4 GB"), DEPARTMENT),
    ):
        row = table.filter(has_text=label).filter(has_text=words[-1])
        expect(row).to_contain_text(scope, ignore_case=True)
        if path.startswith("master") and not form.url.endswith("/master"):
            form.goto(f"{form.url.rsplit('/', 1)[0]}/master")
            form.get_by_role("switch").check()
        form.get_by_test_id(f"lock-{path}").click()
        rows = form.get_by_role("dialog").get_by_role("row").filter(has_text=words[0])
        wins = rows.filter(has=form.locator("b"))
        expect(wins).to_contain_text(scope, ignore_case=True)
        expect(wins).to_contain_text(words[-1])
        link = form.get_by_role("dialog").get_by_role("link", name="Effective policy")
        anchor = f"/policies/{world.vision.scope_id}/effective#f-{path.replace('.', '-')}"
        expect(link).to_have_attribute("href", anchor)
        form.keyboard.press("Escape")
