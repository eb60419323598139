"""Every framework in each of its configurations: from the form to the real operator, and back.

What a person types is looked for in the object that the API server holds; the pods are the
operator's own. They end as the test says, since nothing runs in them.
"""

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from gangline.drivers.kubernetes.kinds import KINDS
from gangline.spec.frameworks import PROGRAMS, WORKERS_AND_MASTER, WORKERS_ONLY
from tests.support.lab import PATIENCE, Lab, replica_of
from tests.support.screens import Watch
from tests.support.training_form import Typed, submit

WORKER = Typed(
    texts={
        "image": "registry.example/speech:1.4",
        "command": 'python "train it.py"',
        "args": "--epochs 10",
        "numWorkers": "2",
        "compute.gpuDevicesRequest": "1",
        "compute.cpuCoreRequest": "0.25",
        "compute.cpuMemoryRequest": "64",
    },
    choices={"imagePullPolicy": "IfNotPresent"},
    rows={
        "environment variable": [{"Name": "NCCL_DEBUG", "Value": "INFO"}],
        "toleration": [
            {"Name": "gpus", "Key": "nvidia.com/gpu", "Operator": "Exists", "Effect": "NoSchedule"}
        ],
        "label": [{"Name": "team", "Value": "speech"}],
    },
)
MASTER = Typed(
    texts={"image": "registry.example/leader:2", "command": "python lead.py", "args": ""},
)
MPI_WORKER = replace(WORKER, texts={**WORKER.texts, "command": "mpirun python train.py"})
MPI_MASTER = replace(MASTER, texts={**MASTER.texts, "command": "mpirun -np 2 python train.py"})


@dataclass(frozen=True)
class Cell:
    """One cell of the matrix, and what Kubeflow calls its parts."""

    framework: str
    configuration: str
    kind: str
    replicas: str
    container: str
    master: str = ""
    """Key of the leading role; empty without one."""
    is_different: bool = False
    version: str = "kubeflow.org/v1"

    @property
    def id(self) -> str:
        mode = "workers" if not self.master else "different" if self.is_different else "same"
        return f"{self.framework}-{mode}".lower()

    @property
    def names(self) -> list[str]:
        """Of its replicas, as the pages show them."""
        return [*(["master-0"] if self.master else []), "worker-0", "worker-1"]

    @property
    def culprit(self) -> str:
        """Which one breaks; of MPI it is the launcher, in which every rank's failure ends."""
        return "master-0" if self.framework == "MPI" else "worker-1"


BOTH, ALONE = WORKERS_AND_MASTER, WORKERS_ONLY
PYTORCH = ("PyTorchJob", "pytorchReplicaSpecs", "pytorch")
TF = ("TFJob", "tfReplicaSpecs", "tensorflow")
XGBOOST = ("XGBoostJob", "xgbReplicaSpecs", "xgboost")
MPI = ("MPIJob", "mpiReplicaSpecs", "mpi")
V2 = "kubeflow.org/v2beta1"
CELLS = (
    Cell("PyTorch", BOTH, *PYTORCH, "Master"),
    Cell("PyTorch", BOTH, *PYTORCH, "Master", is_different=True),
    Cell("PyTorch", ALONE, *PYTORCH),
    Cell("TF", BOTH, *TF, "Chief"),
    Cell("TF", BOTH, *TF, "Chief", is_different=True),
    Cell("TF", ALONE, *TF),
    Cell("XGBoost", BOTH, *XGBOOST, "Master"),
    Cell("XGBoost", BOTH, *XGBOOST, "Master", is_different=True),
    Cell("MPI", BOTH, *MPI, "Launcher", version=V2),
    Cell("MPI", BOTH, *MPI, "Launcher", version=V2, is_different=True),
    Cell("JAX", ALONE, "JAXJob", "jaxReplicaSpecs", "jax"),
)


@pytest.fixture(scope="module")
def page(lab: Lab) -> Iterator[Page]:
    """One window for all cells, as a person has it open."""
    window = lab.window()
    yield window
    assert Watch.of(window).lines == []
    window.context.close()


