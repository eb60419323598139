"""From a submission to objects of a cluster. Pure: nothing is asked of anyone.

``render`` is frozen with the attempt and is the same for each try; ``job`` and ``dependents`` add
what belongs to one try: namespace, labels, owner.
"""

import copy
import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from gangline.drivers import shared_gpus, tools
from gangline.drivers.base import AttemptRef, Part, Submission
from gangline.drivers.mapping import apply
from gangline.spec.frameworks import FRAMEWORKS, WORKERS_ONLY
from gangline.spec.security import FROM_IMAGE
from gangline.spec.types import split_command
from gangline.spec.workload import ReplicaSpec

from . import (
    environment,
    labels,
    mapping,
    mounts,
    placement,
    quantities,
    schedulers,
    starts,
    tool_services,
    volumes,
)
from .jobs import OPENS_PORTS, QUEUE, SCHEDULER
from .kinds import JobKind, Replicas, kind_of
from .quantities import GPU
from .schedulers import Gang

WAITING_NAME = "wait-for-workers"
_COPIED = ("image", "imagePullPolicy", "resources")
_UNREACHABLE = ("resolve", "refused", "timed out", "No route", "unreachable")
"""Words of the client where nobody answers; that it is not let in does not matter here."""
WAITING_SCRIPT = f"""\
worker=0
while [ "$worker" -lt "$2" ]; do
  said=$(ssh -n -o BatchMode=yes -o ConnectTimeout=5 -o StrictHostKeyChecking=no \\
    -o UserKnownHostsFile=/dev/null "$1-worker-$worker.$1" true 2>&1)
  case $said in
    {"|".join(f'*"{words}"*' for words in _UNREACHABLE)}) sleep 1 ;;
    *) worker=$((worker + 1)) ;;
  esac
done
"""
"""Arguments: the workload and its number of workers. An image without ``ssh`` does not wait."""


def waits_for_workers(
    container: Mapping[str, Any], workload: str, num_workers: int
) -> dict[str, Any]:
    """The container that runs before a launcher's own ``container``."""
    copied = {key: copy.deepcopy(container[key]) for key in _COPIED if key in container}
    command = ["sh", "-c", WAITING_SCRIPT, WAITING_NAME, workload, str(num_workers)]
    return {"name": WAITING_NAME, **copied, "command": command}


@dataclass(frozen=True, slots=True)
class SchedulingRequest:
    """Of one role. ``share`` are annotations, empty for whole GPUs."""

    topology: tuple[str, str] | None = None
    share: Mapping[str, str] = field(default_factory=dict)


def of_roles(submission: Submission, unsupported: Collection[str]) -> dict[str, SchedulingRequest]:
    """By role. What the scheduler does not know counts as not said: a policy may hold elsewhere."""
    return {part.role.name: _wishes_of(part, unsupported) for part in submission.parts}


def _wishes_of(part: Part, unsupported: Collection[str]) -> SchedulingRequest:
    native = apply(mapping.ROLE, part.spec, {}, unsupported)
    share = placement.share_annotations(native) if part.role.has_gpus else {}
    return SchedulingRequest(placement.topology_of(native), share)


FORM = "gangline.dev/kubernetes/v1"
SPEC_HASH = "gangline.dev/spec-hash"
SSH_SERVER = "sshd"
HOME = "/home/gangline"
NEVER = "Never"
"""Started again within a pod, unless somebody wants it: every further try is Gangline's own."""
NO_ENTRANCE = tool_services.Entrance()

Object = dict[str, Any]


def render(
    submission: Submission,
    scheduler: str,
    *,
    gpu: str = GPU,
    entrance: tool_services.Entrance = NO_ENTRANCE,
    node_type: str = placement.NODE_TYPE,
) -> dict[str, Any]:
    """JSON data: the framework, the scheduler, the job and what must exist beside it.

    ``gpu`` is what the cluster's nodes call a GPU, ``node_type`` the label that has their type,
    and ``entrance`` is the way to tools.
    """
    kind = kind_of(submission.framework, submission.worker.launcher)
    adapter = schedulers.adapter(scheduler)
    asked = of_roles(submission, adapter.unsupported)
    pods = _pods(submission, kind, gpu, asked, node_type)
    roles = {
        kind.roles[part.role.name]: Replicas(
            part.pods, part.spec.restart_policy or NEVER, pods[part.role.name]
        )
        for part in submission.parts
    }
    job: Object = {
        "apiVersion": kind.resource.api_version,
        "kind": kind.resource.kind,
        "metadata": _metadata(pods["worker"]["metadata"]),
        "spec": {
            **kind.spec(roles, _restarts_in_place(submission)),
            **({} if kind.launcher else _of_kind(submission, pods, asked)),
        },
    }
    if not kind.launcher:  # fields of operators, which a JobSet has not
        apply(mapping.JOB, submission.worker, job["spec"])
    gang = _gang(submission, kind, pods, {kind.roles[r]: w for r, w in asked.items()})
    adapter.decorate(job, gang)
    return {
        "form": FORM,
        "framework": submission.framework,
        **({"launcher": kind.launcher} if kind.launcher else {}),
        "scheduler": scheduler,
        "queue": submission.queue,
        "job": job,
        "tools": {
            one.tool.name: tool_services.address(submission, one.tool.name, one.tool.url, entrance)
            for one in tools.urls(submission)
        },
        "dependents": [
            *volumes.claims(submission),
            *tool_services.objects(submission, entrance),
            *adapter.objects(gang),
        ],
    }


