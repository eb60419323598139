"""Drive the real product in Chromium and write every screen to `docs/screens/`.

Usage: `python -m scripts.screenshots [name …]`. A fresh installation with the demo organisation
runs the sample and a few more workloads; each screen is taken in both themes at 1440 and 390 px.
"""

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from scripts import (
    asset_screens,
    cluster_screens,
    form_screens,
    identity_screens,
    kubernetes_screens,
    organization_screens,
    slurm_screens,
    system_packages,
)
from scripts.camera import TARGET, Camera
from tests.support.installation import embedded
from tests.support.product import ADMINISTRATOR, GPUS, Product
from tests.support.servers import BROWSER_FLAGS

ROOT = Path(__file__).resolve().parent.parent
RUNTIMES = ROOT / "var" / "runtimes"
LONG = "averylongworkloadnamewithoutanyhyphenatallinitxyz01"
TRAINS = (
    'python3 -uc "import itertools, os, time; '
    "[print(f'epoch {n:3d}  loss {0.93 ** n:.4f}  rank {os.environ.get(\\\"RANK\\\")}') "
    'or time.sleep(0.5) for n in itertools.count()]"'
)
WORKS = (
    'python3 -uc "import os, time; rank = int(os.environ[\\"RANK\\"]); held = []\n'
    "began = time.time()\n"
    "os.makedirs('checkpoints'); open('history.csv', 'w').write('epoch,loss' * 90)\n"
    "[open(f'checkpoints/epoch-{n}.pt', 'wb').write(b'w' * 350_000) for n in range(1, 5)]\n"
    "while time.time() - began < 50:\n"
    "    held += [b'x' * (2 << 20)] * (len(held) < 40)\n"
    "    busy = time.process_time() + 0.1 + 0.05 * rank\n"
    "    while time.process_time() < busy: pass\n"
    '    time.sleep(0.2 if time.time() - began < 30 else 0.5)"'
)
"""Uses CPU and memory for a while, each rank more than the one before."""
BREAKS = (
    "python3 -uc \"print('reading shard 3 of 8'); "
    "raise SystemExit('shard-3.npz: truncated, 1 048 576 bytes expected')\""
)


def main(names: list[str]) -> int:
    TARGET.mkdir(parents=True, exist_ok=True)
    if not names:
        for old in TARGET.glob("*.png"):
            old.unlink()
    with _browser() as browser, _product(browser) as product:
        camera = Camera(names, browser.new_page())
        for screens in (
            _before_anything,
            asset_screens.take_empty,
            form_screens.take,
            _workloads,
            _places,
            asset_screens.take,
            organization_screens.take,
            identity_screens.take,
            kubernetes_screens.take,
            cluster_screens.take,
            slurm_screens.take,
        ):
            screens(product, camera)
            product.close_windows()
    size = sum(path.stat().st_size for path in TARGET.glob("*.png"))
    print(f"{camera.taken} pictures, {size / 1e6:.1f} MB in docs/screens in all")
    return 0


@contextmanager
def _browser() -> Iterator[Browser]:
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(
            executable_path=system_packages.chromium_program(),
            args=[*BROWSER_FLAGS, *sandbox, "--hide-scrollbars"],
        )


@contextmanager
def _product(browser: Browser) -> Iterator[Product]:
    folder = Path(tempfile.mkdtemp(prefix="gangline-screens-")) / "data"
    try:
        settings = {"GANGLINE_LOCAL_GPUS": str(GPUS), "GANGLINE_CLUSTER_ADDRESSES": "127.0.0.0/8"}
        with embedded(folder, **settings) as site:
            (folder / "runtimes").symlink_to(RUNTIMES)
            site.start()
            product = Product(site, browser)
            product.ready()
            yield product
            product.close_windows()
    finally:
        shutil.rmtree(folder.parent, ignore_errors=True)


def _before_anything(product: Product, camera: Camera) -> None:
    """What a person sees on the first day."""
    page = product.window(user="")
    page.goto("/login")
    camera.take(page, "sign-in")
    page.get_by_label("User name").fill("researcher")
    page.get_by_label("Password").fill("not it")
    page.get_by_role("button", name="Sign in").click()
    camera.take(page, "sign-in-refused")
    page = product.window()
    page.goto("/")
    camera.take(page, "home-first-day")
    page.goto("/workloads")
    camera.take(page, "workloads-empty")
    page = product.window(user=ADMINISTRATOR)
    page.goto("/")
    camera.take(page, "home-administrator-first-day")


