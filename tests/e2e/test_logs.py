"""The log tab in a browser."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from gangline.db.clock import db_now
from tests.support.engine import digits
from tests.support.logs import WrittenLog, write_lines
from tests.support.screens import assert_screen, watch
from tests.support.waiting import wait_for
from tests.support.world import World
from workloads.models import Attempt, Workload

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

Open = Callable[..., Page]
ROWS = "[data-log-rows] > li"
_FIRST = "Number(document.querySelector('[data-log-rows] .log-text').textContent.match(/\\d+$/)[0])"
_LAST = "document.querySelector('[data-log-rows] > li:last-child .log-text').textContent"
TEXTS = "rows => rows.map((row) => row.querySelector('.log-text').textContent)"


@dataclass
class Gang:
    """A workload of three pods whose processes are this test."""

    workload: Workload
    folder: Path
    pods: list[WrittenLog]

    @property
    def url(self) -> str:
        return f"/workloads/{self.workload.pk}/logs"

    def print(self, first: int, last: int) -> list[str]:
        """Lines with these numbers, by all pods in turn."""
        texts = [f"line {number:06d}" for number in range(first, last)]
        for number, text in enumerate(texts, first):
            self.pods[number % len(self.pods)].print(f"{text}\n")
        return texts

    def end(self) -> None:
        for pod in self.pods:
            pod.end()
        Attempt.objects.filter(workload=self.workload).update(ended_at=db_now())


@pytest.fixture
def gang(world: World) -> Gang:
    workload = digits(world, workers=3)
    folder = Path(settings.GANGLINE.data_dir) / "logs" / str(workload.pk) / "1"
    pods = [WrittenLog(folder, f"worker-{index}") for index in range(3)]
    return Gang(workload, folder, pods)


@pytest.fixture
def show(open_page: Open, gang: Gang) -> Open:
    """Opens the log and waits until its script has begun."""

    def show_(query: str = "", **options: Any) -> Page:
        page = open_page(**options)
        # This test server knows no WebSockets: pages ask instead.
        watch(page).allow("WebSocket connection")
        page.goto(gang.url + query)
        expect(page.locator("[data-log]")).to_have_attribute("data-state", "ready")
        return page

    return show_


def texts(page: Page) -> list[str]:
    found: list[str] = page.locator(ROWS).evaluate_all(TEXTS)
    return found


def until_last(page: Page, text: str, seconds: float = 15) -> None:
    wait_for(lambda: texts(page)[-1:] == [text], seconds=seconds, what=f"the row {text}")


def at_end(page: Page) -> bool:
    script = "v => v.scrollHeight - v.scrollTop - v.clientHeight < 4"
    return bool(page.locator("[data-log-view]").evaluate(script))


def scroll_up(page: Page, pixels: int) -> None:
    page.locator("[data-log-view]").hover()
    page.mouse.wheel(0, -pixels)


def top_row(page: Page) -> tuple[str, float]:
    """The first row that is seen, and its place in pixels."""
    script = """view => {
      const top = view.getBoundingClientRect().top;
      const isSeen = (li) => li.getBoundingClientRect().bottom > top + 1;
      const row = [...view.querySelectorAll("li")].find(isSeen);
      return [row.dataset.id, row.getBoundingClientRect().top];
    }"""
    name, place = page.locator("[data-log-view]").evaluate(script)
    return name, place


def test_the_newest_lines_are_in_view_and_followed(show: Open, gang: Gang) -> None:
    written = gang.print(0, 600)
    page = show()
    assert texts(page) == written[100:]
    assert at_end(page)
    written += gang.print(600, 650)
    until_last(page, written[-1])
    assert texts(page) == written[100:]
    assert at_end(page)
    expect(page.get_by_role("region", name="Log output, 550 lines")).to_be_visible()


@pytest.mark.thorough  # paging is tested without a browser, in `tests/workloads/test_logs_views.py`
def test_l03_a_million_lines_never_fill_the_page(show: Open, gang: Gang) -> None:
    for path in (gang.folder / "worker-0").iterdir():
        path.unlink()
    size = write_lines(gang.folder / "worker-0", 1_000_000, b"epoch loss 0.5 step")
    assert size > 60_000_000
    gang.pods[0] = WrittenLog(gang.folder, "worker-0")
    page = show("?pod=worker-0")
    assert len(texts(page)) == 500
    assert texts(page)[-1] == "epoch loss 0.5 step 999999"
    view = page.locator("[data-log-view]")
    seen = 500
    for _ in range(8):
        view.evaluate("v => { v.scrollTop = 0; }")
        page.wait_for_function(f"() => {_FIRST} < {1_000_000 - seen}")
        seen = 1_000_000 - int(page.evaluate(_FIRST))
        assert len(texts(page)) <= 2000
    assert seen >= 4_500
    numbers = [int(text.rpartition(" ")[2]) for text in texts(page)]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    page.get_by_role("button", name="Newest lines").click()
    until_last(page, "epoch loss 0.5 step 999999")
    heap = "() => performance.memory.usedJSHeapSize"
    before = page.evaluate(heap)
    for burst in range(10):
        gang.pods[0].print("".join(f"more {burst * 1000 + n}\n" for n in range(1000)))
        until_last(page, f"more {burst * 1000 + 999}")
        assert len(texts(page)) <= 2000
    assert page.evaluate(heap) - before < 60_000_000


def test_l04_new_lines_do_not_move_what_is_read_by_a_pixel(show: Open, gang: Gang) -> None:
    written = gang.print(0, 1000)
    page = show()
    scroll_up(page, 2000)
    expect(page.get_by_role("button", name="Follow")).to_have_attribute("aria-pressed", "false")
    wait_for(lambda: top_row(page) == top_row(page), what="a view at rest")
    before = top_row(page)
    written += gang.print(1000, 2000)
    expect(page.get_by_role("button", name=re.compile("1.000 new lines"))).to_be_visible()
    assert top_row(page) == before
    page.get_by_role("button", name=re.compile("1.000 new lines")).click()
    until_last(page, written[-1])
    assert at_end(page)
    assert texts(page) == written[-len(texts(page)) :]
    expect(page.get_by_role("button", name="Follow")).to_have_attribute("aria-pressed", "true")


@pytest.mark.thorough
def test_older_lines_come_in_above_without_moving_the_view(show: Open, gang: Gang) -> None:
    written = gang.print(0, 1500)
    gang.end()
    page = show()
    place = page.locator("[data-log-view]").evaluate(
        "v => { v.scrollTop = 500; return v.scrollTop; }"
    )
    assert place == 500
    before = page.locator(ROWS).nth(30).get_attribute("data-id")
    script = "li => li.getBoundingClientRect().top"
    at = page.locator(f'[data-id="{before}"]').evaluate(script)
    wait_for(lambda: len(texts(page)) == 1000, what="older lines")
    assert page.locator(f'[data-id="{before}"]').evaluate(script) == at
    assert texts(page) == written[500:]


@pytest.mark.thorough
def test_many_new_lines_while_reading_are_there_when_scrolled_to(show: Open, gang: Gang) -> None:
    written = gang.print(0, 600)
    page = show()
    scroll_up(page, 1500)
    written += gang.print(600, 4200)
    expect(page.get_by_role("button", name=re.compile("3.600 new lines"))).to_be_visible()
    found = texts(page)
    view = page.locator("[data-log-view]")
    for _ in range(60):
        view.evaluate("v => { v.scrollTop = v.scrollHeight; }")
        now = wait_for(lambda: texts(page))
        found += [text for text in now if text not in set(found)]
        if found[-1] == written[-1]:
            break
        page.wait_for_function(f"last => {_LAST} !== last", arg=now[-1])
    assert found == written[-len(found) :]
    assert len(found) == len(set(found)) >= 4_100


def test_l05_an_outage_loses_and_doubles_nothing(show: Open, gang: Gang) -> None:
    written = gang.print(0, 100)
    page = show()
    page.context.set_offline(True)
    written += gang.print(100, 700)
    expect(page.get_by_text("No connection.")).to_be_visible()
    written += gang.print(700, 1300)
    page.context.set_offline(False)
    until_last(page, written[-1], seconds=30)
    written += gang.print(1300, 1400)
    until_last(page, written[-1])
    assert texts(page) == written
    expect(page.get_by_text("No connection.")).to_be_hidden()


def test_l02_search_opens_a_line_that_is_not_loaded(show: Open, gang: Gang) -> None:
    gang.print(0, 3000)
    gang.pods[2].print("\x1b[33mNeedle\x1b[0m in the haystack\n")
    gang.print(3000, 9000)
    gang.end()
    page = show()
    assert not any("Needle" in text for text in texts(page))
    page.get_by_role("searchbox", name="Search in the whole log").fill("needle IN")
    page.keyboard.press("Enter")
    row = page.locator(f"{ROWS}[aria-current=true]")
    expect(row).to_contain_text("Needle in the haystack")
    expect(page.locator("[data-log-hit-count]")).to_have_text("1 of 1 hit")
    _assert_centred(page)
    assert re.search(r"[?&]at=worker-2%3A\d+", page.url)
    assert "q=needle" in page.url
    page.reload()
    expect(row).to_contain_text("Needle in the haystack")
    _assert_centred(page)
    expect(page.locator("[data-log-hit-count]")).to_have_text("1 of 1 hit")
    assert page.evaluate("CSS.highlights.get('log-hit').size") == 1


def _assert_centred(page: Page) -> None:
    script = """view => {
      const box = view.getBoundingClientRect();
      const row = view.querySelector("li[aria-current=true]").getBoundingClientRect();
      return Math.abs((row.top + row.bottom) / 2 - (box.top + box.bottom) / 2);
    }"""
    assert page.locator("[data-log-view]").evaluate(script) < 30


@pytest.mark.thorough
def test_next_and_previous_go_through_the_hits(show: Open, gang: Gang) -> None:
    gang.print(0, 4000)
    gang.end()
    page = show()
    page.get_by_role("searchbox").fill("line 00100")
    page.keyboard.press("Enter")
    row = page.locator(f"{ROWS}[aria-current=true]")
    expect(row).to_contain_text("line 001000")
    page.get_by_role("button", name="Next hit").click()
    expect(row).to_contain_text("line 001001")
    page.get_by_role("button", name="Previous hit").click()
    page.get_by_role("button", name="Previous hit").click()
    expect(row).to_contain_text("line 001009")
    expect(page.locator("[data-log-hit-count]")).to_have_text("10 of 10 hits")
    page.get_by_role("button", name="List").click()
    page.locator("[data-log-found] button").nth(4).click()
    expect(row).to_contain_text("line 001004")


def test_l07_what_a_process_prints_is_text(show: Open, gang: Gang) -> None:
    hostile = (
        "<script>document.title = 'owned'</script>\n"
        "</ol></div><img src=x onerror=\"document.title='owned'\">\n"
        "\x1b]0;owned\x07title \x1b]52;c;b3duZWQ=\x07clipboard "
        "\x1b]8;;javascript:alert(1)\x1b\\link\n"
        "\x1b[2J\x1bcafter \x9b31m\x1b[31mred\x1b[0m\n"
        "\x1b]0;never ended"
    )
    gang.pods[0].print(hostile + "\n" + "{{constructor}} \u202egnp.exe \x00\n")
    page = show()
    gang.pods[1].print(hostile + "\n")
    expect(page.locator(ROWS)).to_have_count(11)
    expected = [
        "<script>document.title = 'owned'</script>",
        "</ol></div><img src=x onerror=\"document.title='owned'\">",
        "title clipboard link",
        "after red",
        "",
    ]
    assert texts(page) == [*expected, "{{constructor}} U+202Egnp.exe ␀", *expected]
    assert page.title() == "Logs – digits – Gangline"
    assert page.locator("[data-log-rows] :not(li, time, span)").count() == 0
    assert page.locator("[data-log-rows] .fg1").count() == 2


@pytest.mark.thorough
def test_a_progress_bar_is_one_row_that_changes(show: Open, gang: Gang) -> None:
    bar = gang.pods[0]
    bar.print("\r 1%")
    bar.pause()
    page = show()
    assert texts(page) == [" 1%"]
    for percent in (20, 60, 99):
        bar.print(f"\r{percent}%")
        bar.pause()
        expect(page.locator(ROWS)).to_have_text([re.compile(f"{percent}%$")])
    bar.print(" done\nnext\n")
    wait_for(lambda: texts(page) == ["99% done", "next"])


@pytest.mark.thorough
def test_a_long_line_is_cut_and_shown_whole_on_request(show: Open, gang: Gang) -> None:
    gang.pods[0].print("a" * 20_000 + "\n")
    page = show()
    assert len(texts(page)[0]) == 8192 + len("show all")
    page.get_by_role("link", name="show all").click()
    wait_for(lambda: len(texts(page)[0]) == 20_000)


@pytest.mark.thorough
def test_a_pod_is_chosen_and_the_choice_is_in_the_address(show: Open, gang: Gang) -> None:
    gang.print(0, 90)
    page = show()
    page.get_by_label("Pods").select_option("worker-1")
    expect(page).to_have_url(re.compile("pod=worker-1"))
    expect(page.locator(ROWS)).to_have_count(30)
    gang.pods[0].print("of another pod\n")
    gang.pods[1].print("of this pod\n")
    until_last(page, "of this pod")
    assert len(texts(page)) == 31


@pytest.mark.thorough
def test_wrapping_and_times_are_kept_for_the_next_log(show: Open, gang: Gang) -> None:
    gang.print(0, 30)
    page = show()
    page.get_by_role("button", name="Wrap long lines").click()
    page.get_by_role("button", name="Times").click()
    page.reload()
    expect(page.locator("[data-log-view]")).to_have_class(re.compile("wrapped"))
    expect(page.locator("[data-log-view] time").first).to_be_hidden()


@pytest.mark.thorough
def test_the_end_of_the_log_is_told(show: Open, gang: Gang) -> None:
    gang.print(0, 5)
    page = show()
    gang.end()
    expect(page.get_by_text("The log is complete.")).to_be_visible()
    expect(page.get_by_role("button", name="Follow")).to_be_hidden()


@pytest.mark.thorough
def test_error_lines_are_spoken_and_only_now_and_then(show: Open, gang: Gang) -> None:
    gang.print(0, 5)
    page = show()
    said = page.locator("[data-log-said]")
    gang.pods[0].print("ERROR: first\n")
    expect(said).to_have_text("ERROR: first")
    gang.pods[0].print("ERROR: second\n")
    until_last(page, "ERROR: second")
    expect(said).to_have_text("ERROR: first")


@pytest.mark.thorough
def test_a_new_attempt_is_offered(show: Open, gang: Gang) -> None:
    gang.print(0, 5)
    page = show()
    Attempt.objects.create(workload=gang.workload, no=2, created_at=db_now())
    Workload.objects.filter(pk=gang.workload.pk).update(attempt_no=2)
    page.get_by_role("link", name="Show its log").click()
    expect(page.get_by_text("The log begins when the pods start.")).to_be_visible()


def test_the_screen_holds_in_both_themes_and_widths(show: Open, gang: Gang) -> None:
    gang.print(0, 200)
    gang.pods[0].print(
        "\x1b[31mred \x1b[32mgreen \x1b[33myellow \x1b[34mblue \x1b[35mpink \x1b[36mcyan\n"
    )
    gang.pods[0].print("Traceback (most recent call last):\nRuntimeError: bad \u202e\n")
    gang.end()
    page = show("?q=line+00019")
    assert_screen(page, "log")


def test_the_overview_shows_the_newest_lines_live(open_page: Open, gang: Gang) -> None:
    gang.print(0, 40)
    page = open_page()
    page.goto(f"/workloads/{gang.workload.pk}")
    rows = page.locator("[data-log-last] li")
    expect(rows).to_have_count(12)
    gang.print(40, 45)
    expect(rows.last).to_contain_text("line 000044")
    expect(rows).to_have_count(12)