def job(ref: AttemptRef) -> Object:
    """The whole custom resource to create for this try, suspended."""
    rendered = ref.rendered
    kind = _kind(rendered)
    made: Object = copy.deepcopy(rendered["job"])
    said = made["metadata"]
    notes = {SCHEDULER: rendered["scheduler"], SPEC_HASH: spec_hash(rendered)}
    if any(map(tool_services.is_port, rendered["dependents"])):
        notes[OPENS_PORTS] = "true"
    if rendered.get("queue"):
        notes[QUEUE] = rendered["queue"]
    made["metadata"] = {
        "name": ref.name,
        "namespace": ref.namespace,
        "labels": said.get("labels", {}) | labels.of(ref),
        "annotations": said.get("annotations", {}) | notes,
    }
    for role, _, template in kind.parts(made):
        role_label = {labels.ROLE: kind.role(role)}
        own = template["metadata"]
        own["labels"] = own.get("labels", {}) | labels.of(ref) | role_label
        placement.among(template, {labels.WORKLOAD: ref.workload})
        volumes.mark(template["spec"], labels.of(ref))
    return made


def dependents(ref: AttemptRef, owner_uid: str) -> list[Object]:
    """What must exist before the job is released; the cluster deletes it together with the job.

    ``owner_uid`` is that of the job. Each has a name that does not change from call to call.
    """
    said_owner = owner(ref, owner_uid)
    made: list[Object] = copy.deepcopy(ref.rendered["dependents"])
    for each in made:
        said = each["metadata"]
        each["metadata"] = {
            **said,
            "namespace": ref.namespace,
            "labels": said.get("labels", {}) | labels.of(ref),
            # An adapter may have said how the job owns it.
            "ownerReferences": [said_owner | (said.get("ownerReferences") or [{}])[0]],
        }
        tool_services.select(each, {labels.WORKLOAD: ref.workload})
    return made


def owner(ref: AttemptRef, uid: str) -> Object:
    """The reference that lets an object go together with the job of this attempt."""
    resource = _kind(ref.rendered).resource
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": ref.name,
        "uid": uid,
        "controller": False,
        "blockOwnerDeletion": True,
    }


