"""Check in a real browser against a real cluster: objections, their fields, and the last word."""

import ipaddress
import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Page, expect
from pytest_django import Settings

from gangline.clusters import credentials
from gangline.clusters.models import Cluster
from gangline.clusters.services import refresh
from gangline.drivers.kubernetes.client import Client
from gangline.drivers.kubernetes.namespaces import Namespaces
from gangline.drivers.kubernetes.resources import Resource
from tests.beds.kubernetes.bed import Bed
from tests.beds.kubernetes.objects import must
from tests.support.admission import refused_in
from tests.support.screens import violations
from tests.support.waiting import wait_for
from tests.support.world import World
from workloads import refs
from workloads.models import Workload
from workloads.services.reconcile import reconcile

pytestmark = [pytest.mark.needs_kubernetes]

Opener = Callable[..., Page]
LIMIT_RANGES = Resource("", "v1", "limitranges", "LimitRange")
MEMORY = "worker.compute.cpuMemoryRequest"


@dataclass
class Ground:
    """The namespace of project vision on the bed, in which a container has at least 100Mi."""

    bed: Bed
    namespace: str


@pytest.fixture
def ground(bed: Bed, world: World, settings: Settings) -> Iterator[Ground]:
    """The world's cluster is the bed; project vision has had a training there before."""
    loopback = (ipaddress.ip_network("127.0.0.0/8"),)
    settings.GANGLINE = settings.GANGLINE.model_copy(update={"cluster_addresses": loopback})
    prefix = f"e2e-{secrets.token_hex(3)}"
    cluster = world.cluster
    cluster.kind, cluster.host_id = "kubernetes", ""
    cluster.config = {"namespacePrefix": prefix}
    cluster.save(update_fields=["kind", "host_id", "config"])
    credentials.store(cluster, bed.restricted, by=None)
    refresh(Cluster.objects.get(pk=cluster.pk))
    name = f"{prefix}-vision"
    client = Client(bed.restricted)
    assert Namespaces(client).prepare(name, refs.installation_id()) is None
    limit = {"type": "Container", "min": {"memory": "100Mi"}}
    body = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "sizes"},
        "spec": {"limits": [limit]},
    }
    must(bed.client.create(LIMIT_RANGES, name, body))
    yield Ground(bed, name)
    bed.client.request("DELETE", f"/api/v1/namespaces/{name}")


def fill(page: Page) -> None:
    """A training whose workers ask for less memory than the namespace wants."""
    page.set_default_timeout(60_000)  # a real cluster answers, on a machine that it shares
    page.goto("/workloads/new")
    page.locator('[name="workload.name"]').fill("digits")
    page.get_by_role("button", name="Continue to workers").click()
    page.wait_for_url("**/workers*")
    page.locator('[name="worker.image"]').fill("registry.example/training:1")
    page.locator('[name="worker.command"]').fill("behave sleep")
    page.locator(f'[name="{MEMORY}"]').fill("64")
    page.get_by_role("button", name="Continue to master").click()
    page.wait_for_url("**/master*")
    page.get_by_role("button", name="Continue to review").click()
    page.wait_for_url("**/review*")


def check(page: Page) -> None:
    page.get_by_role("button", name="Dry run").click()
    expect(page.get_by_test_id("check-cluster")).to_contain_text("Dry run on ")


@pytest.mark.parametrize("width", [pytest.param(390, marks=pytest.mark.thorough), 1440])
def test_an_objection_leads_to_its_field_and_goes_once_it_is_mended(
    open_page: Opener, ground: Ground, width: int
) -> None:
    page = open_page(viewport={"width": width, "height": 900})
    fill(page)
    told = page.get_by_test_id("check-cluster")
    check(page)
    expect(told).to_contain_text("The cluster rejected this workload")
    expect(told).to_be_focused()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    told.get_by_role("link").first.click()
    page.wait_for_url("**/workers?check=1*")
    error = page.locator("[id='f-worker-compute-cpuMemoryRequest-e']")
    expect(error).to_contain_text("minimum memory usage per Container is 100Mi")
    page.reload()
    expect(error).to_contain_text("minimum memory usage per Container is 100Mi")
    assert violations(page) == []
    page.locator(f'[name="{MEMORY}"]').fill("256")
    page.get_by_role("button", name="Continue to master").click()
    page.wait_for_url("**/master*")
    page.get_by_role("button", name="Continue to review").click()
    page.wait_for_url("**/review*")
    # Review asks the cluster again by itself once something has changed.
    expect(told).to_contain_text("The cluster would accept this workload")
    check(page)
    expect(told).to_contain_text("The cluster would accept this workload")
    assert not Workload.objects.exists()


@pytest.mark.thorough
def test_without_scripts(open_page: Opener, ground: Ground) -> None:
    page = open_page(java_script_enabled=False)
    fill(page)
    check(page)
    told = page.get_by_test_id("check-cluster")
    expect(told).to_contain_text("The cluster rejected this workload")
    told.get_by_role("link").first.click()
    expect(page.locator("[id='f-worker-compute-cpuMemoryRequest-e']")).to_contain_text("100Mi")


def test_what_the_cluster_refuses_is_told_on_the_workload_and_at_its_field(
    open_page: Opener, ground: Ground
) -> None:
    place = "spec.pytorchReplicaSpecs.Worker.template.spec.containers[0].image"
    words = "images come from registry.lab.example"
    page = open_page()
    fill(page)
    with refused_in(ground.bed, ground.namespace, f"{place}: Forbidden: {words}"):
        with page.expect_navigation():
            page.get_by_role("button", name="Create workload").click()
        # Asked once, where the check of the cluster was quicker.
        if (anyway := page.get_by_role("button", name="Create anyway")).count():
            anyway.first.click()
        page.wait_for_url(re.compile("/workloads(?!/new)"))
        wait_for(_failed, seconds=60, what="the refusal")
    page.goto(f"/workloads/{Workload.objects.get().pk}")
    told = page.get_by_test_id("refusals")
    expect(told).to_contain_text("Image is not accepted by the cluster")
    expect(told).to_contain_text(words)
    assert violations(page) == []
    page.get_by_role("form", name="Actions").get_by_role("button", name="Copy & edit").click()
    page.wait_for_url("**/review*")
    told = page.get_by_test_id("check-cluster")
    expect(told).to_contain_text(words)
    assert violations(page) == []
    told.get_by_role("link").first.click()
    page.wait_for_url("**/workers*")
    expect(page.locator("[id='f-worker-image-e']")).to_contain_text(words)
    assert violations(page) == []


def _failed() -> bool:
    workload = Workload.objects.get()
    reconcile(workload.pk)
    workload.refresh_from_db()
    return workload.status == "Failed"
