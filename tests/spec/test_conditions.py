"""Fields that go with others, as the spec judges them."""

from typing import Any

import pytest

from gangline.spec.problems import Problem, Role
from gangline.spec.values import validate
from gangline.spec.workload import WorkerSpec

TYPE, DEVICES = "compute.gpuRequestType", "compute.gpuDevicesRequest"
PORTION, MEMORY = "compute.gpuPortionRequest", "compute.gpuMemoryRequest"
KEY, RULE = "podAffinity.key", "podAffinity.type"


def problems(values: dict[str, Any]) -> list[Problem]:
    return validate(WorkerSpec, Role.WORKER, values)


@pytest.mark.parametrize(
    "values",
    [
        {TYPE: "portion", PORTION: 0.5, DEVICES: 1},
        {TYPE: "portion", PORTION: 1, DEVICES: 4},
        {TYPE: "memory", MEMORY: "8Gi", DEVICES: 1},
        {DEVICES: 0},
        {KEY: "topology.kubernetes.io/zone", RULE: "Required"},
    ],
)
def test_what_goes_together_is_taken(values: dict[str, Any]) -> None:
    assert problems(values) == []


@pytest.mark.parametrize(
    ("part", "entered"),
    [
        (1.5, "1.5, which is 150 %"),
        (-0.25, "-0.25, which is -25 %"),
        (1e308, "1e+308"),
        (0, "0, which is 0 %"),
    ],
)
def test_a_part_is_told_in_percent_too(part: float, entered: str) -> None:
    (problem,) = problems({TYPE: "portion", PORTION: part, DEVICES: 1})
    assert problem.sentence.endswith(f" You entered {entered}.")


@pytest.mark.parametrize(
    ("values", "path", "rule", "message", "accepted"),
    [
        (
            {TYPE: "portion", DEVICES: 1}, PORTION, "required",
            "is required with GPU sharing portion", "a number above 0 to 1",
        ),
        (
            {TYPE: "portion", PORTION: 0.5, DEVICES: 0}, DEVICES, "minWith",
            "must be between 1 and 64 with GPU sharing portion", "a whole number from 1 to 64",
        ),
        (
            {TYPE: "memory", MEMORY: "8G", DEVICES: 2}, DEVICES, "maxWith",
            "must be 1 with GPU sharing memory", "1",
        ),
        (
            {PORTION: 0.5, DEVICES: 1}, PORTION, "when",
            "must be left out unless GPU sharing is portion",
            "no value, or portion as compute.gpuRequestType",
        ),
        (
            {TYPE: "portion", PORTION: 0.5, MEMORY: "8G", DEVICES: 1}, MEMORY, "when",
            "must be left out unless GPU sharing is memory",
            "no value, or memory as compute.gpuRequestType",
        ),
        (
            {TYPE: "portion", PORTION: 0, DEVICES: 1}, PORTION, "min",
            "must be above 0 and at most 1, which is 100 %", "a number above 0 to 1",
        ),
        (
            {TYPE: "half", PORTION: 0.5}, TYPE, "options",
            "must be one of portion or memory", "one of portion or memory",
        ),
        (
            {KEY: "zone"}, RULE, "required",
            "is required with topology zone", "one of Required or Preferred",
        ),
        (
            {RULE: "Required"}, KEY, "required",
            "is required with topology rule Required", "a key such as dedicated or nvidia.com/gpu",
        ),
        (
            {RULE: "Required", KEY: "a b"}, KEY, "format",
            "must be a key such as dedicated or nvidia.com/gpu",
            "a key such as dedicated or nvidia.com/gpu",
        ),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused_where_it_is_mended(
    values: dict[str, Any], path: str, rule: str, message: str, accepted: str
) -> None:
    (problem,) = problems(values)
    assert (problem.path, problem.rule, problem.message) == (path, rule, message)
    assert problem.accepted == accepted
