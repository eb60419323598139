"""Environment variables and their sources, as the spec judges them."""

from typing import Any

import pytest

from gangline.spec.problems import Problem, Role
from gangline.spec.values import validate
from gangline.spec.workload import WorkerSpec

ONE_OF = "one of value, secret, configMap, podFieldRef or userCredential"


def problems(item: dict[str, Any]) -> list[Problem]:
    return validate(WorkerSpec, Role.WORKER, {"environmentVariables": [{"name": "A"} | item]})


@pytest.mark.parametrize(
    "item",
    [
        {"value": ""},
        {"secret": {"name": "wandb", "key": "api-key"}},
        {"secret": {"name": "a" * 253, "key": ".dockerconfigjson"}, "value": None},
        {"configMap": {"name": "0", "key": "NCCL_debug.level"}},
        {"podFieldRef": {"path": "status.podIP"}},
        {"podFieldRef": {"path": "metadata.labels['training.kubeflow.org/replica-index']"}},
    ],
)
def test_one_source_is_taken(item: dict[str, Any]) -> None:
    assert problems(item) == []


@pytest.mark.parametrize(
    ("item", "path", "rule", "message", "accepted"),
    [
        ({}, "value", "required", "is required", ONE_OF),
        (
            {"value": "x", "secret": {"name": "wandb", "key": "api-key"}},
            "secret", "oneOf", "must be left out: Value is set already", ONE_OF,
        ),
        (
            {"podFieldRef": {"path": "metadata.name"}, "configMap": {"name": "a", "key": "b"}},
            "podFieldRef", "oneOf", "must be left out: ConfigMap is set already", ONE_OF,
        ),
        (
            {"secret": {"name": "Wandb", "key": "a"}},
            "secret.name", "format",
            "must have lowercase letters, digits or “-”, with a letter or digit at both ends",
            "the name of an object such as wandb",
        ),
        (
            {"secret": {"name": "a" * 254, "key": "a"}},
            "secret.name", "maxLength", "must have at most 253 characters",
            "the name of an object such as wandb",
        ),
        (
            {"configMap": {"name": "a", "key": "a/b"}},
            "configMap.key", "format",
            "must have letters, digits, “-”, “_” or “.”, and not start with “..”",
            "a key in it such as api-key",
        ),
        (
            {"secret": {"name": "a"}},
            "secret.key", "required", "is required", "a key in it such as api-key",
        ),
        (
            {"secret": "wandb"},
            "secret", "type", "must be an object with name and key", "an object with name and key",
        ),
        (
            {"secret": {"name": "a", "key": "b", "optional": True}},
            "secret.optional", "unknown", "is not a known field", "",
        ),
    ],
)  # fmt: skip
def test_anything_else_is_refused_at_its_place(
    item: dict[str, Any], path: str, rule: str, message: str, accepted: str
) -> None:
    (problem,) = problems(item)
    assert (problem.path, problem.rule) == (f"environmentVariables.0.{path}", rule)
    assert problem.message == message
    assert problem.accepted == accepted if accepted else problem.accepted


def test_a_pod_field_that_pods_do_not_have_is_refused_with_those_they_have() -> None:
    (problem,) = problems({"podFieldRef": {"path": "spec.containers"}})
    assert problem.path == "environmentVariables.0.podFieldRef.path"
    assert "metadata.name" in problem.accepted


def test_a_reserved_name_is_refused_whatever_its_source() -> None:
    item = {"name": "MASTER_ADDR", "secret": {"name": "a", "key": "b"}}
    (problem,) = problems(item)
    assert problem.path == "environmentVariables.0.name"
    assert "is reserved" in problem.message


def test_the_message_names_the_source_that_people_chose() -> None:
    (problem,) = problems({"secret": {"name": "wandb", "key": "a b"}})
    assert problem.sentence.startswith("Key in the credential of environment variable A must have")
