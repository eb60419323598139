"""The first days of five people, from an empty installation, in browsers alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.installation import embedded
from tests.support.product import Product
from tests.support.screens import violations
from tests.support.waiting import wait_for

SECRET = "correct horse battery"
HIDDEN = {
    "Node pools", "Nodes", "Users", "Groups", "Roles", "Access rules", "Service accounts",
    "Audit log", "Settings",
}  # fmt: skip
"""Places of those who run something."""


@pytest.fixture
def fresh(chromium: Browser, tmp_path: Path) -> Iterator[Product]:
    """An installation with nothing but this machine and who runs it."""
    with embedded(tmp_path / "data", GANGLINE_DEMO="0", GANGLINE_LOCAL_GPUS="2") as site:
        site.start()
        site.manage("bootstrap", "--admin", "root")
        made = Product(site, chromium)
        yield made
        made.close_windows()
        site.stop()


def places(page: Page) -> set[str]:
    """What the navigation offers."""
    return set(page.locator(".rail .rail-link").all_inner_texts())


def status(page: Page, path: str) -> int:
    return page.request.get(path).status


def number(page: Page, tile: str) -> str:
    return page.locator(".tile", has_text=tile).locator(".tile-value").inner_text()


def step(page: Page, name: str) -> None:
    """From Home by the strip."""
    page.goto("/")
    page.get_by_role("region", name="Set up").get_by_role("link", name=name).click()


def create(page: Page, noun: str) -> None:
    page.get_by_role("button", name=f"Create {noun}").click()


def test_the_first_day_of_everyone(fresh: Product) -> None:
    page = fresh.window("root")
    page.goto("/")
    assert violations(page) == []
    # The first look at the cluster may still be under way.
    wait_for(lambda: page.reload() and number(page, "Clusters connected") == "1 of 1", seconds=20)
    assert number(page, "GPUs in use") == "0 of 2"

    step(page, "Connect a cluster")
    expect(page.get_by_role("heading", level=1)).to_have_text("Connect a cluster")

    step(page, "Create a project")
    page.get_by_role("link", name="New department").click()
    page.get_by_label("Name").fill("research")
    create(page, "department")
    page.locator("#page-head").get_by_role("link", name="New project").click()
    page.get_by_label("Name").fill("team-a")
    page.get_by_label("GPUs", exact=True).first.fill("2")
    assert violations(page) == []
    create(page, "project")
    expect(page.get_by_test_id("quota")).to_contain_text("0 of 2")

    people = {
        "dana": ("L1 researcher", "Project team-a"),
        "pat": ("Project administrator", "Project team-a"),
        "vic": ("Viewer", "Project team-a"),
        "dee": ("Department administrator", "Department research"),
    }
    windows = {name: invited(fresh, page, name, *given) for name, given in people.items()}

    step(page, "Set a policy")
    page.get_by_role("link", name="team-a").first.click()
    page.locator("textarea").fill("rules:\n  worker:\n    numWorkers: {max: 4}\n")
    page.get_by_role("button", name="Save").click()
    page.goto("/")
    done = page.get_by_role("region", name="Set up").locator("li[data-done]")
    expect(done).to_have_count(3)
    changes = page.get_by_role("region", name="Latest changes")
    expect(changes.get_by_role("listitem")).not_to_have_count(0)
    expect(page.get_by_test_id("use-by-project")).to_contain_text("0 of 2")
    page.get_by_role("button", name="Dismiss the set-up steps").click()
    expect(page.get_by_role("region", name="Set up")).to_have_count(0)

    researcher(windows["dana"])
    project_administrator(windows["pat"])
    viewer(windows["vic"])
    department_administrator(windows["dee"])


def invited(fresh: Product, page: Page, name: str, role: str, place: str) -> Page:
    """Somebody whom the administrator invites, in a window of their own, signed in by the link."""
    step(page, "Invite users")
    page.get_by_label("User name").fill(name)
    page.locator("#f-role").select_option(label=role)
    page.locator("#f-scope").select_option(label=place)
    page.get_by_role("button", name="Invite user").click()
    link = page.get_by_test_id("invite-link").inner_text()
    assert SECRET not in page.content()
    own = fresh.window("")
    own.goto(link)
    for field in own.locator("input[type=password]").all():
        field.fill(SECRET)
    own.locator("main form button").last.click()
    own.wait_for_url(f"{fresh.url}/")
    return own


def researcher(page: Page) -> None:
    page.goto("/")
    assert violations(page) == []
    assert not places(page) & HIDDEN
    expect(page.get_by_test_id("use-by-project")).to_contain_text("0 of 2")
    expect(page.get_by_role("region", name="Set up")).to_have_count(0)
    page.get_by_role("link", name="New workload").first.click()
    expect(page.locator("main")).to_contain_text("team-a")
    page.goto("/projects")
    expect(page.get_by_role("link", name="New project")).to_have_count(0)
    page.get_by_role("link", name="team-a").click()
    expect(page.get_by_role("link", name="Edit")).to_have_count(0)
    expect(page.get_by_test_id("quota")).to_contain_text("0 of 2")
    assert "root" not in page.request.get("/users").text()
    assert status(page, "/roles/built-in/viewer") == 404
    assert status(page, "/projects/new") == 403
    assert status(page, "/users/new") == 403


def project_administrator(page: Page) -> None:
    page.goto("/projects")
    page.get_by_role("link", name="team-a").click()
    expect(page.get_by_role("link", name="Edit")).to_have_count(0)
    page.get_by_role("link", name="Add member").click()
    page.locator("#f-subject").select_option(label="vic")
    page.locator("#f-role").select_option(label="L1 researcher")
    create(page, "access rule")
    page.goto("/projects")
    page.get_by_role("link", name="team-a").click()
    expect(page.get_by_test_id("members").locator("tr", has_text="vic")).to_have_count(2)
    # What was given is taken again: the viewer of the next journey only views.
    page.locator("tr", has_text="vic").filter(has_text="L1").get_by_text("Remove").click()
    page.get_by_role("dialog").get_by_role("button").last.click()
    page.wait_for_load_state()
    assert status(page, "/projects/new") == 403
    assert status(page, "/departments/new") == 403


def viewer(page: Page) -> None:
    page.goto("/")
    expect(page.get_by_role("link", name="New workload")).to_have_count(0)
    assert not places(page) & HIDDEN
    page.goto("/projects")
    page.get_by_role("link", name="team-a").click()
    expect(page.get_by_role("link", name="Add member")).to_have_count(0)
    assert status(page, "/projects/new") == 403


def department_administrator(page: Page) -> None:
    page.goto("/departments")
    expect(page.get_by_role("link", name="New department")).to_have_count(0)
    page.get_by_role("link", name="research").click()
    page.locator("#page-head").get_by_role("link", name="New project").click()
    page.get_by_label("Name").fill("team-b")
    page.get_by_label("GPUs", exact=True).first.fill("0")
    create(page, "project")
    expect(page.get_by_role("link", name="Edit")).to_be_visible()
    page.goto("/")
    expect(page.get_by_test_id("use-by-project").get_by_role("listitem")).to_have_count(2)
    assert not places(page) & {"Settings", "Service accounts"}
    assert status(page, "/users/new") == 403
    assert status(page, "/departments/new") == 403
