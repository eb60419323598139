"""The table while the server keeps changing it: nothing under anybody's hands moves."""

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.product import Product, open_followed
from tests.support.waiting import wait_for

Windows = Callable[..., Page]
ROWS = 24
OBSERVE = """selector => {
  window.seen = [];
  new MutationObserver((records) => {
    for (const record of records) {
      const target = record.target;
      const element = target instanceof Element ? target : target.parentElement;
      const cell = element?.closest("td");
      const moved = [...record.addedNodes, ...record.removedNodes].some((n) => n.nodeName === "TR");
      window.seen.push({
        row: element?.closest("tr")?.dataset.id ?? "",
        column: cell?.dataset.col ?? "",
        moved,
      });
    }
  }).observe(document.querySelector(selector), {
    subtree: true, childList: true, characterData: true, attributes: true,
  });
}"""


@dataclass
class Waiting:
    """Workloads that wait for a GPU, and the one that holds all of them."""

    product: Product
    ids: list[str]

    def toggle(self, workload_id: str) -> str:
        """Stop what waits, or let what is stopped wait again; the status it has then."""
        site = self.product.site
        verb, then = (
            ("resume", "Pending")
            if site.workload(workload_id)["status"] == "Stopped"
            else ("suspend", "Stopped")
        )
        assert site.act(workload_id, verb).status == 202
        site.until(workload_id, then)
        return then

    def change(self, times: int, among: list[str]) -> dict[str, str]:
        """So many changes of status, in turn; what each workload has at the end."""
        final = {}
        for workload_id in itertools.islice(itertools.cycle(among), times):
            final[workload_id] = self.toggle(workload_id)
        return final


@pytest.fixture(scope="module")
def waiting(product: Product) -> Iterator[Waiting]:
    product.empty()
    product.hold_machine()
    ids = [product.waiting(f"w-{number:02d}") for number in range(ROWS)]
    for workload_id in ids:
        product.site.until(workload_id, "Pending")
    yield Waiting(product, ids)
    product.empty()


@pytest.fixture
def page(window: Windows, waiting: Waiting) -> Page:
    opened = window()
    open_list(opened)
    return opened


def open_list(page: Page, query: str = "") -> None:
    """The table, told of changes."""
    open_followed(page, f"/workloads{query}")


def row(page: Page, workload_id: str) -> Locator:
    return page.get_by_test_id(f"row-{workload_id}")


def status(page: Page, workload_id: str) -> Locator:
    return row(page, workload_id).get_by_test_id("cell-status")


def names(page: Page) -> list[str]:
    return page.locator("tbody a.name").all_inner_texts()


def test_the_address_is_the_state(window: Windows, page: Page) -> None:
    """AC-T01, AC-T02."""
    page.get_by_role("button", name="Project").click()
    project = page.get_by_role("checkbox", name="nlp", exact=True)
    project.check()
    page.wait_for_url(re.compile(r"project=\d+$"))
    expect(project).to_be_focused()
    search = page.get_by_label("Search workloads")
    search.press_sequentially("w-1", delay=400)
    page.wait_for_url(re.compile("q=w-1"))
    expect(search).to_be_focused()
    expect(page.locator("tbody a.name")).to_have_count(10)  # drawn anew under a click, it is lost
    page.get_by_role("link", name="Workload", exact=True).click()
    page.wait_for_url(re.compile("sort=name"))
    found = names(page)
    assert found == [f"w-{number}" for number in range(10, 20)]
    other = window()
    other.goto(page.url)
    assert names(other) == found
    page.go_back()
    assert "sort=name" not in page.url
    assert "q=w-1" in page.url
    page.go_back()
    expect(search).to_have_value("")
    assert "project=" in page.url
    in_force = page.get_by_role("link", name="Remove filter Project nlp")
    expect(in_force).to_be_visible()
    page.wait_for_load_state()  # its scripts listen to the next step back
    page.go_back()
    expect(in_force).to_be_hidden()
    assert "project=" not in page.url


