"""Policies hold for the fields of clusters as for all others."""

from typing import Any

from gangline.policies.effective import Layer, effective_policy
from gangline.policies.engine import Request, Resolution, resolve
from gangline.policies.parser import parse
from gangline.spec.frameworks import WORKERS_ONLY
from gangline.spec.sources import Value

POLICY = """
defaults:
  worker:
    imagePullPolicy: Always
    tolerations:
      instances:
        - {name: gpus, key: nvidia.com/gpu, operator: Exists, effect: Any}
    compute:
      extendedResources: {instances: [{resource: rdma/hca, quantity: "1"}]}
rules:
  worker:
    tolerations: {instances: {locked: [gpus]}}
    imagePullPolicy: {options: [Always, IfNotPresent]}
    nodeType: {options: [dgx]}
"""
GPUS = {"name": "gpus", "key": "nvidia.com/gpu", "operator": "Exists", "effect": "Any"}


def resolved(**said: Any) -> Resolution:
    policy = effective_policy([Layer("project", "vision", parse(POLICY))])
    entries = {f"worker.{path}": Value(v) for path, v in said.items()}
    request = Request(framework="PyTorch", configuration=WORKERS_ONLY, master="none", given=entries)
    return resolve(request, policy)


def test_defaults_are_taken() -> None:
    made = resolved()
    assert made.problems == []
    assert made.effective["worker.imagePullPolicy"].value == "Always"
    assert made.effective["worker.tolerations"].value == [GPUS]
    extended = made.effective["worker.compute.extendedResources"].value
    assert extended == [{"resource": "rdma/hca", "quantity": "1"}]


def test_rules_hold() -> None:
    made = resolved(
        imagePullPolicy="Never", nodeType="p5", tolerations=[{"name": "gpus", "exclude": True}]
    )
    assert [(p.path, p.rule, p.source) for p in made.problems] == [
        ("imagePullPolicy", "options", "project vision"),
        ("nodeType", "options", "project vision"),
        ("tolerations.0", "locked", "project vision"),
    ]


def test_an_item_of_ones_own_stands_beside_a_locked_one() -> None:
    own = {"name": "own", "key": "x", "operator": "Exists", "effect": "NoSchedule"}
    made = resolved(tolerations=[own])
    assert made.problems == []
    assert made.effective["worker.tolerations"].value == [GPUS, own]
