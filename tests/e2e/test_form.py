"""The form in a real browser: by keyboard, without scripts, through reloads and lost networks."""

from collections.abc import Callable
from typing import Literal

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from gangline.drivers.local.driver import LocalDriver
from gangline.policies.services import save
from tests.support.screens import violations
from tests.support.training_form import CREATED, everything_is_saved
from tests.support.waiting import wait_for
from tests.support.world import IMAGE, World
from workloads.models import Draft, Workload

Opener = Callable[..., Page]
NAME = '[name="workload.name"]'
ARGS = '[name="worker.args"]'
WORKERS = '[name="worker.numWorkers"]'
LIST = "worker.environmentVariables"
POLICY = """
rules:
  worker:
    numWorkers: {min: 1, max: 4}
    terminationGracePeriodSeconds: {canEdit: false}
"""
FOLLOWS = """
defaults: {worker: {compute: {cpuCoreLimit: 16}}}
rules:
  worker:
    compute:
      cpuCoreRequest: {defaultFrom: {field: compute.cpuCoreLimit, factor: 0.5}, min: 1}
"""
WORDS = ("Limit", "Request")


def start(page: Page, name: str = "digits") -> None:
    """Set-up done, at the step of the workers."""
    page.goto("/workloads/new")
    page.locator(NAME).fill(name)
    press(page, "Continue to workers", "workers")


def press(page: Page, button: str, step: str) -> None:
    """Press a button that leads to another step."""
    page.get_by_role("button", name=button).click()
    page.wait_for_url(f"**/{step}*")


def unfold(page: Page, path: str) -> None:
    """Open what a section keeps for few people, around the field of the workers at ``path``."""
    fold = page.locator("details").filter(has=page.get_by_test_id(f"f-worker.{path}"))
    fold.locator("summary").first.click()


def fill_workers(page: Page) -> None:
    page.locator(f'[name="worker.image"][value="{IMAGE}"]').check(force=True)
    page.locator('[name="worker.command"]').fill("python train.py")


def saved(page: Page) -> Locator:
    return page.locator("[data-saved]")


def reach(page: Page, target: Locator, most: int = 80) -> None:
    """Press Tab until ``target`` has the focus, which is never lost on the way."""
    where = "e => [document.activeElement === e, document.activeElement === document.body]"
    for number in range(most):
        is_here, is_lost = target.evaluate(where)
        if is_here:
            return
        assert not is_lost or number == 0  # a page begins there
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach {target}")


@pytest.mark.thorough  # `test_acf02…` makes more of it by keyboard
def test_the_whole_form_by_keyboard(open_page: Opener) -> None:
    page = open_page()
    page.goto("/workloads/new")
    reach(page, page.locator(NAME))
    page.keyboard.type("by-keyboard")
    reach(page, page.locator('[name="worker.distributedFramework"]:checked'))
    page.keyboard.press("ArrowRight")
    expect(page.locator('[value="XGBoost"]')).to_be_checked()
    expect(page.locator('[value="workersOnly"]')).to_be_disabled()
    assert page.evaluate("document.activeElement.value") == "XGBoost"
    reach(page, page.get_by_role("button", name="Continue to workers"))
    page.keyboard.press("Enter")
    page.wait_for_url("**/workers")
    reach(page, page.locator('[name="worker.image"]').first)
    page.keyboard.press("Space")
    reach(page, page.locator('[name="worker.command"]'))
    page.keyboard.type("python train.py")
    reach(page, page.get_by_role("button", name="Add environment variable"))
    page.keyboard.press("Enter")
    name = page.get_by_label("Name, environment variable 1")
    expect(name).to_be_focused()
    page.keyboard.type("SEED")
    page.keyboard.press("Tab")
    page.keyboard.type("7")
    page.keyboard.press("Enter")
    page.wait_for_url("**/master")
    reach(page, page.get_by_role("switch"))
    page.keyboard.press("Space")
    reach(page, page.locator('[name="master.compute.cpuCoreRequest"]'))
    page.keyboard.type("0.25")
    page.keyboard.press("Enter")
    page.wait_for_url("**/review")
    reach(page, page.get_by_role("button", name="Create workload"))
    page.keyboard.press("Enter")
    page.wait_for_url(CREATED)
    expect(page.get_by_role("heading", level=1)).to_contain_text("by-keyboard")
    workload = Workload.objects.get()
    assert workload.framework == "XGBoost"
    assert workload.given[LIST]["value"] == [{"name": "SEED", "value": "7"}]
    assert workload.given["master.compute.cpuCoreRequest"]["value"] == 0.25