def test_columns_views_and_the_bulk_bar(window: Windows, page: Page, waiting: Waiting) -> None:
    """AC-T12; rows stay where they are while they are selected."""
    page.get_by_role("button", name="Columns").press("Enter")
    chooser = page.get_by_role("form", name="Columns")
    chooser.get_by_label("Image", exact=True).press("Space")
    for _ in range(9):
        chooser.get_by_role("button", name="Move Image up").press("Enter")
    chooser.get_by_role("button", name="Show").press("Enter")
    page.wait_for_url(re.compile("cols=image,status,"))
    first = row(page, waiting.ids[-1])
    expect(first.get_by_test_id("cell-image")).to_contain_text("local://")
    page.get_by_role("link", name="Views").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("Images")
    dialog.get_by_role("button", name="Save view").click()
    other = window()
    other.goto("/workloads")
    other.get_by_role("link", name="Views").click()
    other.get_by_role("dialog").get_by_role("link", name="Images", exact=True).click()
    other.wait_for_url(re.compile("cols=image,status,"))
    boxes = page.locator("tbody").get_by_role("checkbox")
    before = boxes.nth(3).bounding_box()
    boxes.nth(1).check()
    assert boxes.nth(3).bounding_box() == before
    boxes.nth(3).click(modifiers=["Shift"])
    expect(page.get_by_text("3 selected")).to_be_visible()
    page.get_by_role("button", name="Clear selection").click()
    expect(page.get_by_text("3 selected")).to_be_hidden()
    changed = waiting.ids[-1]
    word = waiting.toggle(changed)
    expect(status(page, changed)).to_contain_text(word)
    waiting.toggle(changed)


def test_keys_walk_and_rows_of_the_compact_table_are_40_px(page: Page) -> None:
    page.goto("/workloads?sort=name&density=compact")
    heights = page.locator("tbody tr").evaluate_all("rows => rows.map((one) => one.offsetHeight)")
    assert len(heights) == ROWS + 1  # and the one that holds the machine
    assert set(heights) == {40}
    links = page.locator("tbody a.name")
    page.keyboard.press("j")
    expect(links.nth(0)).to_be_focused()
    page.keyboard.press("j")
    expect(links.nth(1)).to_be_focused()
    page.keyboard.press("x")
    expect(page.get_by_text("1 selected")).to_be_visible()
    expect(page.locator("tbody").get_by_role("checkbox").nth(1)).to_be_checked()
    page.keyboard.press("k")
    expect(links.nth(0)).to_be_focused()
    page.keyboard.press("/")
    search = page.get_by_label("Search workloads")
    expect(search).to_be_focused()
    search.press_sequentially("jx")
    expect(search).to_have_value("jx")
    search.fill("")
    search.blur()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("n")
    page.wait_for_url(re.compile("/workloads/new"))


def test_a_page_is_fetched_as_soon_as_its_link_is_pressed(page: Page) -> None:
    """And then shown without a second request. Earlier, and it may be older than what it lists."""
    link = page.locator("tbody a.name").first
    path = link.get_attribute("href") or ""
    with page.context.expect_event("request", lambda one: one.url.endswith(path)):
        link.hover()
        page.mouse.down()
    page.mouse.up()
    page.wait_for_url(f"**{path}")
    came = page.evaluate("performance.getEntriesByType('navigation')[0].deliveryType")
    assert came == "navigational-prefetch"


def test_home_follows_what_changes(window: Windows, waiting: Waiting) -> None:
    page = window()
    open_followed(page, "/")
    page.evaluate("window.kept = true")
    count = page.get_by_role("link", name=re.compile(r"^\d+ waiting$"))
    before = int(count.inner_text().split()[0])
    step = -1 if waiting.toggle(waiting.ids[-1]) == "Stopped" else 1
    expect(count).to_have_text(f"{before + step} waiting")
    waiting.toggle(waiting.ids[-1])
    expect(count).to_have_text(f"{before} waiting")
    assert page.evaluate("window.kept"), "the page was loaded anew"


@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_titles_and_menus_stay_in_view(page: Page, waiting: Waiting, width: int) -> None:
    """And a name is written as it was typed: no ``×`` for an ``x`` between digits."""
    page.set_viewport_size({"width": width, "height": 600})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    menu = row(page, waiting.ids[-1]).get_by_role("button", name=re.compile("w-23")).last
    box = menu.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= width
    ligatures = "e => getComputedStyle(e).fontVariantLigatures"
    joined = page.locator("tbody a.name").first.evaluate(ligatures)
    assert joined in ("none", "no-contextual")
    if width > 390:  # cards have no titles
        page.evaluate("scrollTo(0, 500)")
        title = page.get_by_role("columnheader", name="Status").bounding_box()
        assert title is not None
        assert title["y"] >= 0


def test_twenty_updates_leave_selection_focus_and_scroll_alone(
    page: Page, waiting: Waiting
) -> None:
    """AC-T03."""
    checked = waiting.ids[-3:]
    page.set_viewport_size({"width": 1440, "height": 600})
    for workload_id in checked:
        row(page, workload_id).get_by_role("checkbox").check()
    page.evaluate("scrollTo(0, 400)")
    button = row(page, waiting.ids[-5]).get_by_role("button")
    button.evaluate("e => e.focus({preventScroll: true})")
    before = page.evaluate("scrollY")
    assert before == 400
    final = waiting.change(20, [*checked, waiting.ids[-5]])
    for workload_id, word in final.items():
        expect(status(page, workload_id)).to_contain_text(word)
    for workload_id in checked:
        expect(row(page, workload_id).get_by_role("checkbox")).to_be_checked()
    expect(button).to_be_focused()
    assert page.evaluate("scrollY") == before
    expect(page.get_by_text("3 selected")).to_be_visible()


