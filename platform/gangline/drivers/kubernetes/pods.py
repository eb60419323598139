"""A pod, cut down to what an observation needs, and what it says about its replica. Pure.

https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from gangline.drivers.base import MEMORY_LIMIT, ReplicaObservation, ReplicaState

from . import labels
from .kinds import KINDS, ROLES, SETS
from .schedulers.plain import verdict

_INDEX_LABELS = tuple(dict.fromkeys(kind.index_label for kind in KINDS.values()))
_ROLE_LABELS = (
    "training.kubeflow.org/replica-type",
    "training.kubeflow.org/job-role",
    "jobset.sigs.k8s.io/replicatedjob-name",
)
"""The first is the training-operator's, the second mpi-operator's, and the third JobSet's."""
LAUNCHER_JOB = "Job"
_JOBS = ("launcher", *(f"{role}-0" for kind in SETS for role in kind.roles.values()))
"""What follows the name of a workload in those of Jobs that stand between it and its pods."""
GATED = "SchedulingGated"
OOM_KILLED = "OOMKilled"
_LONGEST = 300
_SIGNALS = {
    2: "SIGINT, interrupted",
    6: "SIGABRT, aborted itself",
    7: "SIGBUS, bad memory access",
    8: "SIGFPE, arithmetic error",
    9: "SIGKILL, killed",
    11: "SIGSEGV, segmentation fault",
    13: "SIGPIPE, wrote to a closed pipe",
    15: "SIGTERM, terminated",
}
_WAITING = (
    ("CreateContainerConfigError", "The configuration cannot be used"),
    ("InvalidImageName", "The name of the image is not valid"),
    ("ErrImageNeverPull", "The image is not on the node, and may not be pulled"),
    ("ImagePullBackOff", "The image cannot be pulled"),
    ("ErrImagePull", "The image cannot be pulled"),
    ("CreateContainerError", "The container cannot be created"),
    ("RunContainerError", "The container cannot be started"),
    ("CrashLoopBackOff", "The container keeps crashing and waits before the next start"),
)
"""What keeps a pod that has its node from running, most severe first (`kubernetes.md` §6.3)."""
_UNPULLED = ("InvalidImageName", "ErrImageNeverPull", "ImagePullBackOff", "ErrImagePull")
_USUAL = ("ContainerCreating", "PodInitializing", "")
FIRST_YEAR, LAST_YEAR = 2014, 2200
"""Between Kubernetes' first and what can still be reckoned with, whatever a pod's status says."""


@dataclass(frozen=True, slots=True)
class Owner:
    """What a pod was made for: its controller or, once that let it go, what its name says.

    https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/
    """

    kind: str
    name: str
    uid: str

    def is_job(self, name: str, uid: str) -> bool:
        """Whether it is the job of this name and, where both are known, this uid.

        Labels can be copied, and what was copied must not be taken for a replica. A launcher is
        made by a ``Job`` of its own, which bears the name of its MPIJob; so do those of a JobSet.
        """
        if self.kind == LAUNCHER_JOB:
            return not name or self.name in {f"{name}-{ending}" for ending in _JOBS}
        if uid and self.uid:
            return self.uid == uid
        return not name or self.name == name


@dataclass(frozen=True, slots=True)
class Pod:
    """What is kept of a pod; the rest of it would fill the memory of a watcher."""

    uid: str
    name: str
    namespace: str
    workload: str
    attempt: int
    role: str
    """Of its gang; empty for a pod that is no replica."""
    index: int
    phase: str
    node: str
    container: str
    """Name of the main container, whose log and whose end count."""
    is_scheduled: bool
    scheduled_at: datetime | None
    """When it got its node; None also where nobody wrote it down."""
    unscheduled: str
    """Why the scheduler has not placed it, in its own words."""
    has_started: bool
    is_running: bool
    waiting: str
    """Why a container waits: ``ImagePullBackOff: Back-off pulling image …``; empty when usual."""
    waiting_image: str
    """The image that cannot be pulled; empty where ``waiting`` is about something else."""
    severity: int
    """Of ``waiting``: 0 is worst; large when nothing is wrong."""
    exit_code: int | None
    ended_why: str
    """``OOMKilled``, ``Error``, ``Evicted``: the machine word for its end."""
    message: str
    started_at: datetime | None
    ended_at: datetime | None
    deleting_at: datetime | None
    """When it is to be gone, grace included; None: nobody deletes it."""
    disrupted: bool
    """Evicted by the cluster: eviction, preemption, a node drained or lost."""
    disrupted_at: datetime | None
    """When the cluster decided so; None also where nobody wrote it down."""
    restarts: int
    owner: Owner | None
    """None: it was made for no job, whatever its labels say."""

    def is_of(self, name: str, uid: str) -> bool:
        """Whether it was made for a job, see `Owner.is_job`."""
        return self.owner is not None and self.owner.is_job(name, uid)

    @property
    def key(self) -> tuple[str, int]:
        """The attempt it belongs to."""
        return self.workload, self.attempt

    @property
    def replica(self) -> str:
        """``worker-0``."""
        return f"{self.role}-{self.index}"

    @property
    def is_left_over(self) -> bool:
        """Its job let it go, as ``kubectl delete --cascade=orphan`` does: nobody removes it."""
        is_let_go = self.owner is not None and not self.owner.uid
        return is_let_go and self.deleting_at is None

    @property
    def is_over(self) -> bool:
        return self.phase in ("Succeeded", "Failed")


