"""Golden manifests: every object of a workload, one file per framework and per scheduler.

    .venv/bin/python -m tests.drivers.kubernetes.goldens

writes them anew; `test_manifests.py` compares, and `test_goldens_live.py` has the real API server
judge them, and with `make test-all` every combination of them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from gangline.drivers.base import AttemptRef, Submission
from gangline.drivers.kubernetes import manifests
from gangline.drivers.kubernetes.schedulers import ADAPTERS
from gangline.drivers.kubernetes.tool_services import Entrance
from gangline.spec.catalogue import catalogue
from gangline.spec.frameworks import PROGRAMS, WORKERS_AND_MASTER, WORKERS_ONLY
from gangline.spec.typed import typed
from gangline.spec.workload import ReplicaSpec, WorkerSpec

FOLDER = Path(__file__).parent / "golden"
COMMAND = ".venv/bin/python -m tests.drivers.kubernetes.goldens"
SAME, DIFFERENCES, NONE = "same", "differences", "none"
MODES = {SAME: WORKERS_AND_MASTER, DIFFERENCES: WORKERS_AND_MASTER, NONE: WORKERS_ONLY}
QUEUE = "team-a"
NAMESPACE, OWNER = "gangline-vision", "0b5c7a4e-1d5c-4d0e-9d67-4b1f6e6a2f10"

WORKER: Mapping[str, Any] = {
    "image": "registry.local/ddp:1.4",
    "imagePullPolicy": "IfNotPresent",
    "command": "python 'train it.py'",
    "args": "--epochs 10 --note $(GANGLINE_REPLICA)",
    "workingDir": "/workspace",
    "environmentVariables": [
        {"name": "NCCL_DEBUG", "value": "INFO"},
        {"name": "EMPTY", "value": ""},
        {"name": "WANDB_API_KEY", "secret": {"name": "wandb", "key": "api-key"}},
        {"name": "NCCL_ALGO", "configMap": {"name": "nccl", "key": "algo"}},
        {"name": "POD_IP", "podFieldRef": {"path": "status.podIP"}},
    ],
    "compute.gpuDevicesRequest": 2,
    "compute.cpuCoreRequest": 1.5,
    "compute.cpuCoreLimit": 4,
    "compute.cpuMemoryRequest": "512M",
    "compute.cpuMemoryLimit": "2Gi",
    "compute.largeShmRequest": True,
    "compute.extendedResources": [{"resource": "rdma/hca", "quantity": "1"}],
    "nodeType": "p5.48xlarge",
    "nodeAffinityRequired": [
        {
            "name": "zone",
            "key": "topology.kubernetes.io/zone",
            "operator": "In",
            "values": "eu-1a, eu-1b",
        },
        {"name": "rest", "key": "maintenance", "operator": "DoesNotExist"},
    ],
    "podAffinity.key": "topology.kubernetes.io/zone",
    "podAffinity.type": "Required",
    "tolerations": [
        {"name": "gpus", "key": "nvidia.com/gpu", "operator": "Exists", "effect": "Any"},
        {
            "name": "ours",
            "key": "dedicated",
            "operator": "Equal",
            "value": "training",
            "effect": "NoExecute",
            "seconds": 300,
        },
    ],
    "labels": [{"name": "team", "value": "vision"}],
    "annotations": [{"name": "user.gangline.dev/purpose", "value": "ablation of\nthe warm-up"}],
    "terminationGracePeriodSeconds": 45,
    "priorityClass": "high",
    "nodePools": [{"name": "h100"}, {"name": "default"}],
    "cleanPodPolicy": "None",
    "networkInterface": "ib0",
}
OWN_OF_FRAMEWORK: Mapping[str, Mapping[str, Any]] = {
    "PyTorch": {"minReplicas": 2, "maxReplicas": 4},
    "MPI": {
        "slotsPerWorker": 2,
        "sshAuthMountPath": "/home/mpi/.ssh",
        "mpiLauncherCreationPolicy": "WaitForWorkersReady",
    },
    "MXNet": {"numServers": 2, "cleanPodPolicy": None},
}
SHARED: Mapping[str, Any] = {
    "compute__gpuRequestType": "portion",
    "compute__gpuPortionRequest": 0.5,
    "compute__gpuPortionLimit": 0.75,
}
BY_MEMORY: Mapping[str, Any] = {
    "compute__gpuRequestType": "memory",
    "compute__gpuMemoryRequest": "8G",
    "compute__gpuMemoryLimit": "16G",
}
"""What one scheduler alone can do."""
OWN_OF_MASTER: Mapping[str, Any] = {
    "image": "registry.local/leader:2",
    "imagePullPolicy": "Always",
    "args": "--lead",
    "compute.gpuDevicesRequest": 0,
    "compute.largeShmRequest": False,
    "compute.extendedResources": [],
    "nodeType": "c7i.xlarge",
    "compute.cpuCoreRequest": 0.25,
    "compute.cpuMemoryRequest": "256M",
}


ENTRANCE = Entrance("tools.lab.example", "nginx", "tools-tls", origin="https://gangline.example")
VOLUMES: list[dict[str, Any]] = [
    {
        "name": "checkpoints",
        "path": "/checkpoints",
        "claimInfo": {
            "size": "500G",
            "storageClass": "fast",
            "accessModes": {"readWriteOnce": False, "readWriteMany": True},
        },
    },
    {"name": "scratch", "path": "/scratch", "ephemeral": True, "claimInfo": {"size": "20Gi"}},
    {
        "name": "exchange",
        "path": "/exchange",
        "ephemeral": True,
        "claimInfo": {"size": "1T", "accessModes": {"readOnlyMany": True, "readWriteMany": True}},
    },
    {"name": "raw", "path": "/dev/raw", "claimInfo": {"size": "100Gi", "volumeMode": "Block"}},
    {
        "name": "images",
        "path": "/images",
        "existingPvc": True,
        "claimName": "imagenet",
        "readOnly": True,
    },
]
"""Persistent, of each pod, ephemeral and shared, a device, and a claim that is there."""


MORE: Mapping[str, Any] = {
    "exposedUrls": [
        {"name": "tensorboard", "toolType": "tensorboard"},
        {"name": "board", "container": 9000, "url": "https://board.tools.lab.example/all"},
    ],
    "ports": [
        {"name": "ssh", "container": 22, "external": 30022},
        {"name": "metrics", "container": 9100, "serviceType": "ClusterIP"},
    ],
    "createHomeDir": True,
    "restartPolicy": "OnFailure",
    "category": "Train",
    "stdin": True,
    "tty": True,
    "security__uidGidSource": "custom",
    "security__runAsUid": 1000,
    "security__runAsGid": 1001,
    "security__supplementalGroups": "2, 3",
    "security__runAsNonRoot": True,
    "security__seccompProfileType": "RuntimeDefault",
    "security__readOnlyRootFilesystem": True,
    "security__allowPrivilegeEscalation": False,
    "imagePullSecrets": [{"name": "registry-login"}],
    "security__capabilities": [{"name": "IPC_LOCK"}],
    "security__hostIpc": True,
    "security__hostNetwork": True,
    "probes__readiness__initialDelaySeconds": 5,
    "probes__readiness__periodSeconds": 10,
    "probes__readiness__timeoutSeconds": 2,
    "probes__readiness__successThreshold": 1,
    "probes__readiness__failureThreshold": 3,
    "probes__readiness__handler__httpGet__port": 8080,
    "probes__readiness__handler__httpGet__path": "/ready",
    "probes__readiness__handler__httpGet__host": "localhost",
    "probes__readiness__handler__httpGet__scheme": "HTTP",
    "storage__emptyDirVolume": [
        {"name": "cache", "path": "/cache", "medium": "Memory", "sizeLimit": "1G"}
    ],
    "storage__nfs": [
        {"name": "sets", "server": "nfs.lab", "path": "/exports/sets", "mountPath": "/sets"}
    ],
    "storage__git": [
        {
            "name": "code",
            "repository": "https://git.example/team/code",
            "branch": "main",
            "revision": "v1.2",
            "path": "/code",
            "secretRef": {"name": "git"},
        },
        {
            "name": "models",
            "repository": "git@git.example:team/models",
            "path": "/models",
            "secretRef": {"name": "key", "authenticationMethod": "ssh-key"},
        },
    ],
    "storage__s3": [
        {
            "name": "sets",
            "bucket": "sets",
            "url": "https://s3.lab.example",
            "path": "/bucket",
            "accessKeySecret": "s3",
        }
    ],
    "storage__configMapVolume": [
        {"name": "nccl", "configMap": "nccl", "mountPath": "/etc/nccl.conf", "subPath": "nccl.conf"}
    ],
    "storage__secretVolume": [
        {"name": "keys", "secret": "keys", "mountPath": "/keys", "defaultMode": "0400"}
    ],
    "storage__hostPath": [
        {
            "name": "disk",
            "path": "/mnt/disk",
            "mountPath": "/disk",
            "readOnly": False,
            "mountPropagation": "HostToContainer",
        }
    ],
}


@dataclass(frozen=True, slots=True)
class Case:
    """One golden file."""

    framework: str
    mode: str
    scheduler: str
    volumes: bool = False
    launcher: str = ""

    @property
    def name(self) -> str:
        more = "-volumes" if self.volumes else ""
        more += f"-{self.launcher}" if self.launcher else ""
        return f"{self.framework.lower()}-{self.mode}-{self.scheduler}{more}"

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.yaml"

    def submission(self) -> Submission:
        """With a value for every field that this scheduler knows."""
        shared = BY_MEMORY if self.mode == NONE else SHARED
        more = dict(shared) if self.scheduler == "kai" else {}
        if self.scheduler in ("kai", "volcano"):
            more["preemptibility"] = "non-preemptible"
        more |= {"storage__pvc": VOLUMES, **MORE} if self.volumes else {}
        if self.launcher:
            slots = {} if self.launcher == "gloo" else OWN_OF_FRAMEWORK["MPI"]
            more |= {"slotsPerWorker": None, **slots}
            more |= {"launcher": self.launcher, "command": "python train.py"}
        return submission(self.framework, self.mode, **more)

    def objects(self) -> list[dict[str, Any]]:
        """The job and what belongs to it, as they are sent."""
        ref = ref_of(self.submission(), self.scheduler)
        return [manifests.job(ref), *manifests.dependents(ref, OWNER)]

    def text(self) -> str:
        return yaml.safe_dump_all(self.objects(), sort_keys=False, allow_unicode=True, width=100)


def submission(
    framework: str = "PyTorch",
    mode: str = NONE,
    *,
    num_workers: int = 3,
    master: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Submission:
    """A submission with every field; ``changes`` by path, a dot written as two underscores."""
    said = {path.replace("__", "."): value for path, value in changes.items()}
    worker = dict(WORKER) | dict(OWN_OF_FRAMEWORK.get(framework, {})) | said
    if framework == "MPI" and "command" not in said:
        worker["command"] = "mpirun -np $(GANGLINE_NUM_WORKERS) python train.py"
    own: dict[str, Any] | None = None
    if mode != NONE:
        # As in production: a master has no value of what exists once per workload.
        own = {path: value for path, value in worker.items() if path in catalogue(ReplicaSpec)}
        own |= OWN_OF_MASTER if mode == DIFFERENCES else {}
        own |= master or {}
    identifiers = {"GANGLINE_WORKLOAD": "ddp", "GANGLINE_PROJECT": "vision"}
    return Submission(
        "ddp",
        "vision",
        framework,
        MODES[mode],
        num_workers,
        typed(WorkerSpec, worker),
        None if own is None else typed(ReplicaSpec, own),
        identifiers,
        QUEUE,
        node_pools={"h100": ("pool", "h100"), "default": ("", "")},
    )


def ref_of(submitted: Submission, scheduler: str = "plain", attempt: int = 2) -> AttemptRef:
    """An attempt of ``submitted`` as it is frozen and comes back."""
    return AttemptRef(
        install="6f0c1a52-7a53-4c6c-8d4e-0b8d86a9a111",
        workload="f3b2a1c0-55d4-4a8e-8a64-2f7d3c1b9e22",
        attempt=attempt,
        name=submitted.name,
        namespace=NAMESPACE,
        submission=submitted,
        rendered=manifests.render(submitted, scheduler, entrance=ENTRANCE),
    )


def cases() -> Iterator[Case]:
    """Every framework plain, every scheduler with PyTorch, and one with volumes."""
    for framework in PROGRAMS.values():
        mode = SAME if MODES[SAME] in framework.configurations else NONE
        yield Case(framework.name, mode, "plain")
    for scheduler in ADAPTERS:
        if scheduler != "plain":
            yield Case("PyTorch", SAME, scheduler)
    yield Case("PyTorch", NONE, "kai")  # has shares of a GPU by memory
    yield Case("MPI", DIFFERENCES, "plain", volumes=True)
    yield Case("MPI", SAME, "plain", launcher="horovodrun")
    yield Case("MPI", SAME, "plain", launcher="gloo")


def combinations() -> Iterator[Case]:
    """Every framework in every configuration that it has, under every scheduler."""
    for framework, (mode, configuration) in product(PROGRAMS.values(), MODES.items()):
        if configuration in framework.configurations:
            yield from (Case(framework.name, mode, name) for name in ADAPTERS)
    yield from (Case("MPI", DIFFERENCES, name, launcher="gloo") for name in ADAPTERS)
    for name, mode in (("PyTorch", SAME), ("PyTorch", NONE), ("MPI", DIFFERENCES)):
        yield Case(name, mode, "plain", volumes=True)


def write() -> None:
    for stale in FOLDER.glob("*.yaml"):
        stale.unlink()
    for case in cases():
        case.path.write_text(case.text())


if __name__ == "__main__":
    write()
