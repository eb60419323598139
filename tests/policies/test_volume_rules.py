"""Policies hold for volumes as for every other list, also inside of an item."""

from typing import Any

import pytest

from gangline.policies.document import InvalidPolicy
from gangline.policies.effective import Layer, effective_policy
from gangline.policies.engine import Request, Resolution, resolve
from gangline.policies.parser import parse
from gangline.spec.frameworks import WORKERS_ONLY
from gangline.spec.sources import Value

POLICY = """
defaults:
  worker:
    storage:
      pvc:
        instances:
          - {name: home, path: /home, existingPvc: true, claimName: home}
          - {name: scratch, path: /scratch, ephemeral: true, claimInfo: {size: 20G, storageClass: fast}}
rules:
  worker:
    storage: {pvc: {instances: {locked: [home]}}}
"""  # noqa: E501
HOME = {"name": "home", "path": "/home", "existingPvc": True, "claimName": "home"}
SCRATCH = {
    "name": "scratch",
    "path": "/scratch",
    "ephemeral": True,
    "claimInfo": {"size": "20G", "storageClass": "fast"},
}
OWN = {"name": "own", "path": "/own", "claimInfo": {"size": "5Gi"}}


def resolved(*said: Any, policy: str = POLICY) -> Resolution:
    merged = effective_policy([Layer("project", "vision", parse(policy))])
    entries = {"worker.storage.pvc": Value(list(said))} if said else {}
    request = Request(framework="PyTorch", configuration=WORKERS_ONLY, master="none", given=entries)
    return resolve(request, merged)


def value(made: Resolution) -> Any:
    return made.effective["worker.storage.pvc"].value


def test_defaults_are_taken() -> None:
    made = resolved()
    assert made.problems == []
    assert value(made) == [HOME, SCRATCH]


def test_one_attribute_inside_of_a_default_is_changed_and_the_others_stay() -> None:
    made = resolved({"name": "scratch", "claimInfo": {"size": "50G"}}, OWN)
    assert made.problems == []
    changed = SCRATCH | {"claimInfo": {"size": "50G", "storageClass": "fast"}}
    assert value(made) == [HOME, changed, OWN]


def test_a_default_is_left_out() -> None:
    assert value(resolved({"name": "scratch", "exclude": True})) == [HOME]


@pytest.mark.parametrize(
    "said",
    [
        {"name": "home", "exclude": True},
        {"name": "home", "claimName": "other"},
        {"name": "home", "claimInfo": {"volumeMode": "Block"}},
    ],
)
def test_a_locked_one_stays_as_it_is(said: dict[str, Any]) -> None:
    (problem,) = resolved(said).problems
    assert (problem.path, problem.rule) == ("storage.pvc.0", "locked")
    assert problem.source == "project vision"


def test_a_locked_one_may_be_said_as_it_is() -> None:
    assert resolved({"name": "home", "claimName": "home"}).problems == []


def test_nothing_can_be_added_where_the_policy_says_so() -> None:
    policy = "rules: {worker: {storage: {pvc: {instances: {canAdd: false}}}}}"
    (problem,) = resolved(OWN, policy=policy).problems
    assert (problem.path, problem.rule) == ("storage.pvc.0", "canAdd")


def test_a_default_that_the_spec_refuses_is_told_with_its_line() -> None:
    text = (
        "defaults:\n  worker:\n    storage:\n      pvc:\n        instances:\n"
        "          - name: data\n            path: /data\n"
        "            claimInfo:\n              size: lots\n"
    )
    with pytest.raises(InvalidPolicy) as error:
        parse(text)
    (problem,) = error.value.problems
    assert problem.params["line"] == 9
    assert problem.path.endswith("instances.0.claimInfo.size")


@pytest.mark.parametrize(("size", "rules"), [("64Gi", []), ("65Gi", ["max"]), (None, ["required"])])
def test_a_policy_bounds_temporary_folders(size: str | None, rules: list[str]) -> None:
    """Security row 61: without a size a folder is bounded by its node alone."""
    text = "{sizeLimit: {max: 64Gi, required: true}}"
    text = "rules: {worker: {storage: {emptyDirVolume: {attributes: " + text + "}}}}"
    folder = {"name": "a", "path": "/a", **({"sizeLimit": size} if size else {})}
    merged = effective_policy([Layer("project", "vision", parse(text))])
    given = {"worker.storage.emptyDirVolume": Value([folder])}
    request = Request(framework="PyTorch", configuration=WORKERS_ONLY, master="none", given=given)
    assert [one.rule for one in resolve(request, merged).problems] == rules