def read(raw: Mapping[str, Any]) -> Pod:
    """``raw`` as the API server sends it."""
    meta, spec, status = _map(raw, "metadata"), _map(raw, "spec"), _map(raw, "status")
    marks = _map(meta, "labels")
    role = role_of(marks)
    main = next((str(c.get("name", "")) for c in _list(spec, "containers")), "")
    seen = next((s for s in _list(status, "containerStatuses") if s.get("name") == main), {})
    state = _map(seen, "state")
    ended = _map(state, "terminated")
    conditions = {c.get("type"): c for c in _list(status, "conditions")}
    scheduled = conditions.get("PodScheduled", {})
    severity, waiting, image = _worst_wait(status)
    return Pod(
        uid=str(meta.get("uid", "")),
        name=str(meta.get("name", "")),
        namespace=str(meta.get("namespace", "")),
        workload=str(marks.get(labels.WORKLOAD, "")),
        attempt=labels.number(marks.get(labels.ATTEMPT)),
        role=role,
        index=labels.number(_index(marks)),
        phase=str(status.get("phase", "Pending")),
        node=str(spec.get("nodeName", "")),
        container=main,
        is_scheduled=bool(spec.get("nodeName")),
        scheduled_at=_since(scheduled),
        unscheduled=_unscheduled(scheduled),
        has_started=bool(state.get("running") or ended),
        is_running=status.get("phase") == "Running" and "running" in state,
        waiting=waiting,
        waiting_image=image,
        severity=severity,
        exit_code=int(ended["exitCode"]) if "exitCode" in ended else None,
        ended_why=str(status.get("reason") or ended.get("reason") or ""),
        message=_message(ended, status, conditions)[:_LONGEST],
        started_at=_first_time(ended.get("startedAt"), _map(state, "running").get("startedAt")),
        ended_at=_first_time(ended.get("finishedAt")),
        deleting_at=moment(meta.get("deletionTimestamp")),
        disrupted=_is_disrupted(status, conditions),
        disrupted_at=_since(_target(conditions)),
        restarts=int(seen.get("restartCount") or 0),
        owner=owner(raw),
    )


def owner(raw: Mapping[str, Any]) -> Owner | None:
    """What a pod was made for; None: no job."""
    meta = _map(raw, "metadata")
    marks = _map(meta, "labels")
    found = next((one for one in _list(meta, "ownerReferences") if one.get("controller")), None)
    if found is not None:
        return Owner(*(sys.intern(str(found.get(key, ""))) for key in ("kind", "name", "uid")))
    # Operators name it after its job, also where somebody deleted that and left its pods.
    words = (next((marks[x] for x in _ROLE_LABELS if x in marks), ""), _index(marks))
    name, ending = str(meta.get("name", "")), "-{}-{}".format(*words)
    return Owner("", name.removesuffix(ending), "") if name.endswith(ending) else None


def role_of(marks: Mapping[str, Any]) -> str:
    """Its role in the gang, or nothing, by the labels of the operator."""
    word = next((str(marks[label]).lower() for label in _ROLE_LABELS if label in marks), "")
    return ROLES.get(word, "")


def _index(marks: Mapping[str, Any]) -> str:
    return next((str(marks[label]) for label in _INDEX_LABELS if label in marks), "")


def replica(pod: Pod, *, rank: int) -> ReplicaObservation:
    """What the pod says about its replica, in words for people."""
    state, reason = _judge(pod)
    code = pod.exit_code
    return ReplicaObservation(
        role=pod.role,
        index=pod.index,
        rank=rank,
        state=state,
        reason=reason,
        pod_uid=pod.uid,
        node=pod.node,
        exit_code=code,
        signal=code - 128 if code is not None and 128 < code < 160 else None,
        started_at=pod.started_at,
        ended_at=pod.ended_at,
        reason_code=MEMORY_LIMIT if pod.ended_why == OOM_KILLED else "",
        restarts=pod.restarts,
    )


