"""Records what a real API server shows of attempts, from their creation to their end.

Usage: `python -m tests.drivers.kubernetes.record BED`, the folder of one that runs. It writes
`recorded/*.json`, each a list of moments ``{"job": …, "pods": […]}`` as `test_recorded` reads them,
without what nobody reads.
"""

import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from gangline.drivers.base import AttemptRef, Submission
from gangline.drivers.kubernetes.kinds import KINDS
from gangline.drivers.kubernetes.objects import selector
from gangline.drivers.kubernetes.resources import PODS
from gangline.spec.typed import typed
from gangline.spec.workload import ReplicaSpec, WorkerSpec
from tests.beds.kubernetes.bed import find
from tests.drivers.kubernetes.harness import Ground, ground
from tests.support.kubelet import Kubelet

RECORDED = Path(__file__).with_name("recorded")
LONGEST = 30.0
LIVES = {
    "pytorch-succeeds": ("PyTorch", "succeed"),
    "pytorch-one-fails": ("PyTorch", "one-fails"),
    "mpi-succeeds": ("MPI", "succeed"),
    "mpi-fails": ("MPI", "fail"),
    "tf-succeeds": ("TF", "succeed"),
}
_UNREAD = ("managedFields", "generation", "resourceVersion", "ownerReferences")
_READ = ("phase", "conditions", "containerStatuses", "reason", "message", "completionTime")


def main(folder: str) -> None:
    """Record every life."""
    bed = find(Path(folder))
    if bed is None:
        raise SystemExit(f"No bed runs in {folder}.")
    for name, (framework, script) in LIVES.items():
        with tempfile.TemporaryDirectory() as data, ground(bed, Path(data)) as place:
            moments = _live(place, _ref(place, framework, script))
        lines = ",\n".join(json.dumps(moment, sort_keys=True) for moment in moments)
        (RECORDED / f"{name}.json").write_text(f"[\n{lines}\n]\n")


def _ref(place: Ground, framework: str, script: str) -> AttemptRef:
    launches = framework == "MPI"
    values = {"image": "registry.example/training:1"}
    values["command"] = f"{'mpirun ' if launches else ''}behave {script}"
    submission = Submission(
        name="gang",
        project="vision",
        framework=framework,
        configuration="workersAndMaster",
        num_workers=2,
        worker=typed(WorkerSpec, values),
        master=typed(ReplicaSpec, values),
    )
    rendered = place.driver.render(submission)
    return replace(place.ref(), submission=submission, rendered=rendered)


def _live(place: Ground, ref: AttemptRef) -> list[dict[str, Any]]:
    kind = KINDS[ref.rendered["framework"]]
    moments: list[dict[str, Any]] = []
    with Kubelet(place.bed, ref.install):
        place.driver.create(ref)
        until = time.monotonic() + LONGEST
        is_let_go = False
        while time.monotonic() < until:
            raw = place.bed.client.get(kind.resource, place.namespace, ref.name).body
            pods = place.bed.client.list(PODS, place.namespace, labelSelector=selector(ref))
            its = [_cut(pod) for pod in pods.body["items"]]
            now = {"job": _cut(raw), "pods": its}
            if not moments or now != moments[-1]:
                moments.append(now)
            if not is_let_go and raw.get("status"):
                place.driver.commit(ref)
                is_let_go = True
            ends = {"Succeeded", "Failed"} & _true(raw)
            if ends and all(p["status"]["phase"] in ("Succeeded", "Failed") for p in its):
                break
            time.sleep(0.05)
    return moments


def _true(raw: dict[str, Any]) -> set[str]:
    conditions = raw.get("status", {}).get("conditions") or ()
    return {c["type"] for c in conditions if c["status"] == "True"}


def _cut(raw: dict[str, Any]) -> dict[str, Any]:
    meta = {key: value for key, value in raw["metadata"].items() if key not in _UNREAD}
    spec = dict(raw["spec"])
    for key, roles in spec.items():
        if key.endswith("ReplicaSpecs"):
            spec[key] = {role: {**one, "template": {}} for role, one in roles.items()}
    if "containers" in spec:
        names = [{"name": container["name"]} for container in spec["containers"]]
        spec = {"containers": names, "nodeName": spec.get("nodeName", "")}
        meta.pop("annotations", None)
    status = {key: value for key, value in raw.get("status", {}).items() if key in _READ}
    return {**raw, "metadata": meta, "spec": spec, "status": status}


if __name__ == "__main__":
    main(sys.argv[1])
