"""The screens of the organisation: a small one is made through the API, then looked at."""

from typing import Any

from playwright.sync_api import expect

from scripts.camera import Camera
from tests.support.installation import Installation
from tests.support.product import ADMINISTRATOR, RESEARCHER, Product

EMPTY = ("groups", "service-accounts", "access-keys", "nodes")
LISTS = (
    "departments", "projects", "node-pools", "users", "groups", "roles", "access-rules",
    "service-accounts", "access-keys", "settings", "settings/audit",
)  # fmt: skip
FORMS = {
    "invite": "/users/new",
    "group-form": "/groups/new",
    "service-account-form": "/service-accounts/new",
    "access-rule-form": "/access-rules/new",
    "department-form": "/departments/new",
    "node-pool-form": "/node-pools/new",
    "role-built-in": "/roles/built-in/department_administrator",
}
PEOPLE = ("dana", "pat", "vic", "lee")
PAGES = {
    "department": ("departments", "robotics"),
    "project": ("projects", "grasping"),
    "user": ("users", "dana@example.org"),
    "group": ("groups", "perception"),
    "role": ("roles", "Night operator"),
    "service-account": ("service-accounts", "nightly-ci"),
    "access-key": ("access-keys", "laptop"),
    "node-pool": ("node-pools", "default"),
}
NIGHT = ("workload.view", "workload.logs", "workload.stop", "project.view", "cluster.view")


def take(product: Product, camera: Camera) -> None:
    """Empty lists, then the organisation: lists, pages, forms, questions."""
    page = product.window(user=ADMINISTRATOR)
    for name in EMPTY:
        page.goto(f"/{name}")
        camera.take(page, f"{name}-empty")
    _found(product.site)
    for name in LISTS:
        page.goto(f"/{name}")
        camera.take(page, name.replace("settings/", ""))
    for name, path in FORMS.items():
        page.goto(path)
        camera.take(page, name)
    for name, (place, link) in PAGES.items():
        page.goto(f"/{place}")
        page.get_by_role("link", name=link, exact=True).first.click()
        page.wait_for_load_state()
        camera.take(page, name)
    _questions(product, camera)


def _found(site: Installation) -> None:
    """Departments with quota, people, a group, a role of one's own and who has it."""
    site.sign_in(ADMINISTRATOR)
    try:
        cluster = site.get("clusters")[0]["uuid"]
        robotics = _made(
            site, "org-unit/departments", name="robotics", clusterId=cluster,
            description="Arms and grippers", resources=[_quota(2, 2)],
        )  # fmt: skip
        for name, gpus, most in (("grasping", 1, 2), ("navigation", 1, -1)):
            _made(
                site, "org-unit/projects", name=name, parentId=robotics["id"],
                description=f"All that {name} needs", resources=[_quota(gpus, most)],
            )  # fmt: skip
        users = [_made(site, "users", email=f"{name}@example.org") for name in PEOPLE]
        group = _made(
            site, "groups", name="perception", description="Vision and mapping",
            members=[one["id"] for one in users[:3]],
        )  # fmt: skip
        role = _made(
            site, "authorization/roles", name="Night operator", allows=list(NIGHT),
            description="Watches workloads at night and stops what hangs.",
        )  # fmt: skip
        account = _made(site, "service-accounts", name="nightly-ci")
        _made(site, "access-keys", name="laptop")
        for subject, kind, role_id in (
            (users[0]["email"], "user", _role(site, "Project administrator")),
            (group["name"], "group", _role(site, "L1 researcher")),
            (users[3]["email"], "user", role["id"]),
            (account["name"], "service-account", _role(site, "L2 researcher")),
        ):
            _made(
                site, "authorization/access-rules", subjectId=subject, subjectType=kind,
                roleId=role_id, scopeId=str(robotics["id"]), scopeType="department",
            )  # fmt: skip
    finally:
        site.sign_in(RESEARCHER)


def _made(site: Installation, path: str, **body: Any) -> dict[str, Any]:
    answer = site.request("POST", path, body)
    if answer.status not in (200, 201, 202):
        raise AssertionError(answer)
    found: dict[str, Any] = answer.body
    return found


def _role(site: Installation, name: str) -> int:
    return next(int(one["id"]) for one in site.get("authorization/roles") if one["name"] == name)


def _quota(gpus: int, most: int) -> dict[str, Any]:
    return {"gpu": {"deserved": gpus, "limit": most, "overQuotaWeight": 1}}


def _questions(product: Product, camera: Camera) -> None:
    page = product.window(user=ADMINISTRATOR)
    page.goto("/projects/new")
    page.get_by_label("Department").select_option(label="robotics on this-machine")
    page.locator("#f-name").fill("welding")
    page.get_by_label("GPUs", exact=True).first.fill("2")
    sums = page.get_by_test_id("quota-sums")
    expect(sums).to_contain_text("robotics")
    page.wait_for_load_state("networkidle")
    camera.take(page, "project-form")
    page.goto("/roles/new")
    page.get_by_label("Name").fill("Data keeper")
    for name in ("View", "Create", "Edit"):
        page.get_by_label(f"{name} templates", exact=True).check()
    camera.take(page, "role-form")
    page.goto("/access-check")
    for name, choice in {
        "user": "dana@example.org", "permission": "delete workloads", "scope": "Project grasping"
    }.items():  # fmt: skip
        page.locator(f"#f-{name}").select_option(label=choice)
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_test_id("answer")).to_be_visible()
    camera.take(page, "access-check")
    page.goto("/users/new")
    page.get_by_label("User name").fill("noor")
    page.get_by_role("button", name="Invite user").click()
    link = page.get_by_test_id("invite-link")
    # The picture is published: the link is of an installation that ends with it, and cut.
    link.evaluate("e => { e.textContent = e.textContent.slice(0, 36) + '…'; }")
    camera.take(page, "invited")
    page.goto("/access-keys/new")
    page.get_by_label("Name").fill("workstation")
    page.get_by_role("button", name="Create access key").click()
    secret = page.get_by_test_id("new-secret")
    secret.evaluate("e => { e.textContent = e.textContent.slice(0, 8) + '…'; }")
    camera.take(page, "access-key-secret")
    page.goto("/settings/audit")
    page.locator("tbody a").first.click()
    page.wait_for_load_state()
    camera.take(page, "audit-entry")
    page.goto("/projects")
    page.get_by_role("link", name="vision", exact=True).click()
    page.wait_for_load_state("networkidle")
    page.get_by_role("link", name="Delete").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    camera.take(page, "project-delete")
