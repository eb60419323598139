"""A job object of one of the operators, cut down to what an observation needs. Pure.

Names of conditions and fields: https://www.kubeflow.org/docs/components/trainer/legacy-v1/
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from gangline.drivers.base import AttemptRef
from gangline.spec.frameworks import FRAMEWORKS, places, role_of

from . import labels
from .kinds import JobKind
from .pods import moment
from .schedulers import ADAPTERS, PLAIN, SchedulerAdapter

INTENT = "gangline.dev/intent"
"""Annotation of ours: absent while held, then ``run`` or ``stop``. The operator's ``suspend`` alone
does not tell a job that never began from one that was stopped, or that a queue holds back."""
RUN, STOP = "run", "stop"
OPENS_PORTS = "gangline.dev/opens-ports"
"""Annotation of ours: Services of it have addresses that the cluster decides."""
SCHEDULER, QUEUE = "gangline.dev/scheduler", "gangline.dev/queue"
"""Annotations of ours: the adapter that made the job, and the queue that its project names."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One of the job's conditions; only those with status True are kept."""

    reason: str
    message: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Job:
    """What is kept of a job object."""

    kind: JobKind
    uid: str
    name: str
    namespace: str
    install: str
    workload: str
    attempt: int
    version: str
    """Its ``resourceVersion``."""
    intent: str
    scheduler: str
    queue: str
    opens_ports: bool
    is_suspended: bool
    is_deleting: bool
    finalizers: tuple[str, ...]
    created_at: datetime | None
    completed_at: datetime | None
    counts: tuple[tuple[str, int], ...]
    """Replicas by role, the leading one first."""
    is_known: bool
    """Its operator has written a status."""
    conditions: Mapping[str, Condition] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, int]:
        """The attempt that its labels tell."""
        return self.workload, self.attempt

    @property
    def adapter(self) -> SchedulerAdapter:
        """Of the scheduler that it was made for."""
        return ADAPTERS.get(self.scheduler, ADAPTERS[PLAIN])

    @property
    def has_succeeded(self) -> bool:
        return "Succeeded" in self.conditions and "Failed" not in self.conditions

    @property
    def has_failed(self) -> bool:
        return "Failed" in self.conditions

    @property
    def has_ended(self) -> bool:
        return self.has_failed or self.has_succeeded

    def places(self) -> list[tuple[str, int, int]]:
        """Role, index and rank of every replica, in the order of ranks."""
        return list(places((role_of(self.kind.framework, r), n) for r, n in self.counts))


def read(raw: Mapping[str, Any], kind: JobKind) -> Job:
    """A job object as the API server sends it."""
    kind = kind.of(raw)
    meta, status = (raw.get(key) or {} for key in ("metadata", "status"))
    marks, notes = meta.get("labels") or {}, meta.get("annotations") or {}
    return Job(
        kind=kind,
        uid=str(meta["uid"]),
        name=str(meta["name"]),
        namespace=str(meta.get("namespace", "")),
        install=str(marks.get(labels.INSTALL, "")),
        workload=str(marks.get(labels.WORKLOAD, "")),
        attempt=labels.number(marks.get(labels.ATTEMPT)),
        version=str(meta.get("resourceVersion", "")),
        intent=str(notes.get(INTENT, "")),
        scheduler=str(notes.get(SCHEDULER, "")),
        queue=str(notes.get(QUEUE, "")),
        opens_ports=OPENS_PORTS in notes,
        is_suspended=kind.is_suspended(raw),
        is_deleting="deletionTimestamp" in meta,
        finalizers=tuple(map(str, meta.get("finalizers") or ())),
        created_at=moment(meta.get("creationTimestamp")),
        completed_at=moment(status.get("completionTime")),
        counts=_counts(raw, kind),
        is_known=bool(status.get("conditions") or status.get("replicatedJobsStatus")),
        conditions=_conditions(status),
    )


def ref_of(job: Job) -> AttemptRef:
    """The identity that a job's labels tell, with all that reading it again needs."""
    return AttemptRef(
        install=job.install,
        workload=job.workload,
        attempt=job.attempt,
        name=job.name,
        namespace=job.namespace,
        rendered={"framework": job.kind.framework, "launcher": job.kind.launcher},
        ext_uid=job.uid,
    )


def _counts(raw: Mapping[str, Any], kind: JobKind) -> tuple[tuple[str, int], ...]:
    count = {role: number for role, number, _ in kind.parts(raw)}
    order = [role.name for role in FRAMEWORKS[kind.framework].roles]
    found = ((role, count.get(kind.roles[role], 0)) for role in order)
    return tuple((role, number) for role, number in found if number)


_WORDS = {"Completed": "Succeeded"}
"""JobSet's words for what the operators of Kubeflow call otherwise."""


def _conditions(status: Mapping[str, Any]) -> dict[str, Condition]:
    return {
        _WORDS.get(str(c.get("type")), str(c.get("type"))): Condition(
            str(c.get("reason") or ""),
            str(c.get("message") or ""),
            moment(c.get("lastTransitionTime")),
        )
        for c in status.get("conditions") or ()
        if c.get("status") == "True"
    }
