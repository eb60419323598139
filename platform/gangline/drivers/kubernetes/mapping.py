"""Where each field of the spec goes in a pod of Kubernetes.

`manifests` makes the pods from what these tables write: ``container`` and ``pod`` are parts of a
pod's spec, ``labels`` and ``annotations`` its metadata; ``gpus``, ``share``, ``extended``,
``pools``, ``nodes``, ``topology``, ``large_shm`` and ``volumes`` are put in their places there.
https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/
"""

from collections.abc import Mapping, Sequence
from typing import Any

from gangline.drivers import shared_gpus
from gangline.drivers.mapping import Table, To, paths
from gangline.spec.catalogue import catalogue
from gangline.spec.environment import PullSecret
from gangline.spec.placement import ExtendedResource, NodePoolName, Toleration
from gangline.spec.replica import Annotation, Label
from gangline.spec.security import Capability, group_ids
from gangline.spec.types import split_command
from gangline.spec.workload import WAITING, WorkerSpec

from . import environment, placement, quantities

EXTENDED = "compute.extendedResources"
SHARED_MEMORY = "shared-memory"
HOME = "home"
WAITS = ("sh", "-c", f"trap exit TERM; {WAITING} & wait")
"""A session that waits: the first process of a container hears no request to end that it does not
listen for, and would take the whole grace period of every stop.
"""
Place = tuple[str, ...]
"""Keys from the top of an object on; an element of a list by its name, or by its index."""


def _pairs(items: Sequence[Label | Annotation]) -> dict[str, str]:
    return {item.name: item.value for item in items}


def _names(items: Sequence[NodePoolName | Capability]) -> list[str]:
    return [item.name for item in items]


def _resources(items: Sequence[ExtendedResource]) -> dict[str, str]:
    return {item.resource: item.quantity for item in items}


def _named(items: Sequence[PullSecret]) -> list[dict[str, str]]:
    return [{"name": item.name} for item in items]


def _tolerations(items: Sequence[Toleration]) -> list[dict[str, Any]]:
    return [_toleration(item) for item in items]


def _toleration(item: Toleration) -> dict[str, Any]:
    made: dict[str, Any] = {"key": item.key, "operator": item.operator}
    if item.operator == "Equal":
        made["value"] = item.value or ""
    if item.effect != "Any":  # no effect at all tolerates every one
        made["effect"] = item.effect
    if item.seconds is not None:
        made["tolerationSeconds"] = item.seconds
    return made


def cores(number: float) -> str:
    """Cores as a quantity: 2 → ``2``, 0.5 → ``500m``, the finest that Kubernetes knows."""
    thousandths = max(1, round(number * 1000))
    whole, rest = divmod(thousandths, 1000)
    return f"{thousandths}m" if rest else str(whole)


def _words(command: str) -> list[str]:
    return [*WAITS] if command == WAITING else split_command(command)