@pytest.mark.thorough
def test_a_change_touches_only_its_own_cells(page: Page, waiting: Waiting) -> None:
    """AC-T04."""
    # Nobody waits behind the last one: no other row has news of it.
    changed = waiting.ids[-1]
    page.evaluate(OBSERVE, "tbody")
    word = waiting.toggle(changed)
    expect(status(page, changed)).to_contain_text(word)
    seen = page.evaluate("window.seen")
    assert not [one for one in seen if one["moved"]], "no row is removed or added"
    assert {one["row"] for one in seen} == {changed}
    # The tone of the pods and the menu follow from the status.
    assert {one["column"] for one in seen} - {""} == {"status", "pods", "more"}


def test_a_new_workload_waits_behind_a_button(page: Page, waiting: Waiting) -> None:
    """AC-T05."""
    first = waiting.ids[-1]
    row(page, first).get_by_role("checkbox").check()
    came = waiting.product.waiting("came-later")
    waiting.product.site.until(came, "Pending")
    button = page.get_by_role("link", name="1 new workload – show")
    expect(button).to_be_visible()
    expect(row(page, came)).to_have_count(0)
    page.evaluate("window.neverReloaded = true")
    button.click()
    expect(page.locator("tbody tr").first).to_have_attribute("data-id", came)
    expect(page.locator("[data-live-said]")).to_have_text("1 new workload shown.")
    expect(row(page, came).get_by_role("link", name="came-later")).to_be_focused()
    expect(row(page, first).get_by_role("checkbox")).to_be_checked()
    expect(button).to_be_hidden()
    assert page.evaluate("window.neverReloaded") is True
    waiting.toggle(came)
    expect(status(page, came)).to_contain_text("Stopped")
    waiting.product.site.act(came, "delete")
    expect(row(page, came)).to_have_attribute("data-gone", "")
    expect(row(page, came).get_by_role("checkbox")).to_be_disabled()
    expect(status(page, came)).to_have_text("Deleted")
    expect(row(page, came).locator("[data-label], [data-running]")).to_have_count(0)
    left = page.locator('[data-pill="all"] b').inner_text()
    expect(page.locator("[data-shown]")).to_have_text(f"1–{left} of {left}")


def test_a_row_that_leaves_the_filter_stays(window: Windows, waiting: Waiting) -> None:
    """AC-T06."""
    left = waiting.ids[6]
    if waiting.product.site.workload(left)["status"] == "Stopped":
        waiting.toggle(left)
    page = window()
    open_list(page, "?status=waiting")
    waiting.toggle(left)
    expect(row(page, left)).to_have_attribute("data-left", "")
    name = row(page, left).get_by_test_id("cell-name")
    expect(name).to_have_attribute("data-label", "No longer matches")
    expect(status(page, left)).to_contain_text("Stopped")
    waiting.toggle(left)
    expect(row(page, left)).not_to_have_attribute("data-left", "")
    waiting.toggle(left)
    expect(row(page, left)).to_have_attribute("data-left", "")
    page.reload()
    expect(row(page, left)).to_have_count(0)


@pytest.mark.thorough
def test_an_open_menu_stays_open(page: Page, waiting: Waiting) -> None:
    """AC-T07."""
    chosen = waiting.ids[8]
    before = waiting.product.site.workload(chosen)["status"]
    row(page, chosen).get_by_role("button", name="Actions for w-08").click()
    menu = row(page, chosen).locator("[popover]")
    expect(menu).to_be_visible()
    offered = menu.locator(".menu-item").all_inner_texts()
    waiting.change(5, [chosen, waiting.ids[9]])
    after = waiting.product.site.workload(chosen)["status"]
    assert after != before
    expect(status(page, chosen)).to_contain_text(after)
    expect(menu).to_be_visible()
    assert menu.locator(".menu-item").all_inner_texts() == offered
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    page.locator("h1").click()
    expect(menu.locator(".menu-item").first).not_to_have_text(offered[0])


