"""Nested values become paths, and the spec judges every value with a sentence of ours."""

import json
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from gangline.spec.base import SpecModel, Ui
from gangline.spec.catalogue import catalogue
from gangline.spec.problems import Problem, Role
from gangline.spec.values import TYPE, field_path, flatten, item_label, nest, validate
from gangline.spec.workload import ReplicaSpec, WorkerSpec

GOOD: dict[str, Any] = {
    "distributedFramework": "PyTorch",
    "image": "registry.local/ddp:1.4",
    "command": "python train.py",
    "args": "--epochs 10",
    "workingDir": "/workspace",
    "environmentVariables": [{"name": "NCCL_DEBUG", "value": "INFO"}],
    "numWorkers": 3,
    "compute": {
        "gpuDevicesRequest": 1,
        "cpuCoreRequest": 2,
        "cpuCoreLimit": 4.5,
        "cpuMemoryRequest": "1G",
        "cpuMemoryLimit": "1Gi",
    },
    "terminationGracePeriodSeconds": 120,
    "backoffLimit": 6,
    "autoDeletionTimeAfterCompletionSeconds": 86400,
    "labels": [{"name": "stage", "value": "dev"}],
    "annotations": [{"name": "team", "value": "nlp"}],
}
DEEP: Any = None
for _ in range(100_000):
    DEEP = [DEEP]

ONE_OF = "one of value, secret, configMap, podFieldRef or userCredential"


def judged(values: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(p.path, p.rule, p.message) for p in validate(WorkerSpec, Role.WORKER, values)]


def test_a_full_spec_has_no_problems_and_survives_the_round_trip() -> None:
    values, problems = flatten(WorkerSpec, GOOD, Role.WORKER)
    assert problems == []
    assert validate(WorkerSpec, Role.WORKER, values) == []
    assert nest(values) == GOOD


def test_null_means_that_nothing_was_said() -> None:
    assert flatten(WorkerSpec, {"image": None, "compute": None}, Role.WORKER) == ({}, [])
    assert validate(WorkerSpec, Role.WORKER, {"image": None}) == []


def test_another_spelling_of_a_choice_is_replaced() -> None:
    values, _ = flatten(WorkerSpec, {"distributedFramework": "TensorFlow"}, Role.WORKER)
    assert values == {"distributedFramework": "TF"}


@pytest.mark.parametrize(
    ("nested", "path", "message"),
    [
        ({"backofLimit": 1}, "backofLimit", "is not a known field; did you mean backoffLimit?"),
        ({"BackoffLimit": 1}, "BackoffLimit", "is not a known field; did you mean backoffLimit?"),
        ({"image ": "x"}, "image ", "is not a known field; did you mean image?"),
        ({"privileged": True}, "privileged", "is not a known field"),
        ({"compute": {"gpus": 1}}, "compute.gpus", "is not a known field"),
        (
            {"compute": {"gpuDeviceRequest": 1}},
            "compute.gpuDeviceRequest",
            "is not a known field; did you mean gpuDevicesRequest?",
        ),
        ({"compute.gpuDevicesRequest": 1}, "compute.gpuDevicesRequest", "is not a known field"),
        ({"num_workers": 1}, "num_workers", "is not a known field; did you mean numWorkers?"),
        ({"\0": 1}, "\\x00", "is not a known field"),
        ({"\ud800": 1}, "\\ud800", "is not a known field"),
        ({5: 1}, "5", "is not a known field"),
        ({"compute": []}, "compute", "must be an object"),
        ({"compute": "4"}, "compute", "must be an object"),
        ([], "", "must be an object"),
        ("x", "", "must be an object"),
        (None, "", "must be an object"),
    ],
)
def test_what_is_no_field_is_a_problem(nested: Any, path: str, message: str) -> None:
    values, problems = flatten(WorkerSpec, nested, Role.WORKER)
    assert values == {}
    (problem,) = problems
    assert (problem.role, problem.path) == (Role.WORKER, path)
    assert problem.message.startswith(message)


def test_the_master_has_no_fields_of_the_workload() -> None:
    said = {"backoffLimit": 1, "image": "x", "backofLimit": 1}
    values, problems = flatten(ReplicaSpec, said, Role.MASTER)
    assert values == {"image": "x"}
    assert [(p.field_id, p.message) for p in problems] == [
        (
            "master.backoffLimit",
            "has one value for the whole workload, set with the workers",
        ),
        ("master.backofLimit", "is not a known field"),
    ]


def test_thousands_of_strange_keys_are_answered_fast() -> None:
    _, problems = flatten(WorkerSpec, {f"imag{n}": 1 for n in range(10_000)}, Role.WORKER)
    assert len(problems) == 10_000
    assert problems[0].accepted == "image"
    assert problems[-1].accepted == "a field of the specification"


