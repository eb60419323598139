"""Requirements of nodes, as the spec judges them."""

from typing import Any

import pytest

from gangline.spec.problems import Problem, Role
from gangline.spec.values import validate
from gangline.spec.workload import WorkerSpec

ZONE = "topology.kubernetes.io/zone"


def problems(**item: Any) -> list[Problem]:
    return validate(WorkerSpec, Role.WORKER, {"nodeAffinityRequired": [{"key": ZONE} | item]})


@pytest.mark.parametrize(
    ("operator", "values"),
    [
        ("In", "eu-1a"), ("In", "a, b,c"), ("NotIn", "a b"), ("Exists", None), ("Exists", ""),
        ("DoesNotExist", None), ("Gt", "4"), ("Lt", " -1 "),
    ],
)  # fmt: skip
def test_what_makes_sense_is_taken(operator: str, values: str | None) -> None:
    assert problems(operator=operator, values=values) == []


@pytest.mark.parametrize(
    ("operator", "values", "message", "accepted"),
    [
        ("In", None, "is required: the operator In compares with values", "one or more values"),
        ("NotIn", " , ", "is required: the operator NotIn compares with values", "one or more"),
        ("Exists", "a", "must be empty: the operator Exists compares nothing", "no value"),
        ("DoesNotExist", "a", "must be empty: the operator DoesNotExist", "no value"),
        ("Gt", "a", "must be one whole number: the operator Gt", "one whole number"),
        ("Lt", "1, 2", "must be one whole number: the operator Lt", "one whole number"),
        ("Gt", None, "must be one whole number: the operator Gt", "one whole number"),
        ("In", "a/b", "must be values of labels", "values with commas between"),
        ("In", f"a,{'b' * 64}", "must be values of labels", "values with commas between"),
    ],
)
def test_what_makes_no_sense_is_refused_at_its_values(
    operator: str, values: str | None, message: str, accepted: str
) -> None:
    (problem,) = problems(operator=operator, values=values)
    assert problem.path == "nodeAffinityRequired.0.values"
    assert problem.message.startswith(message)
    assert problem.accepted.startswith(accepted)


def test_an_operator_that_is_none_is_told_alone() -> None:
    (problem,) = problems(operator="Is", values="a")
    assert (problem.path, problem.rule) == ("nodeAffinityRequired.0.operator", "options")


def test_a_label_has_one_requirement() -> None:
    twice = [{"key": ZONE, "operator": "Exists"}, {"key": ZONE, "operator": "In", "values": "a"}]
    (problem,) = validate(WorkerSpec, Role.WORKER, {"nodeAffinityRequired": twice})
    assert (problem.path, problem.rule) == ("nodeAffinityRequired.1.key", "unique")
