"""The bad-input matrix, judged by the spec: whatever the way in, a problem at the right place."""

import json
from typing import Any

import pytest
from pydantic import BaseModel

from gangline.spec.problems import Problem, Role
from gangline.spec.types import is_workload_name
from gangline.spec.values import flatten, validate
from gangline.spec.workload import SPEC
from tests.security.matrix import NAMES, OF_SPEC, Row


def judged(model: type[BaseModel], role: Role, row: Row) -> list[Problem]:
    nested: dict[str, Any] = {}
    *groups, name = row.path.split(".")
    inner = nested
    for group in groups:
        inner = inner.setdefault(group, {})
    inner[name] = row.value
    values, problems = flatten(model, nested, role)
    return [*problems, *validate(model, role, values, is_whole=False)]


@pytest.mark.parametrize("row", OF_SPEC, ids=lambda row: row.id)
@pytest.mark.parametrize(
    ("model", "role"), [(SPEC.worker, Role.WORKER), (SPEC.master, Role.MASTER)]
)
def test_a_bad_value_is_refused_where_it_stands(
    model: type[BaseModel], role: Role, row: Row
) -> None:
    problem = next(p for p in judged(model, role, row) if p.path == row.reported)
    assert problem.role == role
    assert problem.rule
    assert "pydantic" not in json.dumps(problem.as_dict())


@pytest.mark.parametrize("row", [row for row in NAMES if isinstance(row.value, str)], ids=str)
def test_a_bad_name_is_refused(row: Row) -> None:
    assert not is_workload_name(row.value)
