"""Rows as the JSON that clients read. Names and types follow the published contract."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from gangline.drivers.base import DryRunResult
from gangline.scopes.selectors import TENANT_ID
from gangline.spec.catalogue import catalogue
from gangline.spec.placement import PRIORITIES
from gangline.spec.problems import Role
from gangline.spec.values import nest
from gangline.spec.workload import SPEC
from workloads.models import Attempt, Event, Replica, Workload
from workloads.selectors.details import rank_of
from workloads.selectors.tools import links_of
from workloads.services.submission_types import Preview
from workloads.statuses import DELETE, RESUME, STATUSES, STOP

TYPE, CATEGORY = "Distributed", "Train"
OWN = ("differences", "own")

LIST_COLUMNS = (
    "id", "name", "framework", "configuration", "owner_name", "priority", "priority_class",
    "cluster_id",
    "project_id", "project_name", "created_at", "deleted_at", "ended_at", "started_at", "phase",
    "status", "reason", "reason_code", "next_reason", "phase_since", "pods_ready", "pods_total",
    "gpus", "gpus_in_use", "desired", "channel", "seq", "contact_lost_at",
)  # fmt: skip
_SOURCES = {"cli": "CLI"}

Places = Mapping[int, tuple[int, str, str]]
"""Project id → id and name of its department, and the project's namespace."""


def listed(row: tuple[Any, ...], places: Places) -> dict[str, Any]:
    """One row of the list. ``row`` holds LIST_COLUMNS."""
    (
        pk, name, framework, configuration, owner, priority, priority_name, cluster_id,
        project, project_name, created, deleted, ended, started,
        phase, status, reason, code, next_reason, since, ready,
        pods, gpus, in_use, desired, channel, seq, lost,
    ) = row  # fmt: skip
    department, department_name, namespace = places[project]
    updated = since or created
    actions = STATUSES[status].actions if status in STATUSES else ()
    return {
        "tenantId": TENANT_ID,
        "id": pk,
        "name": name,
        "type": TYPE,
        "distributedFramework": framework,
        "configuration": configuration,
        "source": _SOURCES.get(channel, "Control-plane"),
        "submittedBy": owner,
        "priority": priority,
        "priorityClassName": priority_name or priority_class(priority),
        "category": CATEGORY,
        "clusterId": cluster_id,
        "projectId": str(project),
        "projectName": project_name,
        "departmentId": str(department),
        "departmentName": department_name,
        "namespace": namespace,
        "createdAt": created,
        "updatedAt": updated,
        "deletedAt": deleted,
        "startedAt": started,
        "completedAt": ended,
        "desiredPhase": desired,
        "phase": phase,
        "status": status,
        "phaseMessage": reason,
        "reasonCode": code,
        "nextStep": next_reason,
        "phaseUpdatedAt": updated,
        "contactLostAt": lost,
        "k8sPhase": phase,
        "k8sPhaseUpdatedAt": updated,
        "conditions": [],
        "runningPods": ready,
        "requestedPods": {"number": pods},
        "workloadRequestedResources": {"gpu": {"request": gpus}},
        "allocatedResources": {"gpu": in_use},
        "actionsSupport": {
            "delete": DELETE in actions,
            "suspend": STOP in actions,
            "resume": RESUME in actions,
        },
        "seq": seq,
    }


def priority_class(priority: int) -> str:
    """The word for a priority: that of the highest class it reaches."""
    reached = [word for word, least in PRIORITIES.items() if priority >= least]
    return reached[-1] if reached else next(iter(PRIORITIES))


def distributed(workload: Workload, attempt: Attempt) -> dict[str, Any]:
    """A workload as it was submitted, with the values that its newest attempt runs."""
    values = attempt.values
    body: dict[str, Any] = {
        "name": workload.name,
        "requestedName": workload.requested_name or workload.name,
        "workloadId": workload.pk,
        "projectId": str(workload.project_id),
        "departmentId": str(workload.project.department_id),
        "clusterId": workload.cluster_id,
        "createdBy": workload.owner_name,
        "createdAt": workload.created_at,
        "deletedAt": workload.deleted_at,
        "desiredPhase": workload.desired,
        "actualPhase": workload.phase,
        "status": workload.status,
        "reason": workload.reason,
        "reasonCode": workload.reason_code,
        "configuration": workload.configuration,
        "spec": _half(values, Role.WORKER),
        "masterSpecSameAsWorker": workload.master == "same",
    }
    if workload.copied_from is not None:
        body["copiedFrom"] = workload.copied_from
    if workload.master in OWN:
        body["masterSpec"] = _half(values, Role.MASTER)
    return body


def previewed(preview: Preview, name: str) -> dict[str, Any]:
    """The answer of a dry run: what would be stored, and where each value comes from."""
    resolution = preview.resolution
    values = resolution.plain
    body: dict[str, Any] = {
        "name": name,
        "configuration": preview.configuration,
        "spec": _half(values, Role.WORKER),
        "sources": {path: v.source.to_json() for path, v in resolution.effective.items()},
        "notices": [str(notice) for notice in preview.resolution.notices],
        "totals": {
            "pods": preview.totals.pods,
            "workers": preview.totals.workers,
            "masters": preview.totals.masters,
            "gpus": preview.totals.gpu_devices,
            "cpus": preview.totals.cpus,
            "memoryBytes": preview.totals.memory_bytes,
        },
        "forecast": {"kind": preview.verdict.kind, "sentence": preview.verdict.sentence},
    }
    if preview.totals.masters:
        body["masterSpec"] = _half(values, Role.MASTER)
    return body


def dry_run_answer(told: DryRunResult) -> dict[str, Any]:
    """What the cluster said to a dry run and would accept."""
    return {"asked": list(told.asked), "doubts": list(told.doubts)}


