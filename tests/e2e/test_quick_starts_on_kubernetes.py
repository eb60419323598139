"""The quick starts and the form's sixteen steps on a real cluster, from the form to nothing."""

import re
import secrets
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from playwright.sync_api import Locator, Page, expect

from gangline.drivers.kubernetes.kinds import KINDS
from gangline.drivers.kubernetes.labels import WORKLOAD
from gangline.drivers.kubernetes.resources import CLAIMS, NODES, Resource
from tests.beds.kubernetes.objects import SERVICES
from tests.support.lab import PATIENCE, Lab, replica_of
from tests.support.screens import Watch
from tests.support.training_form import (
    CREATED,
    Typed,
    choose_where,
    everything_is_saved,
    fill,
    press,
    submit,
)
from tests.support.waiting import wait_for

NAME = "pi"
WORKER = Typed(
    texts={
        "image": "gcr.io/run-ai-demo/quickstart-distributed:v0.3.0",
        "numWorkers": "2",
        "compute.gpuDevicesRequest": "1",
    },
    rows={"environment variable": [{"Name": "RUNAI_SLEEP_SECS", "Value": "60"}]},
)
"""The image brings its command."""
TYPE = "gpu-8x-h100"
ENVIRONMENT = Typed(
    texts={
        "args": "--epochs 1",
        "security.runAsUid": "1000",
        "security.runAsGid": "1000",
        "security.supplementalGroups": "2001,2002",
    },
    choices={"security.uidGidSource": "custom"},
    rows={
        "environment variable": [
            {"Name": "NCCL_DEBUG", "Value": "INFO"},
            {
                "Name": "HF_TOKEN",
                "Source": "My credential",
                "My credential": "my-hf",
                "Key in the credential": "token",
            },
        ],
        "port": [{"Tool": "tensorboard", "Port of the program": "6006"}],
    },
)
COMPUTE = Typed(
    texts={
        "numWorkers": "2",
        "nodeType": TYPE,
        "podAffinity.key": "topology.kubernetes.io/zone",
    },
    choices={"podAffinity.type": "Preferred"},
    rows={
        "node pool": [{"Node pool": "default"}],
        "toleration": [
            {"Key": "dedicated", "Operator": "Equals", "Value": "training", "Effect": "NoSchedule"}
        ],
    },
)
NFS = {"server": "nfs.example", "path": "/export/images", "mountPath": "/images"}
VOLUME = Typed(
    rows={
        "volume": [{"Name": "out", "Container path": "/out", "Size": "1", "Storage class": "local"}]
    }
)
GENERAL = Typed(
    texts={
        "terminationGracePeriodSeconds": "60",
        "backoffLimit": "3",
        "autoDeletionTimeAfterCompletionSeconds": "7",
    },
    choices={"autoDeletionTimeAfterCompletionSeconds~unit": "days"},
    rows={
        "label": [{"Name": "stage", "Value": "dev"}],
        "annotation": [{"Name": "note", "Value": "first try"}],
    },
)
VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
STANDING = {
    "configmaps/kube-root-ca.crt",
    "serviceaccounts/default",
    "rolebindings/gangline-project",
}
"""What a project's namespace has without any workload."""
REPLICAS = ("master-0", "worker-0", "worker-1")


@pytest.mark.thorough  # on this machine it is no thorough one
def test_two_workers_with_a_gpu_each_run_stop_go_on_and_leave_nothing(lab: Lab) -> None:
    page = lab.window()
    submit(page, NAME, framework="MPI", configuration="workersAndMaster", worker=WORKER)
    page.get_by_role("link", name=NAME, exact=True).click()
    title = page.locator('[data-part="title"]')
    expect(title).to_contain_text("Running", timeout=PATIENCE)
    expect(page.locator('[data-part="facts"]')).to_contain_text("GPUs2", timeout=PATIENCE)
    workload_id = page.url.rsplit("/", 1)[1]
    assert gpus(lab, workload_id) == {"master-0": 0, "worker-0": 1, "worker-1": 1}
    roles = lab.object("MPI", NAME)["spec"]["mpiReplicaSpecs"]
    for role in ("Launcher", "Worker"):
        (container,) = roles[role]["template"]["spec"]["containers"]
        assert not {"command", "args"} & container.keys()
        variables = {one["name"]: one.get("value") for one in container["env"]}
        assert variables["RUNAI_SLEEP_SECS"] == "60"
        assert variables["RUNAI_MPI_NUM_WORKERS"] == "2"

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


