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
        {"operator": "Equal"},  # the taint has no value either
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