def test_updates_do_not_shift_the_page(page: Page, waiting: Waiting) -> None:
    """AC-T08, with as many changes as a busy minute brings."""
    page.evaluate(
        """window.shift = 0; new PerformanceObserver((list) => {
          for (const e of list.getEntries()) if (!e.hadRecentInput) window.shift += e.value;
        }).observe({type: "layout-shift"})"""
    )
    final = waiting.change(24, waiting.ids[-12:])
    came = waiting.product.waiting("shifts-nothing")
    for workload_id, word in final.items():
        expect(status(page, workload_id)).to_contain_text(word)
    expect(page.get_by_role("link", name="1 new workload – show")).to_be_visible()
    waiting.product.site.act(came, "delete")
    assert page.evaluate("window.shift") <= 0.02


@pytest.mark.thorough
def test_stop_on_what_has_ended_meanwhile(window: Windows, waiting: Waiting) -> None:
    """AC-T13."""
    product = waiting.product
    short = product.start("short", "python3 -c 'import time; time.sleep(2)'", workers=1)
    page = window()
    page.goto(f"/workloads/{short}/stop")
    product.site.until(short, "Completed")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_test_id("toast")).to_contain_text("short had already finished.")
    product.site.act(short, "delete")


def test_pills_add_up(page: Page) -> None:
    """AC-T14."""

    def counted() -> tuple[int, int]:
        texts = dict(
            zip(
                page.locator("[data-pill]:has(b)").evaluate_all("e => e.map(x => x.dataset.pill)"),
                map(int, page.locator("[data-pill] b").all_inner_texts()),
                strict=True,
            )
        )
        return texts.pop("all"), sum(texts.values())

    everything, added = counted()
    assert everything == added == ROWS + 1
    page.goto("/workloads?q=w-1")
    everything, added = counted()
    assert everything == added == 10
    page.goto("/workloads?q=w-1&status=running")
    assert counted() == (10, 10), "pills are counted without their own filter"


@pytest.mark.thorough
def test_a_screen_reader_hears_little(window: Windows, waiting: Waiting) -> None:
    """AC-T15: a minute of constant change, on the browser's own clock."""
    page = window()
    page.clock.install()
    frames: list[object] = []
    page.on("websocket", lambda ws: ws.on("framereceived", lambda frame: frames.append(frame)))
    open_list(page)
    page.evaluate(
        """window.said = []; new MutationObserver(() => {
          const words = document.querySelector("[data-live-said]").textContent;
          window.said.push([Date.now(), words]);
        }).observe(document.querySelector("[data-live-said]"), {childList: true, subtree: true})"""
    )
    for workload_id in (*waiting.ids[:6], *waiting.ids[:5]):
        before = len(frames)
        waiting.toggle(workload_id)
        _wait_for_frames(page, frames, before + 1)
        page.clock.run_for(5000)
    said = page.evaluate("window.said")
    assert len(said) >= 2
    for (earlier, _), (later, words) in itertools.pairwise(said):
        # The observer reads the clock a moment after what is said was noted.
        assert later - earlier >= 19_900, "at most three times in any minute"
        assert re.fullmatch(r"\d+ stopped\.", words)


def test_without_a_socket_the_table_asks(window: Windows, waiting: Waiting) -> None:
    """AC-T16."""
    page = window()
    page.route_web_socket(re.compile("/live$"), lambda socket: socket.close(code=1011))
    page.goto("/workloads")
    word = waiting.toggle(waiting.ids[2])
    expect(status(page, waiting.ids[2])).to_contain_text(word, timeout=12_000)
    expect(page.get_by_test_id("live")).to_have_attribute("data-state", "live")


@pytest.mark.thorough
def test_pausing_stops_every_change(window: Windows, waiting: Waiting) -> None:
    """AC-G06, on the browser's own clock."""
    page = window()
    page.clock.install()
    open_list(page)
    live = page.get_by_test_id("live")
    live.click()
    expect(live).to_have_attribute("data-state", "paused")
    page.evaluate(OBSERVE, "main")
    final = waiting.change(6, waiting.ids[:3])
    page.clock.run_for(130_000)
    assert page.evaluate("window.seen") == []
    live.click()
    for workload_id, word in final.items():
        _wait_on_its_clock(page, status(page, workload_id), word)


@pytest.mark.thorough
def test_the_first_tab_leads_past_the_rail(page: Page) -> None:
    """AC-G02."""
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.closest('main') !== null")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")


def _wait_for_frames(page: Page, frames: list[object], count: int) -> None:
    """Playwright delivers the events of sockets while it waits."""

    def came() -> bool:
        page.wait_for_timeout(20)
        return len(frames) >= count

    wait_for(came, seconds=10, what="a frame")


def _wait_on_its_clock(page: Page, place: Locator, word: str) -> None:
    """The page draws when its clock moves."""

    def drawn() -> bool:
        page.clock.run_for(100)
        return word in place.inner_text()

    wait_for(drawn, seconds=15, what=word)
