"""Where each field of the spec goes in a job of Slurm, and why the rest has no place there.

`rendering` makes the form that `script` writes from what this table says.
"""

import math
from collections.abc import Mapping, Sequence

from gangline.drivers.mapping import Table, To, pairs, paths, plain_variables
from gangline.spec import lengths
from gangline.spec.catalogue import catalogue
from gangline.spec.placement import NodePoolName
from gangline.spec.slurm import SCRIPT, VALUES, Module, SbatchOption
from gangline.spec.types import quantity_bytes, split_command
from gangline.spec.workload import ReplicaSpec

from . import data


def _names(items: Sequence[NodePoolName | Module]) -> list[str]:
    return [item.name for item in items]


def _options(items: Sequence[SbatchOption]) -> list[list[str]]:
    return [[item.name, item.value or ""] for item in items]


def _megabytes(quantity: str) -> int:
    """Slurm counts in 2^20 bytes; no less than was asked for."""
    return max(1, math.ceil(quantity_bytes(quantity) / 2**20))


# Once for each role.
ROLE: Table = {
    "command": To("command", split_command),
    "args": To("arguments", split_command),
    "workingDir": To("workingDirectory"),
    "environmentVariables": To("variables", plain_variables),
    "createHomeDir": To("home"),
    "category": To("category"),
    "labels": To("labels", pairs),
    "annotations": To("annotations", pairs),
    "compute.cpuCoreRequest": To("asks|cpus", math.ceil),
    "compute.cpuMemoryRequest": To("asks|megabytes", _megabytes),
    "compute.gpuDevicesRequest": To("asks|gpus"),
    "image": To("image"),
    **{f"storage.{kind}": To(f"data|{kind}", data.items) for kind in data.KINDS},
    "nodePools": To("asks|partitions", _names),
    "nodeType": To("asks|feature"),
}
# Once for the workload.
GANG: Table = {
    "terminationGracePeriodSeconds": To("grace"),
    "networkInterface": To("interface"),
    "launcher": To("launcher"),
    "slurm.account": To("options|account"),
    "slurm.qos": To("options|qos"),
    "slurm.timeLimit": To("options|time", lengths.written),
    "slurm.reservation": To("options|reservation"),
    "slurm.modules": To("modules", _names),
    "slurm.options": To("further", _options),
}
SCRIPTED = frozenset({SCRIPT, VALUES, "slurm.tasksPerNode"})
SHAPE = frozenset(
    {
        "distributedFramework", "numWorkers", "numServers", "slurm.gpuType", "slurm.packReplicas",
        *SCRIPTED,
    }
)  # fmt: skip
"""What decides how many pods there are, and what `rendering` makes of a person's own script."""
MAPPED = paths(ROLE, GANG) | SHAPE

NO_IMAGE = (
    "Programs of this cluster run on its nodes as they are: its check found no pyxis, apptainer"
    " or singularity."
)
"""Why a cluster without any of them takes no image."""
_NO_CONTAINER = "Jobs of Slurm run as the account that submits them, whatever their container."
_WHOLE = "Slurm assigns whole GPUs."
_OWN_LIMIT = "Slurm limits a job to what it requests."
_PARTITIONS = "Slurm has partitions and features instead of labels and taints."
UNSUPPORTED: Mapping[str, str] = {
    "imagePullPolicy": "An image is fetched once, and kept beside the runs.",
    "imagePullSecrets": (
        "The account that submits signs in to registries with its own files on the cluster."
    ),
    "storage.configMapVolume": "Slurm has no ConfigMaps.",
    "environmentVariables.configMap": "Slurm has no ConfigMaps.",
    "environmentVariables.podFieldRef": "Processes of Slurm do not run in pods.",
    "stdin": "Processes of a job read no input.",
    "tty": "Processes of a job have no terminal.",
    "exposedUrls": "Slurm does not expose ports. Use an SSH tunnel to the node.",
    "ports": "Slurm does not expose ports. Use an SSH tunnel to the node.",
    "restartPolicy": "A process that ends is not started again; a retry is a job of its own.",
    "compute.gpuRequestType": _WHOLE,
    "compute.gpuPortionRequest": _WHOLE,
    "compute.gpuPortionLimit": _WHOLE,
    "compute.gpuMemoryRequest": _WHOLE,
    "compute.gpuMemoryLimit": _WHOLE,
    "compute.cpuCoreLimit": _OWN_LIMIT,
    "compute.cpuMemoryLimit": _OWN_LIMIT,
    "compute.largeShmRequest": "Shared memory is the node’s own.",
    "compute.extendedResources": "Only CPUs, memory and GPUs are requested from Slurm.",
    "nodeAffinityRequired": _PARTITIONS,
    "podAffinity.key": _PARTITIONS,
    "podAffinity.type": _PARTITIONS,
    "tolerations": _PARTITIONS,
    "priorityClass": "Slurm decides by its own priorities.",
    "preemptibility": "Slurm decides by its partitions which jobs are preempted.",
    "minReplicas": "A job has all of its nodes from start to end.",
    "maxReplicas": "A job has all of its nodes from start to end.",
    "cleanPodPolicy": "A job leaves nothing behind but its logs.",
    "slotsPerWorker": "Each worker is one task of the job.",
    "sshAuthMountPath": "Slurm starts the ranks: no SSH is used.",
    "mpiLauncherCreationPolicy": "The launcher starts when the job has its nodes.",
    **dict.fromkeys(
        (path for path in catalogue(ReplicaSpec) if path.startswith("security.")), _NO_CONTAINER
    ),
    **dict.fromkeys(
        (path for path in catalogue(ReplicaSpec) if path.startswith("probes.")),
        "A process is ready as soon as it runs.",
    ),
}
"""The reason for each field that means nothing to Slurm."""
