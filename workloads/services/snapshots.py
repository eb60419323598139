"""What a judged submission fixes for good: an attempt's spec and its workload's columns."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from assets.models import Credential
from gangline.clusters.connections import driver_for, priority_of
from gangline.spec.placement import DEFAULT_PRIORITY, is_preemptible
from gangline.spec.problems import Role
from gangline.spec.sources import to_json
from gangline.spec.workload import INTERACTIVE
from workloads import refs
from workloads.models import MOST_SEARCHED, Workload, WorkloadLabel
from workloads.services import data_volumes
from workloads.services.credentials import bound
from workloads.services.submission_types import Preview


@dataclass(frozen=True, slots=True)
class Frozen:
    """What an attempt runs; ``spec_hash`` is its fingerprint (R21a)."""

    effective: dict[str, Any]
    rendered: Any
    spec_hash: str
    credentials: tuple[Credential, ...] = ()
    volumes: tuple[UUID, ...] = ()
    """Data volumes that it mounts."""


def columns_of(judged: Preview) -> dict[str, Any]:
    """Columns of a workload that follow from its specification."""
    worker = judged.resolution.values(Role.WORKER)
    name = worker.get("priorityClass") or ""
    priority = priority_of(judged.cluster, name) if judged.cluster else DEFAULT_PRIORITY
    return {
        "priority": priority,
        "priority_class": name,
        "is_preemptible": is_preemptible(worker.get("preemptibility"), priority),
        "num_workers": judged.totals.workers,
        "pods_total": judged.totals.pods,
        "gpus": judged.totals.gpu_devices,
        "cpus": judged.totals.cpus,
        "memory": judged.totals.memory_bytes,
        "labels_text": ", ".join(f"{k}={v}" for k, v in labels_of(judged).items())[:1000],
        "image": (worker.get("image") or "")[:300],
        "backoff_limit": worker.get("backoffLimit") or 0,
        "auto_delete_seconds": worker.get("autoDeletionTimeAfterCompletionSeconds"),
        "is_interactive": worker.get(INTERACTIVE) is True,
        "session_seconds": worker.get("sessionTimeLimitSeconds"),
        "idle_seconds": worker.get("sessionIdleLimitSeconds"),
    }


def searched(workload: Workload, judged: Preview) -> str:
    """What the list's search finds it by; ``workload`` has its names and `columns_of`."""
    worker = judged.resolution.values(Role.WORKER)
    names = (workload.name, workload.project.name, workload.owner.get_username(), workload.image)
    parts = (*names, worker.get("command"), worker.get("args"))
    return " ".join(" ".join(filter(None, parts)).split())[:MOST_SEARCHED]


def labels_of(judged: Preview) -> dict[str, str]:
    """The labels of its pods; where roles differ, those of the workers."""
    return {
        item["name"]: item.get("value") or ""
        for role in (Role.MASTER, Role.WORKER)
        for item in judged.resolution.values(role).get("labels") or ()
    }


def store_labels(workload: Workload, labels: Mapping[str, str]) -> None:
    WorkloadLabel.objects.bulk_create(
        WorkloadLabel(workload=workload, key=key, value=value) for key, value in labels.items()
    )


def snapshot_spec(workload: Workload, judged: Preview) -> Frozen:
    """The specification in the form of the workload's cluster. ``workload`` has `columns_of`."""
    resolution = judged.resolution
    effective = to_json(resolution.effective)
    mounted = data_volumes.mounted(resolution.plain, workload.project)
    held = bound(mounted.values, workload.project, workload.owner)
    submission = refs.submission_of(workload, held.values, mounted.elsewhere)
    rendered = driver_for(workload.cluster).render(submission)
    text = json.dumps([effective, rendered], sort_keys=True, separators=(",", ":"), default=str)
    return Frozen(
        effective, rendered, hashlib.sha256(text.encode()).hexdigest(), held.used, mounted.volumes
    )