WRONG = [1.5, True, "2", [], {}, "NaN", float("nan"), float("inf"), -1, 0, 10**30, 10**5000, DEEP]


@pytest.mark.parametrize("value", WRONG, ids=lambda value: type(value).__name__)
def test_a_number_of_workers_that_is_none(value: Any) -> None:
    (problem,) = validate(WorkerSpec, Role.WORKER, {"numWorkers": value})
    assert problem.path == "numWorkers"
    bound = isinstance(value, int) and not isinstance(value, bool)
    assert problem.message == ("must be between 1 and 9999" if bound else "must be a whole number")
    assert problem.accepted == "a whole number from 1 to 9999"
    assert problem.label == "Number of workers"
    json.dumps(problem.as_dict()).encode()


@pytest.mark.parametrize(
    ("path", "value", "rule", "message"),
    [
        ("image", 5, TYPE, "must be text"),
        ("image", "\ud800", TYPE, "must be valid Unicode text"),
        ("command", ["python"], TYPE, "must be text"),
        (
            "distributedFramework",
            "Torch",
            "options",
            "must be one of PyTorch, TF, XGBoost, MPI, JAX, MXNet or Script",
        ),
        (
            "distributedFramework",
            1,
            TYPE,
            "must be one of PyTorch, TF, XGBoost, MPI, JAX, MXNet or Script",
        ),
        ("compute.cpuCoreRequest", 0, "min", "must be between 0.001 and 1024"),
        ("compute.cpuCoreRequest", 1e-300, "min", "must be between 0.001 and 1024"),
        ("compute.cpuCoreRequest", -0.0, "min", "must be between 0.001 and 1024"),
        ("compute.cpuCoreRequest", float("inf"), TYPE, "must be a number"),
        ("compute.cpuCoreRequest", 10**400, TYPE, "must be a number"),
        ("compute.cpuCoreRequest", "1", TYPE, "must be a number"),
        ("compute.cpuMemoryRequest", 5, TYPE, "must be text"),
        ("compute.cpuMemoryRequest", "1k", "min", "must be between 1 MB and 1 PB"),
        ("compute.cpuMemoryRequest", "2P", "max", "must be between 1 MB and 1 PB"),
        ("terminationGracePeriodSeconds", 301, "max", "must be between 0 seconds and 5 minutes"),
        ("backoffLimit", -1, "min", "must be between 0 and 100"),
        ("backoffLimit", 101, "max", "must be between 0 and 100"),
        (
            "autoDeletionTimeAfterCompletionSeconds",
            10**12,
            "max",
            "must be between 0 seconds and 3650 days",
        ),
        ("environmentVariables", {}, TYPE, "must be a list"),
        ("environmentVariables", "A=1", TYPE, "must be a list"),
        (
            "labels",
            [{"name": f"a{n}", "value": ""} for n in range(33)],
            "maxItems",
            "must have at most 32 items",
        ),
        ("environmentVariables", [DEEP] * 201, "maxItems", "must have at most 200 items"),
    ],
)
def test_wrong_values_get_our_words(path: str, value: Any, rule: str, message: str) -> None:
    assert judged({path: value}) == [(path, rule, message)]


@pytest.mark.parametrize(
    ("item", "path", "label", "message"),
    [
        (
            5,
            "environmentVariables.1",
            "Environment variable 2",
            f"must be an object with name and description and {ONE_OF}",
        ),
        (
            {"name": "A"},
            "environmentVariables.1.value",
            "Value of environment variable A",
            "is required",
        ),
        (
            {"value": "x"},
            "environmentVariables.1.name",
            "Name of environment variable 2",
            "is required",
        ),
        (
            {"name": "A", "value": 1},
            "environmentVariables.1.value",
            "Value of environment variable A",
            "must be text",
        ),
        (
            {"name": "A", "value": "a\0"},
            "environmentVariables.1.value",
            "Value of environment variable A",
            "must not contain a NUL character",
        ),
        (
            {"name": "A", "value": "x" * 65537},
            "environmentVariables.1.value",
            "Value of environment variable A",
            "must have at most 65536 characters",
        ),
        (
            {"name": "A", "value": "", "exclude": 1},
            "environmentVariables.1.exclude",
            "environmentVariables.1.exclude",
            "is not a known field",
        ),
        (
            {"name": "A", "valeu": "", "value": ""},
            "environmentVariables.1.valeu",
            "environmentVariables.1.valeu",
            "is not a known field; did you mean value?",
        ),
        (
            {"name": "SEED", "value": ""},
            "environmentVariables.1.name",
            "Environment variable SEED",
            "is used twice",
        ),
    ],
)
def test_a_wrong_item_is_named(item: Any, path: str, label: str, message: str) -> None:
    found = validate(
        WorkerSpec, Role.WORKER, {"environmentVariables": [{"name": "SEED", "value": "1"}, item]}
    )
    assert [(p.path, p.label, p.message) for p in found] == [(path, label, message)]


