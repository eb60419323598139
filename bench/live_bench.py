"""Change → DOM in a real browser, beside a page that a raw WebSocket writes into.

Both the changes and the server that tells of them are in one process, as in embedded mode.
"""

import json
import time
import urllib.request
from collections import defaultdict
from typing import Any

from playwright.sync_api import Page, sync_playwright

from bench import servers
from bench.loads import Samples, arrivals, median, row
from bench.report import Row, Target
from bench.servers import Place
from scripts import system_packages

RATES, SECONDS, ROUNDS, ROWS = (10, 100, 1000), 6, 2, 50
TARGETS = {100: (Target("p95", 80),), 1000: (Target("p95", 250),)}
KINDS = {"product": ("/workloads", "[data-live][data-state=live]"), "raw": ("/bench/raw", "td")}
# Every change of a cell: its row, the moment it holds, and when it was there.
WATCH = """() => {
  window.seen = [];
  const note = (place) => {
    const cell = place.closest?.("td") ?? place.parentElement?.closest("td");
    const stamp = cell?.textContent.match(/[0-9]{13}\\.[0-9]{3}/)?.[0];
    const id = cell?.closest("tr")?.dataset.id ?? cell?.id;
    if (stamp) window.seen.push([id, Number(stamp), performance.timeOrigin + performance.now()]);
  };
  const all = {subtree: true, childList: true, characterData: true};
  new MutationObserver((found) => found.forEach((one) => note(one.target)))
    .observe(document.querySelector("tbody"), all);
}"""


def run() -> list[Row]:
    with servers.place(DJANGO_SETTINGS_MODULE="bench.settings") as place:
        place.manage("migrate", "--verbosity", "0")
        cookie = place.inside("bench.live_bench:prepare").split("=")
        place.serve("bench.live_site:application")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=system_packages.chromium_program(), args=["--no-sandbox"]
            )
            context = browser.new_context()
            url = f"http://127.0.0.1:{place.port}"
            context.add_cookies([{"name": cookie[0], "value": cookie[1], "url": url}])
            found = [_row(place, context.new_page(), url, rate) for rate in RATES]
            browser.close()
    return found


def prepare() -> str:
    """Inside: 50 workloads that wait, and somebody signed in who sees them."""
    from bench import organisation, rules
    from gangline.access.actor import Actor
    from workloads.services import bodies, submission

    world = organisation.make()
    user = world.by_name[organisation.ADMINISTRATOR]
    for number in range(ROWS):
        project = world.projects[number % len(world.projects)]
        body = rules.usual_body(f"live-{number:02}", project.pk, str(world.cluster.pk))
        submission.submit(actor=Actor(user=user, channel="api"), request=bodies.read(user, body))
    return organisation.cookie(organisation.ADMINISTRATOR)


def _row(place: Place, page: Page, url: str, rate: int) -> Row:
    times = {"product": Samples(), "raw": Samples()}
    lost, changes = 0, []
    for _ in range(ROUNDS):
        for kind, (path, ready) in KINDS.items():
            page.goto(url + path)
            page.wait_for_selector(ready, state="attached")
            page.evaluate(WATCH)
            latencies, missing, count = _one(url, page, kind, rate)
            times[kind].wall += latencies
            if kind == "product":
                lost += missing
                changes.append(count / SECONDS)
    note = f"{median(changes):.0f}/s reached; {lost} rows without their last state"
    return row(
        "live", f"{rate} changes/s on a page of {ROWS} rows", times["product"], floor=times["raw"],
        floor_name="raw WebSocket", targets=TARGETS.get(rate, ()), note=note,
    )  # fmt: skip


def _one(url: str, page: Page, kind: str, rate: int) -> tuple[list[float], int, int]:
    """Latency of each change, rows that do not show their last one, and number of changes."""
    _ask(f"{url}/bench/changes?kind={kind}&rate={rate}&seconds={SECONDS}")
    page.wait_for_timeout(SECONDS * 1000)
    made = _settled_result(url)
    page.wait_for_timeout(2000)
    seen: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for key, stamp, at in page.evaluate("window.seen"):
        seen[key].append((stamp, at))
    found = arrivals(made, seen)
    return found.latencies, found.missing, len(made)


def _settled_result(url: str) -> list[tuple[str, float]]:
    """Every change, once none has been added for a while."""
    before, made = -1, _ask(f"{url}/bench/changes/result")["made"]
    while len(made) != before:
        before = len(made)
        time.sleep(0.5)
        made = _ask(f"{url}/bench/changes/result")["made"]
    return [(str(key), float(stamp)) for key, stamp in made]


def _ask(address: str) -> Any:
    with urllib.request.urlopen(address, timeout=30) as answer:
        return json.load(answer)
