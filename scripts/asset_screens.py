"""The screens of assets: lists, pages and forms. Some of each kind are made through the API."""

import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from scripts.camera import Camera
from tests.support import repositories
from tests.support.installation import Installation
from tests.support.product import ADMINISTRATOR, RESEARCHER, Product

EMPTY = ("data-sources", "credentials")
LISTS = ("environments", "compute-resources", "data-sources", "data-volumes", "credentials")
TYPES = ("nfs", "pvc", "s3", "git", "host-path", "config-map", "secret-volume")
FORMS = {
    "environment-form": "/environments/new",
    "compute-resource-form": "/compute-resources/new",
    "data-source-types": "/data-sources/new",
    **{f"data-source-{name}-form": f"/data-sources/{name}/new" for name in TYPES},
    "data-volume-form": "/data-volumes/new",
    "credential-form": "/credentials/new",
    "template-form": "/templates/new",
}
PAGES = {
    "environment": ("environments", "pytorch-dt"),
    "compute-resource": ("compute-resources", "half-gpu"),
    "data-source": ("data-sources", "digits-code"),
    "data-volume": ("data-volumes", "imagenet"),
    "credential": ("credentials", "hugging-face"),
    "template": ("templates", "digits-pytorch-ddp"),
}
REPOSITORY = "https://git.example/vision/digits"
PAUSE = 2.2
"""Seconds that a person waits between two tests of connections."""
_SECRET = "not-a-real-secret"  # noqa: S105


def take_empty(product: Product, camera: Camera) -> None:
    """Lists before anybody has made anything."""
    page = product.window(user=ADMINISTRATOR)
    for name in EMPTY:
        page.goto(f"/{name}")
        camera.take(page, f"{name}-empty")


def take(product: Product, camera: Camera) -> None:
    """What a lab has: lists, pages, forms, and one's own credentials."""
    page = product.window(user=ADMINISTRATOR)
    furnish(product.site)
    for name in LISTS:
        page.goto(f"/{name}")
        camera.take(page, name)
    for name, path in FORMS.items():
        page.goto(path)
        camera.take(page, name)
    for name, (place, link) in PAGES.items():
        page.goto(f"/{place}")
        page.get_by_role("link", name=link, exact=True).first.click()
        page.wait_for_load_state()
        camera.take(page, name)
        if name == "environment":
            page.get_by_role("link", name="YAML", exact=True).click()
            camera.take(page, "environment-yaml")
    _tests(page, camera)
    _credentials(page, camera)
    _own_credentials(product, camera)


def _tests(page: Page, camera: Camera) -> None:
    """How tests of connections ended: well on a page, and not well in forms."""
    with tempfile.TemporaryDirectory() as folder, repositories.serving(Path(folder) / "x") as code:
        code.commit("one")
        _typed_repository(page, code.url)
        _tested(page)
        camera.take(page, "data-source-git-tested")
        code.login = ("dana", _SECRET)
        page.wait_for_timeout(PAUSE * 1000)
        _tested(page)
        camera.take(page, "data-source-git-test-failed")
        code.hold()
        page.wait_for_timeout(PAUSE * 1000)
        page.get_by_role("button", name="Test connection").click()
        expect(page.get_by_text("Testing…").first).to_be_visible()
        camera.take(page, "data-source-git-testing")
        code.gate.set()
        expect(page.locator("[data-code]")).to_be_visible()
    page.goto("/credentials/new")
    for name, text in (("url", "registry.lab.example"), ("user", "ci"), ("password", _SECRET)):
        page.locator(f'[name="dockerRegistry.{name}"]').fill(text)
    page.locator('[name="scope"]').select_option(index=1)
    page.wait_for_timeout(PAUSE * 1000)
    _tested(page)
    camera.take(page, "credential-test-failed")


def _typed_repository(page: Page, url: str) -> None:
    page.goto("/data-sources/git/new")
    page.locator('[name="name"]').fill("lab-code")
    page.locator('[name="scope"]').select_option(index=1)
    page.get_by_label("Repository").fill(url)
    page.get_by_label("Branch").fill("main")


