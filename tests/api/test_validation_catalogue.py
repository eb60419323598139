"""The catalogue of what goes wrong in a form, V1 to V28, as the API refuses each.

Elsewhere: V10 organization/test_scheduling_rules, V18 clusters/test_storage_classes, V21
wizard/test_data_sources, V24 policies/test_engine, V27 api/test_submitting, V28
wizard/test_beyond_quota.
"""

from typing import Any

import pytest

from gangline.drivers.local.driver import LocalDriver
from tests.support.api import ApiClient
from tests.support.world import World

SUBMIT = "workloads/distributed"
TORCH = {"distributedFramework": "PyTorch"}
VARIABLE = {"name": "A", "value": "1"}
VOLUME = {"name": "a", "path": "/a", "claimInfo": {"size": "1G"}}
TOOL = {"name": "board", "toolType": "tensorboard", "container": 6006}
GPU = {"gpuDevicesRequest": 1, "gpuRequestType": "portion"}
BY_MEMORY = {"gpuDevicesRequest": 2, "gpuRequestType": "memory", "gpuMemoryRequest": "8G"}
TAINT = {"key": "a", "operator": "Exists", "effect": "NoSchedule"}
TWO_LISTS = {**TOOL, "authorizedUsers": ["a"], "authorizedGroups": ["b"]}
NO_MODE = {"size": "1G", "accessModes": {"readWriteOnce": False}}
HOST = {"path": "/srv/a", "mountPath": "/a", "mountPropagation": "None"}
OTHER_HOST = {"path": "/srv/b", "mountPath": "/b", "mountPropagation": "HostToContainer"}
CASES: dict[str, tuple[dict[str, Any], str, str]] = {
    "V5 none": ({"numWorkers": 0}, "numWorkers", "min"),
    "V5 too many": ({"numWorkers": 10_000}, "numWorkers", "max"),
    "V6 fewest": ({**TORCH, "minReplicas": 3}, "numWorkers", "atLeast"),
    "V6 most": ({**TORCH, "maxReplicas": 1}, "maxReplicas", "atLeast"),
    "V7 cpu": (
        {"compute": {"cpuCoreRequest": 2, "cpuCoreLimit": 1}},
        "compute.cpuCoreLimit", "atLeast",
    ),
    "V7 memory": (
        {"compute": {"cpuMemoryRequest": "2G", "cpuMemoryLimit": "1G"}},
        "compute.cpuMemoryLimit", "atLeast",
    ),
    "V7 gpu": (
        {"compute": {**GPU, "gpuPortionRequest": 0.5, "gpuPortionLimit": 0.2}},
        "compute.gpuPortionLimit", "atLeast",
    ),
    "V8 none": (
        {"compute": {**GPU, "gpuPortionRequest": 0}}, "compute.gpuPortionRequest", "min",
    ),
    "V8 more": (
        {"compute": {**GPU, "gpuPortionRequest": 1.5}}, "compute.gpuPortionRequest", "max",
    ),
    "V9": ({"compute": BY_MEMORY}, "compute.gpuDevicesRequest", "maxWith"),
    "V11 no value": (
        {"tolerations": [{**TAINT, "operator": "Equals"}]}, "tolerations.0.value", "format",
    ),
    "V11": ({"tolerations": [{**TAINT, "value": "b"}]}, "tolerations.0.value", "format"),
    "V12": ({"tolerations": [{**TAINT, "seconds": 5}]}, "tolerations.0.seconds", "format"),
    "V13": ({"ports": [{**TOOL, "external": 29_999}]}, "ports.0.external", "min"),
    "V14": ({"exposedUrls": [TWO_LISTS]}, "exposedUrls.0.authorizedGroups", "format"),
    "V15 variable": (
        {"environmentVariables": [VARIABLE, VARIABLE]}, "environmentVariables.1.name", "unique",
    ),
    "V15 path": (
        {"storage": {"nfs": [{"path": "/x", "server": "s", "mountPath": "/a"}], "pvc": [VOLUME]}},
        "storage.nfs.0.mountPath", "unique",
    ),
    "V15 port": (
        {"ports": [{**TOOL, "external": 30_001},
                   {**TOOL, "name": "other", "container": 6007, "external": 30_001}]},
        "ports.1.external", "unique",
    ),
    "V16": (
        {"environmentVariables": [{"name": "RUN", "description": "Name of the run"}]},
        "environmentVariables.0.value", "fill",
    ),
    "V17 path": (
        {"storage": {"pvc": [{**VOLUME, "path": None}]}}, "storage.pvc.0.path", "required",
    ),
    "V17 size": (
        {"storage": {"pvc": [{**VOLUME, "claimInfo": {}}]}},
        "storage.pvc.0.claimInfo.size", "required",
    ),
    "V17 mode": (
        {"storage": {"pvc": [{**VOLUME, "claimInfo": NO_MODE}]}},
        "storage.pvc.0.claimInfo.accessModes.readWriteOnce", "format",
    ),
    "V19": ({"terminationGracePeriodSeconds": 301}, "terminationGracePeriodSeconds", "max"),
    "V20": ({"backoffLimit": 101}, "backoffLimit", "max"),
    "V23 elastic": ({"minReplicas": 1}, "minReplicas", "framework"),
    "V23 mpi": ({"slotsPerWorker": 2}, "slotsPerWorker", "framework"),
    "V25": ({"tty": True}, "tty", "when"),
    "V26": ({"storage": {"hostPath": [HOST, OTHER_HOST]}}, "storage.hostPath", "format"),
}  # fmt: skip


def said(answer: Any) -> set[tuple[str, str]]:
    return {(one["path"], one["rule"]) for one in answer.json().get("problems", ())}


def test_v5_to_v26_are_refused_where_they_are_mended(
    world: World, researcher: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalDriver, "unsupported", {})
    for name, (changes, path, rule) in CASES.items():
        answer = researcher.post(SUBMIT, world.spec_body(**changes))
        assert answer.status_code == 400, name
        assert (path, rule) in said(answer), (name, answer.content)


def test_v1_to_v4_and_v22_are_refused_where_they_are_mended(
    world: World, researcher: ApiClient
) -> None:
    """V1 the name, V2 its syntax, V3 and V4 the framework, V22 the master."""
    assert researcher.post(SUBMIT, world.body()).status_code == 202
    bodies: dict[str, tuple[dict[str, Any], int, str]] = {
        "V1": (world.body(), 409, "name"),
        "V2": (world.body("Digits-"), 400, "name"),
        "V3": (world.spec_body("b", distributedFramework="JAX"), 400, "distributedFramework"),
        "V4": (world.body("c", configuration="workersOnly"), 400, "configuration"),
        "V22": (
            world.body("d", masterSpecSameAsWorker=True, masterSpec={"args": "x"}),
            400, "masterSpecSameAsWorker",
        ),
    }  # fmt: skip
    for name, (body, code, path) in bodies.items():
        answer = researcher.post(SUBMIT, body)
        paths = {one for one, _ in said(answer)}
        assert (answer.status_code, path in paths) == (code, True), (name, answer.content)