@pytest.mark.thorough  # `test_first_thread` does it with fewer fields
def test_acf01_the_whole_form_without_scripts(open_page: Opener, world: World) -> None:
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=POLICY)
    page = open_page(java_script_enabled=False)
    start(page, "no-scripts")
    page.get_by_role("button", name="Why is Number of workers limited?").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Why is Number of workers limited?")
    page.get_by_role("link", name="Back to the form").click()
    fill_workers(page)
    page.get_by_role("button", name="Add environment variable").click()
    page.get_by_label("Name, environment variable 1").fill("A")
    page.get_by_role("button", name="Add environment variable").click()
    expect(page.get_by_label("Name, environment variable 1")).to_have_value("A")
    page.get_by_role("button", name="Remove this row").click()
    page.locator(WORKERS).fill("5")
    page.get_by_role("button", name="Continue to master").click()
    expect(page.get_by_test_id("problem-summary")).to_contain_text("between 1 and 4")
    page.locator(WORKERS).fill("2")
    press(page, "Continue to master", "master")
    page.get_by_role("switch").check()
    page.get_by_role("button", name="Apply set-up").click()
    page.locator('[name="master.args"]').fill("--lead")
    press(page, "Continue to review", "review")
    page.get_by_role("button", name="Create workload").click()
    page.wait_for_url(CREATED)
    workload = Workload.objects.get()
    assert (workload.name, workload.num_workers) == ("no-scripts", 2)
    assert workload.given["master.args"]["value"] == "--lead"


@pytest.mark.thorough
def test_without_scripts_another_framework_is_applied_by_a_button(open_page: Opener) -> None:
    page = open_page(java_script_enabled=False)
    page.goto("/workloads/new")
    page.locator('[value="MPI"]').check(force=True)
    page.get_by_role("button", name="Apply framework").click()
    expect(page.locator('[value="workersOnly"]')).to_be_disabled()
    expect(page.locator('[value="MPI"]')).to_be_checked()


@pytest.mark.thorough
def test_enter_in_every_field_means_continue_without_scripts(open_page: Opener) -> None:
    """R27."""
    page = open_page(java_script_enabled=False)
    start(page)
    fill_workers(page)
    unfold(page, "labels")
    page.get_by_role("button", name="Add label").click()
    page.get_by_label("Name, label 1").fill("team")
    page.get_by_label("Value, label 1").fill("a")
    count = page.locator("#wizard-form input.input:not([readonly]):visible").count()
    assert count > 10
    for number in range(count):
        page.locator("#wizard-form input.input:not([readonly]):visible").nth(number).press("Enter")
        page.wait_for_url("**/master")
        page.go_back()
        page.wait_for_url("**/workers*")
        if not page.get_by_label("Name, label 1").is_visible():
            unfold(page, "labels")


@pytest.mark.thorough
def test_acf09_typing_survives_a_reload(open_page: Opener) -> None:
    page = open_page()
    start(page)
    page.locator(ARGS).fill("--epochs 3")
    expect(saved(page)).to_contain_text("Saved")
    wait_for(lambda: "--epochs 3" in str(Draft.objects.get().inputs), what="the save")
    page.reload()
    expect(page.locator(ARGS)).to_have_value("--epochs 3")
    expect(page.locator('[data-echo="worker.args"]')).to_contain_text("2 words")


def test_acf09_typing_without_a_network_is_saved_when_it_returns(open_page: Opener) -> None:
    page = open_page()
    start(page)
    page.context.set_offline(True)
    page.locator(ARGS).fill("--offline")
    expect(saved(page)).to_contain_text("Not saved – trying again")
    page.locator(WORKERS).fill("3")
    page.context.set_offline(False)
    expect(saved(page)).to_contain_text("Saved", timeout=20_000)
    wait_for(lambda: "--offline" in str(Draft.objects.get().inputs), what="the save")
    page.reload()
    expect(page.locator(ARGS)).to_have_value("--offline")
    expect(page.locator(WORKERS)).to_have_value("3")


