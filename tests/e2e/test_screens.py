"""Every screen in every state: structure, axe in both themes and widths, reflow, targets."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Page, expect

from tests.support.product import ADMINISTRATOR, RESEARCHER, Product
from tests.support.screens import Watch, assert_screen

Windows = Callable[..., Page]
LONG = "averylongworkloadnamewithoutanyhyphenatallinitxyz01"
TABS = ("", "/pods", "/logs", "/events", "/spec")


@dataclass
class Gallery:
    """Ids of one workload per state."""

    completed: str
    failed: str
    running: str
    pending: str
    cannot_start: str
    stopped: str


@pytest.fixture(scope="module")
def gallery(product: Product) -> Iterator[Gallery]:
    """One workload per state that this machine can bring about."""
    product.empty()
    completed = product.start("completed", "python3 -c 'print(\"loss 0.1\")'")
    failed = product.start(LONG, "python3 -c 'raise SystemExit(3)'")
    stopped = product.start("stopped")
    product.site.until(completed, "Completed")
    product.site.until(failed, "Failed")
    product.site.until(stopped, "Running")
    product.site.act(stopped, "suspend")
    product.site.until(stopped, "Stopped")
    running = product.hold_machine()
    pending = product.waiting("pending")
    product.site.until(pending, "Pending")
    cannot = product.start("cannot-start", workers=512)
    product.site.until(cannot, "Cannot start")
    yield Gallery(completed, failed, running, pending, cannot, stopped)
    product.empty()


def test_the_link_to_the_content_shows_with_the_focus_alone(window: Windows) -> None:
    """Also beyond the window, where a picture or a print of a whole page would show it."""
    page = window(user="", viewport={"width": 390, "height": 300})
    page.goto("/login")
    page.evaluate("document.activeElement.blur()")
    whole = page.screenshot(full_page=True)
    page.evaluate("scrollTo({top: 150, behavior: 'instant'})")
    assert page.evaluate("scrollY") == 150
    assert page.screenshot(full_page=True) == whole
    page.get_by_role("link", name="Skip to content").focus()
    assert page.screenshot(full_page=True) != whole


def test_signing_in(window: Windows) -> None:
    page = window(user="")
    page.goto("/login")
    assert_screen(page, "sign in", is_signed_in=False)
    page.get_by_label("User name").fill("nobody")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_test_id("problem-summary")).to_be_visible()
    assert_screen(page, "sign in refused", is_signed_in=False)
    page.goto("/enter/no-such-link")
    assert_screen(page, "spent link", is_signed_in=False)


@pytest.mark.thorough  # it draws 400 operations; `tests/pages` opens it without
def test_the_api_is_browsed_without_a_file_from_elsewhere(window: Windows) -> None:
    """The page is Swagger UI's: its structure is judged by nobody here, its errors are."""
    page = window(user=ADMINISTRATOR)
    page.goto("/api/v1/docs#/workloads/createDistributed")
    expect(page.get_by_test_id("page-api")).to_have_attribute("data-state", "ready")
    body = page.locator("#operations-workloads-createDistributed .opblock-body")
    expect(body).to_contain_text("The master set up like the workers")
    assert Watch.of(page).lines == []


def test_the_empty_product(window: Windows, product: Product) -> None:
    product.empty()
    page = window()
    page.goto("/")
    expect(page.get_by_role("heading", name="First steps")).to_be_visible()
    assert_screen(page, "home with first steps")
    page.get_by_role("button", name="Dismiss the first steps").click()
    expect(page.get_by_role("heading", name="All quiet")).to_be_visible()
    assert_screen(page, "home, quiet")
    page.goto("/account/tokens")
    page.get_by_role("button", name="Show again").click()
    expect(page.get_by_role("heading", name="First steps")).to_be_visible()
    page.goto("/workloads")
    expect(page.get_by_role("button", name="Run the sample")).to_be_visible()
    assert_screen(page, "no workloads")


def test_home_and_list_with_workloads(window: Windows, gallery: Gallery) -> None:
    page = window()
    page.goto("/")
    for title in ("Needs attention", "Running and waiting", "Recently finished"):
        expect(page.get_by_role("heading", name=title)).to_be_visible()
    assert_screen(page, "home")
    page.goto("/workloads")
    expect(page.get_by_test_id("tbl-workloads")).to_be_visible()
    assert_screen(page, "workloads")
    page.get_by_label("Select stopped").check()
    expect(page.get_by_role("group", name="With the selected workloads")).to_be_visible()
    assert_screen(page, "workloads, one checked")
    page.get_by_role("button", name="Actions for pending").click()
    expect(page.get_by_role("link", name="Stop", exact=True)).to_be_visible()
    assert_screen(page, "menu of a row")
    page.goto("/workloads?q=nothing-is-called-so&project=nlp")
    expect(page.get_by_role("heading", name="No workloads match")).to_be_visible()
    assert_screen(page, "workloads, nothing matches")