# Once for each role.
ROLE: Table = {
    "image": To("container|image"),
    "imagePullPolicy": To("container|imagePullPolicy"),
    "command": To("container|command", _words),
    "args": To("container|args", split_command),
    "workingDir": To("container|workingDir"),
    "environmentVariables": To("container|env", environment.own),
    "imagePullSecrets": To("pod|imagePullSecrets", _named),
    "stdin": To("container|stdin"),
    "tty": To("container|tty"),
    "exposedUrls": To("tools|urls"),
    "ports": To("tools|ports"),
    "createHomeDir": To("home"),
    "restartPolicy": To("restart"),
    "category": To("category"),
    "security.uidGidSource": To("identity"),
    "security.runAsUid": To("pod|securityContext|runAsUser"),
    "security.runAsGid": To("pod|securityContext|runAsGroup"),
    "security.supplementalGroups": To("pod|securityContext|supplementalGroups", group_ids),
    "security.runAsNonRoot": To("pod|securityContext|runAsNonRoot"),
    "security.seccompProfileType": To("pod|securityContext|seccompProfile|type"),
    "security.readOnlyRootFilesystem": To("container|securityContext|readOnlyRootFilesystem"),
    "security.allowPrivilegeEscalation": To("container|securityContext|allowPrivilegeEscalation"),
    "security.capabilities": To("container|securityContext|capabilities|add", _names),
    "security.hostIpc": To("pod|hostIPC"),
    "security.hostNetwork": To("pod|hostNetwork"),
    **{
        f"probes.readiness.{name}": To(f"container|readinessProbe|{name}")
        for name in (
            "initialDelaySeconds",
            "periodSeconds",
            "timeoutSeconds",
            "successThreshold",
            "failureThreshold",
        )
    },
    **{
        f"probes.readiness.handler.httpGet.{name}": To(f"container|readinessProbe|httpGet|{name}")
        for name in ("port", "path", "host", "scheme")
    },
    "compute.gpuDevicesRequest": To("gpus"),
    "compute.gpuRequestType": To("share|type"),
    "compute.gpuPortionRequest": To("share|portion"),
    "compute.gpuMemoryRequest": To("share|memory"),
    **shared_gpus.LIMITS,
    "compute.cpuCoreRequest": To("container|resources|requests|cpu", cores),
    "compute.cpuCoreLimit": To("container|resources|limits|cpu", cores),
    "compute.cpuMemoryRequest": To("container|resources|requests|memory"),
    "compute.cpuMemoryLimit": To("container|resources|limits|memory"),
    "compute.largeShmRequest": To("large_shm"),
    EXTENDED: To("extended", _resources),
    "nodePools": To("pools", _names),
    "nodeType": To("node_type"),
    "nodeAffinityRequired": To("nodes", placement.alternatives),
    "podAffinity.key": To("topology|key"),
    "podAffinity.type": To("topology|type"),
    "tolerations": To("pod|tolerations", _tolerations),
    "storage.pvc": To("volumes"),
    "storage.emptyDirVolume": To("mounts|emptyDir"),
    "storage.nfs": To("mounts|nfs"),
    "storage.git": To("mounts|git"),
    "storage.s3": To("mounts|s3"),
    "storage.configMapVolume": To("mounts|configMap"),
    "storage.secretVolume": To("mounts|secret"),
    "storage.hostPath": To("mounts|hostPath"),
    "labels": To("labels", _pairs),
    "annotations": To("annotations", _pairs),
}
# Once for the workload; into the pods of every role.
GANG: Table = {
    "terminationGracePeriodSeconds": To("pod|terminationGracePeriodSeconds"),
    "priorityClass": To("pod|priorityClassName"),
    "networkInterface": To("interface"),
}
# Once for the workload; into the spec of its job.
JOB: Table = {
    "minReplicas": To("elasticPolicy|minReplicas"),
    "maxReplicas": To("elasticPolicy|maxReplicas"),
    "cleanPodPolicy": To("runPolicy|cleanPodPolicy"),
    "slotsPerWorker": To("slotsPerWorker"),
    "sshAuthMountPath": To("sshAuthMountPath"),
    "mpiLauncherCreationPolicy": To("launcherCreationPolicy"),
}
SHAPE = frozenset(
    {"distributedFramework", "launcher", "numWorkers", "numServers", "preemptibility"}
)
"""What kind of object it becomes and how many replicas of a role there are."""
_MAIN: Place = ("spec", "containers", "")
_PLACES: Mapping[str, Place] = {
    "container": _MAIN,
    "pod": ("spec",),
    "labels": ("metadata", "labels"),
    "annotations": ("metadata", "annotations"),
    "pools": ("spec", "affinity", "nodeAffinity"),
    "nodes": ("spec", "affinity", "nodeAffinity"),
    "node_type": ("spec", "affinity", "nodeAffinity"),
    "topology": ("spec", "affinity", "podAffinity"),
    "large_shm": ("spec", "volumes", SHARED_MEMORY),
    "volumes": ("spec", "volumes"),
    "mounts": ("spec", "volumes"),
    "tools": (*_MAIN, "ports"),
    "interface": (*_MAIN, "env"),
    "gpuLimits": (*_MAIN, "env"),
    "home": ("spec", "volumes", HOME),
    "category": ("metadata", "labels"),
    "restart": ("spec", "restartPolicy"),
    "identity": ("spec", "securityContext"),
}
"""Where in a pod template `manifests` puts each group of these tables."""
_FIELDS: dict[Place, list[str]] = {(*_MAIN, "volumeMounts"): ["storage.pvc"]}


def _place(to: To) -> Place:
    group, *rest = to.target.split("|")
    return (*_PLACES[group], *(rest if group in ("container", "pod") else ()))


for _path, _to in {**ROLE, **GANG}.items():
    if _to.target.partition("|")[0] in _PLACES:
        _FIELDS.setdefault(_place(_to), []).append(_path)


def fields_at(place: Place) -> list[str]:
    """Fields that stand at a place of a pod template, or above it; the nearest first."""
    if place[:2] == _MAIN[:2]:
        place = (*_MAIN, *place[3:])
    near = (place[:length] for length in range(len(place), 0, -1))
    found = [path for at in near for path in _FIELDS.get(at, ())]
    if place[3:4] != ("resources",):
        return found
    if place[4:5] == ("requests",):  # one that is left out is as large as the limit
        found += fields_at((*place[:4], "limits", *place[5:]))
    return found or ["compute.gpuDevicesRequest" if quantities.is_gpu(place[-1]) else EXTENDED]


MAPPED = paths(ROLE, GANG, JOB) | SHAPE
UNSUPPORTED: Mapping[str, str] = {
    **dict.fromkeys(
        (path for path in catalogue(WorkerSpec) if path.startswith("slurm.")),
        "Kubernetes has no Slurm.",
    ),
}