def test_acf10_back_and_forward_keep_every_value(open_page: Opener) -> None:
    """Of a dialog that is open, Back closes the dialog alone."""
    page = open_page()
    start(page)
    fill_workers(page)
    maker = page.get_by_role("button", name="New environment")
    for closed_by in ("Back", "Escape", "Back"):
        maker.click()
        expect(page.get_by_role("dialog")).to_be_visible()
        page.go_back() if closed_by == "Back" else page.keyboard.press(closed_by)
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(maker).to_be_focused()
    expect(page.locator('[name="worker.command"]')).to_have_value("python train.py")
    press(page, "Continue to master", "master")
    page.get_by_role("switch").check()
    page.locator('[name="master.args"]').fill("--lead")
    press(page, "Continue to review", "review")
    for step in ("master", "workers", "setup"):
        page.go_back()
        page.wait_for_url(f"**/{step}")
    expect(page.locator(NAME)).to_have_value("digits")
    for step in ("workers", "master", "review"):
        page.go_forward()
        page.wait_for_url(f"**/{step}")
        if step == "workers":
            expect(page.locator('[name="worker.command"]')).to_have_value("python train.py")
        if step == "master":
            expect(page.locator('[name="master.args"]')).to_have_value("--lead")
    expect(page.get_by_role("heading", level=1)).to_have_text("Review")


@pytest.mark.thorough
def test_back_to_a_step_that_was_refused_shows_what_was_mended(open_page: Opener) -> None:
    page = open_page()
    start(page)
    fill_workers(page)
    workers = page.locator('[name="worker.numWorkers"]')
    workers.fill("two")
    page.get_by_role("button", name="Continue to master").click()
    expect(page.get_by_role("alert").first).to_be_visible()
    workers.fill("2")
    press(page, "Continue to master", "master")
    page.go_back()
    page.wait_for_url("**/workers*")
    expect(workers).to_have_value("2")


@pytest.mark.thorough
def test_acf19_a_double_click_on_create_makes_one_workload(open_page: Opener) -> None:
    page = open_page()
    start(page)
    fill_workers(page)
    press(page, "Continue to master", "master")
    press(page, "Continue to review", "review")
    page.get_by_role("button", name="Create workload").dblclick()
    page.wait_for_url(CREATED)
    assert Workload.objects.count() == 1


@pytest.mark.thorough
def test_acf15_acf16_summary_review_and_workload_agree(open_page: Opener) -> None:
    """A gang that no machine holds cannot start."""
    page = open_page()
    start(page)
    fill_workers(page)
    page.locator(WORKERS).fill("3")
    page.locator('[name="worker.compute.gpuDevicesRequest"]').fill("2")
    pods, gpus = page.get_by_test_id("summary-pods"), page.get_by_test_id("summary-gpus")
    expect(pods).to_have_text("3 workers + 1 master")
    expect(gpus).to_have_text("8")
    expect(page.get_by_test_id("verdict")).to_contain_text("Cannot start")
    press(page, "Continue to master", "master")
    press(page, "Continue to review", "review")
    expect(pods).to_have_text("3 workers + 1 master")
    expect(gpus).to_have_text("8")
    page.get_by_role("button", name="Create workload").click()
    page.wait_for_url(CREATED)
    workload = Workload.objects.get()
    assert (workload.pods_total, workload.gpus) == (4, 8)


def test_acf22_a_second_tab_is_told_and_decides(open_page: Opener) -> None:
    first, second = open_page(), open_page()
    start(first)
    second.goto(first.url)
    first.locator(ARGS).fill("--first")
    expect(saved(first)).to_contain_text("Saved")
    wait_for(lambda: "--first" in str(Draft.objects.get().inputs), what="the save")
    second.locator(ARGS).fill("--second")
    notice = second.get_by_test_id("conflict")
    expect(notice).to_contain_text("changed in another tab")
    assert "--first" in str(Draft.objects.get().inputs)
    expect(second.locator(ARGS)).to_have_value("--second")
    notice.get_by_role("button", name="Keep mine").click()
    expect(notice).to_have_count(0)
    assert "--second" in str(Draft.objects.get().inputs)


