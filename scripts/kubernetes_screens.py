"""The screens about Kubernetes, of a real cluster: the bed, if its programs are built.

A cluster is connected, a workload of MPI runs on it with output, and another waits for room.
"""

import json

from playwright.sync_api import Page, expect

from scripts.camera import Camera
from tests.beds.kubernetes import building
from tests.beds.kubernetes.bed import Bed, running
from tests.beds.kubernetes.objects import SERVICE_ACCOUNTS
from tests.support.certificates import kubeconfig
from tests.support.lab import CLUSTER, PATIENCE, Lab, checked, connect, make_project, replica_of
from tests.support.product import ADMINISTRATOR, Product
from tests.support.training_form import (
    CREATED,
    Typed,
    choose_where,
    everything_is_saved,
    fill,
    press,
    submit,
)

WITHOUT_A_BED = ("cluster-connect", "cluster-refused")
WITH_A_BED = (
    "cluster-lacks-rights", "cluster-kubernetes", "nodes", "form-kubernetes-setup",
    "form-kubernetes-workers", "form-kubernetes-review", "details-kubernetes",
    "details-kubernetes-pods", "details-kubernetes-logs", "details-kubernetes-waiting",
    "workloads-kubernetes", "storage-classes", "storage-class", "storage-class-form",
    "form-node-pools", "form-kubernetes-manifest",
)  # fmt: skip
PI = Typed(
    texts={
        "image": "mpioperator/mpi-pi:openmpi",
        "command": "mpirun -n $(GANGLINE_NUM_WORKERS) /home/mpiuser/pi",
        "numWorkers": "2",
        "compute.gpuDevicesRequest": "1",
    },
    rows={"environment variable": [{"Name": "NCCL_DEBUG", "Value": "INFO"}]},
)
LARGE = Typed(
    {
        "image": "registry.example/speech:1.4",
        "command": "python train.py",
        "numWorkers": "4",
        "compute.gpuDevicesRequest": "8",
    }
)
OUTPUT = {
    "master-0": ["Workers: 2", "pi is approximately 3.1410376000000002"],
    "worker-0": ["Server listening on 0.0.0.0 port 2222.", "Accepted publickey for mpiuser"],
    "worker-1": ["Server listening on 0.0.0.0 port 2222.", "Accepted publickey for mpiuser"],
}


def take(product: Product, camera: Camera) -> None:
    """Connect a real cluster and submit to it; what needs one is left out where none is built."""
    if camera.wants(*WITHOUT_A_BED):
        _before_a_cluster(product, camera)
    if not camera.wants(*WITH_A_BED):
        return
    if not building.is_built():
        print(f"Left out, because no bed is built (make bed-build): {', '.join(WITH_A_BED)}.")
        return
    with running(product.site.folder.parent / "bed") as bed:
        lab = Lab(product, bed, "gangline")
        page = product.window(user=ADMINISTRATOR)
        _without_rights(page, camera, bed)
        connect(page, bed, prefix=lab.prefix)
        page.get_by_role("link", name="Overview").click()
        camera.take(page, "cluster-kubernetes")
        page.goto("/nodes")
        camera.take(page, "nodes")
        _storage_classes(page, camera)
        _pool(page)
        make_project(product)
        page = lab.window()
        _the_form(page, camera)
        _trainings(page, camera, lab)


def _before_a_cluster(product: Product, camera: Camera) -> None:
    page = product.window(user=ADMINISTRATOR)
    page.goto("/clusters/new")
    camera.take(page, "cluster-connect")
    refused = kubeconfig({"proxy-url": "http://proxy:3128"}, {"exec": {"command": "aws"}})
    page.locator("#f-name").fill(CLUSTER)
    page.locator("#f-kubeconfig").fill(json.dumps(refused))
    page.get_by_role("button", name="Connect").click()
    expect(page.get_by_test_id("problem-summary")).to_be_visible()
    camera.take(page, "cluster-refused")


def _without_rights(page: Page, camera: Camera, bed: Bed) -> None:
    """An account to which nobody has given the role yet."""
    if not camera.wants("cluster-lacks-rights"):
        return
    with bed.namespace("gangline") as namespace:
        path = SERVICE_ACCOUNTS.path(namespace, "default", "token")
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token = bed.client.request("POST", path, body=body).body["status"]["token"]
        page.goto("/clusters/new")
        page.locator("#f-name").fill("newly-installed")
        page.locator("#way-token").check()
        page.locator("#f-server").fill(bed.restricted.server)
        page.locator("#f-authority").fill(bed.restricted.certificate_authority)
        page.locator("#f-token").fill(token)
        page.get_by_role("button", name="Connect").click()
        checked(page, timeout=PATIENCE)
        page.reload()
        camera.take(page, "cluster-lacks-rights")
        page.get_by_role("link", name="Delete").click()
        page.get_by_label("Type newly-installed to confirm").fill("newly-installed")
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        page.wait_for_url("**/clusters")


