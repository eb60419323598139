"""The test bed is a real Kubernetes: its own parts say so."""

import dataclasses
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client as official
from kubernetes import stream

from gangline.drivers.kubernetes import resources
from gangline.drivers.kubernetes.client import Client, Unreachable
from gangline.drivers.kubernetes.kinds import KINDS
from tests.beds.kubernetes.bed import Bed
from tests.beds.kubernetes.jobs import conditions, job
from tests.beds.kubernetes.objects import (
    GPUS_PER_NODE,
    LOGS,
    NODES,
    SECRETS,
    SERVICE_ACCOUNTS,
    STAGES,
)
from tests.beds.kubernetes.readiness import is_ready
from tests.support.waiting import wait_for

PYTORCH, MPI = KINDS["PyTorch"].resource, KINDS["MPI"].resource
pytestmark = pytest.mark.thorough


THREE = {"Master": 1, "Worker": 2}


def create(bed: Bed, namespace: str, body: dict[str, object], framework: str = "PyTorch") -> str:
    made = bed.client.create(KINDS[framework].resource, namespace, body)
    assert made.status == 201, made.message
    return str(made.body["metadata"]["uid"])


def until(bed: Bed, namespace: str, name: str, condition: str, framework: str = "PyTorch") -> None:
    wait_for(
        lambda: condition in conditions(bed, framework, namespace, name),
        seconds=30,
        what=f"{name} to be {condition}",
    )


def pods(bed: Bed, namespace: str) -> dict[str, Any]:
    items = bed.client.list(resources.PODS, namespace).body["items"]
    return {item["metadata"]["name"]: item["status"] for item in items}


def test_every_part_is_ready_and_says_who_it_is(own_bed: Bed) -> None:
    bed = own_bed
    assert bed.state
    assert list(bed.processes) == [
        *("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"),
        *("kwok", "training-operator", "mpi-operator"),
    ]
    for name, process in bed.processes.items():
        assert process.is_alive, name
        assert is_ready(name, bed.state.layout), name
    version = bed.client.request("GET", "/version").body
    assert version["gitVersion"] == "v1.36.3"
    assert 0 < bed.state.seconds < 120


@pytest.mark.parametrize(("code", "end"), [("0", "Succeeded"), ("3", "Failed")])
def test_who_has_only_a_form_says_the_end_by_variables(
    bed: Bed, namespace: str, code: str, end: str
) -> None:
    body = job("PyTorch", "said", {"Master": 1, "Worker": 1})
    for replicas in body["spec"]["pytorchReplicaSpecs"].values():
        replicas["template"]["spec"]["containers"][0]["env"] = [
            {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "BED_EXIT_CODE", "value": code},
            {"name": "BED_RUN_FOR", "value": "200ms"},
        ]
    create(bed, namespace, body)
    until(bed, namespace, "said", end)


def test_nodes_have_gpus_and_are_ready(bed: Bed) -> None:
    nodes = bed.client.list(resources.NODES).body["items"]
    assert len(nodes) == NODES
    for node in nodes:
        assert node["status"]["allocatable"]["nvidia.com/gpu"] == str(GPUS_PER_NODE)
        ready = [c["status"] for c in node["status"]["conditions"] if c["type"] == "Ready"]
        assert ready == ["True"]


def test_a_pytorchjob_runs_and_succeeds_by_its_annotations(bed: Bed, namespace: str) -> None:
    create(bed, namespace, job("PyTorch", "digits", THREE, gpus=8))
    until(bed, namespace, "digits", "Running")
    names = {"digits-master-0", "digits-worker-0", "digits-worker-1"}
    wait_for(lambda: {p["phase"] for p in pods(bed, namespace).values()} == {"Running"})
    assert set(pods(bed, namespace)) == names
    for name in names:
        bed.annotate(namespace, name, exit_code=0, run_for="100ms")
    until(bed, namespace, "digits", "Succeeded")


