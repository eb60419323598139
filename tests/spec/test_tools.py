"""Tools, their ports and related pages, as the spec takes them."""

from typing import Any

import pytest

from gangline.spec.problems import Role
from gangline.spec.tools import EVERYONE, GROUPS, USERS, ExposedUrl, resolved
from gangline.spec.typed import typed
from gangline.spec.values import flatten, validate
from gangline.spec.workload import ReplicaSpec, WorkerSpec

BOARD = {"toolType": "tensorboard"}
OWN = {"container": 9000}


def wrong(path: str, *items: dict[str, Any]) -> list[tuple[str, str]]:
    """Path and rule of everything that is wrong with a list of tools as a client sends it."""
    values, problems = flatten(WorkerSpec, {path: list(items)}, Role.WORKER)
    assert not problems
    return [(p.path, p.rule) for p in validate(WorkerSpec, Role.WORKER, values)]


def tool(**said: Any) -> ExposedUrl:
    values, _ = flatten(ReplicaSpec, {"exposedUrls": [said]}, Role.WORKER)
    return (typed(ReplicaSpec, values).exposed_urls or [])[0]


@pytest.mark.parametrize(
    ("items", "problems"),
    [
        ([BOARD, OWN], []),
        ([{**BOARD, "url": "https://board.lab.example/x", "authorizedUsers": ["ana"]}], []),
        ([{"name": "x"}], []),
        ([{**OWN, "container": 0}], [("container", "min")]),
        ([{**OWN, "container": 65536}], [("container", "max")]),
        ([{**BOARD, "name": "Big"}], [("name", "format")]),
        ([{**BOARD, "toolType": "vim"}], [("toolType", "options")]),
        ([{**BOARD, "customUrl": True}], [("url", "required")]),
        ([{**BOARD, "customUrl": False, "url": "https://a.b"}], [("url", "format")]),
        ([{**BOARD, "url": "javascript:alert(1)"}], [("url", "format")]),
        ([{**BOARD, "url": "https://me:pw@a.b"}], [("url", "format")]),
        ([{**BOARD, "url": "https://a.b:30080"}], [("url", "format")]),
        ([{**BOARD, "authorizationType": USERS}], [("authorizedUsers", "required")]),
        ([{**BOARD, "authorizationType": GROUPS}], [("authorizedGroups", "required")]),
        (
            [{**BOARD, "authorizedUsers": ["a"], "authorizedGroups": ["b"]}],
            [("authorizedGroups", "format")],
        ),
        ([{**BOARD, "authorizedUsers": ["a", "a"]}], [("authorizedUsers", "format")]),
    ],
)
def test_a_tool(items: list[dict[str, Any]], problems: list[tuple[str, str]]) -> None:
    assert wrong("exposedUrls", *items) == [(f"exposedUrls.0.{at}", rule) for at, rule in problems]


def test_two_tools_cannot_share_a_port() -> None:
    assert wrong("exposedUrls", OWN, {**OWN, "name": "x"}) == [
        ("exposedUrls.1.container", "unique")
    ]


@pytest.mark.parametrize(
    ("item", "problems"),
    [
        ({**OWN, "external": 30080}, []),
        ({**OWN, "external": 29999}, [("external", "min")]),
        ({**OWN, "external": 32768}, [("external", "max")]),
        ({**OWN, "customExternalPort": True}, [("external", "required")]),
        ({**OWN, "serviceType": "ClusterIP", "external": 30080}, [("external", "format")]),
        ({"name": "x"}, [("container", "required")]),
    ],
)
def test_a_port(item: dict[str, Any], problems: list[tuple[str, str]]) -> None:
    assert wrong("ports", item) == [(f"ports.0.{at}", rule) for at, rule in problems]


@pytest.mark.parametrize(
    ("said", "access"),
    [
        ({}, (EVERYONE, ())),
        ({"authorizedUsers": ["ana", "bo"]}, (USERS, ("ana", "bo"))),
        ({"authorizedGroups": ["vision"]}, (GROUPS, ("vision",))),
        ({"authorizationType": EVERYONE, "authorizedUsers": ["ana"]}, (EVERYONE, ())),
        (
            {"authorizationType": USERS, "authorizedUsers": ["a"], "authorizedGroups": ["b"]},
            (USERS, ("a",)),
        ),
    ],
)
def test_who_may_open_a_tool(said: dict[str, Any], access: tuple[str, tuple[str, ...]]) -> None:
    assert tool(**BOARD, **said).access == access


def test_a_tool_is_named_and_has_a_port_by_its_type() -> None:
    made = tool(**BOARD)
    assert (made.name, made.label, made.port) == ("tensorboard", "TensorBoard", 6006)


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://wandb.ai/${TEAM}/x", "https://wandb.ai/vision/x"),
        ("https://wandb.ai/${OTHER}", None),
        ("https://${HOST}", None),
    ],
)
def test_a_related_page_is_found_where_its_variables_are_known(url: str, found: str | None) -> None:
    assert resolved(url, {"TEAM": "vision", "HOST": "me@evil"}) == found


@pytest.mark.parametrize("url", ["javascript:alert(1)", "https://u:p@h/", "ftp://h", "https://a b"])
def test_a_related_page_is_a_plain_address(url: str) -> None:
    assert wrong("relatedUrls", {"name": "x", "url": url}) == [("relatedUrls.0.url", "format")]
