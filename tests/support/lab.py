"""The product with a real Kubernetes connected, and what a test does on that cluster itself."""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from gangline.drivers.kubernetes.kinds import KINDS
from gangline.drivers.kubernetes.labels import ROLE, WORKLOAD
from gangline.drivers.kubernetes.resources import NAMESPACES, PODS
from tests.beds.kubernetes.bed import Bed
from tests.beds.kubernetes.objects import LOGS
from tests.support.installation import embedded
from tests.support.product import ADMINISTRATOR, RESEARCHER, Product
from tests.support.waiting import wait_for

CLUSTER, PROJECT = "lab", "speech"
LOOPBACK = "127.0.0.0/8"
PATIENCE = 60_000
"""Milliseconds for what takes one or two seconds on a machine that does nothing else."""


SHOW_EVERY_FIELD = """
from django.utils.timezone import now
from gangline.settings.models import Setting
for key in ("workloads.tolerations", "workloads.topology"):
    Setting.objects.update_or_create(key=key, defaults={"value": True, "updated_at": now()})
"""
"""Sections that are off until an administrator switches them on."""


@dataclass
class Lab:
    """A product, the bed behind its cluster ``lab``, and the prefix of its namespaces there."""

    product: Product
    bed: Bed
    prefix: str

    @property
    def namespace(self) -> str:
        """Of the project in which the tests work."""
        return f"{self.prefix}-{PROJECT}"

    def window(self) -> Page:
        """A window of the researcher that has patience."""
        page = self.product.window()
        page.set_default_timeout(PATIENCE)
        return page

    def object(self, framework: str, name: str) -> dict[str, Any]:
        """A workload's job object as the API server has it now; empty when there is none."""
        answer = self.bed.client.get(KINDS[framework].resource, self.namespace, name)
        return answer.body if answer.ok else {}

    def pods(self, workload_id: str) -> list[dict[str, Any]]:
        """A workload's pods in the order of their names."""
        query = {"labelSelector": f"{WORKLOAD}={workload_id}"}
        answer = self.bed.client.list(PODS, self.namespace, **query)
        assert answer.ok, answer
        return sorted(answer.body["items"], key=lambda pod: str(pod["metadata"]["name"]))

    def end(self, pod: Mapping[str, Any], code: int) -> None:
        """Let a pod end with this exit code, and wait until it has."""
        name = pod["metadata"]["name"]
        self.bed.annotate(self.namespace, name, exit_code=code, run_for="100ms")
        wait_for(lambda: self._is_over(name), seconds=60, what=f"the end of {name}")

    def _is_over(self, pod: str) -> bool:
        """Whether it has ended, or is gone already."""
        answer = self.bed.client.get(PODS, self.namespace, pod)
        return not answer.ok or answer.body["status"]["phase"] in ("Succeeded", "Failed")

    def there(self, selector: str = "") -> set[str]:
        """All objects of the project's namespace, as ``pods/first-worker-0``; of every kind.

        The API server says which kinds there are, as ``kubectl api-resources`` asks for them.
        Left out are events, which tell of the past, and the log files of the bed itself.
        """
        found = set()
        for path in self._collections():
            answer = self.bed.client.request("GET", path, query={"labelSelector": selector})
            assert answer.ok, f"{path}: {answer}"
            plural = path.rsplit("/", 1)[1]
            found |= {f"{plural}/{item['metadata']['name']}" for item in answer.body["items"]}
        return found

    def _collections(self) -> Iterator[str]:
        """Address in the project's namespace of every kind that can be listed there."""
        get = self.bed.client.request
        groups = get("GET", "/apis").body["groups"]
        served = [f"/apis/{one['groupVersion']}" for group in groups for one in group["versions"]]
        for root in ("/api/v1", *served):
            if root.startswith(f"/apis/{LOGS.group}/"):
                continue
            for kind in get("GET", root).body["resources"]:
                is_listed = kind["namespaced"] and "list" in kind["verbs"]
                if is_listed and kind["kind"] != "Event":
                    yield f"{root}/namespaces/{self.namespace}/{kind['name']}"

    def empty(self) -> None:
        """Delete every workload and, at the end, all namespaces of this lab with what is left."""
        self.product.empty()
        answer = self.bed.client.get(NAMESPACES, "", self.namespace)
        if answer.ok:
            uid = answer.body["metadata"]["uid"]
            self.bed.client.delete(NAMESPACES, "", self.namespace, uid=uid)


def replica_of(pod: Mapping[str, Any]) -> str:
    """``master-0`` or ``worker-1``, from the operator's label of the index and our role's."""
    labels = pod["metadata"]["labels"]
    return f"{labels[ROLE]}-{labels.get('training.kubeflow.org/replica-index', 0)}"


def connect(page: Page, bed: Bed, *, prefix: str, name: str = CLUSTER) -> None:
    """Connect the bed as the restricted user and wait for the end of the check."""
    page.goto("/clusters/new")
    page.locator("#f-name").fill(name)
    page.locator("#f-kubeconfig").fill(bed.kubeconfig("gangline"))
    page.get_by_text("Advanced", exact=True).click()
    page.locator("#f-namespace_prefix").fill(prefix)
    page.get_by_role("button", name="Connect").click()
    checked(page, timeout=PATIENCE)
    expect(page.get_by_role("heading", level=1)).to_contain_text("Connected")


def checked(page: Page, *, timeout: float) -> None:
    """From the page of a cluster to the end of its check, on the tab that follows it."""
    page.get_by_role("link", name="Checks").click()
    expect(page.locator("#check[data-checking=no]")).to_be_visible(timeout=timeout)


def make_project(product: Product, name: str = PROJECT, *, cluster: str = CLUSTER) -> None:
    """A project on the cluster in which the researcher of the demo may work."""
    product.site.manage("project", name, "--cluster", cluster, "--researcher", RESEARCHER)


@contextmanager
def lab_of(browser: Browser, bed: Bed, folder: Path) -> Iterator[Lab]:
    """A product with its data in ``folder``, and the bed connected to it, for a block."""
    with embedded(folder, GANGLINE_CLUSTER_ADDRESSES=LOOPBACK) as site:
        site.start()
        site.sign_in(RESEARCHER)
        product = Product(site, browser)
        made = Lab(product, bed, f"e2e-{secrets.token_hex(3)}")
        connect(product.window(user=ADMINISTRATOR), bed, prefix=made.prefix)
        product.close_windows()
        make_project(product)
        site.manage("shell", "-c", SHOW_EVERY_FIELD)
        try:
            yield made
        finally:
            made.empty()
            product.close_windows()
            site.stop()


@pytest.fixture(scope="module")
def lab(chromium: Browser, bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One server with the bed connected for the tests of a module: it takes half a minute."""
    with lab_of(chromium, bed, tmp_path_factory.mktemp("lab") / "data") as made:
        yield made
