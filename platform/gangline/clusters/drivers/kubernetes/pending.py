"""Why a released workload does not run yet, asked of the cluster when somebody wants to know.

Its scheduler's adapter puts it into words; what a scheduler does not know, events tell.
"""

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from gangline.clusters.drivers.base import AttemptRef

from . import quantities, schedulers
from .jobs import Job
from .objects import Doubt, Objects, selector
from .pods import Pod
from .resources import EVENTS, NODES, PODS
from .schedulers import PLAIN, Room, SchedulerAdapter, Waiting

ROOM_SECONDS = 15.0
MOST_PODS = 5_000
"""Of more pods on a cluster, what is free is not counted."""
_BY_NAME = {"volcano": "volcano", "kai-scheduler": "kai"}
_LONGEST = 300


class Pending:
    """Reads for one cluster. Raises Doubt and Unreachable."""

    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        self._room: tuple[float, Room | None] | None = None
        self._lock = threading.Lock()

    def why(self, ref: AttemptRef, job: Job) -> str:
        """One sentence; empty when nothing is known."""
        raw = self.objects.raw_job(job.kind, job.namespace, job.name)
        if raw is None:
            return ""
        pods = list(self.objects.every(PODS, job.namespace, selector(ref)))
        adapter = adapter_of(raw)
        waiting = Waiting(
            job=raw,
            pods=pods,
            objects=self._objects(adapter, ref, job),
            room=self._free() if _lacks_gpus(pods) else None,
        )
        said = adapter.pending_reason(waiting)
        return _sentence(said) or self.warning(job.namespace, job.uid)

    def warning(self, namespace: str, uid: str) -> str:
        """The newest warning about one object."""
        wanted = f"involvedObject.uid={uid},type=Warning"
        found = list(self.objects.every(EVENTS, namespace, "", fieldSelector=wanted))
        newest = max(found, key=_when, default=None)
        return _sentence(str(newest.get("message") or "")) if newest else ""

    def of_pods(self, starting: Sequence[Pod]) -> dict[str, str]:
        """The newest warning about the first of these pods, by its uid."""
        for pod in starting[:1]:
            if said := self.warning(pod.namespace, pod.uid):
                return {pod.uid: said}
        return {}

    def _objects(
        self, adapter: SchedulerAdapter, ref: AttemptRef, job: Job
    ) -> dict[str, list[dict[str, Any]]]:
        found = {}
        for resource in adapter.reads:
            namespace = job.namespace if resource.namespaced else ""
            listed = list(self.objects.every(resource, namespace, ""))
            if resource.namespaced:
                listed = [raw for raw in listed if _is_of(raw, ref, job)]
            found[resource.plural] = listed
        return found

    def _free(self) -> Room | None:
        """GPUs that are free on nodes that take pods, counted now and then."""
        with self._lock:
            known = self._room
        if known is not None and time.monotonic() - known[0] < ROOM_SECONDS:
            return known[1]
        try:
            room = self._count()
        except Doubt:
            room = None
        with self._lock:
            self._room = (time.monotonic(), room)
        return room

    def _count(self) -> Room | None:
        nodes = {
            node["metadata"]["name"]: _gpus(node.get("status", {}).get("allocatable") or {})
            for node in self.objects.every(NODES, "", "")
            if not node.get("spec", {}).get("unschedulable")
        }
        free = sum(nodes.values())
        running = "status.phase!=Succeeded,status.phase!=Failed"
        everywhere = self.objects.every(PODS, "", "", fieldSelector=running)
        for count, pod in enumerate(everywhere, start=1):
            if count > MOST_PODS:
                return None
            spec = pod.get("spec", {})
            if spec.get("nodeName") in nodes:
                free -= sum(_gpus(quantities.requested(c)) for c in spec.get("containers", ()))
        with_gpus = sum(gpus > 0 for gpus in nodes.values())
        return Room(nodes=with_gpus or len(nodes), gpus=max(0, free))


def adapter_of(raw: Mapping[str, Any]) -> SchedulerAdapter:
    """The adapter of the scheduler that a job was made for."""
    if "kueue.x-k8s.io/queue-name" in (raw["metadata"].get("labels") or {}):
        return schedulers.adapter("kueue")
    name = PLAIN
    for key, roles in raw["spec"].items():
        if not key.endswith("ReplicaSpecs"):
            continue
        for role in roles.values():
            spec = role["template"]["spec"]
            if spec.get("schedulerName") in _BY_NAME:
                name = _BY_NAME[spec["schedulerName"]]
            elif "schedulingGroup" in spec:
                name = "native"
    return schedulers.adapter(name)


def _is_of(raw: Mapping[str, Any], ref: AttemptRef, job: Job) -> bool:
    meta = raw.get("metadata") or {}
    owners = {owner.get("uid") for owner in meta.get("ownerReferences") or ()}
    wanted = dict(part.split("=", 1) for part in selector(ref).split(","))
    return job.uid in owners or wanted.items() <= (meta.get("labels") or {}).items()


def _lacks_gpus(pods: Sequence[Mapping[str, Any]]) -> bool:
    conditions = (c for pod in pods for c in pod.get("status", {}).get("conditions") or ())
    return any("Insufficient" in str(c.get("message") or "") for c in conditions)


def _gpus(amounts: Mapping[str, Any]) -> int:
    return sum(int(quantities.amount(n)) for word, n in amounts.items() if quantities.is_gpu(word))


def _when(event: Mapping[str, Any]) -> str:
    times = ("lastTimestamp", "eventTime", "firstTimestamp")
    found = (event.get(key) for key in times)
    series = (event.get("series") or {}).get("lastObservedTime")
    return str(series or next((at for at in found if at), ""))


def _sentence(text: str) -> str:
    clean = " ".join("".join(c if c.isprintable() else " " for c in text).split())[:_LONGEST]
    if not clean:
        return ""
    clean = clean[0].upper() + clean[1:]
    return clean if clean[-1] in ".!?…" else f"{clean}."
