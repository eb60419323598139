"""The screens of a connected Slurm cluster: the check of a real one, and its part of the form."""

from playwright.sync_api import expect

from scripts import system_packages
from scripts.camera import Camera
from tests.beds.slurm.lab import running
from tests.support.lab import checked
from tests.support.product import ADMINISTRATOR, Product

SCREENS = ("cluster-slurm-check",)


def take(product: Product, camera: Camera) -> None:
    """Connect a Slurm of four nodes, and see what its check found."""
    if not camera.wants(*SCREENS):
        return
    if system_packages.missing_parts(["slurm"]):
        print(f"Left out, because Slurm is not installed: {', '.join(SCREENS)}.")
        return
    page = product.window(user=ADMINISTRATOR)
    with running(product.site.folder.parent / "slurm") as lab:
        page.goto("/clusters/new?kind=slurm")
        page.locator("#f-name").fill("hpc")
        page.locator("#way-local").check()
        page.locator("#f-folder").fill(str(lab.folder / "runs"))
        page.locator("#f-config").fill(str(lab.config))
        page.get_by_role("button", name="Connect").click()
        checked(page, timeout=40_000)
        expect(page.locator("[data-step=Frameworks]")).to_be_visible()
        camera.take(page, "cluster-slurm-check")