def test_the_cells_are_those_that_the_frameworks_have() -> None:
    """MXNet has no operator of Kubeflow's: `test_kubernetes_gang` runs its JobSet."""
    of_kubeflow = [one for one in PROGRAMS.values() if not KINDS[one.name].is_extra]
    assert {(cell.framework, cell.configuration) for cell in CELLS} == {
        (framework.name, configuration)
        for framework in of_kubeflow
        for configuration in framework.configurations
    }
    assert {cell.framework for cell in CELLS if cell.is_different} == {
        framework.name
        for framework in of_kubeflow
        if WORKERS_AND_MASTER in framework.configurations
    }


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param(
            cell,
            id=cell.id,
            marks=() if cell.id == "pytorch-same" else pytest.mark.thorough,
        )
        for cell in CELLS
    ],
)
def test_from_the_form_to_the_operator_and_back(page: Page, lab: Lab, cell: Cell) -> None:
    is_mpi = cell.framework == "MPI"
    worker, master = (MPI_WORKER, MPI_MASTER) if is_mpi else (WORKER, MASTER)
    submit(
        page,
        cell.id,
        framework=cell.framework,
        configuration=cell.configuration,
        worker=worker,
        master=master if cell.is_different else None,
    )
    page.evaluate("window.neverReloaded = true")
    row = page.locator("tbody tr").filter(has=page.get_by_role("link", name=cell.id, exact=True))
    workload_id = row.get_attribute("data-id") or ""
    uuid.UUID(workload_id)
    says(row, "Running", f"{len(cell.names)}/{len(cell.names)} pods ready")
    raw = lab.object(cell.framework, cell.id)
    assert_object(raw, cell, workload_id)
    assert_pods(lab.pods(workload_id), raw, cell)

    ends = dict.fromkeys(cell.names, "Completed")
    if is_mpi:
        ends |= dict.fromkeys(cell.names[1:], "Stopped")
    # As in a training, the leader is the last one; the operator takes away what still runs then.
    for name in reversed([name for name, word in ends.items() if word == "Completed"]):
        lab.end(pod_of(lab, workload_id, name), 0)
    says(row, "Completed")
    assert page.evaluate("window.neverReloaded") is True
    assert ended_as(lab.object(cell.framework, cell.id)) == {"Succeeded"}
    see_pods(page, workload_id, ends)

    page.goto("/workloads")
    row.get_by_role("button", name=f"Actions for {cell.id}").click()
    row.get_by_role("button", name="Run again").click()
    says(row, "Running")
    again = lab.object(cell.framework, cell.id)
    assert again["metadata"]["uid"] != raw["metadata"]["uid"]
    assert_object(again, cell, workload_id)
    lab.end(pod_of(lab, workload_id, cell.culprit), 3)
    says(row, "Failed")
    says(row, f"{cell.culprit}: Exited with code 3")
    assert "Failed" in ended_as(lab.object(cell.framework, cell.id))
    others = dict.fromkeys(cell.names, "Stopped")
    see_pods(page, workload_id, others | {cell.culprit: "Exited with code 3"})


def pod_of(lab: Lab, workload_id: str, replica: str) -> Mapping[str, Any]:
    return next(pod for pod in lab.pods(workload_id) if replica_of(pod) == replica)


def says(row: Locator, status: str, pods: str = "") -> None:
    """The row shows this, without a reload."""
    expect(row.get_by_test_id("cell-status")).to_contain_text(status, timeout=PATIENCE)
    if pods:
        expect(row.get_by_test_id("cell-pods")).to_contain_text(pods, timeout=PATIENCE)


def see_pods(page: Page, workload_id: str, wanted: Mapping[str, str]) -> None:
    """The Pods tab lists these replicas with these words, and no other."""
    page.goto(f"/workloads/{workload_id}/pods")
    table = page.locator('[data-part="podtable"]')
    expect(table.locator("tbody tr")).to_have_count(len(wanted), timeout=PATIENCE)
    for name, words in wanted.items():
        expect(table.locator(f"[data-pod={name}]")).to_contain_text(words, timeout=PATIENCE)


