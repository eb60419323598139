"""AC-A01, AC-A05: assets are made, tested, changed and deleted by keyboard alone."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from assets.models import Asset, Credential, Template
from gangline.clusters import storage
from gangline.clusters.models import StorageClass
from tests.e2e.test_form import reach
from tests.resources.data_volume_sample import origin
from tests.support import repositories
from tests.support.screens import violations
from tests.support.world import IMAGE, World

Opener = Callable[..., Page]


@pytest.mark.parametrize(
    ("address", "texts", "changed"),
    [
        pytest.param(
            "/environments", {"worker.image": IMAGE}, {"worker.workingDir": "/srv"},
            id="environment",
        ),
        pytest.param(
            "/credentials", {"password.user": "dana", "password.password": "x"}, {},
            id="credential",
        ),
        # The others are the same machinery.
        pytest.param(
            "/compute-resources", {"worker.compute.cpuCoreRequest": "0.5"},
            {"worker.compute.cpuCoreRequest": "0.25"},
            id="compute", marks=pytest.mark.thorough,
        ),
        pytest.param("/templates", {}, {}, id="template", marks=pytest.mark.thorough),
        pytest.param(
            "/data-sources/git",
            {
                "worker.storage.git~item.repository": "https://git.example/code.git",
                "worker.storage.git~item.path": "/code",
            }, {},
            id="data source", marks=pytest.mark.thorough,
        ),
        pytest.param(
            "/my-credentials", {"password.user": "dana", "password.password": "x"}, {},
            id="personal credential", marks=pytest.mark.thorough,
        ),
        pytest.param(
            "/data-volumes", {"origin": "sets"}, {"description": "Of the lab"},
            id="data volume", marks=pytest.mark.thorough,
        ),
    ],
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
    models = (Asset, Credential, Template)
    kept = [one for model in models for one in model.objects.filter(name="renamed")]
    assert [one.version for one in kept] == [2]
    pressed(page, page.get_by_role("link", name="Delete"))
    pressed(page, page.get_by_role("dialog").get_by_role("button", name="Delete"))
    page.wait_for_url(f"**{address}*")
    assert not Asset.objects.filter(name="renamed").exists()
    assert not Credential.objects.exists()
    assert not Template.objects.exists()


@pytest.mark.thorough
def test_aca01_a_storage_class_of_the_cluster_is_configured_by_keyboard(
    open_page: Opener, world: World
) -> None:
    storage.store(world.cluster, [{"name": "fast", "provisioner": "csi.example"}])
    page = open_page("administrator")
    page.goto("/storage-classes")
    pressed(page, page.get_by_role("link", name="fast", exact=True))
    pressed(page, page.get_by_role("link", name="Edit"))
    typed(page, "max_size", "10Gi")
    sent(page, "Save")
    expect(page.get_by_role("heading", level=1)).to_have_text("fast")
    assert violations(page) == []
    kept = StorageClass.objects.get()
    assert (kept.max_size, kept.version) == ("10Gi", 2)


def test_aca05_a_test_says_why_it_failed_and_keeps_nobody_from_creating(
    open_page: Opener, world: World, tmp_path: Path, loopback_admitted: None
) -> None:
    with repositories.serving(tmp_path / "served") as repository:
        repository.commit("one")
        repository.login = ("ada", "s3cr3t")
        page = open_page()
        page.goto("/workloads/new")
        page.locator('[name="workload.name"]').fill("digits")
        page.get_by_role("button", name="Continue to workers").click()
        page.get_by_role("button", name="New data source").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("link", name="Git").click()
        expect(dialog.get_by_label("Repository")).to_be_visible()
        reach(page, dialog.get_by_label("Name"))
        page.keyboard.type("code")
        reach(page, dialog.get_by_label("Repository"))
        page.keyboard.type(repository.url)
        reach(page, dialog.get_by_label("Container path"))
        page.keyboard.type("/code")
        repository.hold()
        button = dialog.get_by_role("button", name="Test connection")
        pressed(page, button)
        expect(dialog.get_by_text("Testing…")).to_be_visible()
        repository.gate.set()
        expect(dialog.locator("[data-code=login]")).to_be_visible()
        expect(button).to_be_focused()
        expect(dialog.get_by_label("Repository")).to_have_value(repository.url)
        assert violations(page) == []
        pressed(page, dialog.get_by_role("button", name="Create Git data source"))
        expect(dialog).to_have_count(0)
    assert Asset.objects.get().name == "code"


def test_a_password_stays_typed_while_it_is_tested(open_page: Opener, world: World) -> None:
    page = open_page("administrator")
    page.goto("/credentials/new")
    page.locator('[name="dockerRegistry.url"]').fill("registry.invalid")
    page.locator('[name="dockerRegistry.user"]').fill("ada")
    page.locator('[name="dockerRegistry.password"]').fill("s3cr3t")
    page.locator('[name="scope"]').select_option(str(world.vision.scope.pk))
    page.get_by_role("button", name="Test connection").click()
    expect(page.locator("[data-code=name]")).to_be_visible()
    expect(page.locator('[name="dockerRegistry.password"]')).to_have_value("s3cr3t")
    assert page.url.endswith("/credentials/new")


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