def card(page: Page, question: str, title: str) -> Locator:
    cards = page.get_by_role("group", name=question, exact=True).locator(".card")
    return cards.filter(has=page.get_by_text(title, exact=True))


def made(page: Page, dialog: Locator, button: str) -> None:
    dialog.get_by_role("button", name=button).click()
    expect(dialog).to_have_count(0)


def test_sixteen_steps_make_a_training(lab: Lab) -> None:
    """The form step by step as its documentation has it; AC-F18 with a real cluster."""
    page, port = lab.window(), secrets.choice(range(30000, 32767))
    prepare(lab)
    own = {"genericSecret": {"keyValuePairs": [{"key": "token", "value": "x"}]}}
    body = {"meta": {"name": "my-hf"}, "spec": own}
    assert lab.product.site.request("POST", "user-credentials", body).status == 202
    page.goto("/workloads")  # 1
    page.get_by_role("link", name="New workload").first.click()  # 2
    page.wait_for_url("**/setup")
    expect(page.get_by_test_id("f-architecture")).to_contain_text("Distributed")
    choose_where(page, "PyTorch", "workersAndMaster")  # 3, 4, 5
    expect(card(page, "Template", "Start from scratch").get_by_role("radio")).to_be_checked()  # 6
    page.locator('[name="workload.name"]').fill("steps")  # 7
    press(page, "Continue to workers", "workers")  # 8

    page.get_by_role("button", name="New environment").click()  # 9
    dialog = page.get_by_role("dialog")
    dialog.locator('[name="name"]').fill("pytorch-dt")
    dialog.locator('[name="worker.image"]').fill("kubeflow/pytorch-dist-mnist:latest")
    made(page, dialog, "Create environment")
    expect(card(page, "Environment", "pytorch-dt").get_by_role("radio")).to_be_checked()
    advanced(page, "ports")
    fill(page, "worker", ENVIRONMENT)
    row = page.get_by_test_id("f-worker.ports")
    row.get_by_label("Custom node port, port 1").check()
    row.get_by_label("Node port, port 1", exact=True).fill(str(port))

    shared = card(page, "Compute resource", "small-fraction")  # 10
    expect(shared).to_contain_text("kube-scheduler assigns whole GPUs")
    expect(shared.get_by_role("radio")).to_be_disabled()
    page.get_by_role("button", name="New compute resource").click()
    dialog = page.get_by_role("dialog")
    dialog.locator('[name="name"]').fill("one-of-eight")
    dialog.get_by_label("GPU devices per pod").fill("1")
    made(page, dialog, "Create compute resource")
    expect(card(page, "Compute resource", "one-of-eight").get_by_role("radio")).to_be_checked()
    fill(page, "worker", COMPUTE)

    fill(page, "worker", VOLUME)  # 11
    volume = page.get_by_test_id("f-worker.storage.pvc")
    volume.get_by_label("Access modes: Read-write by one node, volume 1").uncheck()
    volume.get_by_label("Access modes: Read-write by many nodes, volume 1").check()

    page.get_by_role("button", name="New data source").click()  # 12
    page.get_by_role("dialog").get_by_role("link", name="NFS").click()
    dialog = page.get_by_role("dialog", name="New NFS")
    dialog.locator('[name="name"]').fill("images")
    for name, text in NFS.items():
        dialog.locator(f'[name="worker.storage.nfs~item.{name}"]').fill(text)
    made(page, dialog, "Create NFS data source")
    expect(card(page, "Data sources", "images").get_by_role("checkbox")).to_be_checked()
    page.get_by_label("Container path, NFS folder 1").fill("/data/images")
    advanced(page, "labels")
    fill(page, "worker", GENERAL)  # 13
    press(page, "Continue to master", "master")  # 14
    page.get_by_role("switch", name="Different set-up for the master").check()  # 15
    fill(page, "master", Typed({"args": "--lead", "compute.gpuDevicesRequest": "0"}))
    everything_is_saved(page)
    press(page, "Continue to review", "review")
    draft = page.url.rsplit("/", 1)[0]
    shown = page.request.get(f"{draft}/as/kubernetes").text()
    page.get_by_role("button", name="Create workload").click()  # 16
    page.wait_for_url(CREATED)
    expect(page.locator('[data-part="title"]')).to_contain_text("Running", timeout=PATIENCE)
    workload_id = page.url.rsplit("/", 1)[1]
    assert gpus(lab, workload_id) == {"master-0": 0, "worker-0": 1, "worker-1": 1}
    job = lab.object("PyTorch", "steps")
    sees_what_was_typed(lab, job, port)

    by_hand, *beside = yaml.safe_load_all(shown)
    by_hand["metadata"]["name"] = "by-hand"
    taken = lab.bed.client.create(KINDS["PyTorch"].resource, lab.namespace, by_hand, dry_run=True)
    assert taken.ok, taken.message
    names = {str(one["metadata"]["labels"][WORKLOAD]) for one in (by_hand, job)}
    assert plain(taken.body, names) == plain(job, names)
    assert [one["kind"] for one in beside] == ["PersistentVolumeClaim", "Service"]


