"""The JSON Schema of the spec, as OpenAPI and editors see it, and what importing it costs."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gangline.spec.catalogue import catalogue
from gangline.spec.workload import ReplicaSpec, WorkerSpec

ROOT = Path(__file__).resolve().parents[2]


def schema_of(schema: dict[str, Any], path: str) -> dict[str, Any]:
    *groups, name = path.split(".")
    where = schema
    for group in groups:
        reference = where["properties"][group]
        where = schema["$defs"][reference["$ref"].rsplit("/", 1)[-1]]
    found: dict[str, Any] = where["properties"][name]
    return found


_schema_of_workers = cache(WorkerSpec.model_json_schema)


@pytest.mark.parametrize("path", catalogue(WorkerSpec))
def test_every_field_has_title_and_bounds(path: str) -> None:
    field = catalogue(WorkerSpec)[path]
    schema = schema_of(_schema_of_workers(), path)
    assert schema["title"] == field.label
    value = schema["anyOf"][0]
    if field.kind.is_numeric and field.max_length is None:
        low = (value.get("minimum"), value.get("exclusiveMinimum"))
        assert low == (field.minimum, field.exclusive_minimum)
        assert value["maximum"] == field.maximum
    if field.choices:
        assert value["enum"] == list(field.choices)
    if field.is_opaque:
        terms = value["properties"]["nodeSelectorTerms"]["items"]["properties"]
        value = terms["matchExpressions"]
    if field.max_items:
        assert value["maxItems"] == field.max_items
    if field.max_length:
        assert value["maxLength"] == field.max_length
    if field.format:
        assert value["format"] == field.format.name


def test_help_and_unit_are_the_description() -> None:
    schema = schema_of(WorkerSpec.model_json_schema(), "compute.gpuDevicesRequest")
    assert schema["description"] == "0 uses no GPU. Unit: GPUs."


def test_nothing_else_is_accepted() -> None:
    for model in (WorkerSpec, ReplicaSpec):
        assert model.model_json_schema()["additionalProperties"] is False


def test_importing_the_spec_builds_no_model() -> None:
    """The command line imports it every time; validators are built when they are first used."""
    code = (
        "import sys; from gangline.spec import values, workload; "
        "assert 'django' not in sys.modules; "
        "assert not workload.WorkerSpec.__pydantic_complete__; "
        "assert not values.validate(workload.WorkerSpec, 'worker', {'numWorkers': 1}); "
        "assert workload.WorkerSpec.__pydantic_complete__"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "platform")}
    done = subprocess.run([sys.executable, "-c", code], check=False, env=environment, timeout=60)
    assert done.returncode == 0
