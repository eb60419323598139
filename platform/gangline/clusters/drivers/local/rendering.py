"""Native form of a workload on this machine: what each role runs, before slots are given (R7)."""

import math
from collections.abc import Mapping
from typing import Any

from gangline.clusters.drivers.base import Submission
from gangline.clusters.drivers.mapping import Table, To, apply, paths
from gangline.spec.types import quantity_bytes, split_command

FORM = "gangline.dev/local/v1"
SCHEME = "local://"


def _pairs(items: list[dict[str, Any]]) -> list[list[str]]:
    return [[str(item["name"]), str(item.get("value") or "")] for item in items]


def _runtime(image: str) -> str:
    return image.removeprefix(SCHEME)


ROLE: Table = {
    "image": To("runtime", _runtime),
    "command": To("command", split_command),
    "args": To("arguments", split_command),
    "workingDir": To("workingDirectory"),
    "environmentVariables": To("variables", _pairs),
    "compute.gpuDevicesRequest": To("requests|gpus"),
    "compute.cpuCoreRequest": To("requests|cpus"),
    "compute.cpuMemoryRequest": To("requests|memory", quantity_bytes),
    "compute.cpuCoreLimit": To("limits|cores", math.ceil),
    "compute.cpuMemoryLimit": To("limits|memory", quantity_bytes),
    "labels": To("labels", _pairs),
    "annotations": To("annotations", _pairs),
}
GANG: Table = {
    "distributedFramework": To("framework"),
    "numWorkers": To("numWorkers"),
    "terminationGracePeriodSeconds": To("graceSeconds"),
    "backoffLimit": To("retries"),
    "autoDeletionTimeAfterCompletionSeconds": To("deleteAfterSeconds"),
}
MAPPED = paths(ROLE, GANG)
UNSUPPORTED: Mapping[str, str] = {}


def render(submission: Submission) -> dict[str, Any]:
    """What ``create`` joins with the placement. JSON data only."""
    native: dict[str, Any] = {"form": FORM, "name": submission.name, "project": submission.project}
    apply(GANG, submission.worker, native)
    native["framework"] = submission.framework
    native["configuration"] = submission.configuration
    native["numWorkers"] = submission.num_workers
    native["identifiers"] = dict(submission.identifiers)
    native["worker"] = apply(ROLE, submission.worker, {})
    if submission.master is not None:
        native["master"] = apply(ROLE, submission.master, {})
    return native