def test_a_job_whose_master_ends_with_3_fails(bed: Bed, namespace: str) -> None:
    rule: dict[str, object] = {"exit_code": 3, "run_for": "100ms", "reason": "OOMKilled"}
    create(bed, namespace, job("PyTorch", "fails", THREE, behaviour={"Master": rule}))
    until(bed, namespace, "fails", "Failed")
    (status,) = pods(bed, namespace)["fails-master-0"]["containerStatuses"]
    assert status["state"]["terminated"]["exitCode"] == 3
    assert status["state"]["terminated"]["reason"] == "OOMKilled"


def test_an_mpijob_runs_with_its_launcher(bed: Bed, namespace: str) -> None:
    body = job("MPI", "ring", {"Launcher": 1, "Worker": 2})
    create(bed, namespace, body, "MPI")
    until(bed, namespace, "ring", "Running", "MPI")
    workers = [name for name in pods(bed, namespace) if "worker" in name]
    launchers = [name for name in pods(bed, namespace) if "launcher" in name]
    assert (len(workers), len(launchers)) == (2, 1)
    bed.annotate(namespace, launchers[0], exit_code=0, run_for="100ms")
    until(bed, namespace, "ring", "Succeeded", "MPI")


def test_the_operators_webhook_refuses_a_wrong_container(bed: Bed, namespace: str) -> None:
    answer = bed.client.create(PYTORCH, namespace, job("PyTorch", "wrong", THREE, container="x"))
    assert answer.status == 403
    assert "validator.pytorchjob.training-operator.kubeflow.org" in answer.message
    assert "must have at least one container with name pytorch" in answer.message


@pytest.mark.parametrize(
    ("start", "phase", "field", "word"),
    [
        ("image-pull-error", "Pending", "waiting", "ImagePullBackOff"),
        ("not-ready", "Running", "running", ""),
    ],
)
def test_a_pod_starts_badly_when_told(
    bed: Bed, namespace: str, start: str, phase: str, field: str, word: str
) -> None:
    body = job("PyTorch", "bad", {"Master": 1}, behaviour={"Master": {"start": start}})
    create(bed, namespace, body)

    def status() -> Any:
        return pods(bed, namespace).get("bad-master-0", {})

    wait_for(lambda: status().get("containerStatuses"), seconds=20)
    assert status()["phase"] == phase
    (container,) = status()["containerStatuses"]
    assert container["ready"] is False
    assert container["state"][field].get("reason", "") == word


def test_a_container_restarts_in_place_when_told(bed: Bed, namespace: str) -> None:
    create(bed, namespace, job("PyTorch", "again", {"Master": 1}))
    until(bed, namespace, "again", "Running")
    bed.annotate(namespace, "again-master-0", restarts=2)

    def restarts() -> object:
        (container,) = pods(bed, namespace)["again-master-0"]["containerStatuses"]
        return container["restartCount"]

    wait_for(lambda: restarts() == 2, seconds=20)
    assert pods(bed, namespace)["again-master-0"]["phase"] == "Running"


def test_logs_are_read_and_followed_through_the_api_server(bed: Bed, namespace: str) -> None:
    create(bed, namespace, job("PyTorch", "talks", {"Master": 1}))
    until(bed, namespace, "talks", "Running")
    pod = "talks-master-0"
    bed.write_log(namespace, pod, ["epoch 1 loss 0.5", "epoch 2 loss 0.25"])
    path = resources.PODS.path(namespace, pod, "log")
    wait_for(lambda: bed.text(path), what="the log to be served")
    assert bed.text(path) == "epoch 1 loss 0.5\nepoch 2 loss 0.25\n"
    last = bed.text(path, tailLines=1, timestamps=True)
    assert last.endswith("Z epoch 2 loss 0.25\n")
    threading.Timer(0.5, bed.write_log, [namespace, pod, ["epoch 3 loss 0.1"]]).start()
    with bed.client.stream(path, query={"follow": True}, silence=10) as (status, pieces):
        assert status == 200
        seen = b""
        for piece in pieces:
            seen += piece
            if b"epoch 3" in seen:
                break
    assert seen.decode().splitlines()[-1] == "epoch 3 loss 0.1"


