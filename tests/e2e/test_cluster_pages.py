"""One walk over the pages of a connected cluster, with the keyboard where it matters."""

import secrets
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from playwright.sync_api import Page, expect

from gangline.clusters.connections import driver_for
from gangline.clusters.models import Cluster, Credential, Orphan
from gangline.db.clock import db_now
from gangline.drivers.kubernetes.driver import KubernetesDriver
from gangline.drivers.kubernetes.resources import NAMESPACES
from tests.beds.kubernetes.bed import Bed
from tests.support import orphans as orphans_on_bed
from tests.support.lab import checked
from tests.support.screens import violations
from tests.support.waiting import wait_for
from workloads import refs
from workloads.services import orphans

Opener = Callable[..., Page]
ADMIN = "administrator"
pytestmark = pytest.mark.usefixtures("loopback_admitted")


def test_an_administrator_looks_after_a_cluster(open_page: Opener, bed: Bed) -> None:
    page = patient(open_page(ADMIN))
    page.goto("/clusters/new")
    page.locator("#f-name").fill("lab")
    page.locator("#f-kubeconfig").fill(bed.kubeconfig("gangline"))
    page.get_by_role("button", name="Connect").click()
    checked(page, timeout=60_000)
    lab = Cluster.objects.get(name="lab")
    settings_of_two(open_page, page, lab)
    a_credential_that_fails(page, lab)
    with own_namespace(bed, lab) as namespace:
        marks = orphans_on_bed.marks(refs.installation_id(), str(uuid.uuid4()))
        orphans_on_bed.put(bed, namespace, "lost", marks)
        two_looks(lab)
        an_orphan_is_deleted(page, lab)
        there = bed.client.get
        wait_for(lambda: not there(orphans_on_bed.JOBS, namespace, "lost").ok, seconds=30)
    page.goto(f"/clusters/{lab.pk}")
    page.get_by_role("link", name="Delete").click()
    expect(page.get_by_role("dialog")).to_contain_text("erases its credential")
    page.get_by_label("Type zurich to confirm").fill("zurich")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.wait_for_url("**/clusters")
    assert not Credential.objects.exists()


@contextmanager
def own_namespace(bed: Bed, lab: Cluster) -> Iterator[str]:
    """A namespace that Gangline made, and may work in, as it makes those of projects."""
    driver, name = driver_for(lab), f"gangline-{secrets.token_hex(4)}"
    assert isinstance(driver, KubernetesDriver)
    driver._effects._namespaces.prepare(name, refs.installation_id())
    try:
        yield name
    finally:
        made = bed.client.get(NAMESPACES, "", name)
        bed.client.delete(NAMESPACES, "", name, uid=made.body["metadata"]["uid"])


def patient(page: Page) -> Page:
    """The machine has a whole Kubernetes to carry."""
    page.set_default_timeout(90_000)
    return page


def settings_of_two(open_page: Opener, page: Page, lab: Cluster) -> None:
    other = patient(open_page(ADMIN, viewport={"width": 390, "height": 844}))
    for one in (page, other):
        one.goto(f"/clusters/{lab.pk}/edit")
        assert not one.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert violations(page) == []
    expect(page.get_by_role("radio", name="Kueue")).to_be_disabled()
    page.locator("#f-name").fill("zurich")
    page.locator("#f-name").press("Enter")
    page.wait_for_url(f"**/clusters/{lab.pk}")
    other.locator("#f-name").fill("zurich")
    other.locator("#f-gpu_resource").fill("amd.com/gpu")
    other.get_by_role("button", name="Save").click()
    expect(other.get_by_text("Someone else changed this")).to_be_visible()
    assert other.locator("#f-gpu_resource").input_value() == "amd.com/gpu"
    assert violations(other) == []
    other.get_by_role("button", name="Replace").click()
    other.wait_for_url(f"**/clusters/{lab.pk}")
    lab.refresh_from_db()
    assert (lab.name, lab.config["gpuResource"]) == ("zurich", "amd.com/gpu")


def a_credential_that_fails(page: Page, lab: Cluster) -> None:
    sealed = Credential.objects.get(cluster=lab).sealed
    page.goto(f"/clusters/{lab.pk}")
    page.get_by_role("link", name="Replace credential").click()
    page.locator("#way-token").check()
    page.locator("#f-server").fill("https://127.0.0.1:9")
    page.locator("#f-token").fill("not-it")
    page.get_by_role("button", name="Replace the credential").click()
    failed = page.locator("[data-step=Credential][data-state=failed]")
    expect(failed).to_contain_text("The previous credential is still in use.", timeout=60_000)
    expect(page.get_by_role("heading", level=1)).to_contain_text("Connected")
    assert violations(page) == []
    assert Credential.objects.get(cluster=lab).sealed == sealed


def two_looks(lab: Cluster) -> None:
    """As the background makes them, the first of them more than a minute ago."""
    assert orphans.search(lab, driver_for(lab))
    Orphan.objects.update(first_seen_at=db_now() - timedelta(seconds=90))
    assert orphans.search(lab, driver_for(lab))


def an_orphan_is_deleted(page: Page, lab: Cluster) -> None:
    page.goto("/clusters")
    page.get_by_role("link", name="1 unmanaged object").click()
    page.get_by_role("button", name="Ignore lost").click()
    expect(page.get_by_text("PyTorchJob lost is now ignored.")).to_be_visible()
    page.get_by_text("1 ignored").click()
    page.get_by_role("button", name="List lost again").click()
    link = page.get_by_role("link", name="Delete lost")
    link.focus()
    link.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Delete PyTorchJob lost?")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(link).to_be_focused()
    link.press("Enter")
    assert violations(page) == []
    dialog.get_by_role("button", name="Delete lost").click()
    expect(page.get_by_text("PyTorchJob lost is being deleted.")).to_be_visible()