def assert_object(raw: Mapping[str, Any], cell: Cell, workload_id: str) -> None:
    """What was typed is in the object, where Kubeflow's reference has it."""
    assert (raw["apiVersion"], raw["kind"]) == (cell.version, cell.kind)
    labels = raw["metadata"]["labels"]
    assert labels["gangline.dev/workload"] == workload_id
    assert (labels["app.kubernetes.io/managed-by"], labels["team"]) == ("gangline", "speech")
    policy = raw["spec"]["runPolicy"]
    assert (policy["suspend"], policy["backoffLimit"], policy["cleanPodPolicy"]) == (
        False,
        0,
        "Running",
    )
    roles = raw["spec"][cell.replicas]
    counts = {role: spec["replicas"] for role, spec in roles.items()}
    assert counts == {"Worker": 2} | ({cell.master: 1} if cell.master else {})
    for role, spec in roles.items():
        assert spec["restartPolicy"] == "Never"
        assert_pod_template(spec["template"], cell, role)


def assert_pod_template(template: Mapping[str, Any], cell: Cell, role: str) -> None:
    labels, spec = template["metadata"]["labels"], template["spec"]
    leads = role != "Worker"
    assert (labels["team"], labels["gangline.dev/role"]) == (
        "speech",
        "master" if leads else "worker",
    )
    assert {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"} in spec[
        "tolerations"
    ]
    main = spec["containers"][0]
    is_mpi, is_own = cell.framework == "MPI", leads and cell.is_different
    own, usual = (MPI_MASTER, MPI_WORKER) if is_mpi else (MASTER, WORKER)
    assert main["name"] == cell.container
    assert main["image"] == (own if is_own else usual).texts["image"]
    assert main["imagePullPolicy"] == "IfNotPresent"
    assert (main.get("command"), main.get("args")) == words_of(cell, leads=leads)
    env = {one["name"]: one.get("value") for one in main["env"]}
    assert env["NCCL_DEBUG"] == "INFO"
    resources = main["resources"]
    assert resources["requests"]["cpu"] == "250m"
    assert resources["requests"]["memory"].startswith("64M")
    # The operator of MPI keeps GPUs for the workers: its launcher trains nothing.
    has_gpu = not (is_mpi and leads)
    assert resources.get("limits", {}).get("nvidia.com/gpu") == ("1" if has_gpu else None)


def words_of(cell: Cell, *, leads: bool) -> tuple[list[str] | None, list[str] | None]:
    """Command and arguments of a role, split as they were typed."""
    args = ["--epochs", "10"]
    if cell.framework == "MPI":
        if not leads:
            return None, None
        count = ["-np", "2"] if cell.is_different else []
        return ["mpirun", *count, "python", "train.py"], args
    if leads and cell.is_different:
        return ["python", "lead.py"], args
    return ["python", "train it.py"], args


def assert_pods(pods: list[dict[str, Any]], raw: Mapping[str, Any], cell: Cell) -> None:
    """The pods are the operator's: one per replica, owned by the object or by its Job."""
    assert sorted(replica_of(pod) for pod in pods) == cell.names
    name, uid = raw["metadata"]["name"], raw["metadata"]["uid"]
    for pod in pods:
        owner = next(one for one in pod["metadata"]["ownerReferences"] if one["controller"])
        is_launcher = cell.framework == "MPI" and replica_of(pod) == "master-0"
        assert owner["kind"] == ("Job" if is_launcher else cell.kind)
        assert is_launcher or owner["uid"] == uid
        assert pod["metadata"]["labels"]["training.kubeflow.org/job-name"] == name
        assert pod["spec"]["nodeName"].startswith("gpu-node-")


def ended_as(raw: Mapping[str, Any]) -> set[str]:
    """Which ends the operator has set on its object."""
    true = {one["type"] for one in raw["status"]["conditions"] if one["status"] == "True"}
    return true & {"Succeeded", "Failed"}