def _storage_classes(page: Page, camera: Camera) -> None:
    """What the check of the cluster has found, and what may be asked of it."""
    page.goto("/storage-classes")
    camera.take(page, "storage-classes")
    page.locator("tbody a.name").first.click()
    page.wait_for_load_state()
    camera.take(page, "storage-class")
    page.get_by_role("link", name="Edit").click()
    page.wait_for_load_state()
    camera.take(page, "storage-class-form")


def _pool(page: Page) -> None:
    """A second node pool: an order is chosen among several."""
    page.goto("/node-pools/new")
    page.get_by_label("Cluster").select_option(label=CLUSTER)
    for name, text in (("name", "zone-a"), ("label_key", "topology.kubernetes.io/zone"),
                       ("label_value", "zone-a")):  # fmt: skip
        page.locator(f"#f-{name}").fill(text)
    page.get_by_role("button", name="Create node pool").click()
    page.wait_for_load_state()


def _ordered_pools(page: Page, camera: Camera) -> None:
    pools = page.get_by_test_id("f-worker.nodePools")
    for number, name in ((1, "zone-a"), (2, "default")):
        pools.get_by_role("button", name="Add node pool").click()
        cell = page.get_by_label(f"Node pool, node pool {number}")
        cell.select_option(name) if cell.evaluate("e => e.tagName") == "SELECT" else cell.fill(name)
        everything_is_saved(page)
    camera.take(page, "form-node-pools", pools)


def _the_form(page: Page, camera: Camera) -> None:
    """A workload of MPI, as far as the review."""
    page.goto("/workloads/new")
    choose_where(page, "MPI", "workersAndMaster")
    page.locator('[name="workload.name"]').fill("pi")
    camera.take(page, "form-kubernetes-setup")
    press(page, "Continue to workers", "workers")
    fill(page, "worker", PI)
    expect(page.locator("[data-saved]")).to_contain_text("Saved")
    camera.take(page, "form-kubernetes-workers")
    if camera.wants("form-node-pools"):
        _ordered_pools(page, camera)
    press(page, "Continue to master", "master")
    press(page, "Continue to review", "review")
    camera.take(page, "form-kubernetes-review")
    manifest = page.get_by_test_id("as-kubernetes")
    manifest.locator("summary").click()
    camera.take(page, "form-kubernetes-manifest", page.locator(".as-code"))
    page.get_by_role("button", name="Create workload").click()
    page.wait_for_url(CREATED)
    page.goto("/workloads")


def _trainings(page: Page, camera: Camera, lab: Lab) -> None:
    """One that runs and prints, and one that waits."""
    running_id = _found(page, "pi")
    lab.product.site.until(running_id, "Running", seconds=120)
    for pod in lab.pods(running_id):
        lab.bed.write_log(lab.namespace, pod["metadata"]["name"], OUTPUT[replica_of(pod)])
    submit(page, "large-sweep", framework="JAX", configuration="workersOnly", worker=LARGE)
    waiting_id = _found(page, "large-sweep")
    lab.product.site.until(waiting_id, "Pending", seconds=120)
    page.goto(f"/workloads/{waiting_id}")
    expect(page.locator('[data-part="note"]')).to_contain_text("free on", timeout=PATIENCE)
    camera.take(page, "details-kubernetes-waiting")
    page.goto(f"/workloads/{running_id}/logs")
    for lines in OUTPUT.values():
        expect(page.locator("[data-log-rows]")).to_contain_text(lines[-1], timeout=PATIENCE)
    camera.take(page, "details-kubernetes-logs")
    for tab, name in (("", "details-kubernetes"), ("/pods", "details-kubernetes-pods")):
        page.goto(f"/workloads/{running_id}{tab}")
        page.wait_for_load_state("networkidle")
        camera.take(page, name)
    page.goto("/workloads")
    camera.take(page, "workloads-kubernetes")


def _found(page: Page, name: str) -> str:
    """The id of a workload in the table."""
    row = page.locator("tbody tr").filter(has=page.get_by_role("link", name=name, exact=True))
    return row.get_attribute("data-id") or ""
