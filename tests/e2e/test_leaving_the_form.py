"""What was typed a moment before the page of a step is left, loaded again or closed."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.test_form import ARGS, NAME, WORKERS, Opener, start
from tests.support.waiting import wait_for
from workloads.models import Draft

COMMAND = '[name="worker.command"]'
BY_TAB_ONLY = "() => { window.fetch = () => Promise.reject(new TypeError('no network')); }"


def _stored() -> str:
    return str(Draft.objects.get().inputs)


def _type(page: Page) -> None:
    """Two fields, and nothing after them that a save could wait for."""
    page.locator(COMMAND).fill("python late.py")
    page.locator(ARGS).fill("--the-very-last")


@pytest.mark.thorough
def test_a_reload_right_after_typing_shows_it(open_page: Opener) -> None:
    page = open_page()
    start(page)
    _type(page)
    page.reload()
    expect(page.locator(COMMAND)).to_have_value("python late.py")
    expect(page.locator(ARGS)).to_have_value("--the-very-last")
    wait_for(lambda: "--the-very-last" in _stored(), what="the save")
    assert "python late.py" in _stored()
    expect(page.get_by_test_id("conflict")).to_have_count(0)


def test_a_closed_page_has_saved_it(open_page: Opener) -> None:
    page = open_page()
    start(page)
    _type(page)
    page.close(run_before_unload=True)
    wait_for(lambda: "--the-very-last" in _stored(), what="the save")
    assert "python late.py" in _stored()


def test_what_could_not_be_sent_is_brought_back_and_saved(open_page: Opener) -> None:
    """A choice and a field of the set-up too; the echo follows."""
    page = open_page()
    page.on("dialog", lambda dialog: dialog.accept())
    start(page)
    page.evaluate(BY_TAB_ONLY)
    page.locator(ARGS).fill("--kept in the tab")
    page.locator(WORKERS).fill("4")
    page.reload()
    expect(page.locator(ARGS)).to_have_value("--kept in the tab")
    expect(page.locator(WORKERS)).to_have_value("4")
    expect(page.locator('[data-echo="worker.args"]')).to_contain_text("4 words")
    wait_for(lambda: "--kept in the tab" in _stored(), what="the save")
    page.get_by_role("button", name="Back to set-up").click()
    page.wait_for_url("**/setup*")
    page.evaluate(BY_TAB_ONLY)
    page.locator('[value="MPI"]').check(force=True)
    page.locator(NAME).fill("renamed")
    page.reload()
    expect(page.locator('[value="MPI"]')).to_be_checked()
    expect(page.locator('[value="workersOnly"]')).to_be_disabled()
    expect(page.locator(NAME)).to_have_value("renamed")
    wait_for(lambda: "renamed" in _stored() and "MPI" in _stored(), what="the save")
    assert "--kept in the tab" in _stored()


@pytest.mark.thorough
def test_another_tab_is_not_overwritten_by_what_is_brought_back(open_page: Opener) -> None:
    first, second = open_page(), open_page()
    start(first)
    second.goto(first.url)
    first.evaluate(BY_TAB_ONLY)
    first.locator(ARGS).fill("--first")
    second.locator(ARGS).fill("--second")
    wait_for(lambda: "--second" in _stored(), what="the save")
    first.on("dialog", lambda dialog: dialog.accept())
    first.reload()
    expect(first.get_by_test_id("conflict")).to_contain_text("changed in another tab")
    expect(first.locator(ARGS)).to_have_value("--first")
    assert "--second" in _stored()


@pytest.mark.thorough
def test_old_texts_of_a_tab_are_left_alone(open_page: Opener) -> None:
    page = open_page()
    start(page)
    page.locator(ARGS).fill("--new")
    wait_for(lambda: "--new" in _stored(), what="the save")
    page.evaluate(
        """path => sessionStorage.setItem("gangline-unsaved", JSON.stringify(
            {at: Date.now() - 31_000, path, texts: [["worker.args", "--old"]]}))""",
        page.evaluate("location.pathname"),
    )
    page.reload()
    expect(page.locator("draft-autosave")).to_be_visible()
    wait_for(lambda: page.evaluate("!sessionStorage['gangline-unsaved']"), what="the script")
    expect(page.locator(ARGS)).to_have_value("--new")
    assert "--old" not in _stored()
