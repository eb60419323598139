"""Native form of a workload on this machine: what each role runs, before slots are given (R7)."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from gangline.drivers import shared_gpus
from gangline.drivers.base import Submission
from gangline.drivers.launcher_parent import led
from gangline.drivers.mapping import Table, To, apply, late_variables, pairs, paths, plain_variables
from gangline.spec.base import SpecModel
from gangline.spec.catalogue import catalogue
from gangline.spec.problems import Role
from gangline.spec.tools import ExposedUrl
from gangline.spec.types import quantity_bytes, split_command
from gangline.spec.workload import ReplicaSpec, WorkerSpec

FORM = "gangline.dev/local/v1"
SCHEME = "local://"


def _names(items: Sequence[ExposedUrl]) -> list[str]:
    return [item.name for item in items]


def _runtime(image: str) -> str:
    return image.removeprefix(SCHEME)


def _items(items: Sequence[SpecModel]) -> list[dict[str, Any]]:
    return [item.model_dump(by_alias=True, exclude_none=True) for item in items]


MOUNTS = {
    "pvc": "pvc",
    "emptyDirVolume": "emptyDir",
    "git": "git",
    "s3": "s3",
    "hostPath": "hostPath",
    "secretVolume": "secret",
}
"""Lists of the spec under ``storage``, by their names in the rendered form."""
# Once for each role of the gang; into its part of the native form.
ROLE: Table = {
    "image": To("runtime", _runtime),
    "command": To("command", split_command),
    "args": To("arguments", split_command),
    "workingDir": To("workingDirectory"),
    "environmentVariables": To("variables", plain_variables),
    "compute.cpuCoreLimit": To("limits|cores", math.ceil),
    "compute.cpuMemoryLimit": To("limits|memory", quantity_bytes),
    **shared_gpus.LIMITS,
    **{f"storage.{name}": To(f"mounts|{place}", _items) for name, place in MOUNTS.items()},
    "exposedUrls": To("tools", _names),
    "createHomeDir": To("home"),
    "category": To("category"),
    "labels": To("labels", pairs),
    "annotations": To("annotations", pairs),
}
# Once for the whole gang.
GANG: Table = {"networkInterface": To("interface"), "launcher": To("launcher")}
SHAPE = frozenset({"distributedFramework"})
LATE: Mapping[str, str] = {
    "numWorkers": "placement",
    "numServers": "placement",
    "compute.gpuDevicesRequest": "placement",
    "compute.gpuRequestType": "placement",
    "compute.gpuPortionRequest": "placement",
    "compute.gpuMemoryRequest": "placement",
    "compute.cpuCoreRequest": "placement",
    "compute.cpuMemoryRequest": "placement",
    "terminationGracePeriodSeconds": "grace_seconds",
}
"""Fields that arrive as this part of the ``AttemptRef``, once slots were given out (R7)."""
ADMISSION = frozenset({"priorityClass", "preemptibility"})
"""Fields by which Gangline gives out the slots of this machine; what runs is the same."""
MAPPED = paths(ROLE) | paths(GANG) | SHAPE | LATE.keys() | ADMISSION
UNSUPPORTED: Mapping[str, str] = {
    "compute.largeShmRequest": "Shared memory may take half of this machine’s memory anyway.",
    "compute.extendedResources": "This machine assigns CPUs, memory and GPUs only.",
    "nodePools": "This machine is the only node.",
    "minReplicas": "On this machine a workload has all of its workers from start to end.",
    "maxReplicas": "On this machine a workload has all of its workers from start to end.",
    "cleanPodPolicy": "Processes of this machine leave nothing behind but their logs.",
    "slotsPerWorker": "Each worker of this machine is one rank.",
    "sshAuthMountPath": "Ranks of this machine need no SSH.",
    "mpiLauncherCreationPolicy": "Ranks of this machine are started by the launcher.",
    "nodeType": "This machine is the only node.",
    "nodeAffinityRequired": "This machine is the only node.",
    "podAffinity.key": "This machine is the only node.",
    "podAffinity.type": "This machine is the only node.",
    "tolerations": "This machine has no other nodes, and none of them is tainted.",
    "environmentVariables.configMap": "This machine has no ConfigMaps.",
    "environmentVariables.podFieldRef": "Processes of this machine do not run in pods.",
    "storage.nfs": "This machine does not mount file servers; use host paths for its own folders.",
    "storage.configMapVolume": "This machine has no ConfigMaps.",
    "ports": "This machine does not expose ports: its tools are reached through Gangline.",
    "restartPolicy": "A process that ends is not started again; a retry starts all of them.",
    "stdin": "Processes of this machine read no input.",
    "tty": "Processes of this machine have no terminal.",
    **dict.fromkeys(
        (path for path in catalogue(ReplicaSpec) if path.startswith("security.")),
        "Processes of this machine run in a sandbox of Gangline, as its own account.",
    ),
    **dict.fromkeys(
        (path for path in catalogue(ReplicaSpec) if path.startswith("probes.")),
        "A process of this machine is ready as soon as it runs.",
    ),
    **dict.fromkeys(
        (path for path in catalogue(WorkerSpec) if path.startswith("slurm.")),
        "This machine runs no Slurm.",
    ),
    "imagePullSecrets": "Runtimes are already on this machine: nothing is pulled.",
    "imagePullPolicy": "Runtimes are already on this machine: nothing is pulled.",
}
"""The reason for each field that means nothing to processes of this machine."""


def render(submission: Submission) -> dict[str, Any]:
    """What ``create`` joins with the placement. JSON data only."""
    elsewhere = submission.volumes_elsewhere
    roles = [(part.role, _role(part.spec)) for part in submission.parts]
    workers = next(made for role, made in roles if role.half is Role.WORKER)
    leads = bool(submission.worker.launcher)
    return {
        "form": FORM,
        "framework": submission.framework,
        "configuration": submission.configuration,
        "identifiers": dict(submission.identifiers),
        "volumesOf": submission.namespace,
        **apply(GANG, submission.worker, {}),
        **({"volumesElsewhere": dict(elsewhere)} if elsewhere else {}),
        **{
            role.name: led(made, workers) if leads and role.launches else made
            for role, made in roles
        },
    }


def _role(spec: ReplicaSpec) -> dict[str, Any]:
    made = apply(ROLE, spec, {})
    found = late_variables(spec.environment_variables)
    return {**made, "late": found} if found else made
