"""The screens of a connected cluster, of a real one: the bed, if its programs are built."""

import time

from playwright.sync_api import Page, expect

from scripts.camera import Camera
from tests.beds.kubernetes import building
from tests.beds.kubernetes.bed import running
from tests.support.lab import checked
from tests.support.orphans import left_over
from tests.support.product import ADMINISTRATOR, Product

SCREENS = (
    "clusters-kubernetes", "cluster-settings", "cluster-settings-overtaken", "cluster-orphans",
    "cluster-nodes", "cluster-frameworks", "node",
    "cluster-orphan-delete", "cluster-credential", "cluster-credential-refused", "cluster-remove",
)  # fmt: skip


def take(product: Product, camera: Camera) -> None:
    """Change the settings and credential of a real cluster, and look at what was left on it."""
    if not camera.wants(*SCREENS):
        return
    if not building.is_built():
        print(f"Left out, because no bed is built (make bed-build): {', '.join(SCREENS)}.")
        return
    page = product.window(user=ADMINISTRATOR)
    with running(product.site.folder.parent / "bed-2") as bed:
        page.goto("/clusters/new")
        page.locator("#f-name").fill("zurich")
        page.locator("#f-kubeconfig").fill(bed.kubeconfig("gangline"))
        page.get_by_role("button", name="Connect").click()
        checked(page, timeout=40_000)
        address = page.url.removesuffix("/checks")
        _parts_of_a_cluster(camera, page, address)
        with left_over(bed, product.site.installation_id()):
            _settings_of_a_cluster(product, camera, page, address)
            _credential_of_a_cluster(camera, page, address)
            _left_on_a_cluster(camera, page, address)
    page.goto(f"{address}/delete")
    camera.take(page, "cluster-remove")


def _parts_of_a_cluster(camera: Camera, page: Page, address: str) -> None:
    for part in ("nodes", "frameworks"):
        page.goto(f"{address}/{part}")
        camera.take(page, f"cluster-{part}")
    page.goto("/nodes")
    page.locator("tbody a").first.click()
    page.wait_for_load_state()
    camera.take(page, "node")


def _settings_of_a_cluster(product: Product, camera: Camera, page: Page, address: str) -> None:
    page.goto(f"{address}/edit")
    camera.take(page, "cluster-settings")
    other = product.window(user=ADMINISTRATOR)
    other.goto(f"{address}/edit")
    other.locator("#f-namespace_prefix").fill("lab")
    other.get_by_role("button", name="Save").click()
    page.locator("#f-gpu_resource").fill("amd.com/gpu")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Someone else changed this")).to_be_visible()
    camera.take(page, "cluster-settings-overtaken")


def _credential_of_a_cluster(camera: Camera, page: Page, address: str) -> None:
    page.goto(f"{address}/credential")
    camera.take(page, "cluster-credential")
    page.locator("#way-token").check()
    page.locator("#f-server").fill("https://127.0.0.1:9")
    page.locator("#f-token").fill("not-used-anywhere")
    page.get_by_role("button", name="Replace the credential").click()
    failed = page.locator("[data-step=Credential][data-state=failed]")
    expect(failed).to_be_visible(timeout=40_000)
    page.reload()
    camera.take(page, "cluster-credential-refused")
    page.get_by_role("button", name="Check again").click()
    expect(page.locator("#check[data-checking=no]")).to_be_visible(timeout=40_000)


def _left_on_a_cluster(camera: Camera, page: Page, address: str) -> None:
    """Two looks are needed, up to five minutes apart."""
    deadline = time.monotonic() + 480
    while not page.get_by_role("link", name="Delete resnet-night").count():
        if time.monotonic() > deadline:
            raise AssertionError("the orphan was not found")
        page.wait_for_timeout(3000)
        page.goto(f"{address}/checks")
    camera.take(page, "cluster-orphans")
    page.get_by_role("link", name="Delete resnet-night").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    camera.take(page, "cluster-orphan-delete")
    page.goto("/clusters")
    camera.take(page, "clusters-kubernetes")