def detailed(workload: Workload, attempt: Attempt, places: Places) -> dict[str, Any]:
    """The list's row plus what only one workload is asked for."""
    row = tuple(getattr(workload, column) for column in LIST_COLUMNS)
    worker = {
        path.removeprefix("worker."): value
        for path, value in attempt.values.items()
        if path.startswith("worker.")
    }
    per_pod = {
        "gpu": {"request": worker.get("compute.gpuDevicesRequest") or 0},
        "cpu": _limits(worker, "compute.cpuCoreRequest", "compute.cpuCoreLimit"),
        "cpuMemory": _limits(worker, "compute.cpuMemoryRequest", "compute.cpuMemoryLimit"),
    }
    return {
        **listed(row, places),
        "podsRequestedResources": per_pod,
        "images": [worker["image"]] if worker.get("image") else [],
        "command": worker.get("command") or "",
        "arguments": worker.get("args") or "",
        "environmentVariables": {
            # What a Secret or ConfigMap holds is not known here, and is no empty text.
            item["name"]: item["value"]
            for item in worker.get("environmentVariables") or ()
            if item.get("value") is not None
        },
        "attempt": attempt.no,
        "desiredBy": workload.desired_by,
        "observedAt": workload.observed_at,
        "pendingSchedulingMessages": [],
        "externalConnections": [],
        "childrenIds": [],
        "datasources": [],
        "environments": [],
        "urls": _urls(workload, attempt),
    }


def _urls(workload: Workload, attempt: Attempt) -> list[dict[str, Any]]:
    links = links_of(workload, attempt)
    return [
        *(
            {
                "name": one.name,
                "type": one.kind,
                "label": one.label,
                "url": one.address,
                "authorizationType": one.authorization,
            }
            for one in links.tools
        ),
        *(
            {"name": o.name, "type": "port", "label": o.label, "url": o.address}
            for o in links.ports
        ),
        *(
            {"name": o.name, "type": "related", "label": o.name, "url": o.address}
            for o in links.related
        ),
    ]


def pod_id(replica: Replica) -> str:
    """What clients call one replica of one attempt by."""
    return replica.pod_uid or f"{replica.attempt_id}.{replica.role}.{replica.index}"


def pod(replica: Replica, attempt: Attempt, workload: Workload) -> dict[str, Any]:
    """One replica."""
    started = replica.started_at or attempt.created_at
    changed = replica.ended_at or started
    image = attempt.value(f"{replica.role}.image") or ""
    body: dict[str, Any] = {
        "id": pod_id(replica),
        "name": f"{workload.name}-{replica.role}-{replica.index}",
        "role": replica.role,
        "index": replica.index,
        "rank": rank_of(replica, workload.framework),
        "attempt": attempt.no,
        "workloadId": workload.pk,
        "workloadName": workload.name,
        "clusterId": workload.cluster_id,
        "projectId": str(workload.project_id),
        "projectName": workload.project_name,
        "tenantId": TENANT_ID,
        "priorityClassName": workload.priority_class or priority_class(workload.priority),
        "nodeName": replica.node,
        "createdAt": started,
        "completedAt": replica.ended_at,
        "updatedAt": changed,
        "k8sPhase": replica.state,
        "k8sPhaseUpdatedAt": changed,
        "reason": replica.reason,
        "exitCode": replica.exit_code,
        "signal": replica.signal,
        "peakMemoryBytes": replica.peak_memory,
        "restarts": replica.restarts,
        "requestedResources": {"gpu": {"request": replica.gpus}},
        "containers": [{"name": replica.role, "image": image, "startedAt": replica.started_at}],
    }
    return body


def event(row: Event, workload: Workload) -> dict[str, Any]:
    """One event."""
    return {
        "id": str(row.pk),
        "createdAt": row.at,
        "lastSeenAt": row.last_at,
        "count": row.count,
        "type": "Normal" if row.severity == "info" else "Warning",
        "severity": row.severity,
        "clusterId": workload.cluster_id,
        "message": row.sentence,
        "reason": row.kind,
        "source": row.actor_name or "gangline",
        "attempt": row.attempt_no,
        "involvedObject": {
            "uid": workload.pk,
            "kind": "Pod" if row.object else "Workload",
            "name": row.object or workload.name,
            "namespace": workload.project.namespace,
        },
    }


def history(row: Event, workload: Workload) -> dict[str, Any]:
    """One record of the history: an event, or a change of the phase."""
    created: datetime = row.at
    if row.phase:
        spec: dict[str, Any] = {"phaseUpdate": {"phase": row.phase, "phaseMessage": row.message}}
        return {"meta": {"creationTimestamp": created, "type": "PhaseUpdate"}, "spec": spec}
    return {
        "meta": {"creationTimestamp": created, "type": "Event"},
        "spec": {"event": event(row, workload)},
    }


def _half(values: Mapping[str, Any], role: Role) -> dict[str, Any]:
    fields = catalogue(SPEC.master if role is Role.MASTER else SPEC.worker)
    return nest(
        {
            path: reads.show(value)
            if path in fields and (reads := fields[path].reads) and reads.show and value
            else value
            for path, value in _of_role(values, role)
        }
    )


def _of_role(values: Mapping[str, Any], role: Role) -> Iterator[tuple[str, Any]]:
    prefix = f"{role}."
    for path, value in values.items():
        if path.startswith(prefix) and value is not None:
            yield path.removeprefix(prefix), value


def _limits(values: Mapping[str, Any], request: str, limit: str) -> dict[str, Any]:
    found = {"request": values.get(request), "limit": values.get(limit)}
    return {name: value for name, value in found.items() if value is not None}
