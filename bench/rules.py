"""A policy of 50 rules in four scopes, and a spec with every field that fits it."""

from typing import Any

import yaml

SCOPES = ("tenant", "cluster", "department", "project")
IMAGE = "local://examples"
_NUMBERS = ("compute.gpuDevicesRequest", "compute.cpuCoreRequest", "compute.cpuCoreLimit")
_SIZES = ("compute.cpuMemoryRequest", "compute.cpuMemoryLimit")


def documents() -> list[tuple[str, str]]:
    """(kind of scope, text) from far to near."""
    return [
        (kind, yaml.safe_dump(_document(level), sort_keys=False))
        for level, kind in enumerate(SCOPES)
    ]


def count() -> int:
    """Rules in all documents."""
    return sum(
        len(rules)
        for level in range(len(SCOPES))
        for half in _document(level)["rules"].values()
        for rules in _leaves(half)
    )


def spec() -> dict[str, Any]:
    """The fields of a machine that runs processes, all said and acceptable to all of them."""
    half = {
        "image": IMAGE,
        "command": "python train.py --config conf/base.yaml",
        "args": "--epochs 30 --batch-size 128",
        "environmentVariables": [
            {"name": f"SETTING_{number}", "value": f"value {number}"} for number in range(20)
        ],
        "compute": {
            "gpuDevicesRequest": 0,
            "cpuCoreRequest": 0.5,
            "cpuCoreLimit": 1,
            "cpuMemoryRequest": "256M",
            "cpuMemoryLimit": "512M",
        },
        "labels": [{"name": f"label-{number}", "value": "some"} for number in range(10)],
        "annotations": [{"name": f"note-{number}", "value": "some"} for number in range(10)],
    }
    whole = {
        "distributedFramework": "PyTorch",
        "numWorkers": 2,
        "terminationGracePeriodSeconds": 30,
        "backoffLimit": 2,
        "autoDeletionTimeAfterCompletionSeconds": 86400,
    }
    return {"spec": half | whole, "masterSpec": half}


def full() -> dict[str, Any]:
    """By qualified path: a value for every field that goes with a PyTorch workload, in both roles.

    What is missing is for other frameworks, contradicts what is here, or nobody may set at first.
    """
    both = {
        "image": "registry.local/ddp:1.4",
        "imagePullPolicy": "IfNotPresent",
        "imagePullSecrets": [{"name": "registry"}],
        "command": "python train.py --config conf/base.yaml",
        "args": "--epochs 30 --batch-size 128",
        "workingDir": "/workspace",
        "environmentVariables": [
            {"name": f"SETTING_{number}", "value": f"value {number}"} for number in range(20)
        ],
        "stdin": True,
        "tty": True,
        "exposedUrls": [{"name": "notebook", "container": 8888, "toolType": "jupyter-notebook"}],
        "ports": [
            {"name": "own", "container": 9000, "serviceType": "NodePort", "toolType": "custom"}
        ],
        "relatedUrls": [{"url": "https://wiki.lab.example/run", "name": "Notes"}],
        "createHomeDir": True,
        "security.uidGidSource": "custom",
        "security.runAsUid": 1000,
        "security.runAsGid": 1000,
        "security.supplementalGroups": "100,200",
        "security.runAsNonRoot": True,
        "security.readOnlyRootFilesystem": False,
        "security.allowPrivilegeEscalation": False,
        "security.seccompProfileType": "RuntimeDefault",
        "probes.readiness.handler.httpGet.port": 8888,
        "probes.readiness.handler.httpGet.path": "/ready",
        "probes.readiness.handler.httpGet.host": "localhost",
        "probes.readiness.handler.httpGet.scheme": "HTTP",
        "probes.readiness.initialDelaySeconds": 5,
        "probes.readiness.periodSeconds": 10,
        "probes.readiness.timeoutSeconds": 3,
        "probes.readiness.successThreshold": 1,
        "probes.readiness.failureThreshold": 3,
        "compute.gpuDevicesRequest": 0,
        "compute.cpuCoreRequest": 0.5,
        "compute.cpuCoreLimit": 1,
        "compute.cpuMemoryRequest": "256M",
        "compute.cpuMemoryLimit": "512M",
        "compute.largeShmRequest": True,
        "compute.extendedResources": [{"resource": "rdma/hca", "quantity": "1"}],
        "nodePools": [{"name": "default"}],
        "nodeType": "p5.48xlarge",
        "nodeAffinityRequired": [
            {
                "name": "zone",
                "key": "topology.kubernetes.io/zone",
                "operator": "In",
                "values": "eu-1a, eu-1b",
            }
        ],
        "podAffinity.key": "topology.kubernetes.io/zone",
        "podAffinity.type": "Required",
        "tolerations": [
            {"name": "ours", "key": "dedicated", "operator": "Exists", "effect": "Any"}
        ],
        "storage.pvc": [{"name": "run", "path": "/run-data", "claimInfo": {"size": "10G"}}],
        "storage.emptyDirVolume": [{"name": "scratch", "path": "/scratch"}],
        "storage.nfs": [
            {"name": "sets", "server": "nfs.lab.example", "path": "/sets", "mountPath": "/sets"}
        ],
        "storage.git": [
            {"name": "code", "repository": "https://git.lab.example/code.git", "path": "/code"}
        ],
        "storage.s3": [
            {"name": "bucket", "bucket": "sets", "path": "/bucket", "url": "https://s3.lab.example"}
        ],
        "storage.configMapVolume": [
            {"name": "nccl", "configMap": "nccl", "mountPath": "/etc/nccl"}
        ],
        "storage.secretVolume": [{"name": "wandb", "secret": "wandb", "mountPath": "/etc/wandb"}],
        "restartPolicy": "Never",
        "category": "research",
        "labels": [{"name": f"label-{number}", "value": "some"} for number in range(10)],
        "annotations": [{"name": f"note-{number}", "value": "some"} for number in range(10)],
    }
    worker = {
        "distributedFramework": "PyTorch",
        "numWorkers": 2,
        "minReplicas": 1,
        "maxReplicas": 4,
        "priorityClass": "high",
        "cleanPodPolicy": "None",
        "terminationGracePeriodSeconds": 30,
        "backoffLimit": 2,
        "autoDeletionTimeAfterCompletionSeconds": 86400,
    }
    found = {f"worker.{path}": value for path, value in (both | worker).items()}
    return found | {f"master.{path}": value for path, value in both.items()}


