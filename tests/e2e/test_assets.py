"""AC-A01: assets are made, changed and deleted by keyboard alone."""

from collections.abc import Callable, Mapping

import pytest
from playwright.sync_api import Locator, Page, expect

from assets.models import Asset, Credential, Template
from tests.e2e.test_form import reach
from tests.resources.data_volume_sample import origin
from tests.support.screens import violations
from tests.support.world import IMAGE, World

Opener = Callable[..., Page]


@pytest.mark.parametrize(
    ("address", "texts", "changed"),
    [
        ("/environments", {"worker.image": IMAGE}, {"worker.workingDir": "/srv"}),
        ("/compute-resources", {"worker.compute.cpuCoreRequest": "0.5"},
         {"worker.compute.cpuCoreRequest": "0.25"}),
        ("/credentials", {"password.user": "dana", "password.password": "x"}, {}),
        ("/templates", {}, {}),
        ("/data-volumes", {"origin": "sets"}, {"description": "Of the lab"}),
    ],
    ids=["environment", "compute", "credential", "template", "data volume"],
)  # fmt: skip
def test_aca01_by_keyboard(
    open_page: Opener,
    world: World,
    address: str,
    texts: Mapping[str, str],
    changed: Mapping[str, str],
) -> None:
    if address == "/data-volumes":
        origin(world)
    page = open_page("administrator")
    page.goto(address)
    pressed(page, page.get_by_role("link", name="New ").first)
    typed(page, "name", "by-keyboard")
    if "credentials" in address:
        reach(page, page.locator('[name="kind"]').first)
        while not page.evaluate("document.activeElement.value === 'password'"):
            page.keyboard.press("ArrowDown")
    for name, text in texts.items():
        typed(page, name, text)
    sent(page, "Create ")
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text("by-keyboard")
    pressed(page, page.get_by_role("link", name="Edit"))
    typed(page, "name", "renamed")
    for name, text in changed.items():
        typed(page, name, text)
    sent(page, "Save")
    expect(heading).to_have_text("renamed")
    assert violations(page) == []
    pressed(page, page.get_by_role("link", name="Delete"))
    pressed(page, page.get_by_role("dialog").get_by_role("button", name="Delete"))
    page.wait_for_url(f"**{address}*")
    assert not Asset.objects.filter(name="renamed").exists()
    assert not Credential.objects.exists()
    assert not Template.objects.exists()


def sent(page: Page, word: str) -> None:
    """A template has every field of the workload form: one sends it from where one is."""
    if "/templates/" not in page.url:
        reach(page, page.locator("button.primary", has_text=word))
    page.keyboard.press("Enter")


def pressed(page: Page, target: Locator) -> None:
    reach(page, target)
    page.keyboard.press("Enter")


def typed(page: Page, name: str, text: str) -> None:
    reach(page, page.locator(f'[name="{name}"]:visible').first)
    page.keyboard.press("Control+a")
    page.keyboard.type(text)