def test_an_item_is_named_by_its_place_as_sent_and_its_key() -> None:
    items = [{"name": "A", "value": 1}, {"name": "B", "value": 1}, {"name": "B", "value": "x"}]
    sent = {"environmentVariables": [None, 7, 8]}
    found = validate(WorkerSpec, Role.WORKER, {"environmentVariables": items}, sent)
    assert [(p.path, p.key) for p in found] == [
        ("environmentVariables.value", "A"),
        ("environmentVariables.7.value", "B"),
        ("environmentVariables.8.name", "B"),
    ]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"compute.cpuCoreRequest": 2, "compute.cpuCoreLimit": 1},
            "must be at least the CPU request of 2",
        ),
        (
            {"compute.cpuMemoryRequest": "1Gi", "compute.cpuMemoryLimit": "1G"},
            "must be at least the memory request of 1Gi",
        ),
    ],
)
def test_a_limit_is_not_below_the_request(values: dict[str, Any], message: str) -> None:
    limit = list(values)[1]
    assert judged(values) == [(limit, "atLeast", message)]
    assert judged({limit: values[limit]}) == []


def test_a_limit_is_not_compared_with_a_request_that_is_wrong() -> None:
    values = {"compute.cpuMemoryRequest": "1X", "compute.cpuMemoryLimit": "1M"}
    assert [path for path, _, _ in judged(values)] == ["compute.cpuMemoryRequest"]


def test_all_problems_come_at_once_in_the_order_of_the_form() -> None:
    values = {
        "annotations": 1,
        "compute.cpuCoreLimit": 0.1,
        "compute.cpuCoreRequest": 1,
        "numWorkers": 0,
        "image": "a b",
        "noSuchField": 1,
        "distributedFramework": "X",
    }
    assert [path for path, _, _ in judged(values)] == [
        "distributedFramework",
        "image",
        "numWorkers",
        "compute.cpuCoreLimit",
        "annotations",
        "noSuchField",
    ]


class Share(SpecModel):
    share: Annotated[float | None, Field(gt=0, le=1), Ui("Share", section="compute")] = None


def test_an_exclusive_bound_is_said_as_one() -> None:
    found = validate(Share, Role.WORKER, {"share": 0})
    assert [(p.rule, p.message) for p in found] == [("min", "must be more than 0 and at most 1")]
    assert found[0].accepted == "a number above 0 to 1"


def test_nest_never_fails_on_paths_that_cross() -> None:
    assert nest({"compute": 1, "compute.x": 2}) == {"compute": 1}


def test_a_problem_belongs_to_a_field() -> None:
    fields = {"compute.cpuCoreLimit": None, "labels": None}
    assert field_path("labels.3.name", fields) == "labels"
    assert field_path("compute.cpuCoreLimit", fields) == "compute.cpuCoreLimit"
    assert field_path("nothing.at.all", fields) == ""


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
PATHS = [*nest(dict.fromkeys(GOOD)), "compute"]


@given(st.dictionaries(st.sampled_from(PATHS) | st.text(), JSON, max_size=6))
def test_no_json_raises(nested: dict[str, Any]) -> None:
    values, problems = flatten(WorkerSpec, nested, Role.WORKER)
    for problem in [*problems, *validate(WorkerSpec, Role.WORKER, values)]:
        json.dumps(problem.as_dict(), allow_nan=False).encode()
        assert problem.sentence.encode()
        assert not problem.message.startswith("Input should")
        assert problem.rule


def test_the_label_of_an_item_prefers_its_key() -> None:
    field = catalogue(WorkerSpec)["labels"]
    assert item_label(field, 0) == "Label 1"
    assert item_label(field, 0, "team") == "Label team"
    assert isinstance(validate(WorkerSpec, Role.WORKER, {"labels": [{}]})[0], Problem)


ATTRIBUTES = [
    (field.path, attribute.path)
    for field in catalogue(WorkerSpec).values()
    if field.is_by_item
    for attribute in field.items
]


@pytest.mark.parametrize(("path", "attribute"), ATTRIBUTES, ids=".".join)
def test_null_for_an_attribute_is_left_out_or_a_problem(path: str, attribute: str) -> None:
    found = validate(WorkerSpec, Role.WORKER, {path: [nest({attribute: None})]})
    assert {one.rule for one in found if one.path == f"{path}.0.{attribute}"} <= {"required", TYPE}