def ended_in_words(pod: Pod) -> str:
    """Why a pod that failed has failed."""
    if pod.ended_why == OOM_KILLED:
        return "Killed because it used more memory than its limit."
    if pod.disrupted or pod.ended_why in ("Evicted", "NodeLost", "Shutdown", "Terminated"):
        told = f": {pod.message.strip().rstrip('.')}" if pod.message else ""
        return f"Evicted by the cluster{told}."
    code = pod.exit_code
    if code is None:
        told = pod.message or pod.ended_why
        return f"Failed: {told.strip().rstrip('.')}." if told else "Failed without a reason."
    if 128 < code < 160:
        known = _SIGNALS.get(code - 128)
        return f"Ended by signal {code - 128}{f' ({known})' if known else ''}."
    return f"Exited with code {code}."


def moment(text: Any) -> datetime | None:
    """A time of the API; None for what is none, or cannot be one of a cluster."""
    if not isinstance(text, str) or not text:
        return None
    try:
        when = datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return when if FIRST_YEAR <= when.year < LAST_YEAR else None


def _judge(pod: Pod) -> tuple[ReplicaState, str]:
    match pod.phase:
        case "Succeeded":
            return ReplicaState.SUCCEEDED, ""
        case "Failed" if _was_told_to_go(pod):
            return ReplicaState.STOPPED, ""
        case "Failed":
            return ReplicaState.FAILED, ended_in_words(pod)
        case "Unknown":
            return ReplicaState.UNKNOWN, "The node does not answer."
    if not pod.is_scheduled:
        return ReplicaState.PENDING, pod.unscheduled
    if pod.is_running and not pod.waiting:
        return ReplicaState.RUNNING, ""
    if pod.phase == "Running" and pod.exit_code is not None and not pod.waiting:
        # Such as one that a service mesh adds. A container is started again in no pod of ours.
        reason = f"The program ended with code {pod.exit_code}; another container keeps the pod."
        return ReplicaState.RUNNING, reason
    return ReplicaState.STARTING, pod.waiting


def _was_told_to_go(pod: Pod) -> bool:
    """Ended because it was deleted: of no interest for who failed first, unless the cluster needed
    its place (an eviction deletes too)."""
    is_deleted = pod.deleting_at is not None and pod.exit_code in (None, 0, 137, 143)
    return is_deleted and not pod.disrupted and pod.ended_why != OOM_KILLED


def _worst_wait(status: Mapping[str, Any]) -> tuple[int, str, str]:
    """The most severe of what its containers wait for, and the image that cannot be pulled."""
    found = (len(_WAITING) + 1, "", "")
    for which in ("initContainerStatuses", "containerStatuses"):
        for container in _list(status, which):
            waiting = _map(_map(container, "state"), "waiting")
            word, message = str(waiting.get("reason", "")), str(waiting.get("message", ""))
            if word in _USUAL:
                continue
            known = next((i for i, (name, _) in enumerate(_WAITING) if name == word), None)
            rank = len(_WAITING) if known is None else known
            if rank < found[0]:
                words = word if known is None else _WAITING[known][1]
                image = str(container.get("image", "")) if word in _UNPULLED else ""
                found = rank, _with_message(words, message), image
    return found


def _with_message(words: str, message: str) -> str:
    told = " ".join(message.split())[:_LONGEST].rstrip(".")
    return f"{words}: {told}." if told else f"{words}."


def _since(condition: Mapping[str, Any]) -> datetime | None:
    """Since when it is true; None: it is not, or nobody wrote it down."""
    is_true = condition.get("status") == "True"
    return moment(condition.get("lastTransitionTime")) if is_true else None


def _unscheduled(condition: Mapping[str, Any]) -> str:
    if condition.get("status") != "False":
        return ""
    if condition.get("reason") == GATED:
        return "The cluster's queue has not admitted it yet."
    why = verdict(" ".join(str(condition.get("message", "")).split()))
    return f"{why[:1].upper()}{why[1:]}."[:_LONGEST] if why else ""


def _is_disrupted(status: Mapping[str, Any], conditions: Mapping[Any, Mapping[str, Any]]) -> bool:
    """https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions"""
    is_target = _target(conditions).get("status") == "True"
    return is_target or status.get("reason") in ("Evicted", "Preempted", "NodeLost")


def _target(conditions: Mapping[Any, Mapping[str, Any]]) -> Mapping[str, Any]:
    return conditions.get("DisruptionTarget", {})


def _message(
    ended: Mapping[str, Any], status: Mapping[str, Any], conditions: Mapping[Any, Mapping[str, Any]]
) -> str:
    target = _target(conditions)
    told = target.get("message") if target.get("status") == "True" else ""
    return str(ended.get("message") or status.get("message") or told or "")


def _first_time(*texts: Any) -> datetime | None:
    return next((found for found in map(moment, texts) if found is not None), None)


def _map(holder: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    return holder.get(key) or {}


def _list(holder: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    return holder.get(key) or []