def sees_what_was_typed(lab: Lab, job: dict[str, Any], port: int) -> None:
    roles = job["spec"]["pytorchReplicaSpecs"]
    for role, args in (("Worker", ["--epochs", "1"]), ("Master", ["--lead"])):
        template = roles[role]["template"]
        pod, (main,) = template["spec"], template["spec"]["containers"]
        assert (main["image"], main.get("command")) == ("kubeflow/pytorch-dist-mnist:latest", None)
        assert main["args"] == args
        assert main["resources"]["requests"] == {"cpu": "100m", "memory": "100M"}
        variables = {one["name"]: one for one in main["env"]}
        assert variables["NCCL_DEBUG"]["value"] == "INFO"
        assert variables["HF_TOKEN"]["valueFrom"]["secretKeyRef"]["key"] == "token"
        assert pod["securityContext"] == {
            "runAsUser": 1000, "runAsGroup": 1000, "supplementalGroups": [2001, 2002],
        }  # fmt: skip
        taint = {"key": "dedicated", "operator": "Equal", "value": "training"}
        assert pod["tolerations"] == [{**taint, "effect": "NoSchedule"}]
        assert pod["terminationGracePeriodSeconds"] == 60
        assert TYPE in str(pod["affinity"]["nodeAffinity"])
        assert "topology.kubernetes.io/zone" in str(pod["affinity"]["podAffinity"])
        paths = {one["mountPath"] for one in main["volumeMounts"]}
        assert {"/out", "/data/images"} <= paths
        assert (template["metadata"]["labels"]["stage"], template["metadata"]["annotations"]) == (
            "dev",
            {"note": "first try"},
        )
    (claim,) = lab.bed.client.list(CLAIMS, lab.namespace).body["items"]
    assert (claim["spec"]["accessModes"], claim["status"]["phase"]) == (["ReadWriteMany"], "Bound")
    ports = [
        one["spec"]["ports"][0].get("nodePort")
        for one in lab.bed.client.list(SERVICES, lab.namespace).body["items"]
    ]
    assert port in ports


def plain(job: Mapping[str, Any], names: set[str]) -> Any:
    """The job without what its own id decides, and whether it was let go."""
    text = yaml.safe_dump({**job["spec"], "runPolicy": {**job["spec"]["runPolicy"], "suspend": 0}})
    for name in names:
        text = text.replace(name, "id")
    return yaml.safe_load(re.sub(r"(steps-out-|genericsecret-)[0-9a-f-]+", r"\1", text))


def prepare(lab: Lab) -> None:
    """Nodes of the wanted type, and a volume that is there for the claim."""
    for number in (1, 2):
        label = {"metadata": {"labels": {"node.kubernetes.io/instance-type": TYPE}}}
        assert lab.bed.client.patch(NODES, "", f"gpu-node-{number}", label).ok
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": lab.prefix},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "local",
            "hostPath": {"path": f"/var/lib/{lab.prefix}"},
        },
    }
    assert lab.bed.client.create(VOLUMES, "", volume).ok


def advanced(page: Page, path: str) -> None:
    """Unfold what a section keeps for few people."""
    fold = page.locator("details").filter(has=page.get_by_test_id(f"f-worker.{path}"))
    fold.locator("summary").first.click()