def _workloads(product: Product, camera: Camera) -> None:
    """The table and the pages of workloads, one in every state that this machine reaches."""
    page = product.window()
    page.goto("/workloads")
    page.get_by_role("button", name="Run the sample").click()
    page.wait_for_url(re.compile("/workloads/[0-9a-f-]{36}$"))
    completed = page.url.rsplit("/", 1)[1]
    until = product.site.until
    small = {"cpuCoreRequest": 0.05, "cpuMemoryRequest": "32M"}
    until(completed, "Completed", seconds=90)
    asks = {"cpuCoreRequest": 0.5, "cpuMemoryRequest": "256M"}
    measured = product.start("three-that-work", WORKS, workers=3, compute=asks)
    failed = product.start("shard-check", BREAKS, workers=3, compute=small)
    stopped = product.start("stopped-by-hand", TRAINS, compute=small)
    until(failed, "Failed")
    until(stopped, "Running")
    product.site.act(stopped, "suspend")
    until(stopped, "Stopped")
    holder = product.start(
        "two-gpus-all-night", TRAINS, workers=2, compute=small | {"gpuDevicesRequest": 1}
    )
    until(holder, "Running")
    wide = product.start("wide-sweep", TRAINS, workers=20, compute=small)
    until(wide, "Running", seconds=60)
    pending = product.start(LONG, TRAINS, compute=small | {"gpuDevicesRequest": 1})
    cannot = product.start("too-large", TRAINS, compute=small | {"gpuDevicesRequest": 8})
    until(pending, "Pending")
    until(cannot, "Cannot start")

    page = product.window()
    page.goto("/")
    camera.take(page, "home")
    page.goto("/workloads")
    camera.take(page, "workloads")
    page.get_by_label("Select shard-check").check()
    page.get_by_label("Select too-large").check()
    camera.take(page, "workloads-selected")
    page.get_by_role("button", name="Actions for two-gpus-all-night").click()
    camera.take(page, "workloads-menu")
    page.goto("/workloads?q=bert&project=vision")
    camera.take(page, "workloads-nothing-matches")
    _tools(page, camera)
    page.goto("/workloads")
    page.wait_for_load_state("networkidle")
    came = product.start("came-meanwhile", "true", workers=1, compute=small)
    expect(page.get_by_role("link", name="1 new workload – show")).to_be_visible()
    product.site.act(stopped, "delete")
    expect(page.get_by_test_id(f"row-{stopped}")).to_have_attribute("data-gone", "")
    camera.take(page, "workloads-changing")
    until(came, "Completed")
    page = product.window()
    page.route_web_socket(re.compile("/live$"), lambda socket: socket.close(code=1011))
    page.route(re.compile("/workloads/changes"), lambda route: route.abort())
    page.goto("/workloads")
    expect(page.get_by_test_id("live")).to_have_attribute("data-state", "offline", timeout=60_000)
    camera.take(page, "workloads-offline")

    states = {
        "completed": completed, "failed": failed, "overview": holder, "large": wide,
        "pending": pending, "cannot-start": cannot,
    }  # fmt: skip
    page = product.window()
    for state, workload_id in states.items():
        page.goto(f"/workloads/{workload_id}")
        page.wait_for_load_state("networkidle")
        camera.take(page, f"details-{state}")
    for tab in ("pods", "logs", "events", "spec"):
        page.goto(f"/workloads/{completed}/{tab}")
        page.wait_for_load_state("networkidle")
        camera.take(page, f"details-{tab}")
    until(measured, "Completed", seconds=120)
    for tab in ("overview", "pods", "report"):
        page.goto(f"/workloads/{measured}{'' if tab == 'overview' else f'/{tab}'}")
        page.wait_for_load_state("networkidle")
        camera.take(page, "details-report" if tab == "report" else f"details-figures-{tab}")
    page.goto(f"/workloads/{measured}/files?path=worker-0")
    camera.take(page, "details-files")
    page.goto(f"/workloads/{wide}/pods")
    camera.take(page, "details-pods-large")
    page.goto(f"/workloads/{holder}/terminal?pod=worker-0&pod=worker-1")
    for pod in ("worker-0", "worker-1"):
        place = page.locator(f".terminal[data-pod={pod}]")
        expect(place).to_have_attribute("data-state", "open")
        place.locator("textarea").focus()
        page.keyboard.type("PS1='$ '; clear; echo rank $RANK of $WORLD_SIZE; ls examples\n")
        expect(place.locator(".xterm-accessibility-tree")).to_contain_text(f"rank {pod[-1]} of 2")
    camera.take(page, "details-terminal")
    limits = {"sessionTimeLimitSeconds": 28800, "sessionIdleLimitSeconds": 1800}
    session = product.start("notebook", "", interactive=True, compute=small, **limits)
    until(session, "Running")
    page.goto(f"/workloads/{session}")
    page.wait_for_load_state("networkidle")
    camera.take(page, "details-interactive")
    page.goto(f"/workloads/{completed}/terminal")
    camera.take(page, "details-terminal-none")
    page.goto(f"/workloads/{holder}")
    page.get_by_role("link", name="Stop").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    camera.take(page, "details-stop")
    page.goto(f"/workloads/{failed}/delete")
    camera.take(page, "details-delete")
    page.goto("/workloads")
    for name in ("wide-sweep", "shard-check"):
        page.get_by_label(f"Select {name}").check()
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_role("button", name="Stop 1 workload")).to_be_visible()
    camera.take(page, "workloads-bulk")


