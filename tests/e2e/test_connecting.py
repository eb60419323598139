"""A real cluster is connected in a browser, as the restricted user with the shipped role."""

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from gangline.clusters import connections
from gangline.clusters.models import Cluster
from gangline.drivers.kubernetes.steps import StepName
from tests.beds.kubernetes.bed import Bed
from tests.support.certificates import kubeconfig
from tests.support.screens import violations

Opener = Callable[..., Page]
ADMIN = "administrator"
pytestmark = pytest.mark.usefixtures("loopback_admitted")
PROBLEMS = "problem-summary"


def connect(page: Page, name: str, text: str) -> None:
    page.goto("/clusters/new")
    page.locator("#f-name").fill(name)
    page.locator("#f-kubeconfig").fill(text)
    page.get_by_role("button", name="Connect").click()


def step(page: Page, name: str, state: str) -> None:
    expect(page.locator(f"[data-step='{name}'][data-state={state}]")).to_be_visible(timeout=40_000)


def test_a_cluster_is_connected_and_its_steps_are_seen(open_page: Opener, bed: Bed) -> None:
    page = open_page(ADMIN)
    loads: list[str] = []
    page.goto("/clusters")
    page.get_by_role("link", name="Connect a cluster").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Connect a cluster")
    assert violations(page) == []
    page.on("domcontentloaded", lambda loaded: loads.append(loaded.url))
    page.locator("#f-name").fill("lab")
    page.locator("#f-kubeconfig").fill(bed.kubeconfig("gangline"))
    page.get_by_role("button", name="Connect").click()
    page.get_by_role("link", name="Checks").click()
    step(page, StepName.NODES, "ok")
    expect(page.locator("#check[data-checking=no]")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Connected")
    assert len(loads) == 2, "the steps came without another load of the page"
    for name in ("Reachability", "Certificate", "Identity", "Version", "Clock", "Permissions"):
        step(page, name, "ok")
    page.get_by_role("link", name="Overview").click()
    expect(page.locator("#page-head")).to_contain_text("Kubernetes 1.")
    expect(page.get_by_text("Signs in with")).to_be_visible()
    assert bed.restricted.token not in page.content()
    assert violations(page) == []
    lab = Cluster.objects.get(name="lab")
    assert connections.facts_of(lab).detail["nodes"]["usable"] > 0
    assert lab.capacity["admission"] == "theirs"

    page.get_by_role("link", name="Replace credential").click()
    page.locator("#f-kubeconfig").fill(bed.kubeconfig("admin"))
    page.get_by_role("button", name="Replace the credential").click()
    step(page, "Permissions", "warning")
    page.get_by_role("link", name="Delete").click()
    page.get_by_label("Type lab to confirm").fill("lab")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.wait_for_url("**/clusters")
    assert not Cluster.objects.filter(name="lab").exists()


@pytest.mark.thorough
def test_without_scripts(open_page: Opener, bed: Bed) -> None:
    page = open_page(ADMIN, java_script_enabled=False)
    page.goto("/clusters/new")
    expect(page.locator("#f-server")).to_be_hidden()
    page.locator("#way-token").check()
    expect(page.locator("#f-kubeconfig")).to_be_hidden()
    page.locator("#f-name").fill("lab")
    page.locator("#f-server").fill(bed.restricted.server)
    page.locator("#f-authority").fill(bed.restricted.certificate_authority)
    page.locator("#f-token").fill("wrong")
    page.get_by_role("button", name="Connect").click()
    page.get_by_role("link", name="Checks").click()
    for _ in range(40):
        if page.locator("#check[data-checking=no]").count():
            break
        page.wait_for_timeout(250)
        page.reload()
    step(page, "Identity", "failed")
    expect(page.get_by_text("rejected the credential").first).to_be_visible()
    page.get_by_role("link", name="Replace credential").click()
    page.locator("#way-token").check()
    page.locator("#f-server").fill(bed.restricted.server)
    page.locator("#f-authority").fill(bed.restricted.certificate_authority)
    page.locator("#f-token").fill(bed.restricted.token)
    page.get_by_role("button", name="Replace the credential").click()
    for _ in range(40):
        if page.locator("#check[data-checking=no]").count():
            break
        page.wait_for_timeout(250)
        page.reload()
    step(page, "Permissions", "ok")


def test_what_is_refused_leads_to_its_field_on_a_phone(open_page: Opener) -> None:
    page = open_page(ADMIN, viewport={"width": 390, "height": 844})
    bad = kubeconfig({"server": "https://169.254.169.254"}, {"token": None, "exec": {}})
    connect(page, "lab", json.dumps(bad))
    summary = page.get_by_test_id(PROBLEMS)
    expect(summary).to_be_focused()
    expect(summary).to_contain_text("users[0].user.exec runs a program to log in.")
    expect(summary).to_contain_text("169.254.169.254 is where clouds give out")
    assert page.locator("#f-name").input_value() == "lab"
    assert page.locator("#f-kubeconfig").input_value() == ""
    summary.get_by_role("link").first.click()
    expect(page.locator("#f-kubeconfig")).to_be_focused()
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert violations(page) == []
    assert not Cluster.objects.filter(name="lab").exists()