def test_rows_keep_the_focus_and_can_be_brought_back(open_page: Opener) -> None:
    page = open_page()
    start(page)
    page.locator(ARGS).fill("--typed-just-before")
    page.get_by_role("button", name="Add environment variable").click()
    expect(page.get_by_label("Name, environment variable 1")).to_be_focused()
    page.keyboard.type("SEED")
    page.get_by_role("button", name="Add environment variable").click()
    expect(page.get_by_label("Name, environment variable 2")).to_be_focused()
    expect(page.get_by_label("Name, environment variable 1")).to_have_value("SEED")
    expect(page.locator(ARGS)).to_have_value("--typed-just-before")
    page.get_by_role("button", name="Remove SEED").click()
    undo = page.get_by_role("button", name="Bring back SEED")
    expect(undo).to_be_focused()
    undo.click()
    expect(page.get_by_label("Name, environment variable 1")).to_have_value("SEED")


@pytest.mark.thorough
def test_acf07_a_failed_continue_puts_the_focus_on_the_summary(open_page: Opener) -> None:
    page = open_page()
    start(page)
    fill_workers(page)
    page.locator(WORKERS).fill("many")
    page.get_by_role("button", name="Continue to master").click()
    summary = page.get_by_test_id("problem-summary")
    expect(summary).to_be_focused()
    assert page.title().startswith("Error: ")
    summary.get_by_role("link").click()
    expect(page.locator(WORKERS)).to_be_focused()
    expect(page.locator(WORKERS)).to_have_value("many")


@pytest.mark.thorough
def test_e5_what_follows_another_field_is_shown_and_the_cursor_stays(
    open_page: Opener, world: World
) -> None:
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=FOLLOWS)
    page = open_page()
    start(page)
    limit, request = (page.locator(f'[name="worker.compute.cpuCore{w}"]') for w in WORDS)
    expect(request).to_have_value("8")
    unfold(page, "compute.cpuCoreLimit")
    limit.fill("12.5")
    everything_is_saved(page)
    expect(request).to_have_value("6.25")
    limit.fill("8")
    request.focus()
    request.evaluate("e => e.setSelectionRange(1, 1)")
    expect(request).to_have_value("4")
    expect(request).to_be_focused()
    assert request.evaluate("e => [e.selectionStart, e.selectionEnd]") == [1, 1]
    page.keyboard.type(".5")
    limit.fill("6")
    everything_is_saved(page)
    expect(request).to_have_value("4.5")


@pytest.mark.thorough
def test_a_switch_is_turned_by_keyboard_and_goes_back(
    open_page: Opener, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalDriver, "unsupported", {})
    text = "defaults: {worker: {stdin: true}}"
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=text)
    page = open_page()
    start(page)
    unfold(page, "stdin")
    stdin, tty = (page.get_by_role("switch", name=n) for n in ("Standard input", "Terminal"))
    expect(stdin).to_be_checked()
    tty.focus()
    page.keyboard.press("Space")
    everything_is_saved(page)
    assert Draft.objects.get().inputs["workers"]["tty"]["text"] == "true"
    stdin.focus()
    page.keyboard.press("Space")
    expect(tty).to_be_hidden()
    everything_is_saved(page)
    typed = Draft.objects.get().inputs["workers"]
    assert (typed["stdin"]["text"], typed["tty~aside"]["text"]) == ("false", "true")
    page.get_by_role("button", name="Reset Standard input").click()
    expect(stdin).to_be_checked()
    expect(stdin).to_be_focused()
    expect(tty).to_be_checked()
    page.locator(ARGS).fill("--epochs 3")
    everything_is_saved(page)
    typed = Draft.objects.get().inputs["workers"]
    assert "stdin" not in typed
    assert typed["tty"]["text"] == "true"
    assert violations(page) == []


@pytest.mark.thorough
def test_why_opens_a_dialog_and_gives_the_focus_back(open_page: Opener, world: World) -> None:
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=POLICY)
    page = open_page()
    start(page)
    lock = page.get_by_test_id("lock-worker.numWorkers")
    lock.click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Project vision allows at most 4 pods.")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(lock).to_be_focused()