def _tools(page: Page, camera: Camera) -> None:
    """What the table can be made to show, and how that is kept."""
    page.goto("/workloads")
    page.get_by_role("button", name="Columns").click()
    camera.take(page, "workloads-columns")
    page.goto("/workloads?status=running&status=attention")
    page.get_by_role("button", name="Status").click()
    camera.take(page, "workloads-filters")
    page.goto("/workloads?status=attention&density=compact")
    camera.take(page, "workloads-compact")
    for name in ("Needs me", "Everything that failed"):
        page.get_by_role("link", name="Views").click()
        page.get_by_role("dialog").get_by_label("Name").fill(name)
        page.get_by_role("button", name="Save view").click()
        expect(page.get_by_test_id("toast")).to_be_visible()
    page.get_by_role("link", name="Views").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    camera.take(page, "workloads-views")


def _places(product: Product, camera: Camera) -> None:
    """Templates, policies, clusters, and pages that are not there."""
    page = product.window(user=ADMINISTRATOR)
    page.goto("/")
    camera.take(page, "home-administrator")
    for name in ("templates", "policies", "clusters"):
        page.goto(f"/{name}")
        camera.take(page, name)
    page.goto("/clusters")
    page.get_by_role("link", name="this-machine").click()
    expect(page.get_by_test_id("page-cluster")).to_be_visible()
    camera.take(page, "cluster")
    page.goto("/policies")
    page.get_by_role("link", name="vision", exact=True).click()
    editor = page.get_by_test_id("policy-text")
    expect(editor).to_be_visible()
    camera.take(page, "policy")
    page.get_by_role("link", name="Effective policy").click()
    expect(page.get_by_test_id("page-effective-policy")).to_be_visible()
    camera.take(page, "policy-effective")
    page.go_back()
    editor.fill(editor.input_value().replace("max: 4", "max: four"))
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_test_id("problem-summary")).to_be_visible()
    camera.take(page, "policy-errors")
    page.goto("/account/tokens")
    page.get_by_label("Name").fill("nightly")
    page.get_by_role("button", name="New token").click()
    secret = page.get_by_test_id("new-token")
    # The picture is published: the token is of an installation that ends with it, and cut.
    secret.evaluate("e => { e.textContent = e.textContent.slice(0, 18) + '…'; }")
    camera.take(page, "tokens")
    page.goto("/api/v1/docs")
    page.wait_for_load_state("networkidle")
    camera.take(page, "api-reference")
    page.goto("/workloads/00000000-0000-4000-8000-000000000000")
    camera.take(page, "not-found")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
