"""Every problem says what would be accepted instead."""

from typing import Any

import pytest

from gangline.policies import services
from tests.support.api import ApiClient
from tests.support.world import World

pytestmark = pytest.mark.django_db
POLICY = """
defaults:
  environmentVariables:
    instances:
      - {name: KEPT, value: "1"}
  compute: {gpuDevicesRequest: 1}
rules:
  environmentVariables: {instances: {canAdd: false, locked: [KEPT]}}
  compute:
    gpuDevicesRequest: {canEdit: false}
    cpuCoreRequest: {max: 2, step: 0.5}
  command: {required: true}
  image: {options: [{value: "local://examples"}]}
"""
WRONG: dict[str, Any] = {
    "distributedFramework": "PyTorch",
    "image": "registry.local/other:1",
    "numWorkers": "many",
    "nonsense": 1,
    "imag": "x",
    "workingDir": "relative",
    "backoffLimit": -1,
    "terminationGracePeriodSeconds": True,
    "autoDeletionTimeAfterCompletionSeconds": "eternal",
    "environmentVariables": [
        {"name": "KEPT", "value": "2"},
        {"name": "ADDED", "value": 5},
        {"name": "ADDED", "value": "1"},
        {"name": "RANK", "value": "1"},
        {"value": "no name"},
        "no object",
    ],
    "labels": [{"name": "a/b/c", "value": "-"}],
    "compute": {
        "gpuDevicesRequest": 2,
        "cpuCoreRequest": 2.25,
        "cpuCoreLimit": 1,
        "cpuMemoryRequest": "2Q",
        "cpuMemoryLimit": {},
        "tpus": 1,
    },
}


def test_every_problem_says_what_would_be_accepted(world: World, researcher: ApiClient) -> None:
    services.save(actor=None, scope=world.installation.scope, text=POLICY, version=None)
    body = {
        **world.body(), "name": "3 digits", "templateId": "none", "strange": 1,
        "configuration": "both", "clusterId": "elsewhere",
        "spec": WRONG, "masterSpec": {"backoffLimit": 1, "imag": "x", "workingDir": "x"},
    }  # fmt: skip
    answer = researcher.post("workloads/distributed", body)
    problems = answer.json()["problems"]
    assert len({problem["rule"] for problem in problems}) >= 10, answer.content
    assert [p for p in problems if not p["accepted"]] == []