def spec_hash(rendered: Mapping[str, Any]) -> str:
    """Fingerprint of what was rendered: tells whether an object is still what was asked for."""
    text = json.dumps(rendered, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _kind(rendered: Mapping[str, Any]) -> JobKind:
    return kind_of(rendered["framework"], rendered.get("launcher"))


def _metadata(of_a_pod: Mapping[str, Any]) -> Object:
    """The workload's own marks: those of its workers."""
    return {key: dict(value) for key, value in of_a_pod.items()}


def _pods(
    submission: Submission,
    kind: JobKind,
    gpu: str,
    asked: Mapping[str, SchedulingRequest],
    node_type: str,
) -> dict[str, Object]:
    """The pod template of each role."""
    return {
        # A part of a GPU is no resource of the pod.
        part.role.name: _pod(
            submission, kind, part, "" if asked[part.role.name].share else gpu, node_type
        )
        for part in submission.parts
    }


def _pod(submission: Submission, kind: JobKind, part: Part, gpu: str, node_type: str) -> Object:
    native: Object = {"container": {"name": kind.container}}
    role, spec = part.role, part.spec
    launches = FRAMEWORKS[submission.framework].launches
    is_reached = launches and not (kind.launcher or role.launches or _starts_server(spec))
    apply(mapping.ROLE, spec, native, ("command", "args") if is_reached else ())
    # What exists once per workload is among the workers' values.
    apply(mapping.GANG, submission.worker, native)
    container = native["container"]
    container["env"] = environment.variables(
        submission,
        kind,
        part,
        interface=native.get("interface", ""),
        gpu_limits={} if gpu else shared_gpus.variables(native),
        cores=spec.compute.cpu_core_request or 1,
        own=container.get("env", []),
    )
    if submission.worker.launcher and not is_reached:
        container.pop("args", None)
        container["command"] = starts.words(submission, kind, role)
    # From a launcher, which trains nothing, its operator hides the GPUs.
    gpus = native.get("gpus", 0) if gpu and role.has_gpus else 0
    if more := {**({gpu: str(gpus)} if gpus else {}), **native.get("extended", {})}:
        container.setdefault("resources", {}).setdefault("limits", {}).update(more)
    pod: Object = {
        # Programs get no credential of the cluster, nor a variable for each Service in it.
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        **native.get("pod", {}),
        "containers": [container],
    }
    if native.get("identity") == FROM_IMAGE:
        for key in ("runAsUser", "runAsGroup", "supplementalGroups"):
            pod.get("securityContext", {}).pop(key, None)
    if pod.get("hostNetwork"):  # else the pod would not find its peers by name
        pod["dnsPolicy"] = "ClusterFirstWithHostNet"
    if affinity := placement.affinity(
        placement.node_type(native["node_type"], node_type) if "node_type" in native else [],
        native.get("nodes", ()),
        native.get("pools", ()),
        submission.node_pools,
    ):
        pod["affinity"] = affinity
    _equip(native, pod)
    if "tools" in native:
        container["ports"] = [
            {"name": f"tool-{number}", "containerPort": port}
            for number, port in enumerate(dict.fromkeys(t.port for t in tools.all_of(spec)))
        ]
    volumes.mount(submission, native.get("volumes", ()), pod)
    mounts.add(native.get("mounts", {}), pod)
    if role.launches and not kind.launcher:
        first = waits_for_workers(container, submission.name, submission.num_workers)
        pod["initContainers"] = [first, *pod.get("initContainers", ())]
    return {"metadata": _marks(native), "spec": pod}


def _marks(native: Object) -> Object:
    marks: Object = {key: native[key] for key in ("labels", "annotations") if key in native}
    if category := native.get("category"):
        marks["labels"] = {**marks.get("labels", {}), labels.CATEGORY: category}
    return marks


def _equip(native: Object, pod: Object) -> None:
    """Folders that the pod brings along."""
    container = pod["containers"][0]
    if native.get("large_shm"):
        _add_shared_memory(pod, container)
    if native.get("home"):
        _add_home(pod, container)


def _restarts_in_place(submission: Submission) -> int:
    """So often the operator lets pods be started again where they are."""
    is_wanted = any((part.spec.restart_policy or NEVER) != NEVER for part in submission.parts)
    return (submission.worker.backoff_limit or 0) if is_wanted else 0


def _add_home(spec: Object, container: Object) -> None:
    """A folder that anybody may write to, whoever the image runs as."""
    spec.setdefault("volumes", []).append({"name": mapping.HOME, "emptyDir": {}})
    place = {"name": mapping.HOME, "mountPath": HOME}
    container.setdefault("volumeMounts", []).append(place)
    if all(one["name"] != "HOME" for one in container["env"]):
        container["env"].append({"name": "HOME", "value": HOME})


def _add_shared_memory(spec: Object, container: Object) -> None:
    """What is kept there counts as memory of the container, which ends at its limit."""
    limit = container.get("resources", {}).get("limits", {}).get("memory")
    room = {"medium": "Memory", **({"sizeLimit": limit} if limit else {})}
    spec["volumes"] = [{"name": mapping.SHARED_MEMORY, "emptyDir": room}]
    container["volumeMounts"] = [{"name": mapping.SHARED_MEMORY, "mountPath": "/dev/shm"}]  # noqa: S108


def _starts_server(spec: ReplicaSpec) -> bool:
    """Of workers that a launcher reaches by SSH: only then does their command count."""
    words = split_command(f"{spec.command or ''} {spec.args or ''}")
    return any(word.rpartition("/")[2] == SSH_SERVER for word in words)


def _of_kind(
    submission: Submission, pods: Mapping[str, Object], asked: Mapping[str, SchedulingRequest]
) -> Object:
    """What only one kind of job has."""
    match submission.framework:
        case "PyTorch":
            # For a bare `torchrun train.py`: a process for each GPU, or one where there are none.
            on_gpus = any(map(_has_gpus, pods.values())) or any(w.share for w in asked.values())
            return {"nprocPerNode": "auto" if on_gpus else "1"}
        case "TF" if submission.configuration == WORKERS_ONLY:
            return {"successPolicy": "AllWorkers"}
        case "MPI":
            return {
                "slotsPerWorker": 1,
                "mpiImplementation": "OpenMPI",
                "launcherCreationPolicy": "AtStartup",
            }
        case _:
            return {}


def _has_gpus(template: Object) -> bool:
    resources = quantities.requested(template["spec"]["containers"][0])
    return any(map(quantities.is_gpu, resources))


def _gang(
    submission: Submission,
    kind: JobKind,
    pods: Mapping[str, Object],
    asked: Mapping[str, SchedulingRequest],
) -> Gang:
    return Gang(
        name=submission.name,
        framework=submission.framework,
        pods=sum(part.pods for part in submission.parts),
        resources=quantities.total(
            (part.pods, quantities.requested(container))
            for part in submission.parts
            for container in pods[part.role.name]["spec"]["containers"]
        ),
        queue=submission.queue,
        priority=submission.worker.priority_class or "",
        preemptibility=submission.worker.preemptibility or "",
        topologies={role: w.topology for role, w in asked.items() if w.topology},
        topology=asked[kind.roles["worker"]].topology,
        shares={role: w.share for role, w in asked.items() if w.share},
    )