def _tested(page: Page) -> None:
    with page.expect_response(lambda answer: answer.request.method == "POST"):
        page.get_by_role("button", name="Test connection").click()
    expect(page.locator("[data-code]")).to_be_visible()


def furnish(site: Installation) -> None:
    """Environments, data sources, a data volume and a credential, unless they are there."""
    site.sign_in(ADMINISTRATOR)
    try:
        if any(one["meta"]["name"] == "digits-code" for one in _entries(site, "datasource")):
            return
        project = next(
            one for one in site.get("org-unit/projects")["projects"] if one["name"] == "vision"
        )
        department = {"scope": "department", "departmentId": project["parent"]["id"]}
        vision = {"scope": "project", "projectId": int(project["id"])}

        def make(kind: str, name: str, spec: dict[str, Any], where: dict[str, Any]) -> Any:
            body = {"meta": {"name": name, **where}, "spec": spec}
            return _sent(site, f"asset/{kind}", body)

        pairs = {"keyValuePairs": [{"key": "token", "value": _SECRET}]}
        login = {"url": "registry.lab.example", "user": "ci", "password": _SECRET}
        token = make("credentials", "hugging-face", {"genericSecret": pairs}, department)
        secret = token["clusterInfo"]["resources"][0]["name"]
        make("credentials", "lab-registry", {"dockerRegistry": login}, department)
        make(
            "environment",
            "pytorch-dt",
            {
                "image": "local://system",
                "command": "python3 train.py",
                "environmentVariables": [
                    {"name": "OMP_NUM_THREADS", "value": "1"},
                    {"name": "HF_TOKEN", "secret": {"name": secret, "key": "token"}},
                ],
            },
            vision,
        )
        code = {"repository": REPOSITORY, "branch": "main", "path": "/code"}
        make("datasource/git", "digits-code", code, vision)
        bucket = {"bucket": "datasets", "path": "/data/raw", "url": "https://s3.lab.example"}
        make("datasource/s3", "raw-images", bucket, department)
        exports = {"server": "nfs.lab.example", "path": "/exports/speech", "mountPath": "/speech"}
        make("datasource/nfs", "speech", exports, department)
        claim = {"path": "/checkpoints", "claimName": "checkpoints", "claimInfo": {"size": "50G"}}
        make("datasource/pvc", "checkpoints", claim, vision)
        volume = {"name": "imagenet", "projectId": project["id"], "originPvcName": "checkpoints"}
        made = _sent(site, "datavolumes", volume)
        others = {"add": [{"scopeType": "department", "scopeId": str(project["parent"]["id"])}]}
        _sent(site, f"datavolumes/{made['id']}/sharedScopes", others, "PATCH")
    finally:
        site.sign_in(RESEARCHER)


def _entries(site: Installation, kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = site.get(f"asset/{kind}")["entries"]
    return found


def _sent(site: Installation, path: str, body: dict[str, Any], method: str = "POST") -> Any:
    answer = site.request(method, path, body)
    if answer.status not in (200, 201, 202, 204):
        raise AssertionError(answer)
    return answer.body


def _credentials(page: Page, camera: Camera) -> None:
    page.goto("/credentials")
    page.get_by_role("link", name="hugging-face", exact=True).click()
    page.get_by_role("link", name="Replace values").click()
    expect(page.get_by_role("button", name="Replace values")).to_be_visible()
    camera.take(page, "credential-rotate")


def _own_credentials(product: Product, camera: Camera) -> None:
    page = product.window()
    page.goto("/my-credentials")
    camera.take(page, "my-credentials-empty")
    page.goto("/my-credentials/new")
    page.locator('[name="name"]').fill("my-wandb")
    page.locator("#type-genericSecret").check()
    page.locator('[name="genericSecret.keyValuePairs.0.key"]').fill("api-key")
    page.locator('[name="genericSecret.keyValuePairs.0.value"]').fill(_SECRET)
    page.get_by_role("button", name="Create credential").last.click()
    page.wait_for_load_state()
    page.goto("/my-credentials")
    camera.take(page, "my-credentials")
