"""In namespaces that others made, Gangline gives itself no rights."""

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import pytest
from pydantic import ValidationError

from gangline.drivers.base import Refused
from gangline.drivers.kubernetes import labels
from gangline.drivers.kubernetes.client import Answer
from gangline.drivers.kubernetes.intake import KubernetesConnection
from gangline.drivers.kubernetes.namespaces import BINDINGS, Namespaces
from tests.drivers.kubernetes.scripted import ScriptedClient

NAME, OURS = "kube-system", "install-a"


def cluster(marks: Mapping[str, str]) -> ScriptedClient:
    """Has the namespace with these labels, and grants every wish."""

    def say(method: str, path: str, query: Mapping[str, Any]) -> Answer:
        if method == "POST":
            return Answer(201, {"status": {"userInfo": {"username": "gangline"}}})
        return Answer(200, {"metadata": {"name": NAME, "labels": dict(marks)}})

    return ScriptedClient(say)


@pytest.mark.parametrize(
    ("marks", "who"),
    [
        ({}, "not created by Gangline"),
        ({labels.INSTALL: "install-b"}, "created by another Gangline"),
    ],
)
def test_no_rights_are_taken_there(marks: dict[str, str], who: str) -> None:
    client = cluster(marks)
    told = Namespaces(client).prepare(NAME, OURS)
    assert isinstance(told, Refused)
    assert told.reason == (
        f"The namespace {NAME} was {who}, so Gangline does not use it. To hand it over: "
        f"kubectl label --overwrite namespace {NAME} {labels.INSTALL}={OURS}"
    )
    assert not [path for _, path, _ in client.asked if BINDINGS.plural in path]


def test_in_its_own_it_binds_itself() -> None:
    client = cluster({labels.INSTALL: OURS})
    assert Namespaces(client).prepare(NAME, OURS) is None
    assert [path for _, path, _ in client.asked if BINDINGS.plural in path]


@pytest.mark.parametrize(
    ("prefix", "is_good"), [("kube", False), ("kube-a", False), ("kuber", True)]
)
def test_a_prefix_does_not_lead_into_the_namespaces_of_kubernetes(
    prefix: str, is_good: bool
) -> None:
    with nullcontext() if is_good else pytest.raises(ValidationError):
        KubernetesConnection(namespace_prefix=prefix)
