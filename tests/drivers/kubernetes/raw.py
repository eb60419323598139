"""Objects as an API server sends them, with no more in them than a test needs."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from gangline.drivers.base import AttemptRef
from gangline.drivers.kubernetes.jobs import INTENT
from gangline.drivers.kubernetes.kinds import KINDS

NOW = datetime(2026, 11, 22, 10, 0, 0, tzinfo=UTC)
MARKS = {
    "gangline.dev/install": "install-a",
    "gangline.dev/workload": "w-1",
    "gangline.dev/attempt": "1",
}
REF = AttemptRef(
    "install-a", "w-1", 1, "gang", "gangline-vision", rendered={"framework": "PyTorch"}
)
"""The attempt of which `job` and `pod` are."""

OWNER = {"kind": "PyTorchJob", "name": "gang", "uid": "job-1", "controller": True}
"""Of the pods: the job that `job` makes, unless said."""


def at(seconds: float) -> str:
    """A time ``seconds`` after `NOW`, as the API writes it."""
    return f"{NOW + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"


def job(
    framework: str = "PyTorch",
    *,
    workers: int = 2,
    masters: int = 0,
    suspend: bool = False,
    intent: str = "run",
    true: Sequence[str] = (),
    false: Sequence[str] = (),
    message: str = "",
    uid: str = "job-1",
    **meta: Any,
) -> dict[str, Any]:
    """A job object; ``true`` and ``false`` are types of conditions."""
    kind = KINDS[framework]
    specs: dict[str, Any] = {kind.roles["worker"]: {"replicas": workers, "template": {}}}
    if masters:
        specs[kind.roles["master"]] = {"replicas": masters, "template": {}}
    conditions = [
        {"type": word, "status": status, "reason": word, "message": message}
        for words, status in ((true, "True"), (false, "False"))
        for word in words
    ]
    annotations = {INTENT: intent} if intent else {}
    return {
        "apiVersion": kind.resource.api_version,
        "kind": kind.resource.kind,
        "metadata": {
            "name": "gang",
            "namespace": "gangline-vision",
            "uid": uid,
            "resourceVersion": "7",
            "creationTimestamp": at(-60),
            "labels": dict(MARKS),
            "annotations": annotations,
            **meta,
        },
        "spec": {kind.replicas: specs, "runPolicy": {"suspend": suspend}},
        "status": {"conditions": conditions} if conditions else {},
    }


def pod(
    index: int = 0,
    *,
    role: str = "worker",
    phase: str = "Running",
    node: str = "node-a",
    state: Mapping[str, Any] | None = None,
    label: str = "training.kubeflow.org/replica-type",
    conditions: Sequence[Mapping[str, Any]] = (),
    status: Mapping[str, Any] | None = None,
    **meta: Any,
) -> dict[str, Any]:
    """A pod; ``state`` is that of its container, which runs unless said."""
    usual: Mapping[str, Any] = {"running": {"startedAt": at(-30)}} if phase == "Running" else {}
    marks = dict(MARKS) | {label: role}
    if role == "worker":
        marks["training.kubeflow.org/replica-index"] = str(index)
    containers = [{"name": "main", "state": usual if state is None else state, "restartCount": 0}]
    return {
        "metadata": {
            "name": f"gang-{role}-{index}",
            "namespace": "gangline-vision",
            "uid": f"pod-{role}-{index}",
            "labels": marks,
            "ownerReferences": [OWNER],
            **meta,
        },
        "spec": {"containers": [{"name": "main"}], **({"nodeName": node} if node else {})},
        "status": {
            "phase": phase,
            "conditions": list(conditions),
            "containerStatuses": containers if node else [],
            **(status or {}),
        },
    }


def ended(code: int, *, seconds: float = 0, reason: str = "") -> dict[str, Any]:
    """State of a container that exited ``seconds`` after `NOW`."""
    return {
        "terminated": {
            "exitCode": code,
            "reason": reason or ("Error" if code else "Completed"),
            "startedAt": at(-30),
            "finishedAt": at(seconds),
        }
    }


def unscheduled(message: str) -> dict[str, Any]:
    """What the scheduler writes on a pod that it cannot place."""
    return {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": message,
    }
