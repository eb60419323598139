"""Where pods may run, as the spec judges it."""

from typing import Any

import pytest

from gangline.spec.problems import Problem, Role
from gangline.spec.values import validate
from gangline.spec.workload import WorkerSpec

GPUS = {"name": "gpus", "key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def problems(path: str, value: Any) -> list[Problem]:
    return validate(WorkerSpec, Role.WORKER, {path: value})


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"effect": "Any"},
        {"value": None, "seconds": None},
        {"operator": "Equal", "value": "training"},
        {"effect": "NoExecute", "seconds": 300},
        {"key": "dedicated"},
    ],
)
def test_a_toleration_is_taken(changes: dict[str, Any]) -> None:
    assert problems("tolerations", [GPUS | changes]) == []


@pytest.mark.parametrize(
    ("changes", "attribute", "message"),
    [
        ({"value": "x"}, "value", "must be empty: the operator Exists compares nothing"),
        ({"operator": "Equal"}, "value", "is required: the operator Equals compares with a value"),
        (
            {"operator": "Equal", "value": ""},
            "value",
            "is required: the operator Equals compares with a value",
        ),
        ({"seconds": 5}, "seconds", "must be empty: only the effect NoExecute ends pods"),
        ({"effect": "NoExecute", "seconds": 0}, "seconds", "must be between 1 and 604800"),
        ({"operator": "Lt"}, "operator", "must be one of Equal or Exists"),
        ({"effect": ""}, "effect", "must be one of NoSchedule, NoExecute, PreferNoSchedule or Any"),
        ({"key": ""}, "key", "must not be empty"),
        ({"key": "a b"}, "key", "must be a key such as dedicated or nvidia.com/gpu"),
        ({"key": "/gpu"}, "key", "must be a key such as dedicated or nvidia.com/gpu"),
        (
            {"name": " "},
            "name",
            "must have 1 to 63 letters, digits, spaces, “-”, “_” or “.”, and no other at the ends",
        ),
        ({"operator": None}, "operator", "must be one of Equal or Exists"),
    ],
)
def test_what_makes_no_sense_is_refused_at_its_place(
    changes: dict[str, Any], attribute: str, message: str
) -> None:
    (problem,) = problems("tolerations", [GPUS, GPUS | {"name": "other"} | changes])
    assert (problem.path, problem.message) == (f"tolerations.1.{attribute}", message)


def test_an_attribute_that_is_missing_is_asked_for() -> None:
    (problem,) = problems("tolerations", [{k: v for k, v in GPUS.items() if k != "effect"}])
    assert (problem.path, problem.rule) == ("tolerations.0.effect", "required")


def test_two_tolerations_of_one_name_are_one_too_many() -> None:
    (problem,) = problems("tolerations", [GPUS, GPUS])
    assert (problem.path, problem.rule) == ("tolerations.1.name", "unique")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("compute.largeShmRequest", True),
        ("nodeType", "p5.48xlarge"),
        ("priorityClass", "very-high"),
        ("compute.extendedResources", [{"resource": "rdma/hca", "quantity": "8"}]),
        ("compute.extendedResources", [{"resource": "nvidia.com/mig-1g.10gb", "quantity": "1"}]),
    ],
)
def test_what_a_cluster_can_have_is_taken(path: str, value: Any) -> None:
    assert problems(path, value) == []


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("nodeType", "", "must have 1 to 63"),
        ("nodeType", "a b", "must have 1 to 63"),
        ("priorityClass", "system-node-critical", "for the cluster itself"),
        ("priorityClass", "High", "must be the name of a priority class"),
        ("compute.largeShmRequest", "yes", "must be true or false"),
    ],
)
def test_what_no_cluster_can_have_is_refused(path: str, value: Any, words: str) -> None:
    (problem,) = problems(path, value)
    assert problem.path == path
    assert words in problem.message


@pytest.mark.parametrize(
    ("resource", "quantity", "attribute", "words"),
    [
        ("nvidia.com/gpu", "1", "resource", "ask for GPU devices"),
        ("cpu", "1", "resource", "of a device plugin"),
        ("kubernetes.io/batch-cpu", "1", "resource", "of a device plugin"),
        ("rdma/hca", "0", "quantity", "a whole number above 0"),
        ("rdma/hca", "1.5", "quantity", "a whole number above 0"),
        ("rdma/hca", "1k", "quantity", "a whole number above 0"),
    ],
)
def test_a_resource_that_pods_cannot_ask_for_so_is_refused(
    resource: str, quantity: str, attribute: str, words: str
) -> None:
    said = [{"resource": resource, "quantity": quantity}]
    (problem,) = problems("compute.extendedResources", said)
    assert problem.path == f"compute.extendedResources.0.{attribute}"
    assert words in problem.message