def test_acf23_acf24_axe_finds_nothing(open_page: Opener, world: World) -> None:
    """Each step, the error state, the dialogs, the page of templates, none too wide."""
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=POLICY)
    page = open_page(color_scheme="dark", reduced_motion="reduce")
    page.goto("/workloads/new")
    assert violations(page) == []
    start(page, "a" * 51)  # a name that cannot be broken
    page.get_by_role("button", name="Add environment variable").click()
    page.get_by_label("Name, environment variable 1").fill("1A")
    page.get_by_role("button", name="Continue to master").click()
    expect(page.get_by_test_id("problem-summary")).to_be_visible()
    assert violations(page) == []
    page.get_by_test_id("lock-worker.numWorkers").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert violations(page) == []
    base = page.url.rsplit("/", 1)[0]
    for address in (f"{base}/master", f"{base}/review?check=1", "/templates"):
        page.goto(address)
        assert violations(page) == [], address
        page.set_viewport_size({"width": 320, "height": 700})
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{address} is {wide} px too wide"
        page.set_viewport_size({"width": 1440, "height": 900})


@pytest.mark.thorough
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_acf23_axe_finds_nothing_in_dialogs_and_the_masters_own_step(
    open_page: Opener, theme: Literal["light", "dark"]
) -> None:
    page = open_page(color_scheme=theme, reduced_motion="reduce")
    start(page)
    fill_workers(page)
    for maker in ("New environment", "New compute resource"):
        page.get_by_role("button", name=maker).click()
        expect(page.get_by_role("dialog", name=maker)).to_be_visible()
        assert violations(page) == [], maker
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
    press(page, "Continue to master", "master")
    page.get_by_role("switch").check()
    expect(page.get_by_test_id("f-master.command")).to_be_visible()
    for fold in page.locator("form details").all():
        fold.evaluate("fold => { fold.open = true }")
    assert violations(page) == []


@pytest.mark.thorough
def test_hints_show_with_the_focus_and_errors_when_it_leaves(open_page: Opener) -> None:
    page = open_page()
    start(page)
    field, args = page.get_by_test_id("f-worker.numWorkers"), page.locator(ARGS)
    hint = page.get_by_test_id("f-worker.args").locator(".help")
    assert hint.evaluate("e => e.getBoundingClientRect().width") < 2
    args.focus()
    assert hint.evaluate("e => e.getBoundingClientRect().width") > 50
    page.locator(WORKERS).fill("two")
    assert hint.evaluate("e => e.getBoundingClientRect().width") < 2
    everything_is_saved(page)
    expect(field.locator(".error")).to_have_count(0)
    args.focus()
    expect(field.locator(".error")).to_contain_text("whole number")
    expect(page.locator(WORKERS)).to_have_attribute("aria-invalid", "true")
    page.locator(WORKERS).fill("2")
    expect(field.locator(".error")).to_have_count(0)


def test_what_is_typed_while_the_form_changes_is_kept(open_page: Opener) -> None:
    page = open_page()
    start(page)
    held: list[Route] = []
    page.route("**/workers", lambda r: r.continue_() if held else held.append(r))
    unfold(page, "labels")
    page.get_by_role("button", name="Add label").click()
    page.locator(ARGS).fill("--meanwhile")
    page.locator(WORKERS).fill("3")
    page.locator('[name="worker.command"]').focus()
    wait_for(lambda: page.evaluate("1") and held, what="the request")
    held[0].continue_()
    expect(page.get_by_label("Name, label 1")).to_be_visible()
    expect(page.locator(ARGS)).to_have_value("--meanwhile")
    expect(page.locator(WORKERS)).to_have_value("3")
    wait_for(lambda: "--meanwhile" in str(Draft.objects.get().inputs), what="the save")


def test_the_bar_of_review_is_one_row_and_its_menu_leaves(open_page: Opener) -> None:
    page = open_page()
    start(page)
    fill_workers(page)
    press(page, "Continue to master", "master")
    press(page, "Continue to review", "review")
    bar = page.locator(".with-verdict")
    for width in (1440, 1024):
        page.set_viewport_size({"width": width, "height": 900})
        assert bar.evaluate("bar => bar.clientHeight") < 80
    more = page.get_by_role("button", name="More for this draft")
    reach(page, more)
    page.keyboard.press("Enter")
    reach(page, page.get_by_role("button", name="Save and leave"))
    page.keyboard.press("Enter")
    page.wait_for_url("**/workloads*")
    assert Draft.objects.count() == 1