def test_a_command_is_run_in_a_pod_through_the_api_server(
    own_bed: Bed, namespace: str, tmp_path: Path
) -> None:
    bed = own_bed
    create(bed, namespace, job("PyTorch", "asks", {"Master": 1}))
    until(bed, namespace, "asks", "Running")
    (tmp_path / "answer").write_text("42")
    bed.serve_exec(namespace, "asks-master-0", tmp_path)
    configuration = official.Configuration(host=bed.admin.server)
    configuration.ssl_ca_cert = str(bed.folder / "pki" / "ca.crt")
    configuration.api_key = {"authorization": f"Bearer {bed.admin.token}"}
    with official.ApiClient(configuration) as api:
        pods_api = official.CoreV1Api(api)

        def said() -> str:
            try:
                channel = stream.stream(
                    pods_api.connect_get_namespaced_pod_exec,
                    "asks-master-0",
                    namespace,
                    command=["cat", "answer"],
                    stdout=True,
                    _preload_content=False,
                )
            except official.ApiException:
                return ""  # the simulated kubelet has not heard of it yet
            channel.run_forever(timeout=10)
            text = str(channel.read_all())
            channel.sock.shutdown()
            return text

        wait_for(lambda: said() == "42", seconds=20, every=0.3)


def test_a_foreground_deletion_leaves_nothing(bed: Bed, namespace: str) -> None:
    uid = create(bed, namespace, job("PyTorch", "goes", THREE))
    until(bed, namespace, "goes", "Running")
    assert bed.client.delete(PYTORCH, namespace, "goes", uid=uid).status == 200
    wait_for(lambda: bed.client.get(PYTORCH, namespace, "goes").status == 404, seconds=30)
    assert pods(bed, namespace) == {}
    services = resources.Resource("", "v1", "services", "Service")
    assert bed.client.list(services, namespace).body["items"] == []


def test_the_restricted_user_may_do_nothing_that_its_role_does_not_say(bed: Bed) -> None:
    with closing(Client(bed.restricted)) as client:
        assert client.list(resources.NODES).ok
        assert client.list(SECRETS, "kube-system").status == 403
        assert client.list(STAGES).status == 403
        assert client.list(LOGS).status == 403


def test_a_token_of_ganglines_service_account_has_the_same_rights(bed: Bed) -> None:
    asks = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = SERVICE_ACCOUNTS.path("gangline", "gangline", "token")
    token = bed.client.request("POST", path, body=asks).body["status"]["token"]
    with closing(Client(dataclasses.replace(bed.admin, token=token))) as client:
        assert client.list(resources.NODES).ok
        refused = client.list(SECRETS, "kube-system")
    assert refused.status == 403
    assert "system:serviceaccount:gangline:gangline" in refused.message


def test_an_api_server_that_was_killed_comes_back_with_everything(
    own_processes: Bed, namespace: str
) -> None:
    bed = own_processes
    uid = create(bed, namespace, job("PyTorch", "stays", {"Master": 1}))
    bed.kill("kube-apiserver")
    assert not bed.processes["kube-apiserver"].is_alive
    with pytest.raises(Unreachable):
        bed.client.get(PYTORCH, namespace, "stays")
    bed.restart("kube-apiserver")
    assert bed.client.get(PYTORCH, namespace, "stays").body["metadata"]["uid"] == uid
    until(bed, namespace, "stays", "Running")


def test_an_operator_that_was_restarted_works_at_once(own_processes: Bed, namespace: str) -> None:
    bed = own_processes
    before = bed.processes["mpi-operator"]
    bed.restart("mpi-operator")
    assert bed.processes["mpi-operator"] != before
    create(bed, namespace, job("MPI", "later", {"Launcher": 1, "Worker": 1}), "MPI")
    until(bed, namespace, "later", "Running", "MPI")


def test_while_an_operator_is_down_its_webhook_refuses_and_then_takes_again(
    own_processes: Bed, namespace: str
) -> None:
    bed = own_processes
    bed.kill("training-operator")
    try:
        answer = bed.client.create(PYTORCH, namespace, job("PyTorch", "waits", THREE))
        assert answer.status == 500
        assert "failed calling webhook" in answer.message
    finally:
        bed.restart("training-operator")
    create(bed, namespace, job("PyTorch", "waits", THREE))
    until(bed, namespace, "waits", "Running")
