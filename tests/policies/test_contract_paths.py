"""Each path of the contract takes exactly the rules that the contract gives it, for both roles."""

from typing import Any

import pytest
import yaml

from gangline.policies.document import ALL_RULES, InvalidPolicy, fields_of, rules_of
from gangline.policies.parser import parse
from gangline.spec.catalogue import Kind, SpecField
from gangline.spec.problems import Role
from gangline.spec.workload import SPEC
from tests.policies.contract_paths import KINDS, PATHS, WORKERS_ONLY

OURS = {"blocked", "overridable", "message", "registries", "digestRequired", "maxTotal"}
"""Rules that we have besides."""
NOT_HERE = {"tolerations.attributes.exclude": "an item removes a default by it; no rule judges it"}
"""Paths that the spec does not have."""
ID = "5a2d0f2e-5c0a-4b2b-9f4b-0e0a8f0d3c11"
WORKER = fields_of(SPEC, Role.WORKER)


def found(path: str) -> tuple[SpecField | None, bool]:
    """The field of a path, and whether it is an attribute of a list."""
    name, dot, attribute = path.partition(".attributes.")
    field = WORKER.get(name.removesuffix(".instances"))
    if not dot or field is None:
        return field, False
    return field.attribute({"userCredentials": "userCredential"}.get(attribute, attribute)), True


HERE = {path: kind for path, kind in PATHS.items() if found(path)[0] is not None}


def ruled(path: str, rules: Any, role: str = "worker") -> Any:
    for part in reversed(path.split(".")):
        rules = {part: rules}
    return parse(yaml.safe_dump({"rules": {role: rules}}))


def sample(path: str, kind: str) -> Any:
    field, _ = found(path)
    assert field
    if kind in ("min", "max"):
        return field.maximum
    if kind == "options":
        told = field.items[0] if field.is_array else field
        texts = told.choices or (
            "a",
            "/a",
            "1",
            "16G",
            "0644",
            "https://a.b/c.git",
            "https://s3.lab",
            ID,
        )
        if field.kind is Kind.QUANTITY:
            return ["16G"]
        return [next(t for t in texts if told.format is None or told.format.check(t) is None)]
    if kind == "defaultFrom":
        return {"field": sibling(path), "factor": 2}
    return {"step": 1, "locked": ["a"]}.get(kind, True)


def sibling(path: str) -> str:
    """A number that the default of ``path`` can follow from."""
    field, in_list = found(path)
    assert field
    fields = WORKER[path.partition(".attributes.")[0]].items if in_list else WORKER.values()
    section = field.path.rpartition(".")[0]
    return next(
        (
            other.path
            for other in fields
            if other.kind.is_numeric
            and other.path != field.path
            and (other.kind is Kind.QUANTITY) == (field.kind is Kind.QUANTITY)
            and other.path.rpartition(".")[0] == section
        ),
        "",
    )


def test_the_table_is_whole() -> None:
    assert (len(PATHS), len(PATHS) - len(WORKERS_ONLY)) == (138, 130)


def test_what_is_not_here_has_a_reason() -> None:
    assert [path for path in PATHS if path not in HERE] == list(NOT_HERE)


@pytest.mark.parametrize("path", HERE)
def test_a_path_takes_exactly_its_rules(path: str) -> None:
    field, in_list = found(path)
    assert field
    more = OURS | ({"required"} if HERE[path] == "items" else set())
    if in_list and field.kind is Kind.QUANTITY:
        more |= {"min", "max", "defaultFrom"}  # a size may be limited as well as listed
    if field.has_bounds and not field.kind.is_numeric:
        more |= {"min", "max"}  # of each number in a text
    kinds = KINDS[HERE[path]]
    assert set(rules_of(field, in_list=in_list)) - more == set(kinds) - more
    for kind in kinds:
        if kind == "defaultFrom" and not sibling(path):
            continue
        for role in ("worker", "master"):
            if role == "master" and path in WORKERS_ONLY:
                continue
            document = ruled(path, {kind: sample(path, kind)}, role)
            stored = document.half(Role(role)).rules
            assert bool(stored) is (role == "worker" or not field.workload_level)
            told = [problem.code for problem in document.warnings]
            assert told == ([] if stored else ["policy.workload_only"])
    for kind in ALL_RULES - set(kinds) - more:
        with pytest.raises(InvalidPolicy):
            ruled(path, {kind: True})


@pytest.mark.parametrize("path", WORKERS_ONLY)
def test_what_only_workers_have_is_refused_for_the_master(path: str) -> None:
    with pytest.raises(InvalidPolicy) as refusal:
        ruled(path, {"required": True}, "master")
    assert [problem.code for problem in refusal.value.problems] == ["policy.workers_only"]