@pytest.mark.parametrize(
    "state",
    [
        "failed",
        "running",
        "cannot_start",
        *(pytest.param(s, marks=pytest.mark.thorough) for s in ("completed", "pending", "stopped")),
    ],
)
def test_details(window: Windows, gallery: Gallery, state: str) -> None:
    """The overview of each state, and all five tabs of one."""
    page = window()
    address = f"/workloads/{getattr(gallery, state)}"
    for tab in TABS if state == "failed" else TABS[:1]:
        page.goto(f"{address}{tab}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert_screen(page, f"{state}{tab}")


def test_questions(window: Windows, gallery: Gallery) -> None:
    page = window()
    page.goto(f"/workloads/{gallery.running}/delete")
    assert_screen(page, "delete?")
    page.goto(f"/workloads/{gallery.running}")
    page.get_by_role("link", name="Stop").click()
    dialog = page.get_by_role("dialog", name="Stop holder?")
    expect(dialog).to_be_visible()
    expect(dialog.get_by_role("link", name="Cancel")).to_be_focused()
    assert_screen(page, "stop? as a dialog")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_places(window: Windows) -> None:
    page = window(user=ADMINISTRATOR)
    places = ("/templates", "/templates/new", "/policies", "/clusters", "/storage-classes")
    for address in (*places, "/settings", "/settings/audit"):
        page.goto(address)
        assert_screen(page, address)
    page.goto("/clusters")
    page.get_by_role("link", name="this-machine").click()
    expect(page.get_by_test_id("page-cluster")).to_be_visible()
    assert_screen(page, "cluster")
    page.goto("/account/tokens")
    page.get_by_label("Name").fill("nightly")
    page.get_by_role("button", name="New token").click()
    expect(page.get_by_test_id("new-token")).to_be_visible()
    assert_screen(page, "tokens, new token")
    page.get_by_role("link", name="Revoke nightly").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert_screen(page, "revoke?")
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_test_id("toast")).to_contain_text("revoked")


@pytest.mark.thorough
def test_the_organisation(window: Windows) -> None:
    page = window(user=ADMINISTRATOR)
    for address in (
        "/access-check?user=researcher", "/account", "/roles/new", "/roles/built-in/viewer",
        "/users", "/groups", "/departments", "/views",
    ):  # fmt: skip
        page.goto(address)
        assert_screen(page, address)
    for name in ("departments", "projects", "users"):
        page.goto(f"/{name}")
        page.locator("tbody a.name").first.click()
        page.wait_for_url(re.compile(f"/{name}/[^/]+$"))
        assert_screen(page, f"one of the {name}")
        for tab in page.get_by_role("main").get_by_role("tab").all()[1:]:
            page.goto(tab.get_attribute("href") or "")
            assert_screen(page, f"{name}, {page.url.rpartition('/')[2]}")


def test_policies(window: Windows) -> None:
    page = window(user=ADMINISTRATOR)
    page.goto("/policies")
    page.get_by_role("link", name="vision", exact=True).click()
    editor = page.get_by_test_id("policy-text")
    expect(editor).to_be_visible()
    assert_screen(page, "policy")
    text = editor.input_value()
    editor.fill(text + "\nrules:\n  worker:\n    noSuchField: {min: 1}\n")
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_test_id("problem-summary")).to_be_visible()
    expect(editor).to_have_value(re.compile("noSuchField"))
    assert_screen(page, "policy with an error")
    page.goto("/policies")
    page.get_by_role("link", name="nlp", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Policy of")
    assert_screen(page, "no policy yet")


def test_refusals(window: Windows) -> None:
    page = window(user=RESEARCHER)
    page.goto("/workloads/00000000-0000-4000-8000-000000000000")
    expect(page.get_by_text("404", exact=True)).to_be_visible()
    assert_screen(page, "404")
    page.goto("/policies")
    page.get_by_role("link", name="vision", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Policy of")
    assert_screen(page, "policy, reading only")


def test_the_form(window: Windows) -> None:
    page = window()
    page.goto("/workloads/new")
    assert_screen(page, "form: set-up")
    page.locator('[name="workload.name"]').fill("screens")
    page.get_by_role("button", name="Continue to workers").click()
    page.wait_for_url("**/workers*")
    assert_screen(page, "form: workers")
    page.get_by_role("button", name="Continue to master").click()
    expect(page.get_by_test_id("problem-summary")).to_be_visible()
    assert_screen(page, "form: workers with errors")


def test_the_product_asks_for_little(window: Windows, gallery: Gallery) -> None:
    """At most 8 requests for a page of the table, one page of a workload too."""
    from tests.support.screens import Watch

    for address in ("/workloads", f"/workloads/{gallery.completed}/pods", "/"):
        page = window()
        page.goto(address)
        page.wait_for_load_state("networkidle")
        asked = [url for url in Watch.of(page).requests if not url.startswith("data:")]
        assert len(asked) <= 8, asked


def test_on_a_phone_rows_are_cards_that_say_all_and_nothing_moves_sideways(
    window: Windows, gallery: Gallery
) -> None:
    page = window(user=ADMINISTRATOR, viewport={"width": 390, "height": 844})
    page.goto("/account/tokens")
    page.get_by_label("Name").fill("nightly")
    page.get_by_role("button", name="New token").click()
    for address in (
        "/account/tokens",
        "/clusters",
        "/policies",
        f"/workloads/{gallery.failed}/pods",
    ):
        page.goto(address)
        expect(page.locator("tbody tr").first).to_be_visible()
        assert (
            page.locator(".scroll").evaluate_all(
                "all => all.filter((e) => e.scrollWidth > e.clientWidth).length"
            )
            == 0
        ), address
    page.goto("/workloads")
    card = page.get_by_test_id(f"row-{gallery.running}")
    project = card.get_by_test_id("cell-project")
    expect(project).to_be_visible()
    expect(project).not_to_be_empty()
    expect(card.get_by_test_id("cell-duration")).to_contain_text(re.compile(r"\d (s|min)"))
    expect(card.get_by_test_id("cell-duration")).to_be_visible()
    # What has not begun says nothing, not a dash.
    pending = page.get_by_test_id(f"row-{gallery.pending}")
    expect(pending.get_by_test_id("cell-duration")).to_be_hidden()
