"""Objects of running workloads as operator, scheduler and kubelet would leave them. Pure.

The jobs are the product's own manifests (`bench.kubernetes_rows`). To let the operators make the
rest of thousands would take a machine of their own.
"""

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

WORKERS = 8
PROBED = 50
PROBE = "bench.gangline.dev/probe"
"""Label of the pods of the newest workloads: those on the first page."""
_NOW = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class Gang:
    """One job and its pods, as objects."""

    job: dict[str, Any]
    number: int
    is_probed: bool

    @property
    def namespace(self) -> str:
        return str(self.job["metadata"]["namespace"])

    @property
    def name(self) -> str:
        return str(self.job["metadata"]["name"])

    @property
    def workload(self) -> str:
        return str(self.job["metadata"]["labels"]["gangline.dev/workload"])

    def job_status(self) -> dict[str, Any]:
        """The job with the status that its operator writes."""
        conditions = [
            {"type": word, "status": "True", "reason": f"PyTorchJob{word}", "message": word,
             "lastUpdateTime": _NOW, "lastTransitionTime": _NOW}
            for word in ("Created", "Running")
        ]  # fmt: skip
        counts = {"Master": {"active": 1}, "Worker": {"active": WORKERS}}
        status = {"conditions": conditions, "replicaStatuses": counts, "startTime": _NOW}
        return {"status": status}

    def pods(self, uid: str, nodes: int) -> Iterator[dict[str, Any]]:
        """Its pods as the operator makes them and the scheduler places them."""
        owner = {
            "apiVersion": self.job["apiVersion"], "kind": self.job["kind"], "name": self.name,
            "uid": uid, "controller": True, "blockOwnerDeletion": True,
        }  # fmt: skip
        places = [("Master", 0), *(("Worker", index) for index in range(WORKERS))]
        for rank, (role, index) in enumerate(places):
            template = self.job["spec"]["pytorchReplicaSpecs"][role]["template"]
            kind = "training.kubeflow.org"
            marks = {
                f"{kind}/job-name": self.name, f"{kind}/operator-name": "pytorchjob-controller",
                f"{kind}/replica-type": role.lower(), f"{kind}/replica-index": str(index),
                **({PROBE: "yes"} if self.is_probed else {}),
            }  # fmt: skip
            node = f"bench-node-{(self.number * len(places) + rank) % nodes}"
            yield {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    **template["metadata"],
                    "name": f"{self.name}-{role.lower()}-{index}",
                    "namespace": self.namespace,
                    "labels": template["metadata"]["labels"] | marks,
                    "ownerReferences": [owner],
                },
                "spec": template["spec"] | {"nodeName": node, "restartPolicy": "Never"},
            }


def gangs(path: str) -> list[Gang]:
    """What `kubernetes_rows.prepare` wrote down, oldest first."""
    with Path(path).open() as lines:
        jobs = [json.loads(line) for line in lines]
    first = max(0, len(jobs) - PROBED)
    return [Gang(job, number, number >= first) for number, job in enumerate(jobs)]


def nodes(count: int) -> Iterator[dict[str, Any]]:
    """Machines that the simulated kubelet plays."""
    room = {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": "8"}
    for number in range(count):
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": f"bench-node-{number}",
                "annotations": {"kwok.x-k8s.io/node": "fake"},
                "labels": {"kubernetes.io/hostname": f"bench-node-{number}"},
            },
            "status": {"capacity": room, "allocatable": room},
        }


def running(pod: dict[str, Any], trouble: str = "") -> dict[str, Any]:
    """The pod with its status: it runs or, with ``trouble``, its container waits to start again."""
    container = pod["spec"]["containers"][0]
    conditions = [
        {"type": word, "status": "True", "lastTransitionTime": _NOW}
        for word in ("PodScheduled", "Initialized", "PodReadyToStartContainers")
    ]
    is_ready = "False" if trouble else "True"
    conditions += [
        {"type": word, "status": is_ready, "lastTransitionTime": _NOW}
        for word in ("Ready", "ContainersReady")
    ]
    waiting = {"waiting": {"reason": "CrashLoopBackOff", "message": trouble}}
    state = waiting if trouble else {"running": {"startedAt": _NOW}}
    seen = {
        "name": container["name"], "image": container["image"], "imageID": container["image"],
        "containerID": f"containerd://{uuid.uuid5(uuid.NAMESPACE_DNS, pod['metadata']['name'])}",
        "ready": not trouble, "started": not trouble, "restartCount": 0, "state": state,
    }  # fmt: skip
    meta = {key: pod["metadata"][key] for key in ("name", "namespace", "labels", "annotations")
            if key in pod["metadata"]}  # fmt: skip
    meta["ownerReferences"] = pod["metadata"]["ownerReferences"]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "status": {
            "phase": "Running", "hostIP": "10.0.0.1", "podIP": "10.244.0.1",
            "podIPs": [{"ip": "10.244.0.1"}], "startTime": _NOW, "qosClass": "Burstable",
            "conditions": conditions, "containerStatuses": [seen],
        },
    }  # fmt: skip
