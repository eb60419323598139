"""The bodies that the contract prints, word for word but for the ids of this installation."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from gangline.clusters import credentials
from gangline.clusters.models import Cluster
from gangline.policies.services import save
from gangline.resources.services import make
from tests.support.api import ApiClient
from tests.support.api_server import Script, answering
from tests.support.world import World
from workloads.models import Attempt, Workload
from workloads.services.bodies import CLIENT_DEFAULTS

SUBMIT = "workloads/distributed"
DDP = """{
  "name": "bert-ddp", "projectId": "12", "clusterId": "3d0c2c6e-8b1f-4c57-9c1f-2f7f0a5f0a11",
  "masterSpecSameAsWorker": true,
  "spec": {
    "distributedFramework": "PyTorch", "numWorkers": 3, "cleanPodPolicy": "None",
    "image": "registry.local/ddp:1.4", "imagePullPolicy": "IfNotPresent",
    "command": "torchrun", "args": "train.py --epochs=10",
    "environmentVariables": [{"name": "NCCL_DEBUG", "value": "INFO"},
      {"name": "HF_TOKEN", "secret": {"name": "hf", "key": "token"}}],
    "compute": {"gpuDevicesRequest": 8, "cpuCoreRequest": 16, "cpuMemoryRequest": "128G", "largeShmRequest": true},
    "nodePools": ["h100", "default"], "nodeType": "dgx-h100",
    "tolerations": [{"name": "t1", "key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
    "podAffinity": {"type": "Preferred", "key": "topology.kubernetes.io/zone"},
    "storage": {"pvc": [{"path": "/ckpt", "existingPvc": false, "ephemeral": false,
      "claimInfo": {"size": "500G", "storageClass": "fast", "accessModes": {"readWriteMany": true}, "volumeMode": "Filesystem"}}]},
    "terminationGracePeriodSeconds": 120, "backoffLimit": 6,
    "autoDeletionTimeAfterCompletionSeconds": 86400,
    "annotations": [{"name": "team", "value": "nlp"}], "labels": [{"name": "stage", "value": "dev"}]
  }
}"""  # noqa: E501
OWN_MASTER = """{"masterSpecSameAsWorker": false, "masterSpec": {"image": "registry.local/ddp:1.4",
  "command": "mpirun", "compute": {"gpuDevicesRequest": 0, "cpuCoreRequest": 2, "cpuMemoryRequest": "4G"}}}"""  # noqa: E501
FINE_TUNING = """{
  "name": "llama-ft-01",
  "projectId": "4500001",
  "clusterId": "8c1f0a52-6c0b-4f6e-9a45-0f2a3f6f7b10",
  "masterSpecSameAsWorker": false,
  "spec": {
    "distributedFramework": "PyTorch",
    "numWorkers": 3,
    "image": "registry.lab.local/train/torchrun:2.4",
    "imagePullPolicy": "IfNotPresent",
    "imagePullSecrets": [{"name": "dockerregistry-lab"}],
    "command": "torchrun",
    "args": "--nnodes=4 --nproc_per_node=2 train.py --epochs=3",
    "workingDir": "/workspace",
    "compute": {
      "gpuDevicesRequest": 2,
      "cpuCoreRequest": 8,
      "cpuCoreLimit": 16,
      "cpuMemoryRequest": "32G",
      "cpuMemoryLimit": "64G",
      "largeShmRequest": true,
      "extendedResources": [{"resource": "rdma/hca", "quantity": "1"}]
    },
    "environmentVariables": [
      {"name": "NCCL_DEBUG", "value": "INFO"},
      {"name": "HF_TOKEN", "secret": {"name": "genericsecret-hf", "key": "token"}},
      {"name": "POD_NAME", "podFieldRef": {"path": "metadata.name"}},
      {"name": "WANDB_API_KEY", "userCredential": {"name": "my-wandb", "key": "apikey"}}
    ],
    "security": {
      "uidGidSource": "custom",
      "runAsUid": 1000,
      "runAsGid": 1000,
      "supplementalGroups": "2001,2002",
      "capabilities": ["IPC_LOCK"],
      "allowPrivilegeEscalation": false
    },
    "storage": {
      "pvc": [{"name": "datasets", "path": "/data", "existingPvc": true, "claimName": "team-a-datasets", "readOnly": true}],
      "git": [{"name": "code", "repository": "https://git.lab.local/ml/train.git", "branch": "main", "path": "/workspace/src"}],
      "emptyDirVolume": [{"name": "scratch", "path": "/scratch", "sizeLimit": "100Gi"}]
    },
    "nodePools": ["h200", "default"],
    "podAffinity": {"type": "Preferred", "key": "topology.kubernetes.io/zone"},
    "tolerations": [{"name": "gpu", "operator": "Equal", "key": "dedicated", "value": "training", "effect": "NoSchedule"}],
    "labels": [{"name": "stage", "value": "research"}],
    "annotations": [{"name": "billing", "value": "ml-17"}],
    "priorityClass": "medium-high",
    "preemptibility": "preemptible",
    "backoffLimit": 4,
    "terminationGracePeriodSeconds": 120,
    "autoDeletionTimeAfterCompletionSeconds": 86400,
    "cleanPodPolicy": "Running"
  },
  "masterSpec": {
    "image": "registry.lab.local/train/torchrun:2.4",
    "command": "torchrun",
    "args": "--nnodes=4 --nproc_per_node=2 train.py --epochs=3 --log-dir=/data/logs",
    "compute": {"gpuDevicesRequest": 2, "cpuCoreRequest": 8, "cpuMemoryRequest": "48G"},
    "exposedUrls": [
      {
        "name": "tensorboard",
        "container": 6006,
        "toolType": "tensorboard",
        "toolName": "TensorBoard",
        "authorizationType": "authorizedGroups",
        "authorizedGroups": ["ml-team"]
      }
    ]
  }
}"""  # noqa: E501
BENCHMARK = """{
  "name": "hvd-bench",
  "useGivenNameAsPrefix": true,
  "projectId": "4500001",
  "clusterId": "8c1f0a52-6c0b-4f6e-9a45-0f2a3f6f7b10",
  "masterSpecSameAsWorker": true,
  "spec": {
    "distributedFramework": "MPI",
    "numWorkers": 12,
    "slotsPerWorker": 1,
    "sshAuthMountPath": "/root/.ssh",
    "mpiLauncherCreationPolicy": "WaitForWorkersReady",
    "image": "gcr.io/run-ai-demo/quickstart-distributed:v0.3.0",
    "compute": {
      "gpuDevicesRequest": 1,
      "gpuRequestType": "portion",
      "gpuPortionRequest": 0.5,
      "gpuPortionLimit": 0.5,
      "cpuCoreRequest": 0.1,
      "cpuMemoryRequest": "100M"
    },
    "environmentVariables": [{"name": "RUNAI_SLEEP_SECS", "value": "60"}]
  }
}"""
POLICY = """
defaults: {worker: {compute: {gpuPortionRequest: 0.25}}}
rules:
  worker:
    numWorkers: {max: 8}
    compute: {gpuPortionRequest: {canEdit: false}}
"""


@pytest.fixture
def lab(world: World, loopback_admitted: None) -> Iterator[World]:
    """The installation of the contract: a Kubernetes under KAI Scheduler with what is named."""
    facts: dict[str, Any] = {"version": "v1.36.3", "runtimes": [], "detail": {}, "frameworks": [
        {"framework": name, "available": True, "reason": "", "version": "", "runtimes": []}
        for name in ("PyTorch", "MPI")
    ]}  # fmt: skip
    Cluster.objects.filter(pk=world.cluster.pk).update(
        kind="kubernetes",
        host_id="",
        config={"scheduler": "plain", "tools_domain": "lab.example"},
        capacity={"admission": "theirs", "cpus": 512.0, "memory": 10**13, "gpus": ["x"] * 64},
        facts=facts,
    )
    for pool in ("h100", "h200"):
        make("node_pool", cluster=world.cluster, name=pool, label_key="pool", label_value=pool)
    with answering(Script()) as access:
        credentials.store(Cluster.objects.get(pk=world.cluster.pk), access, by=None)
        yield world


def under(scheduler: str, world: World) -> None:
    row = Cluster.objects.get(pk=world.cluster.pk)
    Cluster.objects.filter(pk=row.pk).update(config={**row.config, "scheduler": scheduler})


def printed(text: str, world: World) -> dict[str, Any]:
    """The body with the ids of this installation in place of the printed ones."""
    ids = {"projectId": str(world.vision.pk), "clusterId": str(world.cluster.pk)}
    return {**json.loads(text), **ids}


def holds(told: Any, sent: Any) -> bool:
    """Whether the answer says everything as it was sent, beside what Gangline names itself."""
    if isinstance(sent, dict):
        return all(path in told and holds(told[path], value) for path, value in sent.items())
    if isinstance(sent, list):
        return len(told) == len(sent) and all(map(holds, told, sent))
    return bool(told == sent)


def accepted(told: dict[str, Any], body: dict[str, Any]) -> None:
    for half in ("spec", "masterSpec"):
        for path, value in body.get(half, {}).items():
            is_left_out = CLIENT_DEFAULTS.get(path) == value
            assert is_left_out or holds(told[half].get(path), value), (path, told[half])


def test_the_printed_training_is_accepted(lab: World, researcher: ApiClient) -> None:
    """Of form.md 6.5."""
    under("kai", lab)
    body = printed(DDP, lab)
    answer = researcher.post(SUBMIT, body)
    assert answer.status_code == 202, answer.content
    accepted(answer.json(), body)


def test_the_printed_fine_tuning_is_accepted_but_for_what_is_kept_from_all(
    lab: World, researcher: ApiClient
) -> None:
    """Of api.md 6.6: capabilities need a policy here, POD_NAME is set in every pod, and no
    scheduler gives way and keeps a master apart from its workers' topology at once."""
    pair = {"keyValuePairs": [{"key": "token", "value": "x"}]}
    make("credential", scope=lab.vision.scope, name="hf", kind="genericSecret", given=pair)
    own = {"keyValuePairs": [{"key": "apikey", "value": "x"}]}
    mine = {"meta": {"name": "my-wandb"}, "spec": {"genericSecret": own}}
    assert researcher.post("user-credentials", mine).status_code == 202
    body = printed(FINE_TUNING, lab)
    refused = researcher.post(SUBMIT, body)
    assert {(p["path"], p["rule"]) for p in refused.json()["problems"]} == {
        ("environmentVariables.2.name", "format"),
        ("security.capabilities", "canEdit"),
        ("preemptibility", "unsupported"),
    }
    del body["spec"]["preemptibility"]
    del body["spec"]["environmentVariables"][2], body["spec"]["security"]["capabilities"]
    answer = researcher.post(SUBMIT, body)
    assert answer.status_code == 202, answer.content
    accepted(answer.json(), body)


def test_the_printed_master_of_mpi_is_accepted(lab: World, researcher: ApiClient) -> None:
    body = {**printed(DDP, lab), **json.loads(OWN_MASTER)}
    body["spec"] |= {"distributedFramework": "MPI"}
    answer = researcher.post(SUBMIT, body)
    assert answer.status_code == 202, answer.content
    assert answer.json()["masterSpec"]["command"] == "mpirun"


def test_the_printed_benchmark_is_refused_by_the_policy_and_then_accepted(
    lab: World, researcher: ApiClient
) -> None:
    """Of api.md 6.7: 400 with both issues, then 202 under names of its own."""
    under("kai", lab)
    save(actor=None, scope=lab.installation.scope, text=POLICY, version=None)
    body = printed(BENCHMARK, lab)
    refused = researcher.post(SUBMIT, body)
    assert refused.status_code == 400
    assert refused.json()["code"] == 400
    issues = {one["field"]: one["rule"] for one in refused.json()["complianceIssues"]}
    assert issues == {"spec.numWorkers": "max", "spec.compute.gpuPortionRequest": "canEdit"}
    body["spec"] |= {"numWorkers": 8}
    body["spec"]["compute"] |= {"gpuPortionRequest": 0.25}
    assert not Workload.objects.exists()
    answers = [researcher.post(SUBMIT, body) for _ in range(2)]
    assert {one.status_code for one in answers} == {202}, answers[0].content
    made = [one.json() for one in answers]
    assert [one["requestedName"] for one in made] == ["hvd-bench"] * 2
    assert all(re.fullmatch(r"hvd-bench-[a-z0-9]{5}", one["name"]) for one in made)
    assert made[0]["name"] != made[1]["name"]
    accepted(made[0], body)
    assert (made[0]["desiredPhase"], made[0]["actualPhase"]) == ("Running", "Creating")
    for one in made:
        accepted(one, {"spec": body["spec"]})
        attempt = Attempt.objects.get(workload=one["workloadId"])
        assert '"GANGLINE_GPU_PORTION_LIMIT", "value": "0.5"' in json.dumps(attempt.rendered)
