"""The MPI quick start on a real cluster: two workers with a GPU each, from the form to nothing."""

import re

from playwright.sync_api import Page, expect

from gangline.drivers.kubernetes.labels import WORKLOAD
from tests.support.lab import PATIENCE, Lab, replica_of
from tests.support.screens import Watch
from tests.support.training_form import Typed, submit
from tests.support.waiting import wait_for

NAME = "pi"
WORKER = Typed(
    {
        "image": "mpioperator/mpi-pi:openmpi",
        "command": "mpirun -n $(GANGLINE_NUM_WORKERS) /home/mpiuser/pi",
        "numWorkers": "2",
        "compute.gpuDevicesRequest": "1",
    }
)
STANDING = {
    "configmaps/kube-root-ca.crt",
    "serviceaccounts/default",
    "rolebindings/gangline-project",
}
"""What a project's namespace has without any workload."""
REPLICAS = ("master-0", "worker-0", "worker-1")


def test_two_workers_with_a_gpu_each_run_stop_go_on_and_leave_nothing(lab: Lab) -> None:
    page = lab.window()
    submit(page, NAME, framework="MPI", configuration="workersAndMaster", worker=WORKER)
    page.get_by_role("link", name=NAME, exact=True).click()
    title = page.locator('[data-part="title"]')
    expect(title).to_contain_text("Running", timeout=PATIENCE)
    expect(page.locator('[data-part="facts"]')).to_contain_text("GPUs2", timeout=PATIENCE)
    workload_id = page.url.rsplit("/", 1)[1]
    assert gpus(lab, workload_id) == {"master-0": 0, "worker-0": 1, "worker-1": 1}

    tab(page, "Pods")
    pods_say(page, "Running")
    print_lines(lab, workload_id, "first")
    tab(page, "Logs")
    log_shows(page, "first")

    tab(page, "Overview")
    page.get_by_role("link", name="Stop").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop").click()
    expect(title).to_contain_text("Stopped by researcher.", timeout=PATIENCE)
    assert lab.pods(workload_id) == []
    assert lab.object("MPI", NAME)["spec"]["runPolicy"]["suspend"] is True
    tab(page, "Logs")
    log_shows(page, "first")

    page.get_by_role("button", name="Run", exact=True).click()
    expect(title).to_contain_text("Running", timeout=PATIENCE)
    assert lab.object("MPI", NAME)["spec"]["runPolicy"]["suspend"] is False
    print_lines(lab, workload_id, "second")
    tab(page, "Logs")
    log_shows(page, "first")
    log_shows(page, "second")
    tab(page, "Pods")
    pods_say(page, "Running")

    kinds = {path.split("/")[0] for path in lab.there() - STANDING}
    assert {"mpijobs", "jobs", "pods", "services", "configmaps", "secrets"} <= kinds
    page.get_by_role("link", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.wait_for_url("**/workloads")
    wait_for(lambda: not lab.product.site.workloads(), seconds=60, what="the deletion")
    assert lab.there(f"{WORKLOAD}={workload_id}") == set()
    wait_for(lambda: lab.there() == STANDING, seconds=30, every=1, what="an empty namespace")
    assert Watch.of(page).lines == []


def tab(page: Page, name: str) -> None:
    link = page.get_by_role("navigation", name="Workload").get_by_role("link", name=name)
    link.click()
    expect(link).to_have_attribute("aria-current", "page", timeout=PATIENCE)


def pods_say(page: Page, word: str) -> None:
    """The launcher and both workers are listed, and no other pod."""
    table = page.locator('[data-part="podtable"]')
    expect(table.locator("tbody tr")).to_have_count(len(REPLICAS), timeout=PATIENCE)
    for name in REPLICAS:
        expect(table.locator(f"[data-pod={name}]")).to_contain_text(word, timeout=PATIENCE)


def gpus(lab: Lab, workload_id: str) -> dict[str, int]:
    """What the pods themselves ask for."""
    asked = {}
    for pod in lab.pods(workload_id):
        limits = pod["spec"]["containers"][0]["resources"].get("limits", {})
        asked[replica_of(pod)] = int(limits.get("nvidia.com/gpu", 0))
    return asked


def print_lines(lab: Lab, workload_id: str, word: str) -> None:
    """Every pod prints a line."""
    for pod in lab.pods(workload_id):
        line = f"{word} line of {replica_of(pod)}"
        lab.bed.write_log(lab.namespace, pod["metadata"]["name"], [line])


def log_shows(page: Page, word: str) -> None:
    """The merged log has that line of every pod, each beside the name of its pod."""
    rows = page.locator("[data-log-rows] > li")
    for name in REPLICAS:
        line = rows.filter(has_text=f"{word} line of {name}")
        expect(line).to_have_count(1, timeout=PATIENCE)
        expect(line).to_contain_text(re.compile(f"{name}.*{word} line of {name}"))