def usual() -> dict[str, Any]:
    """By qualified path: what most submissions say."""
    said = usual_body("usual", 0, "")["spec"] | {"image": "registry.local/ddp:1.4"}
    compute = {f"compute.{name}": value for name, value in said.pop("compute").items()}
    return {f"worker.{path}": value for path, value in (said | compute).items()}


def usual_body(name: str, project: int, cluster: str) -> dict[str, Any]:
    """A submission as most are: some values said, the rest from policy and defaults."""
    variables = {"NCCL_DEBUG": "WARN", "OMP_NUM_THREADS": "4", "HF_HOME": "/cache", "RUN": name}
    return {
        "name": name,
        "projectId": str(project),
        "clusterId": cluster,
        "configuration": "workersAndMaster",
        "spec": {
            "distributedFramework": "PyTorch",
            "image": IMAGE,
            "command": "python train.py --config conf/base.yaml",
            "args": "--epochs 30 --batch-size 128",
            "numWorkers": 4,
            "environmentVariables": [{"name": k, "value": v} for k, v in variables.items()],
            "compute": {"cpuCoreRequest": 0.5, "cpuMemoryRequest": "256M"},
            "labels": [{"name": "team", "value": "vision"}],
        },
    }


def body(name: str, project: int, cluster: str) -> dict[str, Any]:
    """A submission with every field."""
    return {
        "name": name,
        "projectId": str(project),
        "clusterId": cluster,
        "configuration": "workersAndMaster",
        "masterSpecSameAsWorker": False,
        **spec(),
    }


def _document(level: int) -> dict[str, Any]:
    """The nearer the scope, the tighter: every layer has to be merged to know what holds."""
    worker: dict[str, Any] = {
        "image": {"required": True},
        "numWorkers": {"min": 1, "max": 64 // (level + 1)},
        "backoffLimit": {"max": 10 - level},
        "terminationGracePeriodSeconds": {"min": 0, "max": 300 - 30 * level},
        "compute": _compute(level),
    }
    master = {"compute": {"cpuCoreRequest": {"max": 8 - level}}} if level > 1 else {}
    defaults = {"worker": {"numWorkers": 2, "compute": {"cpuMemoryRequest": f"{256 + level}M"}}}
    rules = {"worker": worker} | ({"master": master} if master else {})
    return {"defaults": defaults, "rules": rules}


def _compute(level: int) -> dict[str, Any]:
    rules: dict[str, Any] = {}
    for path in (*_NUMBERS, *_SIZES):
        most: Any = f"{64 - level}G" if path in _SIZES else 32 - level
        rules[path.removeprefix("compute.")] = {"max": most}
    if level == 0:
        rules["cpuCoreRequest"]["min"] = 0.1
        rules["cpuMemoryRequest"]["min"] = "16M"
    if level == 1:
        rules["gpuDevicesRequest"]["min"] = 0
        rules["gpuDevicesRequest"]["step"] = 1
    return rules


def _leaves(tree: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    for value in tree.values():
        if all(not isinstance(inner, dict) for inner in value.values()):
            found.append(value)
        else:
            found += _leaves(value)
    return found
